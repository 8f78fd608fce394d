'use strict';
// A reader and evaluator of the part of SBPL that profiles of ours are written in: what is said last holds. Strings are bytes
// (latin1). Whatever it does not know is an error, so that no rule is passed over.

/** One expression: a symbol, a string { string } or a list. @typedef {string | { string: string } | any[]} Expression */

/** What TinyScheme's reader makes of the bytes of a profile. @param {string} text @returns {Expression[]} */
function parse(text) {
  let at = 0;
  const fail = (why) => {
    throw new Error(`${why} at byte ${at}: ${text.slice(at, at + 40)}`);
  };
  function readString() {
    let string = '';
    for (at++; text[at] !== '"'; at++) {
      if (at >= text.length || text[at] === '\xff') fail('a string without an end');
      if (text[at] !== '\\') {
        string += text[at];
        continue;
      }
      const escape = text[++at];
      if (escape === 'x') {
        const hex = text.slice(at + 1, at + 3);
        if (!/^[0-9a-f]{2}$/.test(hex)) fail('a bad escape');
        string += String.fromCharCode(Number.parseInt(hex, 16));
        at += 2;
      } else if (escape === '"' || escape === '\\') string += escape;
      else fail('an escape that readers may take differently');
    }
    at++;
    if (string.length > 1000 || string.includes('\0')) fail('a string that cannot be held');
    return { string };
  }
  function read() {
    if (text[at] === '"') return readString();
    if (text[at] === "'") {
      at++;
      return ['quote', read()];
    }
    if (text[at] !== '(') {
      const [symbol] = /^[^\s()"';#]+/.exec(text.slice(at, at + 200)) ?? fail('no expression');
      at += symbol.length;
      return symbol;
    }
    const list = [];
    for (at++; ; ) {
      while (/\s/.test(text[at] ?? 'x')) at++;
      if (text[at] === ')') break;
      if (at >= text.length) fail('a list without an end');
      list.push(read());
    }
    at++;
    if (list.length >= 65536) fail('too many items');
    return list;
  }
  const all = [];
  for (;;) {
    while (/\s/.test(text[at] ?? 'x')) at++;
    if (at >= text.length) return all;
    all.push(read());
  }
}

const within = (path, folder) => folder === '/' || path === folder || path.startsWith(`${folder}/`);
const expressions = new Map();

/** The dialect has no intervals, classes by name or anything of perl's. @param {string} source */
function regex(source) {
  let compiled = expressions.get(source);
  if (compiled) return compiled;
  if (/[{}](?<!\\.)|\(\?|\\[a-zA-Z0-9]|\[:/.test(source)) throw new Error(`not of this dialect: ${source}`);
  compiled = new RegExp(source, 's');
  expressions.set(source, compiled);
  return compiled;
}

/** A port of this host: "localhost:80", "*:*". */
function isAddress(pattern, address) {
  const [host, port] = pattern.split(':');
  return (host === '*' || (host === 'localhost' && address?.host === 'localhost')) && (port === '*' || Number(port) === address?.port);
}

/** @type {Record<string, (object: any, ...rest: any[]) => boolean>} */
const filters = {
  literal: (object, { string }) => object.path === string,
  subpath: (object, { string }) => object.path !== undefined && within(object.path, string),
  regex: (object, { string }) => object.path !== undefined && regex(string).test(object.path),
  'path-regex': (object, { string }) => object.path !== undefined && regex(string).test(object.path),
  'require-any': (object, ...any) => any.some((filter) => matches(object, filter)),
  'require-all': (object, ...all) => all.every((filter) => matches(object, filter)),
  'require-not': (object, filter) => !matches(object, filter),
  'vnode-type': (object, type) => object.type === type,
  extension: (object, { string }) => object.extension === string,
  target: (object, target) => object.target === target,
  'global-name': (object, { string }) => object.name === string,
  'sysctl-name': (object, { string }) => object.name === string,
  'sysctl-name-prefix': (object, { string }) => object.name.startsWith(string),
  'ipc-posix-name': (object, { string }) => object.name === string,
  'ipc-posix-name-prefix': (object, { string }) => object.name.startsWith(string),
  'ipc-posix-name-regex': (object, { string }) => regex(string).test(object.name),
  'socket-domain': (object, domain) => object.domain === domain,
  remote: (object, kind, what) => object.side === 'remote' && endpoint(object, kind, what),
  local: (object, kind, what) => object.side === 'local' && endpoint(object, kind, what),
};

function endpoint(object, kind, what) {
  if (kind === 'unix-socket') return object.path !== undefined && matches(object, what);
  if (kind === 'ip') return object.path === undefined && isAddress(what.string, object);
  throw new Error(`unknown endpoint ${kind}`);
}

function matches(object, [name, ...rest]) {
  if (!Object.hasOwn(filters, name)) throw new Error(`unknown filter ${name}`);
  return filters[name](object, ...rest);
}

const covers = (pattern, operation) =>
  pattern === operation || pattern === 'default' || (pattern.endsWith('*') && operation.startsWith(pattern.slice(0, -1)));

class Profile {
  /** @param {string} text as the addon gives it */
  constructor(text) {
    this.bytes = Buffer.byteLength(text);
    const [version, ...rest] = parse(Buffer.from(text).toString('latin1'));
    if (JSON.stringify(version) !== '["version","1"]') throw new Error('no version');
    this.rules = rest.map((rule) => Profile.#rule(rule));
    if (this.rules[0].action !== 'deny' || this.rules[0].operations[0] !== 'default') throw new Error('not closed by default');
  }

  static #rule(expression) {
    // (if (defined? 'operation) rule)
    if (expression[0] === 'if') return Profile.#rule(expression[2]);
    const [action, ...rest] = expression;
    if (action !== 'allow' && action !== 'deny') throw new Error(`unknown rule ${action}`);
    const operations = rest.filter((part) => typeof part === 'string');
    const lists = rest.filter((part) => typeof part !== 'string');
    const modifiers = lists.filter(([name]) => name === 'with');
    const message = modifiers.map(([, kind, text]) => (kind === 'message' ? text.string : undefined))[0];
    return { action, operations, filters: lists.filter(([name]) => name !== 'with'), message };
  }

  /** @param {string} operation @param {any} [object] */
  allows(operation, object = {}) {
    const last = this.rules.findLast(
      (rule) =>
        rule.operations.some((pattern) => covers(pattern, operation)) &&
        (rule.filters.length === 0 || rule.filters.some((filter) => matches(object, filter))),
    );
    return last.action === 'allow';
  }

  /** @param {string | Buffer} path @param {string} [operation] @param {string} [type] */
  path(path, operation = 'file-read-data', type = 'REGULAR-FILE') {
    return this.allows(operation, { path: Buffer.from(path).toString('latin1'), type });
  }

  reads(path) {
    return this.path(path);
  }

  /** Whether a file can be made, written and taken away there; one of those alone is an error. */
  writes(path, type = 'REGULAR-FILE') {
    const each = ['create', 'data', 'unlink', 'mode', 'xattr'].map((what) => this.path(path, `file-write-${what}`, type));
    if (new Set(each).size > 1) throw new Error(`${path}: ${each}`);
    return each[0];
  }
}

module.exports = { Profile, parse };
