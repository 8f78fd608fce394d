'use strict';
// Words that are not UTF-8. Node gives each of their bytes as U+FFFD: another file, another rule.

const fs = require('node:fs');

const { UsageError } = require('./errors');
const { RUN } = require('./flags');

const NUL = 0;
const REPLACED = '\ufffd';

/** The last words that this process was started with. @param {number} count @returns {Buffer[]} fewer where that cannot be seen */
function startedWith(count) {
  let bytes;
  try {
    bytes = fs.readFileSync('/proc/self/cmdline');
  } catch {
    return [];
  }
  const words = [];
  for (let at = 0, end; (end = bytes.indexOf(NUL, at)) !== -1; at = end + 1) words.push(bytes.subarray(at, end));
  return words.slice(-count);
}

/**
 * The bytes of a command's words, where they are not UTF-8. Throws a UsageError for what cannot be passed on as it is.
 * @param {readonly string[]} args the command line
 * @param {import('./parse').Parsed} parsed what it was taken for
 * @returns {Buffer[]}
 */
function exactWords(args, { subcommand, words }) {
  const given = startedWith(args.length);
  const first = subcommand === RUN ? args.length - words.length : args.length;
  const isKnown = args.every((arg, i) => given[i]?.toString() === arg);
  args.forEach((arg, i) => {
    const isExact = isKnown && (i >= first || given[i].equals(Buffer.from(arg)));
    if (arg.includes(REPLACED) && !isExact) throw new UsageError(`${JSON.stringify(arg)}: not UTF-8`);
  });
  return given.slice(first);
}

module.exports = { exactWords };
