'use strict';

const { provideSrt } = require('../srt-install');
const { megabytes, ratioRow, srtRow, time, valueRow } = require('../table');

const COUNT = 200;
const COUNTS = { runs: 5, warmup: 0, capMs: 30_000 };

/** @param {any} bench @param {{ node: string, entry: string }} srt */
async function measureSrt({ scratch, runJob }, { node, entry }) {
  const cwd = scratch.folder('empty');
  const subjects = [{ kind: 'srt', cwd, entry }, { kind: 'local', cwd }];
  const { times, stalls, grown } = await runJob('many', { subjects, count: COUNT, counts: COUNTS }, { home: scratch.emptyHome(), node });
  return [
    srtRow(`srt: ${COUNT} at once ÷ plain runs`, times[0], times[1]),
    valueRow('srt: longest stall of the loop', '', '', time(stalls[0])),
    valueRow(`srt: memory of the host process after the first ${COUNT}`, '', '', `+${megabytes(grown)}`),
  ];
}

/** Many commands at the same time: how long, what they do to the loop and to the memory. */
async function measure(bench) {
  const { scratch, runJob } = bench;
  const cwd = scratch.folder('empty');
  const subjects = ['ours', 'local'].map((kind) => ({ kind, cwd }));
  const { times, stalls, grown } = await runJob('many', { subjects, count: COUNT, counts: COUNTS }, { home: scratch.emptyHome() });
  const rows = [
    ratioRow(`${COUNT} at once ÷ LocalMachine`, times[0], times[1]),
    valueRow('longest stall of the loop', time(stalls[0]), '', time(stalls[1])),
    valueRow(`memory of the host process after the first ${COUNT}`, `+${megabytes(grown)}`, '≤ 50 MB'),
  ];
  try {
    return [...rows, ...(await measureSrt(bench, provideSrt()))];
  } catch (error) {
    return [...rows, { what: `srt: ${COUNT} at once`, missing: /** @type {Error} */ (error).message.split('\n')[0] }];
  }
}

module.exports = { measure };
