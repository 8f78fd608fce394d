'use strict';

const path = require('node:path');
const fs = require('node:fs');

const { explain } = require('./explain');
const { expandHome, homes } = require('./homes');
const { cautionOf } = require('./learn-cautions');
const { makePolicy } = require('./policy');

/**
 * From what a command was refused to the smallest additions to the settings that would have let it pass.
 *
 * @typedef {import('./violations').Violation} Violation
 * @typedef {import('./explain').Explanation} Explanation
 * @typedef {import('./explain').Access | import('./explain').Reach} Answer
 * @typedef {{ option: string, entry: string | true, at?: string, secret?: boolean }} Addition at: the denial that it lifts is of this folder; secret: of credentials
 * @typedef {{ target: string, what: 'read' | 'write' | 'connect' | 'reach', isName?: boolean }} Need isName: that it is there, or not, was to change
 * @typedef {{ violation: Violation, why: string }} Ungranted
 */

/** A name can be given or taken only where the folder that it is in may be written. */
const OF_NAMES = new Set(['file-write-create', 'file-write-unlink']);

/** @param {string} host @param {number} [port] */
function hostText(host, port) {
  if (port === undefined) return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** @param {string} file */
function exists(file) {
  return fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** The file itself, or the nearest folder above that is there. @param {string} file */
function nearest(file) {
  let found = file;
  while (!exists(found)) found = path.dirname(found);
  return found;
}

/** @param {Violation} violation @returns {Need | undefined} undefined: no setting is about it */
function needOf({ operation, path: file, host, port }) {
  if (operation === 'network-outbound') {
    if (host !== undefined) return { target: hostText(host, port), what: 'reach' };
    return file?.startsWith('/') ? { target: file, what: 'connect' } : undefined;
  }
  if (!file?.startsWith('/')) return undefined;
  if (operation.startsWith('file-read')) return { target: file, what: 'read' };
  if (!operation.startsWith('file-write') && operation !== 'network-bind') return undefined;
  return { target: file, what: 'write', isName: OF_NAMES.has(operation) };
}

/** What is asked about: a host that is not written as a path, a path that is. @param {Need} need @param {Explanation} explanation @returns {Answer | undefined} */
function answerTo({ what }, explanation) {
  return what === 'reach' ? /** @type {any} */ (explanation).reach : /** @type {any} */ (explanation)[what];
}

/** Below the home as people write it. @param {string} file */
function shortPath(file) {
  const { home } = homes();
  return home !== '/' && (file === home || file.startsWith(`${home}/`)) ? `~${file.slice(home.length)}` : file;
}

/** A name belongs to its folder. The root itself is nothing to grant. @param {string} file @param {boolean} isName @returns {Addition | undefined} */
function writeRoot(file, isName) {
  const root = nearest(isName ? path.dirname(file) : file);
  return root === '/' ? undefined : { option: 'filesystem.allowWrite', entry: shortPath(root) };
}

const SECRET = 'credentials, denied by default';

/** @param {import('./explain').Access} answer */
const isStrict = ({ why }) => why.endsWith('see allowRead');

/** Closed by a default, which allowRead lifts. @param {import('./explain').Access} answer @param {any} explanation @returns {Addition | undefined} */
function opened(answer, { resolved }) {
  const secret = answer.why === SECRET;
  return secret || isStrict(answer) ? { option: 'filesystem.allowRead', entry: shortPath(resolved), at: answer.at, secret } : undefined;
}

/** @type {Record<Need['what'], (answer: any, explanation: any, need: Need) => Addition | undefined>} */
const ADDITIONS = {
  read: opened,
  write: (answer, explanation, { isName = false }) => {
    const { why, at } = answer;
    // With strict reads a write root is readable.
    if (why === 'outside the write roots' || isStrict(answer)) return writeRoot(explanation.resolved, isName);
    if (why.includes('see filesystem.packageCache')) return { option: 'filesystem.packageCache', entry: true };
    if (why.endsWith('see allowGitConfig')) return { option: 'filesystem.allowGitConfig', entry: true };
    return why.endsWith('see allowProtected') && at ? { option: 'filesystem.allowProtected', entry: at } : opened(answer, explanation);
  },
  connect: (answer, explanation) =>
    answer.why.endsWith('see allowUnixSockets') ? { option: 'network.allowUnixSockets', entry: shortPath(explanation.resolved) } : opened(answer, explanation),
  reach: ({ why }, { host, port }) => {
    if (why === 'not in network.allowedIPs') return { option: 'network.allowedIPs', entry: hostText(host, port) };
    const isHostsOwn = why.startsWith('a loopback address') && port !== undefined;
    return why === 'not in network.allowedDomains' || isHostsOwn ? { option: 'network.allowedDomains', entry: hostText(host, port) } : undefined;
  },
};

/** @param {any} options @param {Addition} addition */
function withAddition(options, { option, entry }) {
  const [group, key] = option.split('.');
  const value = entry === true ? true : [...(options[group]?.[key] ?? []), entry];
  return { ...options, [group]: { ...options[group], [key]: value } };
}

/** @param {Answer | undefined} answer */
const isRefused = (answer) => answer !== undefined && answer.allowed !== true;

/** Whether what holds for the first entry holds for the other. @param {string} wide @param {string} narrow */
function covers(wide, narrow) {
  return narrow.startsWith(`${wide.replace(/\/$/, '')}/`) || (narrow.startsWith(`${wide}:`) && !wide.includes(':'));
}

/** What is denied inside of the wider folder stays so there. @param {Addition} wide @param {Addition} narrow */
function makesNeedless(wide, { option, entry, at, secret }) {
  // With strict reads a write root is readable.
  const isRoot = wide.option === 'filesystem.allowWrite' && option === 'filesystem.allowRead' && !secret;
  if (!(isRoot ? covers(String(wide.entry), `${entry}/`) : wide.option === option && covers(String(wide.entry), String(entry)))) return false;
  return at === undefined || covers(at, `${expandHome(String(wide.entry))}/`);
}

/** Without what a wider addition has. @param {Addition[]} additions */
function collapse(additions) {
  return additions.filter((addition) => !additions.some((other) => makesNeedless(other, addition)));
}

/** @param {Addition} addition */
const keyOf = ({ option, entry }) => `${option} ${entry}`;

class Learner {
  /** @type {Addition[]} */
  additions = [];
  /** @type {Map<Violation, string>} why nothing can be added for it */
  ungranted = new Map();
  #options;
  #place;
  #round = 0;

  /** @param {any} options @param {{ cwd: string }} place */
  constructor(options, place) {
    this.#options = options;
    this.#place = place;
  }

  /** One more addition for each that is still refused. @param {Violation[]} violations @returns {Promise<Violation[]>} */
  async round(violations) {
    this.#round += 1;
    const before = new Set(this.additions.map(keyOf));
    const needs = violations.map((violation) => ({ violation, need: needOf(violation) }));
    const asked = needs.filter(({ need }) => need !== undefined);
    const explanations = await explain(asked.map(({ need }) => need?.target), { ...this.#place, made: makePolicy(this.#options) });
    const open = [];
    for (const { violation, need } of needs) {
      if (need === undefined) this.#giveUp(violation);
      else if (this.#add(violation, need, /** @type {Explanation} */ (explanations.shift()), before)) open.push(violation);
    }
    return open;
  }

  /**
   * @param {Violation} violation
   * @param {Need} need
   * @param {Explanation} explanation
   * @param {Set<string>} before what was added before it was asked
   * @returns {boolean} whether it was refused, and something was added
   */
  #add(violation, need, explanation, before) {
    const answer = answerTo(need, explanation);
    if (!isRefused(answer)) {
      // What the rules allow as it is was refused for something that they do not say.
      if (this.#round === 1) this.#giveUp(violation);
      return false;
    }
    // What is not there would not have been read either.
    if (need.what === 'read' && explanation.kind === 'path' && !explanation.exists) return false;
    const addition = /** @type {Answer} */ (answer).rule === undefined ? ADDITIONS[need.what](answer, explanation, need) : undefined;
    if (addition === undefined || before.has(keyOf(addition))) {
      this.#giveUp(violation, /** @type {Answer} */ (answer));
      return false;
    }
    if (!this.additions.some((known) => keyOf(known) === keyOf(addition))) {
      this.additions.push(addition);
      this.#options = withAddition(this.#options, addition);
    }
    return true;
  }

  /** @param {Violation} violation @param {Answer} [answer] */
  #giveUp(violation, answer) {
    const { rule, why = violation.why ?? 'no setting is about it' } = answer ?? {};
    this.ungranted.set(violation, rule ? `${why}: ${rule.option}[${rule.index}] ${JSON.stringify(rule.entry)}` : why);
  }
}

/**
 * Complete lists for the keys that it touches, since an allow list of a later layer replaces the earlier one.
 * @param {any} options what held for the command
 * @param {Addition[]} additions
 */
function settingsOf(options, additions) {
  /** @type {any} */
  const settings = {};
  for (const { option, entry } of additions) {
    const [group, key] = option.split('.');
    settings[group] ??= {};
    if (entry === true) settings[group][key] = true;
    else (settings[group][key] ??= [...(options[group]?.[key] ?? [])]).push(entry);
  }
  return settings;
}

/**
 * @param {Violation[]} violations
 * @param {any} options what held for the command
 * @param {{ cwd: string }} place
 * @returns {Promise<{ settings: any, cautions: string[], ungranted: Ungranted[] }>} cautions: of what to think twice about
 */
async function learnFrom(violations, options, place) {
  const learner = new Learner(options, place);
  let open = violations;
  while (open.length > 0) open = await learner.round(open);
  const ungranted = [...learner.ungranted].map(([violation, why]) => ({ violation, why }));
  const additions = collapse(learner.additions);
  return { settings: settingsOf(options, additions), cautions: additions.flatMap((addition) => cautionOf(addition) ?? []), ungranted };
}

module.exports = { learnFrom };
