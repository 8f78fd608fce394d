'use strict';
// Bytes sent from inside a sandbox as no client would send them.

const path = require('node:path');

const PROGRAM = path.join(__dirname, '..', 'fixtures', 'raw_client.py');

/**
 * @typedef {object} Attempt
 * @property {[host: string, port: number]} [to] default: the proxy
 * @property {Array<string | number | null>} send text (latin-1), a pause in milliseconds, or null: something must come first
 * @property {number} [silence] seconds without a byte that end it
 *
 * @typedef {{ reply: string, ended: boolean, ms: number, error?: string }} Reply
 */

/**
 * @param {any} machine
 * @param {Attempt[]} attempts
 * @returns {Promise<{ replies: Reply[], stderr: string }>}
 */
async function sendRaw(machine, attempts) {
  const { stdout, stderr, exitCode } = await machine.run(['/usr/bin/python3', PROGRAM], {
    stdin: JSON.stringify(attempts),
    timeoutMs: 60_000,
  });
  if (exitCode !== 0) throw new Error(`the raw client ended with ${exitCode}: ${stderr}`);
  return { replies: JSON.parse(stdout), stderr };
}

/** A request in absolute form, its Host the same. @param {string} host @param {number} [port] */
const absolute = (host, port = 80) => {
  const authority = port === 80 ? host : `${host}:${port}`;
  return `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
};

/** @param {string} host @param {number} port */
const connect = (host, port) => `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`;

const u16 = (/** @type {number} */ value) => String.fromCharCode(value >> 8, value & 255);

/** SOCKS5 (RFC 1928): the greeting, its answer, and a CONNECT to a name. @param {string} host @param {number} port */
const socks = (host, port) => ['\x05\x01\x00', null, `\x05\x01\x00\x03${String.fromCharCode(host.length)}${host}${u16(port)}`];

/** SOCKS5 to an address. @param {number[]} bytes 4 or 16 @param {number} port */
const socksAddress = (bytes, port) => [
  '\x05\x01\x00',
  null,
  `\x05\x01\x00${bytes.length === 4 ? '\x01' : '\x04'}${String.fromCharCode(...bytes)}${u16(port)}`,
];

const REQUEST = 'GET / HTTP/1.0\r\nHost: whatever\r\n\r\n';

/**
 * The same target by every way there is: HTTP in absolute form, CONNECT, SOCKS5 and a connection that knows of no proxy.
 * The name is sent as it is.
 * @param {string} host
 * @param {number} port
 * @returns {Record<string, Attempt>}
 */
function everyWay(host, port) {
  return {
    http: { send: [absolute(host, port)] },
    CONNECT: { send: [connect(host, port), null, REQUEST] },
    SOCKS5: { send: [...socks(host, port), null, REQUEST] },
    transparent: { to: [host, port], send: [REQUEST] },
  };
}

/** Of TLS: the first record of a client, by its parts. */
const u24 = (/** @type {number} */ value) => `\x00${u16(value)}`;
const extension = (/** @type {number} */ type, /** @type {string} */ body) => `${u16(type)}${u16(body.length)}${body}`;
const record = (/** @type {string} */ body) => `\x16\x03\x01${u16(body.length)}${body}`;

/**
 * A ClientHello (RFC 8446) with these server names (none: without the extension), in records of at most so many bytes.
 * @param {string[]} names
 * @param {{ recordSize?: number, extensions?: string[] }} [options]
 */
function clientHello(names, { recordSize = 16384, extensions = [] } = {}) {
  const list = names.map((name) => `\x00${u16(name.length)}${name}`).join('');
  const serverName = names.length === 0 ? [] : [extension(0, u16(list.length) + list)];
  const versions = extension(43, '\x04\x03\x04\x03\x03');
  const all = [...serverName, versions, ...extensions].join('');
  const body = `\x03\x03${'r'.repeat(32)}\x00${u16(4)}\x13\x01\x13\x02\x01\x00${u16(all.length)}${all}`;
  const message = `\x01${u24(body.length)}${body}`;
  const records = [];
  for (let at = 0; at < message.length; at += recordSize) records.push(record(message.slice(at, at + recordSize)));
  return records.join('');
}

/** An encrypted hello (RFC 9849), outer form. */
const ENCRYPTED_HELLO = extension(0xfe0d, `\x00\x00\x01\x00\x01\x07${u16(32)}${'k'.repeat(32)}${u16(64)}${'p'.repeat(64)}`);

module.exports = { ENCRYPTED_HELLO, REQUEST, absolute, clientHello, connect, everyWay, extension, sendRaw, socks, socksAddress };
