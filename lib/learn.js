'use strict';

const path = require('node:path');
const fs = require('node:fs');

const { explain } = require('./explain');
const { homes } = require('./homes');
const { makePolicy } = require('./policy');

/**
 * From what a command was refused to the smallest additions to the settings that would have let it pass.
 *
 * @typedef {import('./violations').Violation} Violation
 * @typedef {import('./explain').Explanation} Explanation
 * @typedef {import('./explain').Access | import('./explain').Reach} Answer
 * @typedef {{ option: string, entry: string | true }} Addition
 * @typedef {{ target: string, what: 'read' | 'write' | 'connect' | 'reach', isName?: boolean }} Need isName: that it is there, or not, was to change
 * @typedef {{ violation: Violation, why: string }} Ungranted
 */

/** An addition can be in the way of nothing but the next denial behind it. */
const ROUNDS = 4;

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
  return home !== '/' && file.startsWith(`${home}/`) ? `~${file.slice(home.length)}` : file;
}

/** A name belongs to its folder. The root itself is nothing to grant. @param {string} file @param {boolean} isName @returns {Addition | undefined} */
function writeRoot(file, isName) {
  const root = nearest(isName ? path.dirname(file) : file);
  return root === '/' ? undefined : { option: 'filesystem.allowWrite', entry: shortPath(root) };
}

/** @type {Record<Need['what'], (answer: any, explanation: any, need: Need) => Addition | undefined>} */
const ADDITIONS = {
  read: ({ why }, { resolved }) => (opensReading(why) ? { option: 'filesystem.allowRead', entry: shortPath(resolved) } : undefined),
  write: ({ why, at }, { resolved }, { isName = false }) => {
    if (opensReading(why)) return { option: 'filesystem.allowRead', entry: shortPath(resolved) };
    if (why === 'outside the write roots') return writeRoot(resolved, isName);
    if (why.includes('see filesystem.packageCache')) return { option: 'filesystem.packageCache', entry: true };
    if (why.endsWith('see allowGitConfig')) return { option: 'filesystem.allowGitConfig', entry: true };
    return why.endsWith('see allowProtected') && at ? { option: 'filesystem.allowProtected', entry: at } : undefined;
  },
  connect: ({ why }, { resolved }) => {
    if (why.endsWith('see allowUnixSockets')) return { option: 'network.allowUnixSockets', entry: shortPath(resolved) };
    return opensReading(why) ? { option: 'filesystem.allowRead', entry: shortPath(resolved) } : undefined;
  },
  reach: ({ why }, { host, port }) => {
    if (why === 'not in network.allowedIPs') return { option: 'network.allowedIPs', entry: hostText(host, port) };
    const isHostsOwn = why.startsWith('a loopback address') && port !== undefined;
    return why === 'not in network.allowedDomains' || isHostsOwn ? { option: 'network.allowedDomains', entry: hostText(host, port) } : undefined;
  },
};

/** Closed by a default, which allowRead lifts. @param {string} why */
function opensReading(why) {
  return why === 'credentials, denied by default' || why.endsWith('see allowRead');
}

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
  return narrow !== wide && (narrow.startsWith(`${wide.replace(/\/$/, '')}/`) || (narrow.startsWith(`${wide}:`) && !wide.includes(':')));
}

/** Without what a wider addition has. @param {Addition[]} additions */
function collapse(additions) {
  return additions.filter(({ option, entry }) => !additions.some((other) => other.option === option && covers(String(other.entry), String(entry))));
}

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
    const needs = violations.map((violation) => ({ violation, need: needOf(violation) }));
    const asked = needs.filter(({ need }) => need !== undefined);
    const explanations = await explain(asked.map(({ need }) => need?.target), { ...this.#place, made: makePolicy(this.#options) });
    const open = [];
    for (const { violation, need } of needs) {
      if (need === undefined) this.#giveUp(violation);
      else if (this.#add(violation, need, explanations[asked.findIndex((one) => one.need === need)])) open.push(violation);
    }
    return open;
  }

  /** @param {Violation} violation @param {Need} need @param {Explanation} explanation @returns {boolean} whether it was refused, and something was added */
  #add(violation, need, explanation) {
    const answer = answerTo(need, explanation);
    if (!isRefused(answer)) {
      // What the rules allow as it is was refused for something that they do not say.
      if (this.#round === 1) this.#giveUp(violation);
      return false;
    }
    // What is not there would not have been read either.
    if (need.what === 'read' && explanation.kind === 'path' && !explanation.exists) return false;
    const addition = /** @type {Answer} */ (answer).rule === undefined ? ADDITIONS[need.what](answer, explanation, need) : undefined;
    if (addition === undefined) {
      this.#giveUp(violation, /** @type {Answer} */ (answer));
      return false;
    }
    const known = this.additions.some(({ option, entry }) => option === addition.option && entry === addition.entry);
    if (!known) {
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
  for (const { option, entry } of collapse(additions)) {
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
 * @returns {Promise<{ settings: any, ungranted: Ungranted[] }>}
 */
async function learnFrom(violations, options, place) {
  const learner = new Learner(options, place);
  let open = violations;
  for (let round = 0; open.length > 0 && round < ROUNDS; round += 1) open = await learner.round(open);
  const ungranted = [...learner.ungranted].map(([violation, why]) => ({ violation, why }));
  return { settings: settingsOf(options, learner.additions), ungranted };
}

module.exports = { learnFrom };
