'use strict';

const { UsageError } = require('./errors');
const { RUN, SUBCOMMANDS, flagsOf, keyOf, namesOf } = require('./flags');

/**
 * @typedef {import('./flags').Flag} Flag
 * @typedef {Record<string, any>} Flags by `keyOf`: true, a string, a number, or a list of strings
 * @typedef {{ subcommand: string, flags: Flags, words: string[], exact?: Buffer[] }} Parsed subcommand: RUN for none;
 *   exact: the bytes of the words, where they may not be UTF-8
 */

/** The options of one command, by how they are written. @param {string} command @returns {Map<string, Flag>} */
function spellingsOf(command) {
  const spellings = new Map();
  for (const flag of flagsOf(command)) {
    for (const name of namesOf(flag)) spellings.set(`--${name}`, flag);
    if (flag.short) spellings.set(`-${flag.short}`, flag);
  }
  return spellings;
}

/** How many letters differ, as far as a slip of the fingers goes. @param {string} a @param {string} b */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
}

/** @param {string} word @param {string} spelling @param {Iterable<string>} known */
function unknownOption(word, spelling, known) {
  const near = [...known].find((name) => name.length > 2 && distance(name, spelling) <= 2);
  return new UsageError(`${JSON.stringify(word)}: unknown option${near ? ` (did you mean ${near}?)` : ''}`);
}

/** @param {Flag} flag @param {string} spelling @param {string} text */
function valueOf(flag, spelling, text) {
  if (flag.choices && !flag.choices.includes(text)) {
    throw new UsageError(`${spelling}: expected ${flag.choices.join(' or ')}, found ${JSON.stringify(text)}`);
  }
  if (flag.kind !== 'number') return text;
  if (!/^\d{1,15}$/.test(text)) throw new UsageError(`${spelling}: expected a whole number, found ${JSON.stringify(text)}`);
  return Number(text);
}

/** @param {Flags} flags @param {Flag} flag @param {string} spelling @param {string} text */
function store(flags, flag, spelling, text) {
  const key = keyOf(flag);
  if (flag.kind === 'list') {
    flags[key] = [...(flags[key] ?? []), ...(flag.commas ? text.split(',').map((part) => part.trim()) : [text])];
    return;
  }
  const value = valueOf(flag, spelling, text);
  if (flags[key] !== undefined && flags[key] !== value) throw new UsageError(`${spelling}: given twice, with different values`);
  flags[key] = value;
}

/**
 * @param {readonly string[]} args behind a subcommand, if there is one
 * @param {string} subcommand
 * @returns {Parsed}
 */
function parseOptions(args, subcommand) {
  const spellings = spellingsOf(subcommand);
  const mixed = SUBCOMMANDS.find(({ name }) => name === subcommand)?.mixed ?? false;
  /** @type {Flags} */
  const flags = Object.create(null);
  /** @type {string[]} */
  const words = [];
  for (let i = 0; i < args.length; i += 1) {
    const word = args[i];
    if (word === '--') return { subcommand, flags, words: [...words, ...args.slice(i + 1)] };
    if (!word.startsWith('-') || word === '-') {
      if (!mixed) return { subcommand, flags, words: args.slice(i) };
      words.push(word);
      continue;
    }
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    const spelling = equals === -1 ? word : word.slice(0, equals);
    const flag = spellings.get(spelling);
    if (!flag) throw unknownOption(word, spelling, spellings.keys());
    if (flag.kind === 'switch') {
      if (equals !== -1) throw new UsageError(`${spelling}: takes no value`);
      flags[keyOf(flag)] = true;
    } else if (equals !== -1) {
      store(flags, flag, spelling, word.slice(equals + 1));
    } else {
      i += 1;
      store(flags, flag, spelling, nextValue(args, i, spelling, flag));
    }
  }
  return { subcommand, flags, words };
}

/** @param {readonly string[]} args @param {number} index @param {string} spelling @param {Flag} flag */
function nextValue(args, index, spelling, flag) {
  const text = args[index];
  if (text === undefined) throw new UsageError(`${spelling}: ${flag.argument} is missing`);
  // More often a value that was forgotten than one that begins so.
  if (text.startsWith('-') && text !== '-') {
    const long = `--${flag.name}`;
    throw new UsageError(`${spelling}: ${flag.argument} is missing (one that begins with "-" is written ${long}=${text})`);
  }
  return text;
}

/** What contradicts, or means nothing without another option. @param {Parsed} parsed */
function checkTogether({ flags }) {
  const asks = flags.askTimeout !== undefined;
  if (asks && !flags.ask) throw new UsageError('--ask-timeout: means nothing without --ask');
  if (asks && (flags.askTimeout < 1 || flags.askTimeout > 300)) {
    throw new UsageError(`--ask-timeout: expected 1 to 300 seconds, found ${flags.askTimeout}`);
  }
  if (flags.violations === 'none' && flags.monitorReads) {
    throw new UsageError('--monitor-reads: contradicts --violations none, which reports nothing');
  }
  if (flags.violations === 'none' && flags.ignoreViolations) {
    throw new UsageError('--ignore-violations: means nothing with --violations none, which reports nothing');
  }
  if (flags.profile && flags.json) throw new UsageError('--json: contradicts --profile, which is text');
  for (const key of ['settings', 'violations', 'cwd']) {
    if (flags[key] === '') throw new UsageError(`--${key}: the value is empty`);
  }
}

/** @param {Parsed} parsed */
function checkWords({ subcommand, flags, words }) {
  const runs = subcommand === RUN || subcommand === 'learn';
  if (runs && words.length === 0 && flags.command === undefined) throw new UsageError('there is no command to run');
  const takes = SUBCOMMANDS.find(({ name }) => name === subcommand)?.takes ?? 'any';
  if (takes === 'some' && words.length === 0) throw new UsageError(`${subcommand}: nothing is named`);
  if (takes === 'none' && words.length > 0) throw new UsageError(`${subcommand}: takes no words, found ${JSON.stringify(words[0])}`);
  if (subcommand === 'explain' && words.length === 0 && !flags.profile) throw new UsageError('explain: nothing is named');
}

/**
 * The words of a command line, by the table of options. Options end at the first word that is none; a subcommand is one
 * as the very first word alone. Throws a UsageError.
 * @param {readonly string[]} args without the program's own name
 * @returns {Parsed}
 */
function parse(args) {
  const subcommand = SUBCOMMANDS.find(({ name }) => name === args[0])?.name ?? RUN;
  const parsed = parseOptions(subcommand === RUN ? args : args.slice(1), subcommand);
  if (parsed.flags.help || parsed.flags.version) return parsed;
  checkTogether(parsed);
  checkWords(parsed);
  return parsed;
}

module.exports = { parse };
