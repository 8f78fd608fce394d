'use strict';

const { provideSrt } = require('../srt-install');
const { factor, ratioRow, srtRow } = require('../table');

/**
 * Each against a plain run of its own process, on the same Node; then the one ratio against the other.
 * @param {any} bench
 */
async function measure({ counts, scratch, runJob }) {
  const { node, entry } = provideSrt();
  const cwd = scratch.folder('empty');
  const how = { home: scratch.emptyHome(), node };
  const pair = (/** @type {any} */ first) => runJob('alternate', { subjects: [first, { kind: 'local', cwd }], counts }, how);
  const [srt, besideSrt] = await pair({ kind: 'srt', cwd, entry });
  const [ours, besideOurs] = await pair({ kind: 'ours', cwd });
  const theirs = srtRow('`true`, srt 0.0.83 ÷ plain run (Node 22)', srt, besideSrt);
  const oursRow = ratioRow('`true`, ours ÷ plain run (Node 22)', ours, besideOurs);
  return [
    theirs,
    oursRow,
    {
      what: '`true`, ours ÷ srt, ratio to ratio',
      ours: factor(oursRow.ratio),
      other: factor(theirs.ratio),
      ratio: oursRow.ratio / theirs.ratio,
      ofMinima: oursRow.ofMinima / theirs.ofMinima,
      reach: '≤ 1/8',
    },
  ];
}

module.exports = { measure };
