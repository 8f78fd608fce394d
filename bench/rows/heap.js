'use strict';

const { ratioRow } = require('../table');

/** A process with 1 GB of live Buffers, which child_process has to fork. */
async function measure({ counts, scratch, runJob }) {
  const cwd = scratch.folder('empty');
  const subjects = ['ours', 'local'].map((kind) => ({ kind, cwd }));
  const [ours, local] = await runJob('alternate', { subjects, counts, heapMegabytes: 1024 }, { home: scratch.emptyHome() });
  return [ratioRow('`true`, 1 GB of live Buffers ÷ LocalMachine', ours, local, '≤ 0.2')];
}

module.exports = { measure };
