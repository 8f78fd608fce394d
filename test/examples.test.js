'use strict';
// The examples, run as a reader would run them.

const t = require('tap');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { addBuild, install, packCore, packThis, root, scratchFolder } = require('./helpers/projects.js');

/** @returns {Promise<{ status: number, stdout: string, stderr: string }>} */
function run(file, { args = [], input = '' } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [file, ...args], { stdio: 'pipe' });
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) child[stream].setEncoding('utf8').on('data', (data) => (said[stream] += data));
    child.on('close', (status) => resolve({ status, ...said }));
    child.stdin.end(input);
  });
}

/** What was printed between the line of a command and its exit code. */
function outputOf(stdout, command) {
  const from = stdout.indexOf(`$ ${command}`);
  return stdout.slice(from, stdout.indexOf('(exit code', from) + '(exit code 0)'.length);
}

const example = (name) => path.join(root, 'examples', name);

t.test('the agent loop asks, and does what the person says', async (t) => {
  const approved = await run(example('approval.js'), { input: 'y\ny\n' });
  t.match(approved, { status: 0, stderr: '' });
  const reached = outputOf(approved.stdout, 'curl -sS -o /dev/null -w "%{http_code}\\n" http://packages');
  t.match(reached, /Let this command reach packages\.example\.com:80\? \[y\/N\] y\n(?!403)\d{3}/);
  t.notMatch(reached, /deny /, 'approved, whether it is there or not');
  t.match(outputOf(approved.stdout, 'curl -sS -o /dev/null -w "%{http_code}\\n" http://telemetry'), /deny network-outbound telemetry\.example\.com:80/);
  const written = outputOf(approved.stdout, 'echo "a report"');
  t.match(written, /Let this command write in .*\/reports\? \[y\/N\] y\n[^]*exit code 0/);
  t.notMatch(written, /deny /);

  const refused = await run(example('approval.js'), { input: 'yes\n' });
  t.match(refused, { status: 0, stderr: '' });
  t.match(outputOf(refused.stdout, 'curl -sS -o /dev/null -w "%{http_code}\\n" http://packages'), /403\n[^]*deny network-outbound packages\.example\.com:80/);
  t.match(outputOf(refused.stdout, 'echo "a report"'), /deny file-write-create .*\/reports\/report\.txt[^]*exit code 1/, 'no answer is a no');
});

t.test('an MCP server does what it may, and not what it is asked for', async (t) => {
  const { status, stdout, stderr } = await run(example('mcp.js'));
  t.equal(status, 0, stdout);
  t.equal(stdout.split('\n').filter((line) => line.startsWith('✓ ')).length, 5);
  t.match(stderr, /os-sandbox: deny file-write-create .*\/escaped \(outside the write roots\)/);
});

t.test('the drop-in runs an agent unchanged, with the framework and without', async (t) => {
  const escaped = path.join(os.homedir(), 'escaped.txt');
  const scratch = scratchFolder();
  const installed = install(path.join(scratch, 'project'), [packThis(scratch), packCore(scratch, 'g1')]);
  addBuild(path.join(installed, 'node_modules', 'operon-os-sandbox'));
  fs.copyFileSync(example('operon.mjs'), path.join(installed, 'operon.mjs'));

  const cases = { without: { file: example('operon.mjs'), core: false }, with: { file: path.join(installed, 'operon.mjs'), core: true } };
  for (const [name, { file, core }] of Object.entries(cases)) {
    const workspace = path.join(scratch, name);
    fs.mkdirSync(workspace);
    const { status, stdout, stderr } = await run(file, { args: [workspace] });
    t.match({ status, stderr }, { status: 0, stderr: '' }, name);
    t.match(stdout, /^sandboxed on linux\ninstanceof LocalMachine: true\n/);
    t.equal(stdout.includes("instanceof the framework's: true"), core);
    t.equal(fs.readFileSync(path.join(workspace, 'hello.txt'), 'utf8'), 'hello\n');
    t.match(stdout, `deny file-write-create ${escaped}`);
    t.match(stdout, /worktree: touch here gives 0\n/);
    t.match(stdout, new RegExp(`worktree: touch ${escaped} gives [1-9]`));
    t.ok(fs.existsSync(path.join(workspace, 'worktree', 'here')));
    t.notOk(fs.existsSync(escaped));
  }
});
