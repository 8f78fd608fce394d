'use strict';

const { chooseWays, compilePrograms, isShort, rateRow, srtRateRow } = require('../network-rows');

const BYTES = 2 ** 30;
const FEW_BYTES = 2 ** 28;
const COUNTS = { runs: 7, warmup: 1, capMs: 120_000 };
const SHORT_COUNTS = { runs: 3, warmup: 1, capMs: 30_000 };
const REACH = '≥ 0.4';
const WAYS = { CONNECT: 'connect', SOCKS: 'socks', HTTP: 'http' };

/** One download, by every way that leads out of a sandbox. */
async function measure(bench) {
  const { scratch, runJob } = bench;
  const { ways, node, missing } = chooseWays(bench, { ...WAYS, transparent: 'direct' }, WAYS);
  const bytes = isShort(bench.counts) ? FEW_BYTES : BYTES;
  const counts = isShort(bench.counts) ? SHORT_COUNTS : COUNTS;
  const job = { programs: compilePrograms(scratch), ways, action: ['download', String(bytes)], counts };
  const [[direct], ...results] = await runJob('network', job, { home: scratch.emptyHome(), node });
  const size = { amount: bytes / 2 ** 20, unit: 'MB/s' };
  const text = `${bytes / 2 ** 20} MiB`;
  const rows = ways.slice(1).map(({ label, subject }, i) =>
    subject.kind === 'srt'
      ? srtRateRow(`srt: ${text}, ${label} ÷ direct`, results[i][0], direct, size)
      : rateRow(`${text}, ${label} ÷ direct`, results[i][0], direct, size, REACH)
  );
  return missing ? [...rows, { what: `srt: ${text}`, missing }] : rows;
}

module.exports = { measure };
