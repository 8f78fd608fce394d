'use strict';
// A host of a test's own and the internet around it: network namespaces joined by a veth pair, made for one test file and
// gone with it. What leaves the host is seen where it would arrive: every packet, every look-up, every request.

const { execFileSync } = require('node:child_process');
const dgram = require('node:dgram');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const readline = require('node:readline');
const { eventually } = require('./processes');

const FOLDER = 'OS_SANDBOX_TEST_OUTSIDE';
const HOST = path.join(__dirname, 'outside-host.sh');
/** Ids stay as they are: a sandbox on that host is started by the same user. */
const OWN_HOST = ['--net', '--mount', ...(process.getuid() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'])];

/** Names that certificates are made for. Every name below these domains has addresses: see outside-dns.js. */
const DOMAINS = ['example.com', 'example.net', 'example.org'];

/** A certificate authority and one certificate for all names, in files. @param {string} folder */
function makeCertificates(folder) {
  const openssl = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = DOMAINS.flatMap((name) => [`DNS:${name}`, `DNS:*.${name}`]);
  fs.writeFileSync(path.join(folder, 'extensions'), `subjectAltName=${names.join()},IP:192.0.2.10,IP:2001:db8::10\n`);
  openssl('req', '-x509', ...newKey, '-subj', '/CN=Test CA', '-days', '2', '-keyout', 'ca.key', '-out', 'ca.pem');
  openssl('req', ...newKey, '-subj', '/CN=Test server', '-keyout', 'server.key', '-out', 'server.csr');
  const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'extensions'];
  openssl('x509', '-req', '-in', 'server.csr', ...sign, '-out', 'server.pem');
}

/** Variables by which clients trust that authority. @param {string} folder */
function trust(folder) {
  const file = path.join(folder, 'ca.pem');
  const names = ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS'];
  return Object.fromEntries(names.map((name) => [name, file]));
}

/**
 * Packets that arrive behind all that was sent before; again and again, as the first ones of a new link may be lost.
 * @param {'udp4' | 'udp6'} family @param {string} address
 */
async function sendMarkers(family, address) {
  const socket = dgram.createSocket(family);
  await once(socket.bind(0), 'listening');
  const { port } = socket.address();
  const send = () => socket.send('', port, address, () => {});
  const timer = setInterval(send, 20);
  send();
  const stop = () => {
    clearInterval(timer);
    socket.close();
  };
  return { name: `${address} ${port}`, stop };
}

/** The internet as a test on its host sees it. */
class Outside {
  #socket;
  #waiting = new Map();
  #count = 0;

  /** @param {string} folder @param {net.Socket} socket to outside-internet.js */
  constructor(folder, socket) {
    this.folder = folder;
    this.env = trust(folder);
    this.#socket = socket;
    readline.createInterface({ input: socket }).on('line', (line) => {
      const { id, value, error } = JSON.parse(line);
      const [resolve, reject] = this.#waiting.get(id);
      this.#waiting.delete(id);
      error === undefined ? resolve(value) : reject(new Error(error));
    });
    socket.on('close', () => {
      for (const [, reject] of this.#waiting.values()) reject(new Error('the internet has ended'));
    });
  }

  /** @param {string} what a function of outside-internet.js @param {any[]} args */
  #ask(what, ...args) {
    return new Promise((resolve, reject) => {
      const id = this.#count++;
      this.#waiting.set(id, [resolve, reject]);
      this.#socket.write(`${JSON.stringify({ id, what, args })}\n`);
    });
  }

  /** Starts a server there, and gives what it tells of itself. @param {string} service @param {any} [options] */
  start(service, options) {
    return this.#ask('start', service, options);
  }

  /**
   * What names have as addresses from now on, in place of those they have anyway: a list of lists, one for each look-up,
   * the last one for all that follow.
   * @param {Record<string, string[][]>} names
   */
  names(names) {
    return this.#ask('names', names);
  }

  /**
   * What arrived since the last call: `{ kind: 'packet', protocol, address, port }`, `{ kind: 'lookup', name, type }`, and
   * what servers tell. Whatever was sent before has arrived.
   * @returns {Promise<any[]>}
   */
  async events() {
    const markers = await Promise.all([sendMarkers('udp4', '203.0.113.1'), sendMarkers('udp6', '2001:db8:ffff::1')]);
    const events = await this.#ask('events', markers.map(({ name }) => name));
    for (const { stop } of markers) stop();
    return events;
  }

  close() {
    this.#socket.destroy();
  }
}

/** @param {string} folder */
async function connect(folder) {
  const control = path.join(folder, 'control');
  const log = path.join(folder, 'internet.log');
  if (!(await eventually(() => fs.existsSync(control)))) throw new Error(`no internet: ${fs.readFileSync(log, 'utf8')}`);
  const socket = net.connect(control);
  await once(socket, 'connect');
  return new Outside(folder, socket);
}

/**
 * Runs the tests of a file on such a host: the file starts itself there.
 * @param {any} t
 * @param {string} file
 * @param {(outside: Outside) => unknown} tests
 */
async function onTestHost(t, file, tests) {
  const inside = process.env[FOLDER];
  if (inside !== undefined) {
    delete process.env[FOLDER];
    const outside = await connect(inside);
    t.teardown(() => outside.close());
    return tests(outside);
  }
  const folder = fs.mkdtempSync('/var/tmp/os-sandbox-outside-');
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  fs.chmodSync(folder, 0o755);
  makeCertificates(folder);
  const env = { ...process.env, [FOLDER]: folder };
  const args = [...OWN_HOST, 'sh', HOST, folder, process.execPath, file];
  await t.spawn('unshare', args, { env }, 'on a host of its own');
}

module.exports = { Outside, onTestHost };
