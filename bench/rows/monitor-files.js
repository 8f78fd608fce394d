'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { compileProgram } = require('../programs');
const { provideSrt } = require('../srt-install');
const { ratioRow, srtRow } = require('../table');

const FILES = 20_000;
const COUNTS = { runs: 15, warmup: 1, capMs: 60_000 };
/** In a sandbox, a tmpfs of the run's own. */
const TMPFS = '/dev/shm';

/** The supervisor holds names and cannot be left out: the same mounts and namespaces without one are bwrap's own. */
const withAndWithout = (/** @type {string} */ cwd) => [
  { kind: 'ours', cwd },
  { kind: 'bwrap-same', cwd },
];

/** @param {string} folder */
function fill(folder) {
  for (let i = 0; i < FILES; i++) fs.writeFileSync(path.join(folder, `file${i}`), Buffer.alloc(100));
}

/** srt is one per process, and its monitor on or off for good. */
async function measureSrt({ counts, scratch, runJob }, program) {
  const { node, entry } = provideSrt();
  const cwd = scratch.folder('srt');
  const argv = [program, 'write', TMPFS, String(FILES)];
  const run = async (/** @type {boolean} */ monitor) => {
    const subjects = [{ kind: 'srt', cwd, entry, monitor }];
    const { times } = await runJob('monitor', { subjects, argv, printed: true, counts }, { home: scratch.emptyHome(), node });
    return times[0];
  };
  const off = await run(false);
  return srtRow(`srt: ${FILES} files written on tmpfs, monitor on ÷ off`, await run(true), off);
}

/** Files written and read by one program, with the supervisor and without. */
async function measure(bench) {
  const { scratch, runJob } = bench;
  const counts = { ...COUNTS, runs: Math.min(COUNTS.runs, bench.counts.runs >> 1), capMs: Math.min(COUNTS.capMs, bench.counts.capMs) };
  const program = compileProgram(scratch, 'monitor');
  const cwd = scratch.folder('written');
  fill(scratch.folder('read'));
  const cases = [
    { what: `${FILES} files written on a disk`, argv: ['write', cwd], reach: '≤ 1.2' },
    { what: `${FILES} files written on tmpfs`, argv: ['write', TMPFS], reach: '≤ 3' },
    { what: `${FILES} files read`, argv: ['read', scratch.folder('read')], reach: '≤ 1.02' },
  ];
  const rows = [];
  for (const { what, argv, reach } of cases) {
    const job = { subjects: withAndWithout(cwd), argv: [program, ...argv, String(FILES)], printed: true, counts };
    const { times } = await runJob('monitor', job, { home: scratch.emptyHome() });
    rows.push(ratioRow(`${what}, supervised ÷ bwrap alone`, times[0], times[1], reach));
  }
  try {
    rows.push(await measureSrt({ ...bench, counts }, program));
  } catch (error) {
    rows.push({ what: 'srt: files written', missing: /** @type {Error} */ (error).message.split('\n')[0] });
  }
  return rows;
}

module.exports = { measure };
