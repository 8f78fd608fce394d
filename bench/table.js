'use strict';

const HEADINGS = ['what', 'ours, median (best)', 'compared with', 'ratio', 'of the best', 'reach'];

/** @param {number} ms */
const time = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : ms >= 100 ? `${ms.toFixed(0)} ms` : `${ms.toFixed(2)} ms`);
/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
/** @param {number} ratio */
const factor = (ratio) => (ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2));

/** @param {{ median: number, min: number }} times */
const both = ({ median, min }) => `${time(median)} (${time(min)})`;

/**
 * A row of two things that were measured in turn.
 * @param {string} what
 * @param {{ median: number, min: number }} ours
 * @param {{ median: number, min: number }} other
 * @param {string} [reach]
 */
function ratioRow(what, ours, other, reach = '') {
  const ratio = ours.median / other.median;
  return { what, ours: both(ours), other: both(other), ratio, ofMinima: ours.min / other.min, reach };
}

/**
 * A row of srt's, of which nothing is ours.
 * @param {string} what
 * @param {{ median: number, min: number }} srt
 * @param {{ median: number, min: number }} other
 */
function srtRow(what, srt, other) {
  const row = ratioRow(what, srt, other);
  return { ...row, ours: '', other: `${row.ours} to ${row.other}` };
}

/** A row with a figure of its own. @param {string} what @param {string} value @param {string} [reach] @param {string} [other] */
function valueRow(what, value, reach = '', other = '') {
  return { what, ours: value, other, reach };
}

/** @param {any} row */
function cells(row) {
  if (row.missing) return [row.what, `not measured: ${row.missing}`, '', '', '', ''];
  const ratios = [row.ratio, row.ofMinima].map((ratio) => (ratio === undefined ? '' : factor(ratio)));
  return [row.what, row.ours, row.other, ...ratios, row.reach];
}

/** @param {any} host */
function headline(host) {
  return (
    `${host.date}, ${host.cores} cores, Linux ${host.kernel}, Node ${host.node}, ${host.user}, ` +
    `${host.mounts} mounts, load ${host.load} at the start`
  );
}

/** @param {string[][]} lines */
function asMarkdown(lines) {
  const line = (/** @type {string[]} */ words) => `| ${words.join(' | ')} |`;
  return [line(HEADINGS), line(HEADINGS.map(() => '---')), ...lines.map(line)].join('\n');
}

/** @param {string[][]} lines */
function asText(lines) {
  const all = [HEADINGS, ...lines];
  // A reason may be longer than any column.
  const widths = HEADINGS.map((_, i) => Math.max(...all.map((words) => (words[i].startsWith('not measured') ? 0 : words[i].length))));
  return all.map((words) => words.map((word, i) => word.padEnd(widths[i])).join('  ').trimEnd()).join('\n');
}

/** @param {'text' | 'json' | 'markdown'} format @param {any} host @param {any[]} rows */
function print(format, host, rows) {
  if (format === 'json') {
    console.log(JSON.stringify({ host, rows }, null, 2));
    return;
  }
  const lines = rows.map(cells);
  console.log(`${headline(host)}\n\n${format === 'markdown' ? asMarkdown(lines) : asText(lines)}`);
}

module.exports = { factor, megabytes, print, ratioRow, srtRow, time, valueRow };
