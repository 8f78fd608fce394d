'use strict';

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { LocalMachine } = require('../lib/local-machine');
const { collectWarnings, testAbortAfterTheEnd } = require('./helpers/every-machine');
const { blockLoop, eventually, isAlive } = require('./helpers/processes');

const machine = new LocalMachine();
const sh = (script, options) => machine.run(['sh', '-c', script], options);

/** Starts a script and waits for its first output. */
async function started(script, options = {}, on = machine) {
  let running;
  const first = await new Promise((resolve) => {
    running = on.run(['sh', '-c', script], { ...options, onOutput: ({ data }) => resolve(data) });
  });
  return { first: first.trim(), running };
}

/** Starts a script, aborts it at its first output, and gives that and the result. */
async function aborted(script, on = machine) {
  const controller = new AbortController();
  const { first, running } = await started(script, { signal: controller.signal }, on);
  controller.abort();
  return { first, result: await running };
}

function impatient(sigtermGraceMs) {
  const own = new LocalMachine();
  own.sigtermGraceMs = sigtermGraceMs;
  return own;
}

t.test('a machine gives its commands five seconds to end', async (t) => {
  t.equal(machine.sigtermGraceMs, 5000);
});

t.test('a timeout ends the command, and there is no exit code', async (t) => {
  t.strictSame(await sh('echo a; exec sleep 60', { timeoutMs: 300 }), {
    stdout: 'a\n',
    stderr: '',
    exitCode: undefined,
    timedOut: true,
    truncated: false,
    terminated: true,
  });
  const trapped = await sh("trap 'exit 0' TERM; while :; do sleep 0.05; done", { timeoutMs: 300 });
  t.match(trapped, { exitCode: undefined, timedOut: true, terminated: true });
});

t.test('a timeout of 0 resolves too', async (t) => {
  t.match(await sh('sleep 60', { timeoutMs: 0 }), { exitCode: undefined, timedOut: true, terminated: true });
});

t.test('a timeout that is far away, or none, changes nothing', async (t) => {
  for (const timeoutMs of [60_000, 2 ** 31, 2 ** 40, Infinity, undefined]) {
    t.match(await sh('sleep 0.1; exit 6', { timeoutMs }), { exitCode: 6, timedOut: false });
  }
});

t.test('a command that ended in time is not timed out because the loop was blocked', async (t) => {
  const running = sh('sleep 0.1; echo done', { timeoutMs: 700 });
  blockLoop(1200);
  t.match(await running, { stdout: 'done\n', exitCode: 0, timedOut: false });
});

t.test('a loop that was blocked before the run takes nothing from its time', async (t) => {
  blockLoop(1000);
  t.match(await sh('sleep 0.1; echo done', { timeoutMs: 900 }), { exitCode: 0, timedOut: false });
});

t.test('an abort', async (t) => {
  t.test('before the run starts nothing', async (t) => {
    const dir = t.testdir();
    const result = await sh('touch started', { cwd: dir, signal: AbortSignal.abort() });
    t.strictSame(Object.entries(result), [
      ['stdout', ''],
      ['stderr', ''],
      ['exitCode', undefined],
      ['timedOut', false],
      ['truncated', false],
      ['terminated', true],
    ]);
    t.same(await machine.withCwd(dir).listDir('.'), []);
  });
  t.test('during the start resolves too', async (t) => {
    const controller = new AbortController();
    const running = sh('sleep 60', { signal: controller.signal });
    controller.abort();
    t.match(await running, { exitCode: 143, timedOut: false, terminated: true });
  });
  t.test('ends the command with SIGTERM', async (t) => {
    const { result } = await aborted('echo x; exec sleep 60');
    t.strictSame(result, {
      stdout: 'x\n',
      stderr: '',
      exitCode: 143,
      timedOut: false,
      truncated: false,
      terminated: true,
    });
  });
  t.test("lets the command's trap run and gives its exit code", async (t) => {
    const script = "trap 'sleep 0.2; echo bye; exit 9' TERM; echo x; while :; do sleep 0.05; done";
    const { result } = await aborted(script);
    t.match(result, { stdout: /^x\n(.*\n)?bye\n$/, exitCode: 9, timedOut: false, terminated: true });
  });
  t.test('kills what outlasts its grace', async (t) => {
    const { result } = await aborted("trap '' TERM; echo x; exec sleep 60", impatient(100));
    t.match(result, { exitCode: 137, terminated: true });
  });
  t.test('kills what is stopped', async (t) => {
    const controller = new AbortController();
    const { first, running } = await started('echo $$; exec sleep 60', { signal: controller.signal }, impatient(100));
    process.kill(Number(first), 'SIGSTOP');
    await sleep(200);
    controller.abort();
    t.match(await running, { exitCode: 137, terminated: true });
  });
  t.test('after a timeout changes nothing', async (t) => {
    const controller = new AbortController();
    const script = "trap 'echo; sleep 0.3; exit 9' TERM; while :; do sleep 0.05; done";
    const options = { timeoutMs: 200, signal: controller.signal };
    const { running } = await started(script, options);
    controller.abort();
    t.match(await running, { exitCode: undefined, timedOut: true, terminated: true });
  });
  testAbortAfterTheEnd(t, machine);
  t.test('stops every run that shares its signal, without a warning', async (t) => {
    const warnings = collectWarnings(t);
    const controller = new AbortController();
    const runs = Array.from({ length: 20 }, () => machine.run(['sleep', '60'], { signal: controller.signal }));
    controller.abort();
    t.ok((await Promise.all(runs)).every(({ exitCode }) => exitCode === 143));
    t.same(warnings, []);
  });
});

t.test('nothing of the group survives', async (t) => {
  const child = "sh -c 'trap \"\" TERM HUP; exec sleep 60' & echo $!";
  const ends = [
    ['an abort', async () => aborted(`${child}; wait`)],
    ['a timeout', async () => {
      const { first, running } = await started(`${child}; wait`, { timeoutMs: 500 });
      return { first, result: await running };
    }],
    ['a normal exit', async () => {
      const result = await sh(child);
      return { first: result.stdout.trim(), result };
    }],
  ];
  for (const [name, end] of ends) {
    t.test(name, async (t) => {
      const { first, result } = await end();
      t.match(first, /^\d+$/);
      t.equal(result.terminated, true);
      t.ok(await eventually(() => !isAlive(Number(first))));
    });
  }
});

t.test('a grandchild in a group of its own that holds the pipes is not waited for', async (t) => {
  const holder = (then) => `
    const options = { detached: true, stdio: 'inherit' };
    console.log(require('node:child_process').spawn('sh', ['-c', 'trap "" TERM HUP; sleep 60'], options).pid);
    ${then}`;
  const run = async (then, options) => {
    const result = await machine.run([process.execPath, '-e', holder(then)], options);
    const pid = Number(result.stdout.trim());
    // Group 0 is our own.
    if (pid > 0) t.teardown(() => process.kill(-pid, 'SIGKILL'));
    t.ok(pid > 0 && isAlive(pid));
    return result;
  };
  t.match(await run('process.exit(4);'), { exitCode: 4, timedOut: false, terminated: true });
  t.match(await run('setInterval(() => {}, 1000);', { timeoutMs: 1500 }), { timedOut: true, terminated: true });
});

t.test('what lies in the pipes at the end is not lost', async (t) => {
  const script = `
    require('node:child_process').spawn('sleep', ['3'], { detached: true, stdio: 'inherit' }).unref();
    process.stderr.write('e'.repeat(100000));
    process.stdout.write('o'.repeat(100000), () => process.kill(process.pid, 'SIGKILL'));`;
  const running = machine.run([process.execPath, '-e', script + 'setInterval(() => {}, 1000)']);
  blockLoop(500);
  const { stdout, stderr, exitCode } = await running;
  t.same([stdout.length, stderr.length, exitCode], [100000, 100000, 137]);
});

// Its parent cannot reap a process that somebody else traces: a way to outlast SIGKILL that needs no rights.
const SYSCALLS = { x64: { prctl: 157, ptrace: 101 }, arm64: { prctl: 167, ptrace: 117 } }[process.arch];
if (process.platform === 'linux' && SYSCALLS) {
  t.test('terminated is false when the end could not be confirmed', async (t) => {
    const setPtracer = `syscall(${SYSCALLS.prctl}, 0x59616d61, -1, 0, 0, 0)`;
    const controller = new AbortController();
    let running;
    const pid = await new Promise((resolve) => {
      const argv = ['perl', '-e', `$| = 1; ${setPtracer}; print $$; sleep 60`];
      running = impatient(50).run(argv, { signal: controller.signal, onOutput: ({ data }) => resolve(Number(data)) });
    });
    const seize = `syscall(${SYSCALLS.ptrace}, 0x4206, ${pid}, 0, 0) == 0 or die $!; $| = 1; print "seized"; sleep 60`;
    const tracer = spawn('perl', ['-e', seize], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => tracer.kill('SIGKILL'));
    const [seized] = await Promise.race([once(tracer.stdout, 'data'), once(tracer.stdout, 'end')]);
    t.equal(String(seized), 'seized');
    controller.abort();
    t.match(await running, { exitCode: undefined, timedOut: false, terminated: false });
    const holders = process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap');
    t.equal(holders.length, 1, 'of the two processes only the tracer holds the loop');
  });
}

t.test('a finished run keeps no process alive', async (t) => {
  const script = `
    const { LocalMachine } = require(${JSON.stringify(require.resolve('../lib/local-machine'))});
    const options = { timeoutMs: 3600000, signal: new AbortController().signal, onOutput() {} };
    new LocalMachine().run(['sh', '-c', 'sleep 60 & echo x'], options).then(({ stdout }) => console.log(stdout));`;
  t.match(await machine.run([process.execPath, '-e', script], { timeoutMs: 20_000 }), { stdout: 'x\n\n', exitCode: 0 });
});
