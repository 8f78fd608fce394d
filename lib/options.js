'use strict';

const { types } = require('node:util');

/**
 * @typedef {{ kind: string, keys?: Record<string, SchemaNode> }} SchemaNode
 * @typedef {{ limits: { entries: number, string: number }, options: SchemaNode }} Schema
 * @typedef {(request: { host: string, port?: number }) => Promise<boolean>} AskHost
 */

/** What looks like an object and keeps its content where property access does not find it. */
const OPAQUE_TESTS = [
  Array.isArray,
  ArrayBuffer.isView,
  types.isAnyArrayBuffer,
  types.isBoxedPrimitive,
  types.isDate,
  types.isExternal,
  types.isMap,
  types.isNativeError,
  types.isPromise,
  types.isRegExp,
  types.isSet,
  types.isWeakMap,
  types.isWeakSet,
];

/** @param {any} value an object */
function className(value) {
  const name = value.constructor?.name;
  if (typeof name === 'string' && name !== '' && name !== 'Object') return name;
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return tag === 'Object' ? 'object' : tag;
}

/** @param {string} noun */
function withArticle(noun) {
  return `${/^[AEIOaeio]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** The value in words, as they follow "found" in an error. @param {any} value */
function describe(value) {
  switch (typeof value) {
    case 'bigint': return 'a BigInt';
    case 'function': return 'a function';
    case 'symbol': return 'a symbol';
    case 'string': return value.isWellFormed() ? 'a string' : 'a string that is not well-formed Unicode';
    case 'object': break;
    default: return String(value);
  }
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return withArticle(className(value));
}

/** A class other than Object stands between the value and its root prototype. @param {object} value */
function isClassInstance(value) {
  let proto = Object.getPrototypeOf(value);
  for (; proto !== null && Object.getPrototypeOf(proto) !== null; proto = Object.getPrototypeOf(proto)) {
    if (Object.hasOwn(proto, 'constructor')) return true;
  }
  return false;
}

/** @param {any} value */
function isReadableObject(value) {
  return typeof value === 'object' && value !== null
    && Object.prototype.toString.call(value) === '[object Object]'
    && !OPAQUE_TESTS.some((test) => test(value));
}

/** What C refuses, with the words for "found". @param {string} words */
function placeholder(words) {
  return JSON.stringify({ __proto__: null, $unsupported: words.toWellFormed() });
}

/**
 * Writes the JSON text itself, member by member: JSON.stringify on the options would lose inherited keys, getters and
 * Sets, and a toJSON on some prototype could change what is read.
 */
class DocumentWriter {
  /** @param {Schema} schema */
  constructor(schema) {
    this.schema = schema;
    /** Functions by the path of their option. @type {Map<string, Function>} */
    this.functions = new Map();
  }

  /**
   * @param {any} value
   * @param {SchemaNode} node
   * @param {string} path
   * @returns {string}
   */
  write(value, node, path) {
    switch (node.kind) {
      case 'object': return isReadableObject(value) ? this.writeObject(value, node, path) : this.writeScalar(value);
      case 'map': return isReadableObject(value) && !isClassInstance(value) ? this.writeMap(value) : this.writeScalar(value);
      case 'strings': return this.writeList(value);
      case 'function': return this.writeFunction(value, path);
      default: return this.writeScalar(value);
    }
  }

  /**
   * @param {any} value
   * @param {SchemaNode} node
   * @param {string} path
   */
  writeObject(value, node, path) {
    const members = [];
    const keys = node.keys ?? {};
    for (const key of Object.keys(keys)) {
      const member = value[key];
      if (member === undefined) continue;
      members.push(`${JSON.stringify(key)}:${this.write(member, keys[key], path === '' ? key : `${path}.${key}`)}`);
    }
    for (const key in value) {
      if (Object.hasOwn(keys, key)) continue;
      // One is enough for the error; JSON keys cannot hold a NUL.
      members.push(`${JSON.stringify(key.toWellFormed().replaceAll('\0', '\\0'))}:null`);
      break;
    }
    return `{${members.join(',')}}`;
  }

  /** @param {Record<string, any>} value */
  writeMap(value) {
    const members = [];
    for (const key in value) {
      if (!key.isWellFormed() || key.includes('\0')) return placeholder('a key with NUL or a lone surrogate');
      const list = value[key];
      if (list === undefined) continue;
      members.push(`${JSON.stringify(key)}:${this.writeList(list)}`);
      if (members.length > this.schema.limits.entries) break;
    }
    return `{${members.join(',')}}`;
  }

  /** Each index is read once; one entry over the limit is enough to be refused. @param {any} value */
  writeList(value) {
    if (!Array.isArray(value)) return this.writeScalar(value);
    const length = Math.min(value.length, this.schema.limits.entries + 1);
    const items = [];
    for (let i = 0; i < length; i++) items.push(this.writeScalar(value[i]));
    return `[${items.join(',')}]`;
  }

  /**
   * @param {any} value
   * @param {string} path
   */
  writeFunction(value, path) {
    if (typeof value !== 'function') return placeholder(describe(value));
    this.functions.set(path, value);
    return 'true';
  }

  /** @param {any} value */
  writeScalar(value) {
    if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return String(value);
    if (typeof value !== 'string' || !value.isWellFormed()) return placeholder(describe(value));
    const tooLong = value.length > this.schema.limits.string;
    return tooLong ? placeholder(`a string of ${value.length} characters`) : JSON.stringify(value);
  }
}

/**
 * Builds the options document for the C side, which validates it. Every known key is read once, by property access;
 * what JSON cannot carry becomes a placeholder that C refuses with its path.
 * @param {any} options what the caller gave; undefined is {}
 * @param {string} schema the table of known keys as the addon's optionSchema() prints it
 * @returns {{ json: string, onAskHost: AskHost | undefined }}
 */
function buildOptionsDocument(options, schema) {
  const known = /** @type {Schema} */ (JSON.parse(schema));
  const writer = new DocumentWriter(known);
  const json = writer.write(options === undefined ? {} : options, known.options, '');
  return { json, onAskHost: /** @type {AskHost | undefined} */ (writer.functions.get('network.onAskHost')) };
}

/** JSON.stringify, but for a toJSON on some prototype, which would change what is written. @param {any} value */
function stringify(value) {
  /** @this {any} @param {string} key */
  const asItIs = function (key) {
    return this[key];
  };
  return JSON.stringify(value, asItIs);
}

/**
 * A sandbox's document with other file rules.
 * @param {string} document
 * @param {string} other a document too
 */
function withFilesystemOf(document, other) {
  return stringify({ ...JSON.parse(document), filesystem: JSON.parse(other).filesystem });
}

/**
 * A sandbox's document with other network options, but for the proxy that the host itself goes by. Throws a TypeError
 * where they name another one.
 * @param {string} document
 * @param {string} other a document too
 */
function withNetworkOf(document, other) {
  const before = JSON.parse(document);
  const { upstreamProxy } = before.network ?? {};
  const network = { upstreamProxy, ...JSON.parse(other).network };
  if (network.upstreamProxy !== upstreamProxy) {
    throw new TypeError('network.upstreamProxy: expected what start() was given, or nothing: it cannot be changed');
  }
  return stringify({ ...before, network });
}

module.exports = { buildOptionsDocument, withFilesystemOf, withNetworkOf };
