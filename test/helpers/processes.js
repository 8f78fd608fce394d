'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

/**
 * Whether a process runs; one that died and waits to be reaped does not.
 * @param {number} pid
 */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    const state =
      process.platform === 'linux'
        ? fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')
        : execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return !/^[ZX]/.test(state);
  } catch {
    return false;
  }
}

/**
 * Waits until a condition holds.
 * @template T
 * @param {() => T} condition
 * @returns {Promise<T>} its first truthy value, or its last one after ten seconds
 */
async function eventually(condition) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const value = condition();
    if (value || Date.now() > deadline) return value;
    await sleep(10);
  }
}

/** Keeps the event loop from turning. @param {number} ms */
function blockLoop(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

module.exports = { blockLoop, eventually, isAlive };
