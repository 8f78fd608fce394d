'use strict';

const { ratioRow } = require('../table');

/** An empty workspace and an empty home, against a plain run and against bwrap alone. */
async function measure({ counts, scratch, runJob }) {
  const cwd = scratch.folder('empty');
  const subjects = ['ours', 'local', 'bwrap-same', 'bwrap-plain'].map((kind) => ({ kind, cwd }));
  const [ours, local, same, plain] = await runJob('alternate', { subjects, counts }, { home: scratch.emptyHome() });
  return [
    ratioRow('`true`, empty workspace ÷ LocalMachine', ours, local, '≤ 3 (≤ 25 mounts)'),
    ratioRow('`true`, empty workspace ÷ bwrap alone, the same sandbox', ours, same),
    ratioRow('`true`, empty workspace ÷ bwrap alone, one bind', ours, plain),
  ];
}

module.exports = { measure };
