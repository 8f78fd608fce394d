'use strict';
// The supervisor makes a command's path calls outside of the sandbox: nothing of that reaches a file that the command
// could not have reached itself.

const t = require('tap');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, compile, makePlace, resultsOf, snapshot, startSandbox, successes, withoutSandbox } = require('./helpers/attack');
const { withBinds } = require('./helpers/namespace');
const { runProgram } = require('./helpers/program');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const files = compile(programs, 'supervisor_files');
const descriptors = compile(programs, 'supervisor_files_fds');
const refuse = path.join(programs, 'refuse');
execFileSync('cc', ['-D_GNU_SOURCE', '-o', refuse, path.join(__dirname, 'helpers', 'refuse.c')]);

/** Makes files with a word in them. @param {string} folder @param {...string} names */
function makeFiles(folder, ...names) {
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), 'original');
  }
}

t.test('mount points stay while the permission to search their folder comes and goes', async (t) => {
  const { workspace } = makePlace(t);
  const names = ['p/deep/denied/key', 'p/kept', 'p/secret'];
  makeFiles(workspace, ...names);
  const filesystem = { denyRead: ['p/deep/denied', 'p/secret'], denyWrite: ['p/kept'] };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  const before = snapshot(workspace);
  const attacks = [['rename', 'p', 'p/deep', 'p/moved'], ['unlink', 'p', 'p/kept'], ['rename', 'p', 'p/secret', 'p/moved']];
  for (const attack of attacks) {
    const { exitCode, stdout } = await machine.run([files, 'flip', '2', ...attack]);
    t.match({ exitCode, stdout }, { exitCode: 0, stdout: /: E(BUSY|ACCES)\n/ }, attack.join(' '));
    fs.chmodSync(path.join(workspace, 'p'), 0o755);
  }
  t.same(snapshot(workspace), before);
  fs.rmSync(path.join(workspace, 'p'), { recursive: true });
  makeFiles(workspace, ...names);
  for (const attack of attacks) {
    const { stdout } = await withoutSandbox(workspace).run([files, 'flip', '2', ...attack]);
    t.match(stdout, /: DONE\n/, 'without a sandbox it works');
    fs.rmSync(path.join(workspace, 'p/moved'), { recursive: true, force: true });
  }
});

t.test('no call goes through names that are swapped for symlinks while the supervisor walks', async (t) => {
  const { workspace, out } = makePlace(t);
  const guarded = path.join(workspace, 'guarded');
  const fill = () => {
    for (const folder of [out, guarded]) {
      makeFiles(folder, 'victim', 'file');
      fs.mkdirSync(path.join(folder, 'folder'), { recursive: true });
    }
  };
  fill();
  const machine = (await startSandbox(t, { filesystem: { denyWrite: ['guarded'] } })).machine(workspace);
  const before = [out, guarded].map(snapshot);
  t.match(await machine.run([files, 'swap', '1', out, guarded, `../${path.basename(out)}`]), { exitCode: 0 });
  t.same([out, guarded].map(snapshot), before);
  t.match(await withoutSandbox(workspace).run([files, 'swap', '1', out, guarded]), { exitCode: 0 });
  for (const [i, folder] of [out, guarded].entries()) t.notSame(snapshot(folder), before[i], 'without a sandbox they are changed');
});

t.test('a folder that is moved out of the workspace while the supervisor walks from it leads nowhere', async (t) => {
  const { base, workspace } = makePlace(t);
  fs.mkdirSync(path.join(workspace, 'a/b/inner'), { recursive: true });
  const sandbox = await startSandbox(t);
  const attack = async (machine) => {
    const [wide, narrow] = await Promise.all([
      sandbox.machine(base).run([files, 'move', '2', path.join(workspace, 'a/b'), path.join(base, 'moved')]),
      machine.run([files, 'up', '1', 'a/b']),
    ]);
    t.match([wide, narrow], [{ exitCode: 0 }, { exitCode: 0 }]);
    return fs.readdirSync(base).filter((name) => name.startsWith('up-'));
  };
  t.same(await attack(sandbox.machine(workspace)), []);
  t.ok((await attack(withoutSandbox(workspace))).length > 0, 'without a sandbox they are made');
});

t.test('magic links of /proc lead nowhere that the command may not go', async (t) => {
  const { base, workspace, out } = makePlace(t);
  makeFiles(out, 'victim');
  const before = snapshot(out);
  const result = await (await startSandbox(t)).machine(workspace).run([descriptors, 'magic', '1', out]);
  t.equal(result.exitCode, 0);
  t.same(successes(result), []);
  t.same(snapshot(out), before);
  const victim = spawn('sleep', ['300'], { stdio: 'ignore', cwd: base });
  t.teardown(() => victim.kill('SIGKILL'));
  const outside = await withoutSandbox(workspace).run([descriptors, 'magic', String(victim.pid), out]);
  t.ok(successes(outside).length > 5, 'without a sandbox they are ways');
  t.notSame(snapshot(out), before);
});

/** Two runs, and many short ones, of a program of the host's own kind; what came of it. */
const RUNS = `
  const [workspace, files, descriptors] = process.argv.slice(1);
  const sandbox = await OsSandbox.start({ filesystem: { denyRead: ['deep/secret'], denyWrite: ['kept'] } });
  const machine = sandbox.machine(workspace);
  const taking = machine.run([descriptors, 'take', 'socket', 'deep/secret', 'kept']);
  const given = await machine.run([descriptors, 'give', 'socket']);
  const taken = await taking;
  for (let i = 0; i < 20; i++) await machine.run([files, 'late', 'kept']);
  say({ guarantees: sandbox.status.guarantees, given, taken });
  await sandbox.dispose();`;

const hosts = { 'with mounts made by descriptors': [], 'with mounts made by name': [refuse, 'open_tree', '--'] };
for (const [what, launcher] of Object.entries(hosts)) {
  t.test(`${what}, denials hold for a folder's descriptor and for calls that outlive their run`, async (t) => {
    const { workspace } = makePlace(t);
    makeFiles(workspace, 'deep/secret', 'kept');
    const before = snapshot(workspace);
    const { said, stderr } = await runProgram(t, RUNS, { launcher, args: [workspace, files, descriptors] });
    t.match(said, [{ guarantees: { violations: 'reported' }, given: { exitCode: 0 }, taken: { exitCode: 0 } }], stderr);
    const results = resultsOf(said[0].taken.stdout);
    t.equal(Object.keys(results).length, 5);
    t.same(successes(said[0].taken).filter((name) => name !== 'go up'), []);
    const { kept, 'deep/secret': secret } = snapshot(workspace);
    t.same([kept, secret], [before.kept, before['deep/secret']]);
    t.notOk(fs.existsSync(path.join(workspace, '../up')));
  });
}

t.test('without a sandbox the descriptor of a folder and late calls reach their goal', async (t) => {
  const { workspace } = makePlace(t);
  makeFiles(workspace, 'deep/secret', 'kept');
  const machine = withoutSandbox(workspace);
  const taking = machine.run([descriptors, 'take', 'socket', 'deep/secret', 'kept']);
  await machine.run([descriptors, 'give', 'socket']);
  t.equal(successes(await taking).length, 5);
  makeFiles(workspace, 'kept');
  await machine.run([files, 'late', 'kept']);
  t.notOk(fs.existsSync(path.join(workspace, 'kept')));
});

t.test("where commands see the host's processes, the one that binds their sockets is closed to them", async (t) => {
  const { workspace } = makePlace(t);
  const body = `
    const [workspace, descriptors] = process.argv.slice(1);
    const sandbox = await OsSandbox.start();
    say({ guarantees: sandbox.status.guarantees, result: await sandbox.machine(workspace).run([descriptors, 'child', '3']) });
    await sandbox.dispose();`;
  const options = { launcher: withBinds([['/dev/null', '/proc/version']]), args: [workspace, descriptors] };
  const { said, stderr } = await runProgram(t, body, options);
  t.match(said, [{ guarantees: { proc: 'host-read-only' }, result: { exitCode: 0, stdout: 'descriptors of another process: EACCES\n' } }], stderr);
  const other = spawn('sh', ['-c', 'while :; do /bin/true; done'], { stdio: 'ignore' });
  t.teardown(() => other.kill('SIGKILL'));
  const { workspace: elsewhere } = makePlace(t);
  const outside = await withoutSandbox(elsewhere).run([descriptors, 'child', '3']);
  t.match(outside.stdout, 'descriptors of another process: DONE', 'without a sandbox others are seen');
});

t.test('what a command gets as its descriptors lies on its own mounts', async (t) => {
  const { workspace } = makePlace(t);
  const script = `for fd in 0 1 2; do
    case $(readlink /proc/self/fd/$fd) in
      /*) id=$(sed -n 's/^mnt_id:[[:space:]]*//p' /proc/self/fdinfo/$fd); grep -q "^$id " /proc/self/mountinfo && echo own || echo foreign;;
      *) echo unnamed;;
    esac; done`;
  const machine = (await startSandbox(t)).machine(workspace);
  t.equal((await bash(machine, script)).stdout, 'own\nunnamed\nunnamed\n');
});
