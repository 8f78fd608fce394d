#!/usr/bin/env node
'use strict';
// The command line. Modules are loaded where they are needed: most of the start-up time is theirs.

const { UsageError } = require('./errors');
const { RUN } = require('./flags');
const { parse } = require('./parse');

/** Those that need no options of the library. */
const PLAIN = new Set(['doctor', 'log', 'completion']);

/** @param {string} subcommand */
function loadSubcommand(subcommand) {
  switch (subcommand) {
    case 'completion': return require('./completions');
    case 'doctor': return require('./doctor');
    case 'explain': return require('./explain');
    case 'learn': return require('./learn');
    default: return require('./log');
  }
}

/** Why nothing can be sandboxed or validated here at all. */
function unusable() {
  const unsupported = require('../runtime').unsupportedRuntime();
  if (unsupported) return unsupported;
  try {
    require('../native').loadNative();
    return undefined;
  } catch (error) {
    return `native addon not loaded: ${/** @type {Error} */ (error).message}`;
  }
}

/** @param {import('./parse').Parsed} parsed */
async function runSubcommand({ subcommand, flags, words }) {
  const { main } = loadSubcommand(subcommand);
  const { say, stderr, stdout } = require('./stdio');
  const streams = { stdout, stderr };
  if (PLAIN.has(subcommand)) return main({ flags, words, options: {}, warnings: [], ...streams });
  const reason = unusable();
  if (reason) {
    say(`cannot sandbox: ${reason}`);
    return require('./exit-codes').SANDBOX;
  }
  const { options, warnings, cwd } = require('./layers').optionsOf(flags);
  const command = subcommand === 'learn' ? require('./command').commandOf(flags, words) : words;
  return main({ flags: { ...flags, cwd }, words: command, options, warnings, cwd, ...streams });
}

/** @param {import('./parse').Parsed} parsed */
async function runCommand(parsed) {
  const reason = unusable();
  const { refuse, run } = require('./run');
  const running = reason ? refuse(parsed, reason) : run({ ...parsed, ...require('./layers').optionsOf(parsed.flags) });
  // Loaded while the command runs.
  const { endLike } = require('./ending');
  endLike(await running);
}

/** @param {any} error @param {string} [first] word of the command line: perhaps a subcommand */
function failWith(error, first = RUN) {
  const { CONFIG, SANDBOX, USAGE } = require('./exit-codes');
  const { say, stderr } = require('./stdio');
  if (error instanceof UsageError) {
    say(error.message);
    stderr.write(`usage: ${require('./usage').usageLines(first)[0]}  (--help tells more)\n`);
    return USAGE;
  }
  say(error.name === 'SettingsError' ? error.message : `it failed: ${error.stack}`);
  return error.name === 'SettingsError' ? CONFIG : SANDBOX;
}

/** Whether a word may not be what was given. @param {string} word */
const isReplaced = (word) => word.includes('\ufffd');

/** @param {string[]} given */
async function main(given) {
  const parsed = parse(given);
  /** @param {string} text */
  const print = (text) => require('./stdio').print(text);
  if (parsed.flags.help) print(require('./usage').helpOf(parsed.subcommand));
  else if (parsed.flags.version) print(`${require('../../package.json').version}\n`);
  else {
    if (given.some(isReplaced)) parsed.exact = require('./exact-words').exactWords(given, parsed);
    if (parsed.subcommand === RUN) await runCommand(parsed);
    else process.exitCode = await runSubcommand(parsed);
  }
}

const args = process.argv.slice(2);
process.on('uncaughtException', (error) => process.exit(failWith(error)));
main(args).catch((error) => {
  process.exitCode = failWith(error, args[0]);
});
