'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { expandHome, homes } = require('./homes');
const { machinePlace } = require('./machine-place');
const { loadNative } = require('./native');
const { encodeList, sandboxError } = require('./session');

/**
 * @typedef {{ option: string, index: number, entry: string }} Rule
 * @typedef {{ allowed: boolean, why: string, rule?: Rule, at?: string }} Access
 * @typedef {{ allowed: boolean | 'ask', why: string, rule?: Rule, ports?: number[], exceptPorts?: number[] }} Reach
 * @typedef {{ target: string, kind: 'path', path: string, resolved?: string, exists: boolean, read: Access, write: Access, connect?: Access }
 *   | { target: string, kind: 'host', host: string, port?: number, reach: Reach }} Explanation
 *
 * @typedef {{ kind: 'path' | 'host', target: string, text: string }} Question
 *
 * @typedef {object} Asked what the question is about, besides the targets
 * @property {import('./policy').MadePolicy} made
 * @property {string} cwd absolute
 * @property {readonly string[]} [additionalDirs] absolute
 * @property {boolean} [supervised] whether names are held on this host; default: they are
 * @property {boolean} [network] whether commands have any; default: they have
 */

const OFF = 'nothing is sandboxed';
const URL_PORTS = { 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443, 'ssh:': 22, 'git:': 9418, 'ftp:': 21 };
const ADDRESS_CHECKED = 'the address that it leads to is checked when it is connected to';
const OWN_LOCALHOST = 'inside, localhost is the sandbox’s own';

/** @param {string} target @returns {Question} */
function questionOf(target) {
  if (typeof target !== 'string' || target === '' || target.includes('\0') || !target.isWellFormed()) {
    throw new TypeError('explain: expected paths and hosts as non-empty strings without NUL');
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(target) && URL.canParse(target)) {
    const { protocol, hostname, port } = new URL(target);
    const wanted = port || URL_PORTS[protocol];
    return { kind: 'host', target, text: wanted ? `${hostname}:${wanted}` : hostname };
  }
  const isPath = target.includes('/') || /^[~.]/.test(target);
  return { kind: isPath ? 'path' : 'host', target, text: target };
}

/** @param {unknown} targets */
function questionsOf(targets) {
  return (Array.isArray(targets) ? Array.from(targets) : [targets]).map(questionOf);
}

/** Where it is asked, as the addon takes it. @param {Asked} asked */
function placeFields({ cwd, additionalDirs = [] }) {
  return {
    ...homes(),
    tmpdir: os.tmpdir(),
    cwd,
    searchPath: process.env.PATH ?? '',
    environment: encodeList(Object.entries(process.env).map(([name, value]) => `${name}=${value}`)),
    additionalDirs: encodeList(additionalDirs),
  };
}

/**
 * The addon's answer.
 * @param {Asked} asked
 * @param {{ paths?: string[], hosts?: string[], plan?: boolean }} request
 */
async function ask(asked, { paths = [], hosts = [], plan = false }) {
  const { made, supervised = true } = asked;
  const request = { ...placeFields(asked), supervised, paths: encodeList(paths), hosts: encodeList(hosts), plan };
  const text = await loadNative().addon.explain(made.handle, request).catch((/** @type {Error} */ { message }) => {
    throw sandboxError(message);
  });
  return JSON.parse(text);
}

/**
 * The option's entry that decided.
 * @param {any} options the document
 * @param {string} group
 * @param {{ list?: string, entry?: number }} told
 * @returns {Rule | undefined}
 */
function ruleOf(options, group, { list, entry = 0 }) {
  if (list === undefined || list === 'additionalDirs') return undefined;
  if (list === 'allowUnixSockets') group = 'network';
  const entries = options[group]?.[list] ?? [];
  // The log is denied behind all that denyWrite has.
  if (entry >= entries.length) return { option: 'violationLog', index: 0, entry: options.violationLog };
  return { option: `${group}.${list}`, index: entry, entry: entries[entry] };
}

/** @param {any} options @param {string} group @param {any} told @returns {Access} */
function accessOf(options, group, told) {
  const rule = ruleOf(options, group, told);
  return { allowed: told.allowed, why: told.why, ...(rule && { rule }), ...(told.at !== undefined && { at: told.at }) };
}

/** @param {Question} question @param {any} told @param {any} options @returns {Explanation} */
function pathExplanation({ target }, told, options) {
  const { path: asked, resolved, exists, read, write, connect } = told;
  return {
    target,
    kind: 'path',
    path: path.normalize(asked),
    ...(resolved !== undefined && { resolved }),
    exists,
    read: accessOf(options, 'filesystem', read),
    write: accessOf(options, 'filesystem', write),
    ...(connect && { connect: accessOf(options, 'network', connect) }),
  };
}

/** @param {any} told */
function whyOfHost({ verdict, why, list, isAddress, isLocal }) {
  if (verdict === 'ask') return 'onAskHost is asked';
  if (verdict === 'deny') return isLocal && list === undefined ? `${why}: ${OWN_LOCALHOST}` : why;
  const allowed = list === undefined ? 'allowed by a name of the hosts file' : `allowed by ${list}`;
  return isAddress || isLocal ? allowed : `${allowed}; ${ADDRESS_CHECKED}`;
}

/** @param {Question} question @param {any} told @param {any} options @param {boolean} network @returns {Explanation} */
function hostExplanation({ target }, told, options, network) {
  if (told === null) throw new TypeError(`explain: ${JSON.stringify(target)} is no host: expected HOST or HOST:PORT, in ASCII (a path has a / in it)`);
  const { host, port, verdict, ports, exceptPorts } = told;
  const place = { target, kind: /** @type {const} */ ('host'), host, ...(port !== undefined && { port }) };
  if (!network) return { ...place, reach: { allowed: false, why: 'commands have no network on this host' } };
  const rule = ruleOf(options, 'network', told);
  const allowed = verdict === 'ask' ? verdict : verdict === 'allow';
  return { ...place, reach: { allowed, why: whyOfHost(told), ...(rule && { rule }), ...(ports && { ports }), ...(exceptPorts && { exceptPorts }) } };
}

/**
 * @param {unknown} targets a path or a host, or several
 * @param {Asked} asked
 * @returns {Promise<Explanation[]>} in their order
 */
async function explain(targets, asked) {
  const questions = questionsOf(targets);
  const texts = (kind) => questions.filter((question) => question.kind === kind).map(({ text }) => text);
  const told = await ask(asked, { paths: texts('path'), hosts: texts('host') });
  const options = JSON.parse(asked.made.document);
  return questions.map((question) => (question.kind === 'path'
    ? pathExplanation(question, told.paths.shift(), options)
    : hostExplanation(question, told.hosts.shift(), options, asked.network ?? true)));
}

/** @param {Question} question @param {string} cwd @returns {Promise<Explanation>} */
async function explainOff({ kind, target, text }, cwd) {
  const free = { allowed: true, why: OFF };
  if (kind === 'host') return { target, kind, host: text, reach: { ...free } };
  const below = path.resolve(cwd, expandHome(text));
  const exists = await fs.promises.stat(below).then(() => true, () => false);
  return { target, kind, path: below, exists, read: { ...free }, write: { ...free } };
}

/**
 * Where there is no sandbox.
 * @param {unknown} targets
 * @param {{ cwd: string }} place
 */
async function explainUnsandboxed(targets, { cwd }) {
  return Promise.all(questionsOf(targets).map((question) => explainOff(question, cwd)));
}

/** @param {any} [where] as a machine's @returns {{ cwd: string, additionalDirs: string[] }} absolute */
function placeOf(where) {
  const { cwd, additionalDirs } = machinePlace(where);
  const base = path.resolve(cwd);
  return { cwd: base, additionalDirs: additionalDirs.map((dir) => path.resolve(base, dir)) };
}

/** What is mounted on Linux. @param {Asked} asked */
async function planOf(asked) {
  const { plan, warnings } = await ask(asked, { plan: true });
  return { ...plan, warnings };
}

/** A profile without one has no network. */
const EXAMPLE_PORT = 3128;

/** The profile of a macOS sandbox, with this machine's paths. @param {Asked} asked @returns {string} */
function darwinProfile(asked) {
  const place = { ...placeFields(asked), proxyPort: EXAMPLE_PORT };
  try {
    const note = `; ${EXAMPLE_PORT} stands for the port of the sandbox's proxy`;
    return `${note}\n${loadNative().addon.profileDarwin(asked.made.handle, place)}`;
  } catch (error) {
    throw sandboxError(/** @type {Error} */ (error).message);
  }
}

module.exports = { darwinProfile, explain, explainUnsandboxed, placeOf, planOf };
