'use strict';
// The program that is the internet of a test (outside.js): outside-internet.js FOLDER. Ends with its only client.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const readline = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const { NameServer } = require('./outside-dns');
const daemons = require('./outside-daemons');
const web = require('./outside-web');

const folder = process.argv[2];
/** @type {any[]} */
let events = [];
/** Markers that are waited for, by their address and port, and who waits. @type {Map<string, () => void>} */
const waiting = new Map();
/** Where markers are sent, in both families: each has a queue of its own while its neighbour is not known. */
const MARKED = ['203.0.113.1', '2001:db8:ffff::1'];
/** Connections that tell something when they end. @type {Set<net.Socket>} */
const open = new Set();
const tell = (/** @type {any} */ event) => events.push(event);
const names = new NameServer(tell);

/** @param {string} line of packets.py */
function onPacket(line) {
  const [protocol, address, port] = line.split(' ');
  if (!MARKED.includes(address)) return tell({ kind: 'packet', protocol, address, port: Number(port) });
  waiting.get(`${address} ${port}`)?.();
}

async function watchPackets() {
  const program = path.join(__dirname, '..', 'fixtures', 'packets.py');
  const child = spawn('/usr/bin/python3', [program, 'net0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = readline.createInterface({ input: child.stdout });
  await once(lines, 'line');
  lines.on('line', onPacket);
}

/** What the client may ask for. */
const ASKED = {
  /** @param {string} service @param {any} options */
  start: (service, options) => ({ ...web, ...daemons })[service]({ folder, tell, open, ...options }),
  names: (given) => names.set(given),
  events: async (/** @type {string[]} */ markers) => {
    await Promise.all(markers.map((marker) => new Promise((resolve) => waiting.set(marker, () => resolve(undefined)))));
    for (const marker of markers) waiting.delete(marker);
    // What they were sent may be on its way still, and their end behind it. Some are meant to stay.
    for (let turns = 0; turns < 100 && (turns === 0 || open.size > 0); turns++) await sleep(10);
    const told = events;
    events = [];
    return told;
  },
};

/** Nobody came. */
const alone = setTimeout(() => process.exit(1), 20_000);

/** @param {net.Socket} client */
function serve(client) {
  clearTimeout(alone);
  client.on('error', () => {}).on('close', () => process.exit(0));
  readline.createInterface({ input: client }).on('line', async (line) => {
    const { id, what, args } = JSON.parse(line);
    try {
      client.write(`${JSON.stringify({ id, value: (await ASKED[what](...args)) ?? null })}\n`);
    } catch (error) {
      client.write(`${JSON.stringify({ id, error: error.stack })}\n`);
    }
  });
}

(async () => {
  await Promise.all([watchPackets(), names.listen()]);
  // By another name first: who sees it can connect.
  const control = path.join(folder, 'control');
  await once(net.createServer(serve).listen(`${control}.new`), 'listening');
  fs.renameSync(`${control}.new`, control);
})();
