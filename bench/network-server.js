'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');
const readline = require('node:readline');

/**
 * An address of this host that leads out of a sandbox's own loopback; where there is none, the loopback.
 * What is measured goes over the host's loopback device either way.
 */
function hostAddress() {
  const interfaces = Object.values(os.networkInterfaces()).flatMap((list) => list ?? []);
  return interfaces.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}

/**
 * The server of a measurement, in a process of its own.
 * @param {string} program network-server
 */
async function startServer(program) {
  const address = hostAddress();
  const child = spawn(program, [address], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = readline.createInterface({ input: child.stdout });
  /** @type {number} */
  let kept = 0;
  const port = await new Promise((resolve, reject) => {
    child.on('error', reject).on('exit', () => reject(new Error('the server ended')));
    lines.once('line', (line) => {
      resolve(Number(line));
      lines.on('line', () => kept++);
    });
  });
  return { address, port, kept: () => kept, stop: () => child.stdin.end() };
}

/**
 * What lets a subject reach the server, and nothing else.
 * @param {any} subject
 * @param {{ address: string, port: number }} server
 */
function allow(subject, { address, port }) {
  if (subject.kind === 'srt') return { ...subject, allowedDomains: [address] };
  if (subject.kind === 'ours') return { ...subject, options: { network: { allowedIPs: [`${address}:${port}`] } } };
  return subject;
}

module.exports = { allow, startServer };
