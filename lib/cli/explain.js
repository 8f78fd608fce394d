'use strict';

const fs = require('node:fs');
const path = require('node:path');

const { darwinProfile, explain, placeOf, planOf } = require('../explain');
const { makePolicy } = require('../policy');
const { shellQuoteArg } = require('../shell');
const { UsageError } = require('./errors');
const { SANDBOX } = require('./exit-codes');
const { printable } = require('./printable');

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

/** Names of files look like those of hosts. @param {string} target @param {string} cwd */
function noteOfFile(target, cwd) {
  return fs.existsSync(path.join(cwd, target)) ? ` (as a host; the file is ./${target})` : '';
}

/** @param {import('../explain').Explanation} explanation @param {string} cwd */
function block(explanation, cwd) {
  if (explanation.kind === 'host') {
    const { target, reach } = explanation;
    return [printable(`${target}${noteOfFile(target, cwd)}`), line('reach', /** @type {any} */ (reach))];
  }
  const { target, path: asked, resolved = asked, exists, read, write, connect } = explanation;
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
    '# as arguments; inside the network of the sandbox, and with empty files at the descriptors of --ro-bind-data',
    `bwrap ${words.map((word) => printable(shellQuoteArg(word))).join(' ')}`,
  ];
}

/** @param {import('../explain').Asked} asked @param {(text: string) => void} warn */
async function planText(asked, warn) {
  const { warnings, ...plan } = await planOf(asked);
  for (const warning of warnings) warn(warning);
  return planLines(plan).join('\n');
}

/** @param {import('../explain').Asked} asked @param {{ profile?: string, json?: boolean }} flags @param {string[]} words @param {(text: string) => void} warn */
async function answer(asked, { profile: platform, json = false }, words, warn) {
  if (platform === 'linux') return planText(asked, warn);
  if (platform === 'darwin') return darwinProfile(asked).trimEnd();
  const explanations = await explain(words, asked);
  return json ? JSON.stringify(explanations, undefined, 2) : explanations.map((one) => block(one, asked.cwd).join('\n')).join('\n\n');
}

/**
 * explain PATH|HOST[:PORT]…, explain --profile linux|darwin. Nothing is started and nothing asked of the network.
 * @param {{ flags: any, words: string[], options: any, warnings: string[], cwd?: string, stdout: { write(text: string): unknown }, stderr: { write(text: string): unknown } }} request
 * @returns {Promise<number>} 0: everything was answered, whatever the answers are
 */
async function main({ flags, words, options, warnings, cwd = flags.cwd ?? process.cwd(), stdout, stderr }) {
  if (flags.profile !== undefined && words.length > 0) throw new UsageError('explain: expected either --profile or targets');
  const say = (/** @type {string} */ text) => stderr.write(`os-sandbox: ${text}\n`);
  const warn = (/** @type {string} */ text) => say(`warning: ${printable(text)}`);
  const network = flags.ask ? { ...options.network, onAskHost: async () => false } : options.network;
  const asked = { made: makePolicy({ ...options, network }), ...placeOf({ cwd }) };
  warnings.forEach(warn);
  try {
    stdout.write(`${await answer(asked, flags, words, warn)}\n`);
    return 0;
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('explain: ')) throw new UsageError(error.message);
    if (error.code !== 'ERR_OS_SANDBOX') throw error;
    say(error.message.replace(/^os-sandbox: /, ''));
    return SANDBOX;
  }
}

module.exports = { main };
