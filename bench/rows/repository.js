'use strict';

const path = require('node:path');
const { ratioRow } = require('../table');

/** A git repository with two denied paths, and a home with five credential paths. */
async function measure({ counts, scratch, runJob }) {
  const cwd = scratch.repository('repository');
  const denyWrite = [path.join(cwd, '.git/hooks'), path.join(cwd, '.git/config')];
  const subjects = [{ kind: 'ours', cwd, denyWrite }, { kind: 'local', cwd }];
  const [ours, local] = await runJob('alternate', { subjects, counts }, { home: scratch.homeWithCredentials() });
  return [ratioRow('`true`, repository, 2 denied paths, 5 credentials ÷ LocalMachine', ours, local, '≤ 4 (≤ 25 mounts)')];
}

module.exports = { measure };
