'use strict';

const { ratioRow } = require('../table');

const BLOCKS = 20;
const QUICK_BLOCKS = 5;

/** How long a run keeps the loop from anything else. */
async function measure({ counts, scratch, runJob }) {
  const cwd = scratch.folder('empty');
  const subjects = ['ours', 'local'].map((kind) => ({ kind, cwd }));
  const blocks = counts.runs >= 100 ? BLOCKS : QUICK_BLOCKS;
  const [ours, local] = await runJob('main-thread', { subjects, blocks }, { home: scratch.emptyHome() });
  return [ratioRow('main thread per run ÷ LocalMachine', ours, local, '≤ 0.2 ms')];
}

module.exports = { measure };
