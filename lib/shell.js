'use strict';

const path = require('node:path');

const SHELLS = new Set(['bash', 'zsh', 'sh', 'dash', 'ksh']);
const PLAIN_WORD = /^[A-Za-z0-9_/@%+=:,.-]+$/;

/**
 * Quotes one word for a POSIX shell; a word of harmless characters stays bare.
 * @param {string} value
 * @returns {string}
 */
function shellQuoteArg(value) {
  return PLAIN_WORD.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;
}

/**
 * Tells a shell script (`[shell, "-c", script]`) from a plain command, whose words are quoted for the fallback shell.
 * @param {readonly string[]} argv
 * @param {string} fallbackShell
 * @returns {{ command: string, binShell: string }}
 */
function toSrtInvocation(argv, fallbackShell) {
  const [shell, flag, script] = argv;
  if (argv.length === 3 && flag === '-c' && SHELLS.has(path.basename(shell))) {
    return { command: script, binShell: shell };
  }
  return { command: argv.map(shellQuoteArg).join(' '), binShell: fallbackShell };
}

module.exports = { shellQuoteArg, toSrtInvocation };
