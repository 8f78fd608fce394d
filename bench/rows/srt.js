'use strict';

const { provideSrt } = require('../srt-install');
const { factor, ratioRow, srtRow } = require('../table');

const REACH = '≤ 1/8';

/**
 * Both in turn in one process; then each against a plain run of its own process, and the one ratio against the other.
 * A plain run beside srt is slower than beside ours, because it has to fork more, and that makes srt's ratio smaller.
 * @param {any} bench
 */
async function measure({ counts, scratch, runJob }) {
  const { node, entry } = provideSrt();
  const cwd = scratch.folder('empty');
  const how = { home: scratch.emptyHome(), node };
  const ours = { kind: 'ours', cwd };
  const local = { kind: 'local', cwd };
  const srt = { kind: 'srt', cwd, entry };
  const inTurn = (/** @type {any[]} */ ...subjects) => runJob('alternate', { subjects, counts }, how);
  const [oursTime, srtTime] = await inTurn(ours, srt);
  const [srtAlone, besideSrt] = await inTurn(srt, local);
  const [oursAlone, besideOurs] = await inTurn(ours, local);
  const theirs = srtRow('`true`, srt 0.0.83 ÷ plain run (Node 22)', srtAlone, besideSrt);
  const own = ratioRow('`true`, ours ÷ plain run (Node 22)', oursAlone, besideOurs);
  return [
    ratioRow('`true`, ours ÷ srt 0.0.83 (Node 22)', oursTime, srtTime, REACH),
    theirs,
    own,
    {
      what: '`true`, ours ÷ srt, ratio to ratio',
      ours: factor(own.ratio),
      other: factor(theirs.ratio),
      ratio: own.ratio / theirs.ratio,
      ofMinima: own.ofMinima / theirs.ofMinima,
      reach: REACH,
    },
  ];
}

module.exports = { measure };
