'use strict';

const { chooseWays, compilePrograms, isShort, rateRow, srtRateRow } = require('../network-rows');
const { valueRow } = require('../table');

const REQUESTS = 2000;
const FEW_REQUESTS = 500;
const COUNTS = { runs: 7, warmup: 1, capMs: 120_000 };
const SHORT_COUNTS = { runs: 3, warmup: 1, capMs: 30_000 };
const WAYS = { CONNECT: 'connect', HTTP: 'http' };
const REACH_OF_SRT = '≥ 10';
/** What one request may take more than a direct one. */
const REACH_ADDED = { median: '≤ 150 µs', p99: '≤ 1 ms' };
const IN_PARALLEL = [
  { parallel: 1, text: 'one at a time' },
  { parallel: 16, text: 'sixteen at a time' },
];

/** @typedef {{ median: number, min: number, max: number }} Summary */
/** @typedef {{ took: Summary, median: Summary, p99: Summary }} Result of the client, round by round */

/** @param {number} us */
const added = (us) => `${us < 0 ? '' : '+'}${Math.abs(us) >= 1000 ? `${(us / 1000).toFixed(2)} ms` : `${us.toFixed(0)} µs`}`;

/**
 * What a request costs more than a direct one.
 * @param {string} label @param {Result} result @param {Result} direct @param {Result} [srt]
 */
function addedRows(label, result, direct, srt) {
  return /** @type {const} */ (['median', 'p99']).map((which) =>
    valueRow(
      `added to a request, ${label}, one at a time, ${which}`,
      added(result[which].median - direct[which].median),
      REACH_ADDED[which],
      srt ? `srt: ${added(srt[which].median - direct[which].median)}` : ''
    )
  );
}

/**
 * @param {any} bench
 * @param {ReturnType<typeof chooseWays>} choice
 * @param {{ server: string, client: string }} programs
 * @param {{ parallel: number, text: string }} how
 */
async function measureParallel({ counts, scratch, runJob }, { ways, node }, programs, { parallel, text }) {
  const requests = isShort(counts) ? FEW_REQUESTS : REQUESTS;
  const action = ['requests', String(requests), String(parallel)];
  const job = { programs, ways, action, counts: isShort(counts) ? SHORT_COUNTS : COUNTS };
  const printed = await runJob('network', job, { home: scratch.emptyHome(), node });
  /** @type {Result[]} */
  const results = printed.map(([took, median, p99]) => ({ took, median, p99 }));
  const size = { amount: requests, unit: '/s' };
  const rows = [];
  for (const [i, { label, subject }] of ways.entries()) {
    if (subject.kind === 'local') continue;
    const what = `new connections and requests, ${label}, ${text}`;
    const row = subject.kind === 'srt' ? srtRateRow : rateRow;
    rows.push(row(`${subject.kind === 'srt' ? 'srt: ' : ''}${what} ÷ direct`, results[i].took, results[0].took, size));
    if (subject.kind === 'srt') continue;
    const other = ways.findIndex((way) => way.subject.kind === 'srt' && way.label === label);
    if (other >= 0) rows.push(rateRow(`${what} ÷ srt`, results[i].took, results[other].took, size, REACH_OF_SRT));
    if (parallel === 1) rows.push(...addedRows(label, results[i], results[0], results[other]));
  }
  return rows;
}

/** Small requests, each on a connection of its own. */
async function measure(bench) {
  const choice = chooseWays(bench, { ...WAYS, transparent: 'direct' }, WAYS);
  const programs = compilePrograms(bench.scratch);
  const rows = [];
  for (const how of IN_PARALLEL) rows.push(...(await measureParallel(bench, choice, programs, how)));
  return choice.missing ? [...rows, { what: 'srt: new connections and requests', missing: choice.missing }] : rows;
}

module.exports = { measure };
