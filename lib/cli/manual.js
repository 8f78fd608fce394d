'use strict';
// The manual page, and the README's table of options, from the table of options.

const { FLAGS, RUN, SUBCOMMANDS } = require('./flags');
const { flagText, groupsOf, usageLines } = require('./usage');

/** As roff has it: a dot or a quote at the begin of a line would be a command. @param {string} text */
function roff(text) {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^(?=[.'])/gm, '\\&');
}

/** @param {string} term @param {string} text */
const entry = (term, text) => `.TP\n\\fB${roff(term)}\\fR\n${roff(text)}`;

/** @param {string} title @param {string[]} parts */
const section = (title, parts) => [`.SH ${title.toUpperCase()}`, ...parts];

const DESCRIPTION = `Runs a command in a sandbox. It may write in the working directory, reads no credentials, reaches nothing on the network and
no unix socket of the host, but for what the options and the settings allow; whatever it leaves behind ends with it.
Its stdin, stdout and stderr are those of os-sandbox.

Options end at the first word that is none. They are written --name VALUE or --name=VALUE; those with lists may be given
more than once, and domains and addresses may be separated by commas. A subcommand is one only as the very first word:
os-sandbox -- log runs a program of this name.`;

const LAYERS = `Settings are JSON with the names of the library's options. ~/.config/os-sandbox/settings.json is read first, then the file of
--settings, then the options. Denials of all of them add up; an allow list in a later one replaces that of an earlier one;
strict reads in any of them hold, and of limits the smaller. A file in the project is never looked for.`;

/** Exit statuses and what they mean. @type {ReadonlyArray<[string, string]>} */
const STATUSES = [
  ['64', 'The command line makes no sense; nothing was run.'],
  ['78', 'A file of settings cannot be used; nothing was run.'],
  ['125', 'The sandbox itself failed, or cannot work on this host.'],
  ['126', 'The command cannot be executed.'],
  ['127', 'The command was not found.'],
  ['any other', 'The command\'s own. Where it died of INT, TERM, HUP or QUIT, os-sandbox dies of the same.'],
];

/** @type {ReadonlyArray<[string, string]>} */
const EXAMPLES = [
  ['npm test, with the network of its registry', 'os-sandbox --network-allowlist registry.example.com npm test'],
  ['A server that reads and writes what is named, and nothing else', 'os-sandbox --allow-read /workspace --allow-write /workspace/output --network-allowlist api.example.com node server.js'],
  ['A line of shell', "os-sandbox -c 'make && make check'"],
];

/** The page, in roff. @param {string} version */
function manualPage(version) {
  const flags = groupsOf(RUN).flatMap(([name, group]) => [`.SS ${name}`, ...group.map((flag) => entry(flagText(flag), flag.help))]);
  const others = FLAGS.filter(({ commands }) => !commands.includes(RUN));
  return `${[
    `.TH OS\\-SANDBOX 1 "" "os\\-sandbox ${roff(version)}" "User Commands"`,
    ...section('Name', ['os\\-sandbox \\- runs a command in a sandbox']),
    ...section('Synopsis', [RUN, ...SUBCOMMANDS.map(({ name }) => name)].flatMap(usageLines).map((line) => `${roff(line)}\n.br`)),
    ...section('Description', roff(DESCRIPTION).split('\n\n').map((text, i) => `${i === 0 ? '' : '.PP\n'}${text}`)),
    ...section('Options', flags),
    ...section('Subcommands', SUBCOMMANDS.map(({ name, words, help }) => entry(`${name}${words && ` ${words}`}`, help))),
    '.PP',
    'explain and learn take the options of files, network and settings as well. More of theirs:',
    ...others.map((flag) => entry(flagText(flag), `${flag.commands.join(', ')}: ${flag.help}`)),
    ...section('Settings', [roff(LAYERS)]),
    ...section('Exit status', STATUSES.map(([status, text]) => entry(status, text))),
    ...section('Examples', EXAMPLES.map(([title, line]) => `.TP\n${roff(title)}:\n\\fB${roff(line)}\\fR`)),
  ].join('\n')}\n`;
}

/** @param {string} text */
const cell = (text) => text.replaceAll('|', '\\|');

/** Every option, as tables of Markdown. */
function markdownTable() {
  const rows = FLAGS.map((flag) => {
    const only = flag.commands.includes(RUN) ? '' : ` (${flag.commands.join(', ')})`;
    return `| \`${cell(flagText(flag))}\` | ${cell(flag.help)}${only} |`;
  });
  return `| option | meaning |\n|---|---|\n${rows.join('\n')}\n`;
}

module.exports = { manualPage, markdownTable };
