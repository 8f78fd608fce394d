'use strict';

const { ratioRow } = require('../table');

const COUNTS = { runs: 7, warmup: 1, capMs: 60_000 };
/** A stream is captured too, as far as a string goes: less than half of that, for two machines in turn. */
const CASES = [
  { what: '1 GiB of output, captured up to 1 MiB ÷ LocalMachine', size: '1G', cap: 2 ** 20, streamed: false },
  { what: '128 MiB of output, streamed and captured ÷ LocalMachine', size: '128M', streamed: true },
];

/** Much output of one command. */
async function measure({ scratch, runJob }) {
  const cwd = scratch.folder('empty');
  const subjects = ['ours', 'local'].map((kind) => ({ kind, cwd }));
  const rows = [];
  for (const { what, size, cap, streamed } of CASES) {
    const argv = ['head', '-c', size, '/dev/zero'];
    const args = { subjects, argv, cap, streamed, counts: COUNTS };
    const [ours, local] = await runJob('throughput', args, { home: scratch.emptyHome() });
    rows.push(ratioRow(what, ours, local));
  }
  return rows;
}

module.exports = { measure };
