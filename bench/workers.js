'use strict';
// Every measurement is made by a fresh process, so that one's heap and handles do not slow the next one down.

const { spawn } = require('node:child_process');
const path = require('node:path');

/** @type {Set<import('node:child_process').ChildProcess>} */
const alive = new Set();

/** A worker leads a group of its own: what it started goes with it. */
function endWorkers() {
  for (const child of alive) {
    try {
      process.kill(-(/** @type {number} */ (child.pid)), 'SIGKILL');
    } catch {
      // It ended by itself meanwhile.
    }
  }
}

/**
 * Has a fresh process do one of the jobs and gives what the job gives.
 * @param {string} job a file of jobs/
 * @param {any} args what the job is called with, as JSON
 * @param {{ home: string, node?: string, wrapper?: readonly string[] }} how wrapper: words that start the words behind them
 * @returns {Promise<any>}
 */
function runJob(job, args, { home, node = process.execPath, wrapper = [] }) {
  const words = [...wrapper, node, path.join(__dirname, 'worker.js'), job, JSON.stringify(args)];
  // A TMPDIR of its own would be one more mount than elsewhere.
  const env = { ...process.env, HOME: home, TMPDIR: undefined };
  return new Promise((resolve, reject) => {
    const child = spawn(words[0], words.slice(1), { env, detached: true, stdio: ['ignore', 2, 2, 'ipc'] });
    let reply;
    alive.add(child);
    child.on('message', (message) => (reply = message));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      alive.delete(child);
      if (reply?.error) reject(new Error(reply.error));
      else if (reply) resolve(reply.value);
      else reject(new Error(`${job}: the worker ended with ${signal ?? code}`));
    });
  });
}

module.exports = { endWorkers, runJob };
