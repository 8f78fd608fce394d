'use strict';
// The least that every supported Node must do with the same binary: load, start, run, refuse, end.

const t = require('tap');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { OsSandbox } = require('..');

t.test(`a sandbox starts, runs commands and ends on Node ${process.version}`, async (t) => {
  const base = fs.mkdtempSync('/var/tmp/os-sandbox-smoke-');
  t.teardown(() => fs.rmSync(base, { recursive: true, force: true }));
  const workspace = path.join(base, 'workspace');
  fs.mkdirSync(workspace);

  const sandbox = await OsSandbox.start();
  t.equal(sandbox.status.enabled, true, sandbox.status.reason);
  const machine = sandbox.machine(workspace);

  const inside = await machine.run(['sh', '-c', 'echo written > file; cat file']);
  t.match(inside, { exitCode: 0, stdout: 'written\n', stderr: '' });
  t.equal(fs.readFileSync(path.join(workspace, 'file'), 'utf8'), 'written\n');

  const outside = await machine.run(['sh', '-c', 'echo escaped > ../file']);
  t.not(outside.exitCode, 0);
  t.notOk(fs.existsSync(path.join(base, 'file')));

  await sandbox.dispose();
  await t.rejects(machine.run(['true']));
});

t.test('a process that starts a sandbox and forgets it comes to its end', async (t) => {
  const script = `require(${JSON.stringify(path.join(__dirname, '..'))}).OsSandbox.start()
    .then((sandbox) => sandbox.machine('/').run(['echo', 'ran']))
    .then((result) => process.stdout.write(result.stdout));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  t.equal(stdout, 'ran\n');
});
