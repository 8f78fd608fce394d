'use strict';
// Every option of the command line, and every subcommand, as data: the parser, --help, the man page, the completions and
// the README's table come from here.

/**
 * @typedef {object} Flag
 * @property {string} name behind `--`
 * @property {string} [short] behind `-`
 * @property {readonly string[]} [aliases] other long names
 * @property {'switch' | 'value' | 'number' | 'list'} kind a list may be given more than once
 * @property {string} [argument] what its value is, as help calls it; absent for a switch
 * @property {boolean} [commas] whether a value is split at commas
 * @property {readonly string[]} [choices] the only values
 * @property {'file' | 'folder'} [completes] what a shell offers for its value, where that is not `choices`
 * @property {string} [option] the path of the library's option that its value becomes
 * @property {string} group a heading of the help
 * @property {readonly string[]} commands where it is known: RUN, or the name of a subcommand
 * @property {string} help
 *
 * @typedef {object} Subcommand
 * @property {string} name
 * @property {string} words what follows its options
 * @property {boolean} mixed whether options may follow its words
 * @property {'any' | 'some' | 'none'} takes how many words: `some` is at least one
 * @property {'command' | 'file' | readonly string[]} [completes]
 * @property {string} help
 */

/** The command line without a subcommand. */
const RUN = '';
const RUNS = [RUN, 'learn'];
const POLICY = [...RUNS, 'explain'];
const ALL = [...POLICY, 'doctor', 'log', 'completion'];

const COMMAND = 'Command';
const FILES = 'Files';
const NETWORK = 'Network';
const REPORTS = 'Reports';
const SETTINGS = 'Settings and limits';
const GENERAL = 'General';

/** @type {readonly Flag[]} */
const FLAGS = [
  { name: 'command', short: 'c', kind: 'value', argument: 'LINE', group: COMMAND, commands: RUNS, help: 'Run a line of shell (bash, else sh). Words that follow are its $0, $1, …' },
  { name: 'cwd', kind: 'value', argument: 'DIR', completes: 'folder', group: COMMAND, commands: POLICY, help: 'Run there. Relative paths of options and settings are relative to it. Default: the current directory' },
  { name: 'env', kind: 'list', argument: 'NAME[=VALUE]', group: COMMAND, commands: RUNS, help: 'Set a variable. NAME alone passes one that would be taken out or replaced (SSH_AUTH_SOCK, HTTPS_PROXY, …); all others pass anyway' },
  { name: 'allow-unsandboxed', kind: 'switch', group: COMMAND, commands: [RUN], help: 'Where sandboxing cannot work on this host: run the command without it, with a warning, instead of refusing' },

  { name: 'allow-read', kind: 'list', argument: 'PATH', completes: 'file', option: 'filesystem.allowRead', group: FILES, commands: POLICY, help: 'Strict reads: nothing is readable but these paths, the write roots and what programs need to start; the working directory only if it is listed, and temporary files are the invocation\'s own' },
  { name: 'deny-read', kind: 'list', argument: 'PATH', completes: 'file', option: 'filesystem.denyRead', group: FILES, commands: POLICY, help: 'Neither readable nor writable' },
  { name: 'allow-write', kind: 'list', argument: 'PATH', completes: 'file', option: 'filesystem.allowWrite', group: FILES, commands: POLICY, help: 'A write root. Default: the working directory, with strict reads if it is listed' },
  { name: 'deny-write', kind: 'list', argument: 'PATH', completes: 'file', option: 'filesystem.denyWrite', group: FILES, commands: POLICY, help: 'Not writable, also inside a write root' },
  { name: 'default-read', kind: 'value', argument: 'allow|deny', choices: ['allow', 'deny'], option: 'filesystem.defaultRead', group: FILES, commands: POLICY, help: 'deny: strict reads without --allow-read; allow: none with it, so that --allow-read ~/.ssh/known_hosts re-opens that file alone' },
  { name: 'allow-protected', kind: 'list', argument: 'NAME', option: 'filesystem.allowProtected', group: FILES, commands: POLICY, help: 'A protected name that may be written, such as .vscode/' },
  { name: 'allow-git-config', kind: 'switch', option: 'filesystem.allowGitConfig', group: FILES, commands: POLICY, help: 'The configuration of git repositories may be changed; hooks stay protected' },
  { name: 'package-cache', kind: 'switch', option: 'filesystem.packageCache', group: FILES, commands: POLICY, help: 'A private npm cache over the host\'s, which stays as it is: what npx needs' },

  { name: 'network-allowlist', aliases: ['allow-domain'], kind: 'list', argument: 'DOMAIN', commas: true, option: 'network.allowedDomains', group: NETWORK, commands: POLICY, help: 'What may be reached: example.com, *.example.com, *, each with :port or without. Default: nothing' },
  { name: 'deny-domain', kind: 'list', argument: 'DOMAIN', commas: true, option: 'network.deniedDomains', group: NETWORK, commands: POLICY, help: 'The same patterns; beats everything that allows' },
  { name: 'allow-ip', kind: 'list', argument: 'ADDRESS', commas: true, option: 'network.allowedIPs', group: NETWORK, commands: POLICY, help: 'What may be reached by address: 192.0.2.7, 192.0.2.0/24:443, [2001:db8::7]:22' },
  { name: 'allow-unix-socket', kind: 'list', argument: 'PATH', completes: 'file', option: 'network.allowUnixSockets', group: NETWORK, commands: POLICY, help: 'A unix socket of the host that may be connected to; a folder or a pattern as well' },
  { name: 'allow-local-binding', kind: 'switch', option: 'network.allowLocalBinding', group: NETWORK, commands: POLICY, help: 'A port that the command listens on is open on the host\'s 127.0.0.1, too' },
  { name: 'upstream-proxy', kind: 'value', argument: 'URL', option: 'network.upstreamProxy', group: NETWORK, commands: POLICY, help: 'The HTTP proxy that this host goes out by, or direct. Default: HTTPS_PROXY, HTTP_PROXY' },
  { name: 'max-tunnels', kind: 'number', argument: 'N', option: 'network.maxTunnels', group: NETWORK, commands: POLICY, help: 'How many connections there can be at once. Default: 1024' },
  { name: 'ask', kind: 'switch', group: NETWORK, commands: [RUN, 'explain'], help: 'Ask on the terminal about what no list decides; without a terminal it is refused' },
  { name: 'ask-timeout', kind: 'number', argument: 'SECONDS', group: NETWORK, commands: [RUN], help: 'How long a question waits, 1 to 300, before it is answered with no. Default: 60' },

  { name: 'violations', kind: 'value', argument: 'FILE|stderr|none', completes: 'file', group: REPORTS, commands: [RUN], help: 'Where refused attempts are reported: a line each on stderr (the default), lines of JSON appended to a file, or nowhere' },
  { name: 'ignore-violations', kind: 'list', argument: 'TEXT', group: REPORTS, commands: RUNS, help: 'Do not report those whose line has this text in it' },
  { name: 'monitor-reads', kind: 'switch', option: 'monitorReads', group: REPORTS, commands: RUNS, help: 'Report every refused read, at about 10 µs for each file that is opened' },

  { name: 'settings', short: 's', kind: 'value', argument: 'FILE', completes: 'file', group: SETTINGS, commands: POLICY, help: 'A file of settings, over ~/.config/os-sandbox/settings.json and below the options; ours, or one of srt\'s shape' },
  { name: 'no-home-settings', kind: 'switch', group: SETTINGS, commands: POLICY, help: 'Leave ~/.config/os-sandbox/settings.json aside' },
  { name: 'limit', kind: 'list', argument: 'NAME=VALUE', group: SETTINGS, commands: POLICY, help: 'memory=SIZE, processes=N, cpu=SECONDS, file=SIZE, open-files=N; a SIZE is bytes, or ends in K, M, G or T' },

  { name: 'profile', kind: 'value', argument: 'linux|darwin', choices: ['linux', 'darwin'], group: GENERAL, commands: ['explain'], help: 'Print the mount plan, or the macOS profile, that these options give' },
  { name: 'follow', short: 'f', kind: 'switch', group: GENERAL, commands: ['log'], help: 'Go on with what is appended, also when the file is rotated' },
  { name: 'json', kind: 'switch', group: GENERAL, commands: ['explain', 'doctor', 'log'], help: 'JSON instead of text' },
  { name: 'debug', short: 'd', kind: 'switch', group: GENERAL, commands: ALL, help: 'Tell on stderr what is done: the options as merged, what holds on this host' },
  { name: 'version', short: 'V', kind: 'switch', group: GENERAL, commands: [RUN], help: 'Print the version' },
  { name: 'help', short: 'h', kind: 'switch', group: GENERAL, commands: ALL, help: 'Print this help' },
];

/** @type {readonly Subcommand[]} */
const SUBCOMMANDS = [
  { name: 'explain', words: 'PATH|HOST[:PORT]…', mixed: true, takes: 'any', completes: 'file', help: 'Say whether something may be read, written or reached, and by which rule' },
  { name: 'learn', words: '[--] COMMAND [ARG…]', mixed: false, takes: 'any', completes: 'command', help: 'Run a command as ever, and print the settings that would have let it pass' },
  { name: 'doctor', words: '', mixed: true, takes: 'none', help: 'Say what works on this machine, and how to get what does not' },
  { name: 'log', words: 'FILE…', mixed: true, takes: 'some', completes: 'file', help: 'Show violation logs as a table; - is stdin' },
  { name: 'completion', words: 'bash|zsh|fish', mixed: true, takes: 'some', completes: ['bash', 'zsh', 'fish'], help: 'Print the completions for a shell' },
];

/** How a flag is called among the parsed ones: `--allow-read` is `allowRead`. @param {Flag} flag */
function keyOf({ name }) {
  return name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
}

/** Every long name of a flag, the usual one first. @param {Flag} flag */
function namesOf({ name, aliases = [] }) {
  return [name, ...aliases];
}

/** @param {string} command RUN, or the name of a subcommand */
function flagsOf(command) {
  return FLAGS.filter(({ commands }) => commands.includes(command));
}

module.exports = { FLAGS, RUN, SUBCOMMANDS, flagsOf, keyOf, namesOf };
