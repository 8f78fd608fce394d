'use strict';
// What kind of process a sandboxed command is: signals, descriptors, and what it inherits of this process.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const t = require('tap');
const { runProgram } = require('./helpers/program');
const { scratchFolder, startMachine } = require('./helpers/sandbox');

/** The rows of /proc/PID/limits but for descriptors: [name, soft, hard]. */
function limitRows(text) {
  const rows = text.split('\n').slice(1).filter(Boolean);
  return rows.map((row) => [row.slice(0, 26).trim(), row.slice(26, 47).trim(), row.slice(47, 68).trim()]);
}

t.test('a sandboxed command', async (t) => {
  const { machine, workspace, sh } = await startMachine(t);
  const bash = (script, options) => machine.run(['bash', '-c', script], options);

  t.test('starts with default signal dispositions and an empty mask', async (t) => {
    t.equal((await bash('yes | head -1; echo ${PIPESTATUS[0]}')).stdout, 'y\n141\n');
    const { stdout } = await machine.run(['grep', '-E', '^(SigBlk|SigIgn|SigPnd)', '/proc/self/status']);
    const masks = stdout.trim().split('\n').map((line) => line.split(/\s+/)[1]);
    t.same(masks, Array(3).fill('0000000000000000'));
  });

  t.test('has three descriptors and no more', async (t) => {
    const script = 'for n in {0..1023}; do [ -e /proc/$$/fd/$n ] && echo $n; done; :';
    for (const stdin of [undefined, 'x']) t.equal((await bash(script, { stdin })).stdout, '0\n1\n2\n');
  });

  t.test('has blocking descriptors of its own', async (t) => {
    const script = 'for n in 0 1 2; do grep ^flags /proc/self/fdinfo/$n; done';
    const { stdout } = await sh(script, { stdin: 'x' });
    const flags = stdout.trim().split('\n').map((line) => parseInt(line.split(/\s+/)[1], 8));
    t.same(flags.map((value) => value & fs.constants.O_NONBLOCK), [0, 0, 0]);
  });

  t.test('can write to /dev/stdout, /dev/stderr, /dev/fd and /dev/null, and read /dev/stdin', async (t) => {
    const script = 'echo x > /dev/stdout; echo y > /dev/stderr; echo z > /dev/fd/1; echo > /dev/null; cat /dev/stdin';
    t.match(await sh(script, { stdin: 'in' }), { stdout: 'x\nz\nin', stderr: 'y\n', exitCode: 0 });
  });

  t.test('runs as the user and groups of this process', async (t) => {
    const expected = [process.getuid(), process.getgid()].join(' ');
    t.equal((await sh('echo $(id -u) $(id -g)')).stdout, `${expected}\n`);
    await sh('echo x > owned');
    t.equal(fs.statSync(`${workspace}/owned`).uid, process.getuid());
  });

  t.test('sees only processes of its own run', async (t) => {
    t.match(await sh(`[ -d /proc/self ] && ls /proc | grep -c '^[0-9]'`), { stdout: /^[1-5]\n$/ });
    t.notMatch((await sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).stdout, 'run-process.test.js');
  });

  t.test('leads a group and a session of its own, without a terminal', async (t) => {
    const { stdout } = await sh('read pid name state parent group session tty rest < /proc/self/stat; echo $$ $group $session $tty');
    const [pid, group, session, tty] = stdout.trim().split(' ');
    t.same([group, session, tty], [pid, pid, '0']);
    t.notMatch(await sh('echo > /dev/tty'), { exitCode: 0 });
  });

  t.test('has the umask that this process has when it starts', async (t) => {
    const before = process.umask(0o027);
    t.teardown(() => process.umask(before));
    t.equal((await sh('umask; echo > narrow')).stdout.trim(), '0027');
    process.umask(0o000);
    t.equal((await sh('umask; echo > wide')).stdout.trim(), '0000');
    const modes = ['narrow', 'wide'].map((name) => fs.statSync(`${workspace}/${name}`).mode & 0o777);
    t.same(modes, [0o640, 0o666]);
  });

  t.test('has the limits of this process, of descriptors half as many', async (t) => {
    const files = (rows) => rows.find(([name]) => name === 'Max open files');
    const others = (rows) => rows.filter(([name]) => name !== 'Max open files');
    const outside = limitRows(fs.readFileSync('/proc/self/limits', 'utf8'));
    const inside = limitRows((await machine.run(['cat', '/proc/self/limits'])).stdout);
    t.same(others(inside), others(outside));
    const half = String(Math.floor(Number(files(outside)[2]) / 2));
    t.equal(files(inside)[2], half);
    t.ok(Number(files(inside)[1]) <= Number(half));
  });

  t.test('has the limits that this process has when it starts', async (t) => {
    const seen = async (option) => (await bash(`ulimit -S ${option}`)).stdout.trim();
    const set = (limit) => execFileSync('prlimit', ['--pid', String(process.pid), limit]);
    const before = await seen('-c');
    t.teardown(() => set(`--core=${before === 'unlimited' ? 'unlimited' : Number(before) * 1024}:`));
    set('--core=0:');
    t.equal(await seen('-c'), '0');
    set('--stack=4194304:');
    t.equal(await seen('-s'), '4096');
  });
});

t.test('a command has the niceness that its process has when it starts', async (t) => {
  const body = `
    const os = require('node:os');
    const sandbox = await OsSandbox.start();
    const machine = sandbox.machine('/');
    const nice = async () => Number((await machine.run(['nice'])).stdout);
    say([os.getPriority(), await nice()]);
    for (const value of [3, 7]) {
      os.setPriority(os.getPriority() + value);
      say([os.getPriority(), await nice()]);
    }
    await sandbox.dispose();`;
  const { said, stderr } = await runProgram(t, body);
  t.equal(stderr, '');
  t.equal(said.length, 3);
  for (const [outside, inside] of said) t.equal(inside, outside);
});

t.test('a TMPDIR that does not exist is one that does', async (t) => {
  const { machine } = await startMachine(t);
  const env = { TMPDIR: `${scratchFolder(t)}/missing` };
  t.equal((await machine.run(['sh', '-c', 'echo x > "$TMPDIR/os-sandbox-probe.$$" && rm "$TMPDIR"/os-sandbox-probe.*'], { env })).exitCode, 0);
  const good = os.tmpdir();
  t.equal((await machine.run(['sh', '-c', 'echo $TMPDIR'], { env: { TMPDIR: good } })).stdout, `${good}\n`);
});
