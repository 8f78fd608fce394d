'use strict';
// What the command line itself says, beside the command that has the same descriptors. process.stdout and
// process.stderr would make these non-blocking, for the command as well.

const fs = require('node:fs');

const STDOUT = 1;
const STDERR = 2;
/** Until a descriptor that others have made non-blocking takes more. */
const PAUSE_MS = 5;

/** The module takes time to load, and most commands end without a word of ours. @param {number} fd */
const isTerminal = (fd) => require('node:tty').isatty(fd);

/** @param {number} fd @param {string} text @returns {boolean} false: nobody reads it any more */
function write(fd, text) {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += fs.writeSync(fd, bytes, written);
    } catch (error) {
      if (/** @type {any} */ (error).code !== 'EAGAIN') return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
  return true;
}

/** What was asked for; a reader who goes has had enough of it. @param {string} text */
function print(text) {
  if (!write(STDOUT, text)) process.exit();
}

/** A line of ours on stderr; a command may have put the terminal into raw mode. @param {string} text */
function lineOf(text) {
  return `os-sandbox: ${text}${isTerminal(STDERR) ? '\r\n' : '\n'}`;
}

/** Before a command runs; later there is a Teller. @param {string} text */
function say(text) {
  write(STDERR, lineOf(text));
}

/** For what writes to streams. @param {number} fd @param {(text: string) => unknown} put */
function outputOf(fd, put) {
  return {
    write: put,
    get isTTY() {
      return isTerminal(fd);
    },
    /** Of the terminal; undefined where there is none. */
    get columns() {
      return isTerminal(fd) ? (fd === STDOUT ? process.stdout : process.stderr).columns : undefined;
    },
  };
}

module.exports = {
  lineOf,
  print,
  say,
  stdout: outputOf(STDOUT, print),
  stderr: outputOf(STDERR, (text) => write(STDERR, text)),
};
