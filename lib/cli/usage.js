'use strict';

const { RUN, SUBCOMMANDS, flagsOf, namesOf } = require('./flags');

const WIDTH = 100;
const INDENT = 30;

const RUN_LINES = ['os-sandbox [options] [--] command [args…]', "os-sandbox [options] -c 'line of shell' [name [args…]]"];

/** @param {string} text @param {number} width @returns {string[]} */
function wrap(text, width) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** @param {import('./flags').Subcommand} subcommand */
function lineOf({ name, words }) {
  return `os-sandbox ${name} [options]${words && ` ${words}`}`;
}

/** How a command is written, in one line or two. @param {string} command RUN, or a subcommand */
function usageLines(command) {
  const subcommand = SUBCOMMANDS.find(({ name }) => name === command);
  return subcommand ? [lineOf(subcommand)] : RUN_LINES;
}

/** As it is written: `-s, --settings FILE`. @param {import('./flags').Flag} flag */
function flagText(flag) {
  const names = [...(flag.short ? [`-${flag.short}`] : []), ...namesOf(flag).map((name) => `--${name}`)];
  return `${names.join(', ')}${flag.argument ? ` ${flag.argument}` : ''}`;
}

/** @param {string} left @param {string} right */
function row(left, right) {
  const lines = wrap(right, WIDTH - INDENT);
  const first = `  ${left}`;
  if (first.length > INDENT - 2) lines.unshift('');
  return [`${first.padEnd(INDENT)}${lines[0]}`.trimEnd(), ...lines.slice(1).map((line) => ' '.repeat(INDENT) + line)].join('\n');
}

/** Headings, each with its flags, in their order. @param {string} command @returns {Array<[string, import('./flags').Flag[]]>} */
function groupsOf(command) {
  const flags = flagsOf(command);
  const names = [...new Set(flags.map(({ group }) => group))];
  return names.map((name) => [name, flags.filter(({ group }) => group === name)]);
}

/** The whole help. @param {string} command RUN, or a subcommand */
function helpOf(command) {
  const subcommand = SUBCOMMANDS.find(({ name }) => name === command);
  const parts = [
    usageLines(command).map((line, i) => `${i === 0 ? 'usage: ' : '       '}${line}`).join('\n'),
    subcommand ? `${subcommand.help}.` : wrap('Runs a command in a sandbox: it writes in the working directory, reads no credentials and reaches nothing, but for what the options allow.', WIDTH).join('\n'),
    ...groupsOf(command).map(([name, flags]) => `${name}:\n${flags.map((flag) => row(flagText(flag), flag.help)).join('\n')}`),
  ];
  if (command === RUN) {
    parts.push(`Subcommands, as the very first word:\n${SUBCOMMANDS.map((each) => row(`${each.name}${each.words && ` ${each.words}`}`, each.help)).join('\n')}`);
    parts.push('Exit status: the command\'s; 64 for a command line and 78 for settings that make no sense, 125 where the\nsandbox failed, 126 and 127 for a command that cannot be run and one that is not found.');
  }
  return `${parts.join('\n\n')}\n`;
}

module.exports = { flagText, groupsOf, helpOf, usageLines };
