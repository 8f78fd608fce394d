'use strict';
// What a command may cost: each limit, by programs that come to it and by programs that do not.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { AS_ROOT, withBinds } = require('./helpers/namespace');
const { runProgram } = require('./helpers/program');
const { processesWith, scratchFolder, startMachine, uniqueDuration } = require('./helpers/sandbox');

const MEGABYTE = 2 ** 20;

/** The lines of the block behind a result's stderr, without how often each happened. */
function denied({ stderr }) {
  const block = /<sandbox_violations>\n(.*)<\/sandbox_violations>/s.exec(stderr)?.[1] ?? '';
  return block.split('\n').filter(Boolean).map((line) => line.replace(/ \(×\d+\)$/, ''));
}

/** A machine whose commands have these limits, with a way to run Node and Python. */
async function startLimited(t, limits) {
  const started = await startMachine(t, { limits });
  const { machine } = started;
  return {
    ...started,
    /* Not process.execPath, which a test run may have replaced by a wrapper that takes more memory. */
    node: (script) => machine.run(['env', '-u', 'NODE_OPTIONS', fs.realpathSync('/proc/self/exe'), '-e', script]),
    python: (script) => machine.run(['python3', '-c', script]),
  };
}

t.test('without limits nothing is said of them', async (t) => {
  const { sandbox } = await startMachine(t);
  t.notOk('limits' in sandbox.status.guarantees);
  t.notMatch(sandbox.status.warnings.join('\n'), 'limits.');
});

t.test('memoryBytes', async (t) => {
  const { sandbox, machine, sh, node, python } = await startLimited(t, { memoryBytes: 300 * MEGABYTE });
  const line = `deny process-memory (limits.memoryBytes ${300 * MEGABYTE})`;
  const { guarantees, warnings } = sandbox.status;
  t.equal(guarantees.limits === 'rlimits', warnings.some((text) => text.startsWith('limits.memoryBytes holds for each process')));

  t.test('lets programs go on that need less', async (t) => {
    t.match(await node('console.log(Buffer.alloc(99e6, 1).length)'), { exitCode: 0, stdout: '99000000\n', stderr: '' });
    t.match(await python('print(len(bytearray(99_000_000)))'), { exitCode: 0, stdout: '99000000\n', stderr: '' });
    t.match(await sh('seq 9 | sort -r | head -1; git --version'), { exitCode: 0, stderr: '' });
  });

  t.test('refuses more, and reports it', async (t) => {
    const big = await python('try:\n bytearray(500_000_000)\nexcept MemoryError: print("refused")');
    t.match(big, { exitCode: 0, stdout: 'refused\n' });
    t.same(denied(big), [line]);
    t.match(sandbox.violations.list()[0], { operation: 'process-memory', process: /^python/ });
    const many = await python('x = []\ntry:\n  while 1: x.append(bytearray(100_000))\nexcept MemoryError: print(len(x) * 100_000); raise');
    t.equal(many.exitCode, 1);
    t.ok(Number(many.stdout) > 200e6 && Number(many.stdout) < 300 * MEGABYTE, many.stdout);
    t.same(denied(many), [line]);
    const heap = await node('const kept = []; for (;;) kept.push(Buffer.alloc(1e6, 1))');
    t.not(heap.exitCode, 0);
    t.same(denied(heap), [line]);
    t.match(sandbox.violations.list()[0], { operation: 'process-memory', why: `limits.memoryBytes ${300 * MEGABYTE}` });
  });

  t.test('leaves system calls alone that a signal may come to', async (t) => {
    const script = `
import mmap, os, signal
signal.signal(signal.SIGCHLD, lambda *_: None)
for i in range(300):
  if os.fork() == 0: os._exit(0)
  mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
  os.wait()`;
    t.match(await python(script), { exitCode: 0, stderr: '' });
  });

  t.test('of one command says nothing of another', async (t) => {
    const [first, second] = await Promise.all([python('x = []\nwhile 1: x.append(bytearray(100_000))'), machine.run(['seq', '3'])]);
    t.same(denied(first), [line]);
    t.match(second, { exitCode: 0, stdout: '1\n2\n3\n', stderr: '' });
  });
});

t.test('processes', async (t) => {
  const { sandbox, sh, node, python } = await startLimited(t, { processes: 24 });
  const line = 'deny process-fork (limits.processes 24)';
  t.notMatch(sandbox.status.warnings.join('\n'), 'limits.processes');

  t.test('lets programs go on that have fewer', async (t) => {
    t.match(await node('console.log("Node and its threads")'), { exitCode: 0, stderr: '' });
    t.match(await sh('for i in $(seq 100); do /bin/true; seq 9 | cat | sort | wc -l; done | sort -u'), { exitCode: 0, stdout: '9\n', stderr: '' });
  });

  t.test('refuses one more process, and one more thread, to root by ending the command, and reports it', async (t) => {
    const wanted = AS_ROOT ? { exitCode: 137, stdout: '' } : { exitCode: 0, stdout: '24\n' };
    const fork = `
import os, time
n = 1
try:
  while n < 100:
    if os.fork() == 0: time.sleep(60)
    n += 1
  time.sleep(60)
except BlockingIOError: print(n); time.sleep(1)`;
    const threads = `
import threading, time
n = 1
try:
  while n < 100:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    n += 1
  time.sleep(60)
except RuntimeError: print(n, flush=True); time.sleep(1); __import__('os')._exit(0)`;
    for (const result of await Promise.all([python(fork), python(threads)])) {
      t.match(result, { ...wanted, timedOut: false });
      t.same(denied(result), [line]);
    }
    t.match(sandbox.violations.list()[0], { operation: 'process-fork', why: 'limits.processes 24' });
  });

  t.test('holds against a command that forks in every process', async (t) => {
    const duration = uniqueDuration();
    const bomb = sh(`bomb() { [ $1 = 0 ] || { bomb $(($1-1)) & bomb $(($1-1)) & }; exec sleep ${duration}; }; bomb 6`, { timeoutMs: 1500 });
    let most = 0;
    const watch = setInterval(() => { most = Math.max(most, processesWith(duration).length); }, 50);
    const result = await bomb;
    clearInterval(watch);
    /* What the kernel refuses is told where it is seen. */
    if (AS_ROOT) t.same(denied(result), [line]);
    else t.ok(most > 0 && most <= 24, `at most ${most}`);
    t.same(processesWith(duration), []);
  });

  t.test('counts those of one command', async (t) => {
    const both = [1, 2].map(() => sh('for i in $(seq 20); do sleep 0.3 & done; wait; echo done'));
    for (const result of await Promise.all(both)) t.match(result, { exitCode: 0, stdout: 'done\n', stderr: '' });
  });
});

t.test('cpuSeconds', async (t) => {
  const { sandbox, machine, sh } = await startLimited(t, { cpuSeconds: 1 });
  const line = 'deny process-cpu (limits.cpuSeconds 1)';
  const spin = 'while :; do :; done';
  const forks = 'import os, time\nwhile True:\n  if os.fork() == 0:\n    while time.process_time() < 0.1: pass\n    os._exit(0)\n  os.wait()';
  const [waiting, together, ended, caught] = await Promise.all([
    sh('sleep 1.2; echo done'),
    sh(`(${spin}) & (${spin}) & (${spin}) & wait`, { timeoutMs: 60000 }),
    machine.run(['python3', '-c', forks], { timeoutMs: 60000 }),
    sh(`trap "" XCPU; ${spin}`, { timeoutMs: 60000 }),
  ]);
  t.match(waiting, { exitCode: 0, stdout: 'done\n', stderr: '' }, 'waiting costs nothing');
  t.match(together, { exitCode: 152, timedOut: false, terminated: true }, 'all processes count together');
  t.equal(ended.exitCode, 152, 'and what has ended');
  t.match(caught, { exitCode: 137, timedOut: false, terminated: true }, 'what catches the signal is killed');
  for (const result of [together, ended, caught]) t.same(denied(result), [line]);
  t.match(sandbox.violations.list(), Array(3).fill({ operation: 'process-cpu', why: 'limits.cpuSeconds 1' }));
});

t.test('fileBytes and openFiles', async (t) => {
  const { machine, workspace, sh, python } = await startLimited(t, { fileBytes: 100000, openFiles: 32 });
  const size = (name) => fs.statSync(`${workspace}/${name}`).size;

  t.test('files grow as far as they may', async (t) => {
    t.match(await sh('head -c 100000 /dev/zero > most && truncate -s 100000 cut'), { exitCode: 0, stderr: '' });
    t.equal(size('most'), 100000);
    t.match(await sh('head -c 900000 /dev/zero | wc -c'), { exitCode: 0, stdout: '900000\n', stderr: '' });
  });

  t.test('and no further: SIGXFSZ, EFBIG, and a report where it is seen', async (t) => {
    const written = await machine.run(['dd', 'if=/dev/zero', 'of=big', 'bs=4096', 'count=99', 'status=none']);
    t.equal(written.exitCode, 153);
    t.same(denied(written), ['deny file-write-data (limits.fileBytes 100000)']);
    t.equal(size('big'), 100000);
    t.match(await python('try: open("big2", "wb", 0).write(bytes(200000)) and open("big2", "ab", 0).write(b"x")\nexcept OSError as e: print(e.errno)'), { stdout: '27\n' });
    const cut = await python('import os\nopen("t", "w").close()\ntry: os.truncate("t", 200000)\nexcept OSError as e: print(e.errno)');
    t.match(cut, { exitCode: 0, stdout: '27\n' });
    t.same(denied(cut), [`deny file-write-data ${workspace}/t (limits.fileBytes 100000)`]);
    t.equal(size('t'), 0);
  });

  t.test('a process has as many open files as it may', async (t) => {
    t.match(await sh('ulimit -Sn; ulimit -Hn; ulimit -n 33'), { stdout: '32\n32\n', exitCode: 2 });
    const result = await python('import os\nn = 3\ntry:\n  while True: os.open("f%d" % n, os.O_CREAT | os.O_WRONLY); n += 1\nexcept OSError as e: print(n, e.errno)');
    t.match(result, { exitCode: 0, stdout: '32 24\n' });
    t.same(denied(result), ['deny process-open-files (limits.openFiles 32)']);
  });
});

t.test('a limit of this process that is lower stays', async (t) => {
  const body = `
    const sandbox = await OsSandbox.start({ limits: { openFiles: 1e6, fileBytes: 1e9 } });
    say(await sandbox.machine('/var/tmp').run(['sh', '-c', 'ulimit -n; ulimit -f']));
    await sandbox.dispose();`;
  const { said, stderr } = await runProgram(t, body, { launcher: ['prlimit', '--nofile=200:200', '--fsize=51200000'] });
  t.equal(stderr, '');
  t.match(said[0], { stdout: '100\n100000\n', exitCode: 0 });
});

/** What a program says of a sandbox in which a command forks as often as it can, up to forty times. */
const FORKS = `
  const sandbox = await OsSandbox.start({ limits: { processes: 8, memoryBytes: 3e8 } });
  const script = 'i=0; while [ $i -lt 40 ]; do sleep 60 & i=$((i+1)); done; wait; echo all';
  const { stdout, stderr } = await sandbox.machine('/var/tmp').run(['sh', '-c', script]);
  say({ ...sandbox.status, stdout, stderr });
  await sandbox.dispose();`;

t.test('where nobody can supervise processes are limited as well', async (t) => {
  const program = path.join(scratchFolder(t), 'refuse');
  execFileSync('cc', ['-D_GNU_SOURCE', '-o', program, path.join(__dirname, 'helpers', 'refuse.c')]);
  const { said, stderr } = await runProgram(t, FORKS, { launcher: [program, 'process_vm_readv', '--'] });
  t.equal(stderr, '');
  t.match(said[0], { enabled: true, guarantees: { violations: 'none' }, stdout: '' });
  t.notMatch(said[0].warnings.join('\n'), 'limits.processes');
});

t.test('where the sandbox has no /proc of its own its processes are told from others', async (t) => {
  const { said, stderr } = await runProgram(t, FORKS, { launcher: withBinds([['/dev/null', '/proc/version']]) });
  t.equal(stderr, '');
  t.match(said[0], { enabled: true, stdout: '', guarantees: { proc: 'host-read-only' } });
  if (AS_ROOT) t.same(denied(said[0]), ['deny process-fork (limits.processes 8)']);
});
