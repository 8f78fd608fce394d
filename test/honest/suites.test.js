'use strict';
// CPython's own tests, and whole builds: the same in the sandbox and outside. Minutes of work, so it is not among the
// tests that `npm test` chooses: npm test -- test/honest/suites.test.js

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { compile, onTmpfs, Places } = require('../helpers/honest');
const { CARGO, GO, writeProject } = require('../helpers/honest-projects');

const ROOT = path.join(__dirname, '..', '..');
const MINUTE = 60_000;

/** Of Debian's python3 with its libpython3.x-testsuite. */
const MODULES = ['os', 'posix', 'shutil', 'tempfile', 'pathlib', 'glob', 'fileio', 'subprocess', 'socket'];

/** Only the command's own user has a number in its user namespace: EINVAL where it has no right outside, EPERM. */
const NO_NUMBER = 'another user has no number in the sandbox';

/**
 * What ends differently, by module: tests, how they end outside and in the sandbox, and why. A row that no longer
 * holds fails, but for a test that this user skips.
 * @type {Record<string, Array<{ tests: string[], outside: string, inside: string, reason: string }>>}
 */
const DIFFERENCES = {
  os: [{ tests: ['ChownFileTests.test_chown_without_permission'], outside: 'ok', inside: 'failed', reason: NO_NUMBER }],
  subprocess: [
    { tests: ['POSIXProcessTestCase.test_user'], outside: 'ok', inside: 'failed', reason: NO_NUMBER },
    { tests: ['POSIXProcessTestCase.test_group'], outside: 'ok', inside: 'failed', reason: NO_NUMBER },
  ],
};

/** How each test ended, by its id. @param {string} stdout lines `<id> <outcome>[: <why>]` */
function outcomesOf(stdout) {
  const matches = stdout.matchAll(/^test\.test_\w+\.(\S+) ([\w ]+)/gm);
  return Object.fromEntries([...matches].map(([, id, outcome]) => [id, outcome]));
}

/**
 * The tests of a module that end differently, and how.
 * @param {string} module
 * @param {Record<string, string>} outcomes outside
 */
function differences(module, outcomes) {
  const rows = (DIFFERENCES[module] ?? []).flatMap(({ tests, ...row }) => tests.map((id) => ({ id, ...row })));
  return rows.filter(({ id }) => outcomes[id] !== 'skipped');
}

t.test('the same in the sandbox and outside:', async (t) => {
  const places = await Places.open(t);

  for (const module of MODULES) {
    await t.test(`CPython's test_${module}`, async (t) => {
      const command = ['/usr/bin/python3', '-B', path.join(__dirname, 'unittests.py'), `test_${module}`];
      const [outside, ...sandboxes] = await places.everywhere({ command, timeoutMs: 15 * MINUTE });
      const expected = outcomesOf(outside.stdout);
      t.ok(Object.keys(expected).length > 10, outside.name, { output: outside.stderr.slice(-2000) });
      const rows = differences(module, expected);
      for (const { id, outside, reason } of rows) t.equal(expected[id], outside, `${id}: ${reason}`);
      const inside = { ...expected, ...Object.fromEntries(rows.map(({ id, inside }) => [id, inside])) };
      for (const { name, exitCode, stdout, stderr } of sandboxes) {
        t.equal(exitCode, 0, name);
        t.same(outcomesOf(stdout), inside, name, { output: stderr.slice(-10_000) });
        t.notMatch(stderr, '<sandbox_violations>', `${name}: nothing is reported`);
      }
    });
  }

  const same = (/** @type {string} */ name, /** @type {any} */ work) =>
    t.test(name, (t) => places.compare(t, { timeoutMs: 15 * MINUTE, ...work }));

  await same('make -j4 of this whole project', {
    prepare: (folder) => {
      for (const name of ['csrc', 'scripts', 'test/unit']) fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
    },
    volatile: /\.a$/,
    command: 'make -s -j4 -f scripts/unit.mk && make -f scripts/unit.mk',
  });

  await same('every call with a path, on a disk', { prepare: compile('calls'), command: './calls' });
  await same('every call with two paths', { prepare: compile('pairs'), command: onTmpfs('./pairs') });

  await same('cargo: build, run, test, release', {
    prepare: (folder) => writeProject(folder, CARGO),
    volatile: /^target/,
    normalize: (text) => text.replace(/\d+\.\d+s/g, 'TIME'),
    env: { PATH: '/usr/bin:/bin', CARGO_INCREMENTAL: '0', CARGO_TERM_COLOR: 'never' },
    command: `set -e; export CARGO_NET_OFFLINE=true
      cargo build -q; target/debug/app; cargo test -q --workspace; cargo build -q --release; target/release/app`,
  });

  await same('go: build, run, test, vet', {
    prepare: (folder) => writeProject(folder, GO),
    volatile: /^cache/,
    normalize: (text) => text.replace(/\d+\.\d+s/g, 'TIME'),
    env: { PATH: '/usr/bin:/bin', GOFLAGS: '-buildvcs=false', GOPROXY: 'off' },
    command: 'export GOCACHE=$PWD/cache; go build -o app . && ./app && go test ./... && go vet ./... && rm -r cache',
  });
});
