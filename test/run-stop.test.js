'use strict';
// How a sandboxed command is stopped, and that nothing of it is left: seen from outside, in the host's /proc.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { collectWarnings, testAbortAfterTheEnd } = require('./helpers/every-machine');
const { blockLoop, eventually } = require('./helpers/processes');
const { processesWith, startMachine, uniqueDuration } = require('./helpers/sandbox');

/** The number of ptrace(2). */
const PTRACE = { x64: 101, arm64: 117 }[process.arch];

t.test('stopping a sandboxed run', async (t) => {
  const { machine, sh } = await startMachine(t);

  /** A sibling that waits so long between TERM and KILL. */
  const impatient = (sigtermGraceMs) => Object.assign(machine.withCwd('.'), { sigtermGraceMs });

  /** Starts a script and waits for its first output. */
  const started = async (script, options = {}, on = machine) => {
    let running;
    const first = await new Promise((resolve, reject) => {
      running = on.run(['sh', '-c', script], { ...options, onOutput: ({ data }) => resolve(data) });
      running.then((result) => reject(new Error(`ended early: ${JSON.stringify(result)}`)), reject);
    });
    return { first: first.trim(), running };
  };

  /** Starts a script, aborts it at its first output, and gives the result. */
  const aborted = async (script, on = machine) => {
    const controller = new AbortController();
    const { running } = await started(script, { signal: controller.signal }, on);
    controller.abort();
    return running;
  };

  t.test('a machine gives its commands five seconds to end', async (t) => {
    t.equal(machine.sigtermGraceMs, 5000);
  });

  t.test('a timeout', async (t) => {
    t.test('ends the command, and there is no exit code', async (t) => {
      t.strictSame(await sh('echo a; exec sleep 60', { timeoutMs: 500 }), {
        stdout: 'a\n',
        stderr: '',
        exitCode: undefined,
        timedOut: true,
        truncated: false,
        terminated: true,
      });
      const trapped = await sh("trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done", { timeoutMs: 500 });
      t.match(trapped, { stdout: /bye\n$/, exitCode: undefined, timedOut: true, terminated: true });
    });
    t.test('kills what outlasts its grace', async (t) => {
      const result = await impatient(100).run(['sh', '-c', "trap '' TERM; exec sleep 60"], { timeoutMs: 400 });
      t.match(result, { exitCode: undefined, timedOut: true, terminated: true });
    });
    t.test('of 0 resolves too', async (t) => {
      t.strictSame(await sh('sleep 60', { timeoutMs: 0 }), {
        stdout: '',
        stderr: '',
        exitCode: undefined,
        timedOut: true,
        truncated: false,
        terminated: true,
      });
    });
    t.test('at any moment of the start resolves', async (t) => {
      for (const timeoutMs of [0.1, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20]) {
        t.match(await sh('exec sleep 60', { timeoutMs }), { exitCode: undefined, timedOut: true, terminated: true });
      }
    });
    t.test('that is far away, or none, changes nothing', async (t) => {
      for (const timeoutMs of [60_000, 2 ** 31, 2 ** 40, 1e300, Infinity, undefined]) {
        t.match(await sh('sleep 0.1; exit 6', { timeoutMs }), { exitCode: 6, timedOut: false });
      }
    });
    t.test('is not met by a command that ended in time while the loop was blocked', async (t) => {
      const { running } = await started('echo on; sleep 0.1; echo done', { timeoutMs: 1500 });
      blockLoop(2200);
      t.match(await running, { stdout: 'on\ndone\n', exitCode: 0, timedOut: false });
    });
    t.test('is met by a command that did not, while the loop was blocked', async (t) => {
      const { running } = await started('echo on; sleep 1.5; echo done', { timeoutMs: 700 });
      blockLoop(2200);
      t.match(await running, { stdout: 'on\n', exitCode: undefined, timedOut: true });
    });
    t.test('loses nothing to a loop that was blocked before the run', async (t) => {
      blockLoop(1000);
      t.match(await sh('sleep 0.1; echo done', { timeoutMs: 900 }), { exitCode: 0, timedOut: false });
    });
  });

  t.test('an abort', async (t) => {
    const notStarted = [
      ['stdout', ''],
      ['stderr', ''],
      ['exitCode', undefined],
      ['timedOut', false],
      ['truncated', false],
      ['terminated', true],
    ];
    t.test('before the run starts nothing', async (t) => {
      const result = await sh('touch started', { signal: AbortSignal.abort() });
      t.strictSame(Object.entries(result), notStarted);
      t.same(await machine.listDir('.'), []);
    });
    t.test('at any moment of the start resolves, and nothing is left', async (t) => {
      for (const wait of [undefined, 0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20]) {
        const controller = new AbortController();
        const duration = uniqueDuration();
        const running = machine.run(['sleep', duration], { signal: controller.signal });
        if (wait !== undefined) await sleep(wait);
        controller.abort();
        const result = await running;
        t.match(result, { stdout: '', stderr: '', timedOut: false, truncated: false, terminated: true });
        // 137: between the first process of the sandbox and the command's own.
        t.ok([undefined, 143, 137].includes(result.exitCode), `after ${wait} ms: ${result.exitCode}`);
        t.same(processesWith(duration), []);
      }
    });
    t.test('ends the command with SIGTERM', async (t) => {
      const result = await aborted('echo x; exec sleep 60');
      t.strictSame(result, {
        stdout: 'x\n',
        stderr: '',
        exitCode: 143,
        timedOut: false,
        truncated: false,
        terminated: true,
      });
    });
    t.test("reaches the command's whole group", async (t) => {
      const script = `trap 'wait; exit 3' TERM; sh -c 'trap "echo child; exit" TERM; echo x; while :; do sleep 0.05; done' & wait`;
      t.match(await aborted(script), { stdout: 'x\nchild\n', exitCode: 3 });
    });
    t.test("lets the command's trap run and gives its exit code", async (t) => {
      const script = "trap 'sleep 0.2; echo bye; exit 9' TERM; echo x; while :; do sleep 0.05; done";
      t.match(await aborted(script), { stdout: /^x\n(.*\n)?bye\n$/, exitCode: 9, timedOut: false, terminated: true });
    });
    t.test('kills what outlasts its grace', async (t) => {
      const result = await aborted("trap '' TERM; echo x; exec sleep 60", impatient(100));
      t.match(result, { exitCode: 137, terminated: true });
    });
    t.test('kills at once where no grace is given', async (t) => {
      const result = await aborted("trap '' TERM; echo x; exec sleep 60", impatient(0));
      t.match(result, { exitCode: 137, terminated: true });
    });
    t.test('kills what is stopped', async (t) => {
      const controller = new AbortController();
      const duration = uniqueDuration();
      const script = `echo x; exec sleep ${duration}`;
      const { running } = await started(script, { signal: controller.signal }, impatient(100));
      const pid = await eventually(() => processesWith(duration)[0]);
      process.kill(pid, 'SIGSTOP');
      await eventually(() => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T '));
      controller.abort();
      t.match(await running, { exitCode: 137, terminated: true });
      t.same(processesWith(duration), []);
    });
    t.test('after a timeout changes nothing', async (t) => {
      const controller = new AbortController();
      const script = "trap 'echo; sleep 0.3; exit 9' TERM; while :; do sleep 0.05; done";
      const { running } = await started(script, { timeoutMs: 400, signal: controller.signal });
      controller.abort();
      t.match(await running, { exitCode: undefined, timedOut: true, terminated: true });
    });
    testAbortAfterTheEnd(t, machine);
    t.test('inside onOutput ends the command', async (t) => {
      const controller = new AbortController();
      const result = await machine.run(['yes'], { signal: controller.signal, onOutput: () => controller.abort() });
      t.match(result, { stdout: /^y\n/, exitCode: 143, timedOut: false });
    });
    t.test('stops every run that shares its signal, without a warning', async (t) => {
      const warnings = collectWarnings(t);
      const controller = new AbortController();
      const duration = uniqueDuration();
      const runs = Array.from({ length: 20 }, () => machine.run(['sleep', duration], { signal: controller.signal }));
      await eventually(() => processesWith(duration).length === 20);
      controller.abort();
      t.same((await Promise.all(runs)).map(({ exitCode }) => exitCode), Array(20).fill(143));
      t.same(warnings, []);
      t.same(processesWith(duration), []);
    });
  });

  // Each leaves a process that ignores TERM, has left the group, has lost its parent and holds the pipes.
  const strays = [
    ['a background child', (duration) => `sleep ${duration} &`],
    ['one that ignores TERM and HUP', (duration) => `sh -c 'trap "" TERM HUP; sleep ${duration}' &`],
    ['one in a session of its own', (duration) => `setsid sh -c 'trap "" TERM HUP; exec sleep ${duration}' &`],
    ['an orphan', (duration) => `(setsid sh -c 'trap "" TERM; exec sleep ${duration}' & ) &`],
    ['one that is stopped', (duration) => `sh -c 'kill -STOP $$; :' sh ${duration} &`],
  ];
  const ends = [
    ['a normal exit', '', () => sh, { exitCode: 4, timedOut: false }],
    ['a timeout', 'sleep 60;', () => (script) => sh(script, { timeoutMs: 1000 }), { exitCode: undefined, timedOut: true }],
    ['an abort', 'exec sleep 60;', () => aborted, { exitCode: 143, timedOut: false }],
  ];
  for (const [who, stray] of strays) {
    t.test(`${who} holds nobody up and does not outlive`, async (t) => {
      for (const [end, wait, runner, expected] of ends) {
        const duration = uniqueDuration();
        const script = `${stray(duration)} while [ ! -e ${duration} ]; do sleep 0.05; done; echo x; ${wait} exit 4`;
        const before = Date.now();
        const running = runner()(script);
        t.ok(await eventually(() => processesWith(duration).length > 0), 'it was there');
        await machine.writeText(duration, '');
        const result = await running;
        t.match(result, { ...expected, stdout: 'x\n', terminated: true }, end);
        t.ok(Date.now() - before < 20_000, `${end} resolves`);
        t.same(processesWith(duration), [], end);
      }
    });
  }

  t.test('what lies in the pipes at the end is not lost', async (t) => {
    const script = `
      require('node:child_process').spawn('sleep', ['30'], { detached: true, stdio: 'inherit' }).unref();
      process.stderr.write('e'.repeat(60000));
      process.stdout.write('o'.repeat(60000), () => process.kill(process.pid, 'SIGKILL'));
      setInterval(() => {}, 1000)`;
    const running = machine.run([process.execPath, '-e', script]);
    await sleep(20);
    blockLoop(700);
    const { stdout, stderr, exitCode } = await running;
    t.same([stdout.length, stderr.length, exitCode], [60000, 60000, 137]);
  });

  t.test('what KILL does not end is given up after two seconds, and said', async (t) => {
    const duration = uniqueDuration();
    const controller = new AbortController();
    const running = impatient(50).run(['sleep', duration], { signal: controller.signal });
    let pid;
    await eventually(() => (pid = processesWith(duration)[0]));
    // A tracer that never waits keeps its dead tracee, and with it the pid namespace.
    const seize = `syscall(${PTRACE}, 0x4206, ${pid}, 0, 0) == 0 or die $!; $| = 1; print "seized"; sleep 60`;
    const tracer = spawn('perl', ['-e', seize], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => tracer.kill('SIGKILL'));
    const [said] = await Promise.race([once(tracer.stdout, 'data'), once(tracer.stdout, 'end')]);
    t.equal(String(said), 'seized');
    controller.abort();
    t.match(await running, { exitCode: undefined, timedOut: false, terminated: false });
    t.match(await sh('exit 3'), { exitCode: 3, terminated: true }, 'the sandbox goes on');
  });

  t.test('a command that closed its output goes on until its own end', async (t) => {
    t.match(await sh('exec >&- 2>&-; sleep 0.3; exit 5'), { stdout: '', stderr: '', exitCode: 5 });
  });
});
