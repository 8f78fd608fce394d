'use strict';

const { ratioRow } = require('../table');

const MOUNTS = 50;
/** Makes the mounts in a namespace that ends with the worker. */
const MAKE_MOUNTS = `folder=$1; shift
for i in $(seq ${MOUNTS}); do mkdir -p "$folder/$i" && mount --bind "$folder/$i" "$folder/$i" || exit; done
exec "$@"`;

/** The empty workspace again, on a host with more mounts. */
async function measure({ counts, scratch, runJob }) {
  const cwd = scratch.folder('empty');
  const unshare = process.getuid?.() === 0 ? '-m' : '-Urm';
  const wrapper = ['unshare', unshare, 'sh', '-c', MAKE_MOUNTS, 'sh', scratch.folder('mounts')];
  const subjects = ['ours', 'local', 'bwrap-same'].map((kind) => ({ kind, cwd }));
  const [ours, local, same] = await runJob('alternate', { subjects, counts }, { home: scratch.emptyHome(), wrapper });
  return [
    ratioRow(`\`true\`, ${MOUNTS} more host mounts ÷ LocalMachine`, ours, local),
    ratioRow(`\`true\`, ${MOUNTS} more host mounts ÷ bwrap alone, the same sandbox`, ours, same),
  ];
}

module.exports = { measure };
