'use strict';

const { Listeners } = require('./listeners');

/** For a name that nobody else takes, which need be no secret: node:crypto takes a command line too long to load. */
const randomWord = () => Math.floor(Math.random() * 2 ** 32).toString(16).padStart(8, '0');

/** How many of the latest events are kept. */
const KEPT = 1000;

/**
 * @typedef {object} Violation
 * @property {'violation'} type
 * @property {string} operation
 * @property {string} [path]
 * @property {string} [host]
 * @property {number} [port]
 * @property {string} [why]
 * @property {number} pid
 * @property {string} process
 * @property {string} run
 * @property {string} timestamp
 *
 * @typedef {Omit<Violation, 'type' | 'run' | 'timestamp'> & { time: number }} ToldViolation as the addon tells it
 *
 * @typedef {object} Entry
 * @property {Readonly<Violation>} event
 * @property {number} count how often it happened in its run, as far as that is known
 * @property {{ events: number, attempts: number, dropped: number }} totals where it was counted
 */

/** @param {string} run @param {ToldViolation} told @returns {Readonly<Violation>} */
function makeEvent(run, { operation, path, host, port, why, pid, process, time }) {
  /** @type {any} */
  const event = { type: 'violation', operation };
  if (path !== undefined) event.path = path;
  if (host !== undefined) event.host = host;
  if (port !== undefined) event.port = port;
  if (why !== undefined) event.why = why;
  return Object.freeze(Object.assign(event, { pid, process, run, timestamp: new Date(time).toISOString() }));
}

const noTotals = () => ({ events: 0, attempts: 0, dropped: 0 });

/** What the commands of one sandbox were refused. */
class Violations {
  listeners = new Listeners('violation listener');
  #log;
  /** Runs of all sandboxes of all threads have different names. */
  #id = `${randomWord()}${randomWord()}`;
  #runs = 0;
  /** @type {Entry[]} */
  #latest = [];
  #totals = noTotals();

  /** @param {{ append(record: object): void }} [log] gets every event */
  constructor(log) {
    this.#log = log;
  }

  /** Where a run's violations go. */
  startRun() {
    return this.#collect(`${this.#id}-${(this.#runs += 1)}`);
  }

  /** Where those go of which nobody knows the run: it ends with the sandbox. */
  startUnattributed() {
    return this.#collect(this.#id);
  }

  /** @param {string} run */
  #collect(run) {
    /** @type {Map<number, Entry>} */
    const entries = new Map();
    return {
      /** One that this run has not had before. @param {number} id the run's own for it @param {ToldViolation} told */
      report: (id, told) => {
        const entry = { event: makeEvent(run, told), count: 1, totals: this.#totals };
        entries.set(id, entry);
        this.#add(entry);
      },
      /** @param {number[]} counts id, count, id, count, … of those that came more than once @param {number} dropped */
      end: (counts, dropped) => {
        for (let i = 0; i < counts.length; i += 2) this.#repeat(entries.get(counts[i]), counts[i + 1]);
        if (dropped > 0) this.#drop(run, dropped);
      },
    };
  }

  /** @param {Entry} entry */
  #add(entry) {
    this.#latest.push(entry);
    if (this.#latest.length > KEPT) this.#latest.shift();
    this.#totals.events += 1;
    this.#totals.attempts += 1;
    this.#log?.append(entry.event);
    this.listeners.emit(entry.event);
  }

  /** @param {Entry | undefined} entry undefined: one that is not reported @param {number} count */
  #repeat(entry, count) {
    if (!entry) return;
    entry.totals.attempts += count - entry.count;
    entry.count = count;
    this.#log?.append({ ...entry.event, type: 'count', count });
  }

  /** @param {string} run @param {number} count */
  #drop(run, count) {
    this.#totals.attempts += count;
    this.#totals.dropped += count;
    this.#log?.append({ type: 'dropped', run, count, timestamp: new Date().toISOString() });
  }

  /** What a user of the sandbox sees of it. */
  view() {
    const violations = this;
    return Object.freeze({
      list: () => violations.#latest.map(({ event, count }) => Object.freeze({ ...event, count })),
      get counts() {
        return Object.freeze({ ...violations.#totals });
      },
      clear: () => {
        violations.#latest = [];
        violations.#totals = noTotals();
      },
    });
  }
}

module.exports = { Violations };
