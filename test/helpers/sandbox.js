'use strict';
// What tests of a sandboxed machine share. A host on which nothing can be sandboxed makes them fail, never skip.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { OsSandbox } = require('../..');

/** A folder that lies outside of every write root, removed at the end. @param {any} t @returns {string} */
function scratchFolder(t) {
  const folder = fs.mkdtempSync('/var/tmp/os-sandbox-scratch-');
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * An enabled sandbox, disposed at the end.
 * @param {any} t
 * @param {any} [options]
 */
async function startSandbox(t, options) {
  const sandbox = await OsSandbox.start(options);
  t.teardown(() => sandbox.dispose());
  if (!sandbox.status.enabled) throw new Error(`no sandbox on this host: ${sandbox.status.reason}`);
  return sandbox;
}

/**
 * A sandboxed machine in a workspace of its own.
 * @param {any} t
 * @param {any} [options]
 */
async function startMachine(t, options) {
  const workspace = path.join(scratchFolder(t), 'workspace');
  fs.mkdirSync(workspace);
  const sandbox = await startSandbox(t, options);
  const machine = sandbox.machine(workspace);
  const sh = (script, options) => machine.run(['sh', '-c', script], options);
  return { sandbox, machine, workspace, sh };
}

/** A duration of a good ten minutes that no other command of this host has: `sleep` with it can be found from outside. */
function uniqueDuration() {
  return `600.${crypto.randomInt(1e12, 1e13)}`;
}

/** @param {string} pid @param {string} file */
function readProc(pid, file) {
  try {
    return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * The processes of this host, in whatever namespace, that have a word among their arguments. Dead ones have none.
 * @param {string} word
 * @returns {number[]}
 */
function processesWith(word) {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => readProc(pid, 'cmdline').split('\0').includes(word)).map(Number);
}

/** The parent of a process; 0 when there is none. @param {number} pid */
function parentOf(pid) {
  return Number(/^PPid:\s+(\d+)/m.exec(readProc(String(pid), 'status'))?.[1] ?? 0);
}

/**
 * The children of a process, of all its threads.
 * @param {number} pid
 * @returns {number[]}
 */
function childrenOf(pid) {
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((other) => parentOf(other) === pid);
}

/**
 * The processes of an agent's runs: its children but for the gateway, which is there as long as the agent.
 * @param {number} agent
 * @returns {number[]}
 */
function processesOfRuns(agent) {
  return childrenOf(agent).filter((pid) => readProc(String(pid), 'comm') !== 'os-sandbox-gate\n');
}

module.exports = {
  childrenOf,
  parentOf,
  processesOfRuns,
  processesWith,
  scratchFolder,
  startMachine,
  startSandbox,
  uniqueDuration,
};
