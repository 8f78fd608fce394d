'use strict';

const { compileProgram } = require('../programs');
const { megabytes, ratioRow, valueRow } = require('../table');

const MILLION = 1_000_000;
/** In a short bench: a tenth of it. */
const FEW = 100_000;
const SHORT_MS = 30_000;

/** @param {string} what @param {{ median: number }} times @param {number} count @param {string} [reach] */
function perDenial(what, { median }, count, reach) {
  return valueRow(what, `${((median * 1000) / count).toFixed(1)} µs`, reach);
}

/** What refusals cost: reported, ignored, and in bwrap alone. */
async function measure({ counts, scratch, runJob }) {
  const count = counts.capMs < SHORT_MS ? FEW : MILLION;
  const program = compileProgram(scratch, 'monitor');
  const cwd = scratch.folder('denials');
  const refused = scratch.folder('refused');
  const subjects = [
    { kind: 'ours', cwd },
    { kind: 'ours', cwd, options: { ignoreViolations: { '*': ['deny '] } } },
    { kind: 'bwrap-same', cwd },
  ];
  const rows = [];
  for (const [mode, names] of [['refused', 'distinct names'], ['same', 'one name']]) {
    const argv = [program, mode, refused, String(count)];
    const job = { subjects, argv, printed: true, counts: { runs: 3, warmup: 0, capMs: counts.capMs } };
    const { times, memory } = await runJob('monitor', job, { home: scratch.emptyHome() });
    const what = `${count} denials, ${names}`;
    rows.push(
      ratioRow(`${what}: reported ÷ ignored`, times[0], times[1]),
      ratioRow(`${what}: reported ÷ bwrap alone`, times[0], times[2]),
      perDenial(`one denial, ${names}, reported`, times[0], count, '≤ 50 µs'),
      valueRow(`memory of host process and helpers, ${names}`, megabytes(memory.most), '', `${megabytes(memory.before)} before`),
    );
  }
  return rows;
}

module.exports = { measure };
