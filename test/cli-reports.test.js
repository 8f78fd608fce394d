'use strict';
// What the command line says: refused attempts, and what it did.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { MAIN, makePlace, saidBy, textOf } = require('./helpers/cli');
const { eventually } = require('./helpers/processes');

const place = makePlace(t);
const { cli, sh, quiet, workspace, outside, env } = place;

t.test('refused attempts', async (t) => {
  const script = `for i in 1 2 3; do echo x > ${outside}/a; done 2>/dev/null; echo x 2>/dev/null > ${outside}/b; exit 3`;
  const [repeated, other] = ['a', 'b'].map((name) => `deny file-write-create ${outside}/${name} (outside the write roots)`);
  t.test('are told on stderr, each once, and at the end how often', async (t) => {
    const [result, asked] = await Promise.all([sh(script), sh(script, ['--violations=stderr'])]);
    t.same([result.code, result.stdout, saidBy(result)], [3, '', [repeated, other, `${repeated} (×3)`]]);
    t.same(asked.stderr, result.stderr);
  });
  t.test('are told while the command runs', async (t) => {
    const child = place.start(['sh', '-c', `echo x 2>/dev/null > ${outside}/a; read line`]);
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (data) => (stderr += data));
    t.ok(await eventually(() => stderr.includes(repeated)), stderr);
    t.equal(child.exitCode, null);
    child.stdin?.end('\n');
    await once(child, 'close');
  });
  t.test('go to a file, and then not to stderr', async (t) => {
    const settings = path.join(workspace, 'quiet.json');
    fs.writeFileSync(settings, '{ "monitorViolations": false }');
    const [result, shown] = await Promise.all([
      sh(script, ['--settings', settings, '--cwd', outside, '--allow-write', workspace, '--violations', 'refused.jsonl']),
      sh(script, ['--settings', settings, '--violations', 'stderr']),
    ]);
    t.same([result.code, result.stderr], [3, '']);
    t.same(saidBy(shown), [repeated, other, `${repeated} (×3)`], 'whoever asks for reports gets them');
    const lines = fs.readFileSync(path.join(workspace, 'refused.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
    t.same(lines.map(({ type, path: of, count }) => [type, path.basename(of), count]), [['violation', 'a', undefined], ['violation', 'b', undefined], ['count', 'a', 3]]);
    t.match(await cli(['--violations', 'gone/file', 'true']), { code: 64, stderr: /^os-sandbox: --violations: expected a file that can be appended to/ });
  });
  t.test('go nowhere, or are left out', async (t) => {
    const [none, ignored] = await Promise.all([quiet(script), sh(script, ['--ignore-violations', `${outside}/a`])]);
    t.same([none.stderr, saidBy(ignored)], ['', [other]]);
  });
  t.test('are told to whoever reads, and nobody waits for who does not', async (t) => {
    // More than a pipe takes; the reader begins when all is over.
    const many = `exec 2>/dev/null; for i in {1..900}; do : > ${outside}/${'x'.repeat(200)}$i; done; exit 3`;
    const script = `{ "$@" >&2; echo $? > status; } 2>&1 >/dev/null | { until [ -s status ]; do sleep 0.1; done; cat; }`;
    const child = spawn('bash', ['-c', script, 'bash', process.execPath, MAIN, '--allow-write', '/tmp', 'bash', '-c', many], { cwd: workspace, env });
    const lines = (await textOf(child.stdout)).split('\n');
    t.equal(fs.readFileSync(path.join(workspace, 'status'), 'utf8'), '3\n');
    t.match(lines[0], /^os-sandbox: deny file-write-create .*x1 \(outside the write roots\)$/);
    t.ok(lines.length > 100);
  });
});

t.test('--debug tells the options and what holds, but no password', async (t) => {
  const { stderr } = await cli(['--debug', '--upstream-proxy', 'http://user:secret@192.0.2.7:3128', 'true']);
  t.match(stderr, /^os-sandbox: debug: options \{.*"writableCwd":false/m);
  t.match(stderr, /^os-sandbox: debug: guarantees \{"filesystem":"enforced"/m);
  t.notMatch(stderr, 'secret');
});
