'use strict';
// What can be measured: each opens to { run(argv), close() }.

const bwrap = require('./bwrap');
const { openSrt } = require('./srt-subject');
const { LocalMachine, OsSandbox } = require('..');

/** @typedef {{ run: (argv: readonly string[], options?: any) => Promise<any>, close: () => Promise<void> }} Subject */

const nothing = async () => {};

/** @param {any} result a RunResult @param {string} name */
function checked(result, name) {
  if (result.exitCode !== 0) throw new Error(`${name}: exit code ${result.exitCode}: ${result.stderr.trim()}`);
  return result;
}

/** @param {{ cwd: string, denyWrite?: string[], options?: any }} place @returns {Promise<Subject>} */
async function openOurs({ cwd, denyWrite, options: policy }) {
  const sandbox = await OsSandbox.start(denyWrite ? { filesystem: { denyWrite } } : policy);
  if (!sandbox.status.enabled) throw new Error(sandbox.status.reason);
  const machine = sandbox.machine(cwd);
  return {
    run: async (argv, options) => checked(await machine.run(argv, options), 'sandboxed'),
    close: () => sandbox.dispose(),
  };
}

/** @param {{ cwd: string }} place @returns {Promise<Subject>} */
async function openLocal({ cwd }) {
  const machine = new LocalMachine(cwd);
  return { run: async (argv, options) => checked(await machine.run(argv, options), 'plain'), close: nothing };
}

/** @param {(cwd: string) => string[]} wrap @returns {(place: { cwd: string }) => Promise<Subject>} */
function openBwrap(wrap) {
  return async ({ cwd }) => {
    const machine = new LocalMachine(cwd);
    const before = wrap(cwd);
    return { run: async (argv) => checked(await machine.run([...before, ...argv]), 'bwrap'), close: nothing };
  };
}

const OPENERS = {
  ours: openOurs,
  local: openLocal,
  'bwrap-same': openBwrap(bwrap.sameSandbox),
  'bwrap-plain': openBwrap(bwrap.plainOptions),
  srt: openSrt,
};

/** @param {{ kind: keyof typeof OPENERS, cwd: string, denyWrite?: string[], entry?: string }} wanted @returns {Promise<Subject>} */
function openSubject(wanted) {
  return OPENERS[wanted.kind](/** @type {any} */ (wanted));
}

module.exports = { openSubject };
