'use strict';

const { constants } = require('node:os');

const { endAs } = require('../foreground');
const { loadNative } = require('../native');

/** As well as it goes without the addon: a core file may be left. @param {number} number */
function dieOfSignal(number) {
  const name = Object.keys(constants.signals).find((key) => constants.signals[key] === number);
  process.removeAllListeners(name);
  process.kill(process.pid, number);
}

/** What can end this process by a signal. */
function ender() {
  try {
    return loadNative().addon;
  } catch {
    return { dieOfSignal };
  }
}

/**
 * Ends as the command ended; nothing may be left to do: Node does not take down its heap piece by piece then.
 * @param {{ exitCode: number | undefined, signal: number | undefined }} result
 */
function endLike({ exitCode, signal }) {
  process.exit(endAs(ender(), { exitCode, signal, warnings: [] }));
}

module.exports = { endLike };
