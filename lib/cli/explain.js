'use strict';

const os = require('node:os');

const { explain, placeOf, planOf } = require('../explain');
const { homes } = require('../homes');
const { loadNative } = require('../native');
const { makePolicy } = require('../policy');
const { shellQuoteArg } = require('../shell');
const { UsageError } = require('./errors');
const { printable } = require('./printable');

const PROFILES = ['linux', 'darwin'];
const KIND_WIDTH = 'hidden but below'.length;

/** @param {import('../explain').Rule} rule */
function ruleText({ option, index, entry }) {
  return option === 'violationLog' ? `violationLog ${JSON.stringify(entry)}` : `${option}[${index}] ${JSON.stringify(entry)}`;
}

/** @param {string} what @param {import('../explain').Access & { ports?: number[], exceptPorts?: number[] }} access */
function line(what, { allowed, why, rule, at, ports, exceptPorts }) {
  const notes = [];
  if (ports) notes.push(`at ${ports.join(', ')} only`);
  if (exceptPorts) notes.push(`but not at ${exceptPorts.join(', ')}`);
  notes.push(why);
  const by = rule ? `, ${ruleText(rule)}` : at === undefined ? '' : `, ${at}`;
  return `  ${what.padEnd(8)}${(allowed === true ? 'yes' : allowed === false ? 'no' : 'asks').padEnd(5)}${printable(notes.join(': ') + by)}`;
}

/** @param {import('../explain').Explanation} explanation */
function block(explanation) {
  if (explanation.kind === 'host') return [printable(explanation.target), line('reach', /** @type {any} */ (explanation.reach))];
  const { target, path, resolved = path, exists, read, write, connect } = explanation;
  const leads = resolved === target ? '' : ` → ${resolved}`;
  const lines = [printable(`${target}${leads}${exists ? '' : ' (not there)'}`), line('read', read), line('write', write)];
  if (connect) lines.push(line('connect', connect));
  return lines;
}

/** @param {any} plan */
function planLines({ rootWritable, mounts, names, arguments: words }) {
  const rows = [{ kind: rootWritable ? 'writable' : 'read-only', path: '/' }, ...mounts];
  return [
    '# mounts, outermost first',
    ...rows.map(({ kind, path }) => printable(`${kind.padEnd(KIND_WIDTH)}  ${path}`)),
    '# denied by name as well, whether it is there or not',
    ...names.map(({ read, glob, path }) => printable(`${(read ? 'no reading' : 'no writing').padEnd(KIND_WIDTH)}  ${path}${glob ? ' (a pattern)' : ''}`)),
    '# as arguments',
    `bwrap ${words.map((word) => printable(shellQuoteArg(word))).join(' ')}`,
  ];
}

/**
 * @param {'linux' | 'darwin'} platform
 * @param {import('../explain').Asked} asked
 * @param {boolean} json
 */
async function profile(platform, asked, json) {
  if (platform === 'linux') {
    const plan = await planOf(asked);
    return json ? JSON.stringify(plan, undefined, 2) : planLines(plan).join('\n');
  }
  const { cwd, additionalDirs = [] } = asked;
  const place = { ...homes(), cwd, tmpdir: os.tmpdir(), additionalDirs: additionalDirs.map((dir) => `${dir}\0`).join('') };
  const text = loadNative().addon.profileDarwin(asked.made.handle, place);
  return json ? JSON.stringify({ profile: text }) : text.trimEnd();
}

/**
 * explain PATH|HOST[:PORT]…, explain --profile linux|darwin. Nothing is started and nothing asked of the network.
 * @param {{ flags: any, words: string[], options: any, cwd?: string, stdout: { write(text: string): unknown } }} request
 * @returns {Promise<number>} 0: everything was answered, whatever the answers are
 */
async function main({ flags, words, options, cwd = flags.cwd ?? process.cwd(), stdout }) {
  const { profile: platform, json = false } = flags;
  if (platform !== undefined && !PROFILES.includes(platform)) throw new UsageError(`--profile: expected linux or darwin, found ${JSON.stringify(platform)}`);
  if (platform !== undefined && words.length > 0) throw new UsageError('explain: expected either --profile or targets');
  if (platform === undefined && words.length === 0) throw new UsageError('explain: expected PATH or HOST[:PORT]');
  const network = flags.ask ? { ...options.network, onAskHost: async () => false } : options.network;
  const asked = { made: makePolicy({ ...options, network }), ...placeOf({ cwd }) };
  if (platform !== undefined) {
    stdout.write(`${await profile(platform, asked, json)}\n`);
    return 0;
  }
  const explanations = await explain(words, asked).catch((error) => {
    throw error instanceof TypeError ? new UsageError(error.message) : error;
  });
  stdout.write(json ? `${JSON.stringify(explanations, undefined, 2)}\n` : `${explanations.map((one) => block(one).join('\n')).join('\n\n')}\n`);
  return 0;
}

module.exports = { main };
