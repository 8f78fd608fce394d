'use strict';
// The name server of the tests' internet: answers on UDP and TCP, and tells every question.

const dgram = require('node:dgram');
const { once } = require('node:events');
const net = require('node:net');

const TYPES = { 1: 'A', 2: 'NS', 5: 'CNAME', 6: 'SOA', 12: 'PTR', 15: 'MX', 16: 'TXT', 28: 'AAAA', 33: 'SRV', 65: 'HTTPS', 255: 'ANY' };

/** Addresses of every name below a domain. */
const DOMAINS = {
  'example.com': ['192.0.2.10', '2001:db8::10'],
  'example.net': ['192.0.2.20', '2001:db8::20'],
  'example.org': ['192.0.2.30'],
};

/** @param {string} address */
function addressBytes(address) {
  if (net.isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const mapped = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head, tail] = mapped.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const groups = tail === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.from(groups.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]));
}

/** The first question of a message. @param {Buffer} message */
function questionOf(message) {
  const labels = [];
  let at = 12;
  for (; message[at] > 0; at += 1 + message[at]) labels.push(message.toString('latin1', at + 1, at + 1 + message[at]));
  const type = message.readUInt16BE(at + 1);
  return { name: labels.join('.').toLowerCase(), type: TYPES[type] ?? String(type), end: at + 5 };
}

/** Below this nothing is answered. */
const SILENT = 'silent.example.com';

class NameServer {
  /** @type {Map<string, string[][]>} */
  #own = new Map();
  #tell;

  /** @param {(event: any) => void} tell */
  constructor(tell) {
    this.#tell = tell;
  }

  /** @param {Record<string, string[][]>} names */
  set(names) {
    for (const [name, answers] of Object.entries(names)) this.#own.set(name, answers);
  }

  /** The addresses of a name now, of one family. @param {string} name @param {'A' | 'AAAA'} type */
  #addresses(name, type) {
    const key = `${name} ${type}`;
    const wanted = (/** @type {string} */ address) => net.isIPv6(address) === (type === 'AAAA');
    const own = this.#own.get(key) ?? this.#own.get(name);
    if (own !== undefined) {
      // Each family has its own turn: clients ask for both at once.
      this.#own.set(key, own.length > 1 ? own.slice(1) : own);
      return own[0].filter(wanted);
    }
    const domain = Object.keys(DOMAINS).find((domain) => name === domain || name.endsWith(`.${domain}`));
    return domain && DOMAINS[domain].filter(wanted);
  }

  /** @param {Buffer} query @param {string} transport */
  #answer(query, transport) {
    const { name, type, end } = questionOf(query);
    this.#tell({ kind: 'lookup', name, type, transport });
    const addresses = this.#addresses(name, type === 'AAAA' ? 'AAAA' : 'A');
    const given = type === 'A' || type === 'AAAA' ? addresses ?? [] : [];
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(addresses === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(given.length, 6);
    head.writeUInt32BE(0, 8);
    const records = given.map(addressBytes).flatMap((bytes) => {
      const record = Buffer.from([0xc0, 12, 0, bytes.length === 4 ? 1 : 28, 0, 1, 0, 0, 0, 1, 0, bytes.length]);
      return [record, bytes];
    });
    return Buffer.concat([head, query.subarray(12, end), ...records]);
  }

  /** @param {net.Socket} socket */
  #serveStream(socket) {
    let held = Buffer.alloc(0);
    socket.on('error', () => {}).on('data', (data) => {
      held = Buffer.concat([held, data]);
      while (held.length >= 2 && held.length >= 2 + held.readUInt16BE(0)) {
        const size = held.readUInt16BE(0);
        const answer = this.#answer(held.subarray(2, 2 + size), 'tcp');
        held = held.subarray(2 + size);
        socket.write(Buffer.from([answer.length >> 8, answer.length & 255]));
        socket.write(answer);
      }
    });
  }

  async listen() {
    const udp = dgram.createSocket({ type: 'udp6', ipv6Only: true });
    const udp4 = dgram.createSocket('udp4');
    // From one socket for each address: an answer must come from the address that was asked.
    for (const socket of [udp4, udp])
      socket.on('message', (query, from) => {
        if (!questionOf(query).name.endsWith(SILENT)) socket.send(this.#answer(query, 'udp'), from.port, from.address);
      });
    await Promise.all([
      once(udp4.bind(53, '192.0.2.53'), 'listening'),
      once(udp.bind(53, '2001:db8::53'), 'listening'),
      once(net.createServer((socket) => this.#serveStream(socket)).listen(53, '::'), 'listening'),
    ]);
  }
}

module.exports = { NameServer };
