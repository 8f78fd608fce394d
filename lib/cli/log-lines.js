'use strict';
// Lines of violation logs, and what they come to.

const { StringDecoder } = require('node:string_decoder');

/** A longer line is none of a violation log, and is not kept. */
const LINE_MAX = 2 ** 20;

/** @typedef {Omit<import('../violations').Violation, 'type'> & { type: string, count?: number }} LogLine */

/** Splits what comes in pieces into lines. */
class LineSplitter {
  #decoder = new StringDecoder('utf8');
  #partial = '';
  #tooLong = false;

  /** @param {Buffer} chunk @returns {string[]} the lines that it completes */
  push(chunk) {
    const [first, ...rest] = this.#decoder.write(chunk).split('\n');
    if (rest.length === 0) {
      this.#keep(first);
      return [];
    }
    const lines = [this.#tooLong ? ' ' : this.#partial + first, ...rest];
    this.#partial = '';
    this.#tooLong = false;
    this.#keep(/** @type {string} */ (lines.pop()));
    return lines;
  }

  /** What is left without an end of line. @returns {string[]} */
  end() {
    const rest = this.#partial + this.#decoder.end();
    this.#partial = '';
    return rest === '' ? [] : [rest];
  }

  /** @param {string} text */
  #keep(text) {
    this.#tooLong ||= this.#partial.length + text.length > LINE_MAX;
    this.#partial = this.#tooLong ? ' ' : this.#partial + text;
  }
}

const isText = (value) => typeof value === 'string';
const isTextOrNone = (value) => value === undefined || isText(value);
const isCount = (value) => Number.isSafeInteger(value) && value > 0;

/** @param {any} line */
function isLogLine(line) {
  if (typeof line !== 'object' || line === null || !isText(line.timestamp) || Number.isNaN(Date.parse(line.timestamp))) return false;
  if (line.type === 'dropped') return isCount(line.count);
  const counts = line.type === 'violation' || (line.type === 'count' && isCount(line.count));
  const hasTarget = [line.path, line.host, line.why].every(isTextOrNone) && (line.port === undefined || Number.isInteger(line.port));
  return counts && isText(line.operation) && isText(line.process) && isText(line.run) && hasTarget;
}

/** @param {string} text @returns {LogLine | undefined} undefined: no line of a violation log */
function parseLine(text) {
  try {
    const line = JSON.parse(text);
    return isLogLine(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @typedef {object} Group attempts of one operation on one target that were refused for one reason
 * @property {string} operation
 * @property {string} [path]
 * @property {string} [host]
 * @property {number} [port]
 * @property {string} [why]
 * @property {number} count
 * @property {string} first time
 * @property {string} last time
 * @property {Set<string>} processes
 */

/** What lines come to, grouped and counted. */
class LogSummary {
  /** @type {Map<string, Group>} */
  #groups = new Map();
  /** What was counted of a group in one run: a later line tells how many there were in all. @type {Map<string, number>} */
  #counted = new Map();
  /** Attempts that no line tells of. */
  dropped = 0;
  malformed = 0;

  /** @param {string} text */
  add(text) {
    if (text === '') return;
    const line = parseLine(text);
    if (!line) this.malformed += 1;
    else if (line.type === 'dropped') this.dropped += /** @type {number} */ (line.count);
    else this.#addTo(this.#groupOf(line), line);
  }

  /** @param {LogLine} line */
  #groupOf({ operation, path, host, port, why, timestamp }) {
    const key = JSON.stringify([operation, path, host, port, why]);
    let group = this.#groups.get(key);
    if (!group) {
      group = { operation, path, host, port, why, count: 0, first: timestamp, last: timestamp, processes: new Set() };
      this.#groups.set(key, group);
    }
    return { key, group };
  }

  /** @param {{ key: string, group: Group }} found @param {LogLine} line */
  #addTo({ key, group }, line) {
    const inRun = JSON.stringify([line.run, key]);
    const before = this.#counted.get(inRun) ?? 0;
    const now = line.type === 'count' ? Math.max(before, /** @type {number} */ (line.count)) : Math.max(before, 1);
    this.#counted.set(inRun, now);
    group.count += now - before;
    if (line.timestamp < group.first) group.first = line.timestamp;
    if (line.timestamp > group.last) group.last = line.timestamp;
    if (line.process !== '') group.processes.add(line.process);
  }

  /** What happened most first, of the same what came first. */
  groups() {
    return [...this.#groups.values()].sort((a, b) => b.count - a.count || (a.first < b.first ? -1 : 1));
  }
}

module.exports = { LineSplitter, LogSummary, parseLine };
