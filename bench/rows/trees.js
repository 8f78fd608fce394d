'use strict';

const { provideSrt } = require('../srt-install');
const { ratioRow, srtRow } = require('../table');

const FILES = 50_000;
const REPOSITORIES = [0, 50, 500];
/** srt takes seconds per run here. */
const SRT_COUNTS = { runs: 10, warmup: 1, capMs: 30_000 };

/**
 * @param {any} bench
 * @param {{ tree: string, empty: string, text: string }} place
 * @param {{ node: string, entry: string } | Error} srt
 */
async function measureTree({ counts, scratch, runJob }, { tree, empty, text }, srt) {
  const home = scratch.emptyHome();
  const pair = (/** @type {any} */ base) => [{ ...base, cwd: tree }, { ...base, cwd: empty }];
  const [ours, oursEmpty] = await runJob('alternate', { subjects: pair({ kind: 'ours' }), counts }, { home });
  const rows = [ratioRow(`\`true\`, ${text} ÷ empty workspace`, ours, oursEmpty, '1')];
  const what = `srt: ${text} ÷ empty workspace`;
  if (srt instanceof Error) return [...rows, { what, missing: srt.message.split('\n')[0] }];
  const subjects = pair({ kind: 'srt', entry: srt.entry });
  const [there, thereEmpty] = await runJob('alternate', { subjects, counts: SRT_COUNTS }, { home, node: srt.node });
  return [...rows, srtRow(what, there, thereEmpty)];
}

/** A denied pattern has to be looked for in the whole tree, before each run. */
async function measurePattern({ counts, scratch, runJob }, tree, text) {
  const options = { filesystem: { denyRead: ['**/.env'] } };
  const subjects = [
    { kind: 'ours', cwd: tree, options },
    { kind: 'ours', cwd: tree },
  ];
  const [pattern, plain] = await runJob('alternate', { subjects, counts }, { home: scratch.emptyHome() });
  return ratioRow(`\`true\`, ${text}, with ${options.filesystem.denyRead} denied ÷ without`, pattern, plain);
}

/** @returns {{ node: string, entry: string } | Error} */
function srtOrWhyNot() {
  try {
    return provideSrt();
  } catch (error) {
    return /** @type {Error} */ (error);
  }
}

/** A large workspace against an empty one, and with a denied pattern, with more and more repositories in it. */
async function measure(bench) {
  const srt = srtOrWhyNot();
  const empty = bench.scratch.folder('empty');
  const tree = bench.scratch.tree('tree', FILES);
  const rows = [];
  let made = 0;
  for (const count of REPOSITORIES) {
    bench.scratch.addRepositories(tree, made, count);
    made = count;
    const text = `${FILES} files, ${count} repositories`;
    rows.push(...(await measureTree(bench, { tree, empty, text }, srt)));
    rows.push(await measurePattern(bench, tree, text));
  }
  return rows;
}

module.exports = { measure };
