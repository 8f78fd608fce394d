'use strict';
// What the rows of the network have in common.

const { compileProgram } = require('./programs');
const { provideSrt } = require('./srt-install');
const { factor } = require('./table');

/** In a short bench: less of everything. @param {any} counts */
const isShort = (counts) => counts.runs < 100;

/** @param {any} scratch */
function compilePrograms(scratch) {
  return { server: compileProgram(scratch, 'network-server'), client: compileProgram(scratch, 'network-client') };
}

/** @typedef {{ label: string, way: string, subject: any }} Way */

/**
 * Direct connections, ours and, where it can be had, srt's; and the Node that all of them run on.
 * @param {any} bench
 * @param {Record<string, string>} ours label → the client's way
 * @param {Record<string, string>} theirs
 */
function chooseWays({ scratch }, ours, theirs) {
  const cwd = scratch.folder('empty');
  const list = (/** @type {Record<string, string>} */ ways, /** @type {any} */ subject) =>
    Object.entries(ways).map(([label, way]) => ({ label, way, subject }));
  /** @type {Way[]} */
  const ways = [...list({ direct: 'direct' }, { kind: 'local', cwd }), ...list(ours, { kind: 'ours', cwd })];
  try {
    const { node, entry } = provideSrt();
    return { ways: [...ways, ...list(theirs, { kind: 'srt', cwd, entry })], node };
  } catch (error) {
    return { ways, missing: /** @type {Error} */ (error).message.split('\n')[0] };
  }
}

/** @param {number} rate @param {string} unit */
const rateText = (rate, unit) => `${factor(rate)} ${unit}`;

/**
 * A row of two rates, by the times that the same amount took.
 * @param {string} what
 * @param {{ median: number, min: number }} ours milliseconds
 * @param {{ median: number, min: number }} other
 * @param {{ amount: number, unit: string }} size amount: of units per second, in one second
 * @param {string} [reach]
 */
function rateRow(what, ours, other, { amount, unit }, reach = '') {
  const both = (/** @type {{ median: number, min: number }} */ { median, min }) =>
    `${rateText((amount * 1000) / median, unit)} (${factor((amount * 1000) / min)})`;
  return { what, ours: both(ours), other: both(other), ratio: other.median / ours.median, ofMinima: other.min / ours.min, reach };
}

/** A row of rates of srt's, of which nothing is ours. @type {typeof rateRow} */
function srtRateRow(what, srt, other, size) {
  const row = rateRow(what, srt, other, size);
  return { ...row, ours: '', other: `${row.ours} to ${row.other}` };
}

module.exports = { chooseWays, compilePrograms, isShort, rateRow, srtRateRow };
