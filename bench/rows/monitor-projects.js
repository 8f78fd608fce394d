'use strict';

const { execFileSync } = require('node:child_process');
const { ratioRow } = require('../table');
const { makePackageTree } = require('../../test/helpers/package-tree');

const FILES = 50_000;
/** With all that it needs about ninety packages with two thousand files. */
const PACKAGE = 'pacote';
const COUNTS = { runs: 10, warmup: 1, capMs: 60_000 };

/** @param {any} scratch */
function makeRepository(scratch) {
  const folder = scratch.tree('monitored-tree', FILES);
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', ['-C', folder, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  git('init', '-q');
  git('add', '-A');
  git('-c', 'user.name=n', '-c', 'user.email=e', 'commit', '-qm', 'all');
  return folder;
}

/** Real work, with the supervisor and without. */
async function measure({ counts, scratch, runJob }) {
  const tree = makeRepository(scratch);
  const packages = scratch.folder('packages');
  makePackageTree(packages, PACKAGE);
  const npm = ['npm', 'ci', '--offline', '--no-audit', '--no-fund', '--logs-max=0', '--cache', 'cache', '--loglevel=error'];
  const cases = [
    { what: `\`git status\` in ${FILES} files`, cwd: tree, argv: ['git', 'status', '--short'] },
    { what: `\`npm ci\` of ${PACKAGE} from tarballs`, cwd: packages, argv: npm },
  ];
  const limits = { ...COUNTS, runs: Math.min(COUNTS.runs, counts.runs), capMs: Math.min(COUNTS.capMs, counts.capMs) };
  const rows = [];
  for (const { what, cwd, argv } of cases) {
    const subjects = [{ kind: 'ours', cwd }, { kind: 'bwrap-same', cwd }];
    const { times } = await runJob('monitor', { subjects, argv, printed: false, counts: limits }, { home: scratch.emptyHome() });
    rows.push(ratioRow(`${what}, supervised ÷ bwrap alone`, times[0], times[1]));
  }
  return rows;
}

module.exports = { measure };
