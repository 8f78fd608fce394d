'use strict';

/** One command in the place of this process: with its stdio, its terminal, its signals, its end. */

const { signals } = require('node:os').constants;

/** What ends a process, and some programs take as a word: the command hears of it as if it had been sent to it. */
const FORWARDED = /** @type {const} */ (['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT']);
/** Of these this process dies, too, as a shell does: whoever started it can tell them from an exit code. */
const MIRRORED = [signals.SIGINT, signals.SIGTERM, signals.SIGHUP, signals.SIGQUIT];

/**
 * Passes this process's signals on, of which it then does not die itself.
 * @param {Pick<import('./session').Session, 'signal'>} session
 * @returns {() => void} ends that
 */
function forwardSignals(session) {
  /** @param {NodeJS.Signals} name @param {number} number */
  const forward = (name, number) => session.signal(number);
  for (const name of FORWARDED) process.on(name, forward);
  return () => {
    for (const name of FORWARDED) process.off(name, forward);
  };
}

/**
 * @param {import('./session').Session} session started for it
 * @param {import('./session').ForegroundRequest} request
 * @returns {Promise<import('./session').ForegroundResult>}
 */
async function runForeground(session, request) {
  const running = session.runForeground(request);
  // In the same turn: until then one of them ends this process, and with it the command.
  const stop = forwardSignals(session);
  try {
    return await running;
  } finally {
    stop();
  }
}

/**
 * Ends this process as the command ended.
 * @param {{ dieOfSignal(number: number): void }} addon
 * @param {import('./session').ForegroundResult} result
 * @returns {number} the exit code, where that is the way
 */
function endAs(addon, { exitCode, signal }) {
  if (signal !== undefined && MIRRORED.includes(signal)) addon.dieOfSignal(signal);
  return signal === undefined ? (exitCode ?? 0) : 128 + signal;
}

module.exports = { endAs, runForeground };
