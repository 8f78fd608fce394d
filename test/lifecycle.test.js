'use strict';
// The life of an OsSandbox: start, its machines, several at once, dispose, and what keeps a process alive.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { LocalMachine, OsSandbox, SandboxedLocalEnvironment, SandboxedLocalMachine } = require('..');
const { eventually } = require('./helpers/processes');
const { runProgram } = require('./helpers/program');
const { childrenOf, processesWith, scratchFolder, startMachine, startSandbox, uniqueDuration } = require('./helpers/sandbox');

/** What a command in a machine of its own can write of some paths. */
async function writable(machine, paths) {
  const results = await Promise.all(paths.map((target) => machine.run(['sh', '-c', 'echo x > "$0"', target])));
  return results.map(({ exitCode }) => exitCode === 0);
}

const networkOf = async (machine) => (await machine.run(['readlink', '/proc/self/ns/net'])).stdout;

/** Folders a, b, c… and a workspace, in a scratch folder. */
function folders(t, ...names) {
  const base = scratchFolder(t);
  return names.map((name) => {
    fs.mkdirSync(path.join(base, name));
    return path.join(base, name);
  });
}

t.test('a status tells what holds, and cannot be changed', async (t) => {
  const { status } = await startSandbox(t);
  t.match(status, { enabled: true, platform: 'linux', guarantees: { filesystem: 'enforced', backend: 'bwrap' } });
  t.notOk('reason' in status);
  t.ok(Object.isFrozen(status) && Object.isFrozen(status.warnings) && Object.isFrozen(status.guarantees));
  t.ok(Array.isArray(status.warnings) && status.warnings.every((text) => typeof text === 'string'));
});

t.test('a machine of a sandbox', async (t) => {
  const { sandbox, machine, workspace } = await startMachine(t);
  t.test('is a machine of the framework, of both names', async (t) => {
    for (const made of [machine, sandbox.environment(workspace)]) {
      t.ok(made instanceof LocalMachine && made instanceof SandboxedLocalMachine);
      t.ok(made instanceof SandboxedLocalEnvironment);
      t.equal(made.name, 'local');
      t.equal(typeof made, 'object');
      t.equal(made.getcwd(), workspace);
    }
  });
  t.test('is in the directory of the process when none is given', async (t) => {
    t.equal(sandbox.machine().getcwd(), process.cwd());
    t.equal(sandbox.machine({}).getcwd(), process.cwd());
    t.equal(sandbox.machine({ cwd: '/usr' }).getcwd(), '/usr');
  });
  t.test('may write in its directory and its additional ones', async (t) => {
    const [extra, other] = folders(t, 'extra', 'other');
    const own = sandbox.machine({ cwd: workspace, additionalDirs: [extra] });
    t.same(own.additionalDirs(), [extra]);
    t.same(await writable(own, [`${workspace}/f`, `${extra}/f`, `${other}/f`]), [true, true, false]);
  });
  t.test('has siblings that are sandboxed, with its grants and settings', async (t) => {
    const [extra, other] = folders(t, 'extra', 'other');
    const own = sandbox.machine({ cwd: workspace, additionalDirs: [extra] });
    own.sigtermGraceMs = 7;
    const sibling = own.withCwd(other);
    t.ok(sibling instanceof SandboxedLocalMachine);
    t.equal(sibling.sigtermGraceMs, 7);
    t.same(await writable(sibling, [`${workspace}/f`, `${extra}/f`, `${other}/f`]), [false, true, true]);
    t.same(await writable(own, [`${workspace}/f`, `${other}/f`]), [true, false], 'it is what it was');
    t.equal(own.withCwd('sub').getcwd(), `${workspace}/sub`);
  });
  t.test('leaves its own file methods alone', async (t) => {
    const [other] = folders(t, 'other');
    await machine.writeText(`${other}/file`, 'x');
    t.equal(fs.readFileSync(`${other}/file`, 'utf8'), 'x');
  });
  t.test('has ports that can be reached', async (t) => {
    t.match(await machine.exposedPortUrl(8080), /^http:\/\/127\.0\.0\.1:\d+$/);
  });
});

t.test('sandboxes of one process keep their own policies and networks', async (t) => {
  const [a, b, workspace] = folders(t, 'a', 'b', 'workspace');
  fs.writeFileSync(`${a}/secret`, 'x');
  const one = (await startSandbox(t, { filesystem: { allowWrite: [a] } })).machine(workspace);
  const two = (await startSandbox(t, { filesystem: { allowWrite: [b], denyRead: [a] } })).machine(workspace);
  const three = (await startSandbox(t, { filesystem: { denyWrite: [workspace] } })).machine(workspace);
  const paths = [`${a}/f`, `${b}/f`, `${workspace}/f`];
  const all = await Promise.all([one, two, three].map((machine) => writable(machine, paths)));
  t.same(all, [[true, false, true], [false, true, true], [false, false, false]]);
  const reads = await Promise.all([one, two, three].map((machine) => machine.run(['cat', `${a}/secret`])));
  t.same(reads.map(({ stdout }) => stdout), ['x', '', 'x']);
  const networks = await Promise.all([one, one, two, three].map(networkOf));
  t.equal(networks[0], networks[1]);
  t.equal(new Set(networks).size, 3);
});

t.test('dispose', async (t) => {
  t.test('can be called again and at once', async (t) => {
    const sandbox = await startSandbox(t);
    await Promise.all([sandbox.dispose(), sandbox.dispose()]);
    await sandbox.dispose();
    await sandbox[Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]();
  });
  t.test('leaves no process, and machines that reject and start nothing', async (t) => {
    const { sandbox, machine, workspace } = await startMachine(t);
    const before = childrenOf(process.pid).length;
    await sandbox.dispose();
    t.equal(childrenOf(process.pid).length, before - 1);
    const run = () => machine.run(['touch', `${workspace}/started`]);
    await t.rejects(run(), { message: /^os-sandbox: .*disposed/ });
    await t.rejects(machine.run(['true'], { signal: AbortSignal.abort() }), { message: /^os-sandbox: / });
    await t.rejects(machine.withCwd('/').run(['true']), { message: /^os-sandbox: / });
    await t.rejects(sandbox.machine(workspace).run(['true']), { message: /^os-sandbox: / });
    t.notOk(fs.existsSync(`${workspace}/started`));
  });
  t.test('ends what runs, and those runs reject', async (t) => {
    const { sandbox, machine } = await startMachine(t);
    const duration = uniqueDuration();
    const script = `trap "" TERM; setsid sleep ${duration} & sleep ${duration}`;
    const runs = Array.from({ length: 5 }, () => machine.run(['sh', '-c', script]));
    const settled = Promise.allSettled(runs);
    t.ok(await eventually(() => processesWith(duration).length === 10));
    await sandbox.dispose();
    t.same(processesWith(duration), []);
    for (const { status, reason } of await settled) {
      t.equal(status, 'rejected');
      t.match(reason, { message: /^os-sandbox: .*disposed/ });
    }
  });
  t.test('at any moment of a run lets it end or reject', async (t) => {
    for (const wait of [0, 1, 2, 4, 8, 12]) {
      const { sandbox, machine } = await startMachine(t);
      const duration = uniqueDuration();
      const runs = [machine.run(['true']), machine.run(['sleep', duration])];
      const settled = Promise.allSettled(runs);
      await new Promise((resolve) => (wait === 0 ? resolve() : setTimeout(resolve, wait)));
      await sandbox.dispose();
      const [short, long] = await settled;
      t.ok(short.status === 'rejected' || short.value.exitCode === 0);
      t.equal(long.status, 'rejected');
      t.same(processesWith(duration), []);
    }
  });
  t.test('in a callback of a run is no trouble', async (t) => {
    const { sandbox, machine } = await startMachine(t);
    const running = machine.run(['sh', '-c', 'echo x; sleep 60'], { onOutput: () => sandbox.dispose() });
    await t.rejects(running, { message: /^os-sandbox: .*disposed/ });
  });
  t.test('of one leaves the others at work, and another can start', async (t) => {
    const { sandbox, workspace } = await startMachine(t);
    const other = await startSandbox(t);
    await sandbox.dispose();
    t.match(await other.machine(workspace).run(['echo', 'x']), { stdout: 'x\n' });
    const again = await startSandbox(t);
    t.match(await again.machine(workspace).run(['echo', 'y']), { stdout: 'y\n' });
  });
});

t.test('a machine that was constructed directly', async (t) => {
  const [a, workspace] = folders(t, 'a', 'workspace');
  const own = new SandboxedLocalMachine({ allowWrite: [a] }, { cwd: workspace });
  t.test('rejects while no sandbox is alive, and says what to do', async (t) => {
    await t.rejects(own.run(['true']), { message: /^os-sandbox: .*OsSandbox\.start\(\)/ });
    OsSandbox.disabled();
    await t.rejects(own.run(['true']), { message: /^os-sandbox: / });
  });
  t.test('uses the oldest that is alive, with its own policy', async (t) => {
    const first = await startSandbox(t);
    const second = await startSandbox(t, { filesystem: { denyWrite: [workspace] } });
    t.equal(await networkOf(own), await networkOf(first.machine(workspace)));
    const paths = [`${a}/f`, `${workspace}/f`, `${path.dirname(a)}/f`];
    t.same(await writable(own, paths), [true, true, false]);
    await first.dispose();
    t.equal(await networkOf(own), await networkOf(second.machine(workspace)));
    t.same(await writable(own, paths), [true, true, false]);
    await second.dispose();
    await t.rejects(own.run(['true']), { message: /^os-sandbox: / });
  });
  t.test('takes its lists as start() does', async (t) => {
    t.throws(() => new SandboxedLocalMachine({ denyRead: [5] }), { name: 'TypeError', message: /denyRead\[0\]/ });
    t.equal(new SandboxedLocalMachine(undefined, '/usr').getcwd(), '/usr');
  });
});

t.test('a disabled sandbox says why, and its machines are plain', async (t) => {
  const [outside, workspace] = folders(t, 'outside', 'workspace');
  for (const [sandbox, reason] of [
    [OsSandbox.disabled(), 'disabled by host'],
    [OsSandbox.disabled('not today'), 'not today'],
  ]) {
    t.strictSame({ ...sandbox.status }, { enabled: false, reason });
    const machine = sandbox.machine({ cwd: workspace });
    t.ok(machine instanceof LocalMachine);
    t.notOk(machine instanceof SandboxedLocalMachine);
    t.same(await writable(machine, [`${outside}/f`]), [true]);
    t.ok(sandbox.environment(workspace) instanceof LocalMachine);
    await sandbox.dispose();
    await sandbox.dispose();
    t.match(await machine.run(['echo', 'x']), { stdout: 'x\n' }, 'it needs no sandbox');
  }
  t.throws(() => new OsSandbox(), TypeError);
});

if (process.getuid() === 0) {
  t.test('as root, a workspace of another owner gives a warning', async (t) => {
    const { sandbox, machine, workspace } = await startMachine(t);
    fs.chownSync(workspace, 12345, 12345);
    await machine.run(['true']);
    t.ok(sandbox.status.warnings.some((text) => text.includes(workspace)), sandbox.status.warnings.join('\n'));
  });
}

t.test('the process', async (t) => {
  const [workspace] = folders(t, 'workspace');
  const options = { args: [workspace] };
  const start = 'const sandbox = await OsSandbox.start(); const machine = sandbox.machine(process.argv[1]);';
  const ends = { code: 0, signal: null, stderr: '' };

  t.test('is not kept alive by an idle sandbox', async (t) => {
    t.match(await runProgram(t, `${start} say('started');`, options), { ...ends, said: ['started'] });
    t.match(await runProgram(t, `${start} say((await machine.run(['true'])).exitCode);`, options), { ...ends, said: [0] });
    const unasked = `${start} machine.run(['true'], { timeoutMs: 1e6, signal: new AbortController().signal, onOutput() {} });`;
    t.match(await runProgram(t, unasked, options), ends);
  });
  t.test('is kept alive by start()', async (t) => {
    t.match(await runProgram(t, 'OsSandbox.start().then(({ status }) => say(status.enabled));'), { ...ends, said: [true] });
  });
  t.test('is kept alive by a run, whatever that does with its output', async (t) => {
    for (const script of ['sleep 0.5', 'exec >&- 2>&-; sleep 0.5']) {
      const body = `${start} machine.run(['sh', '-c', '${script}']).then(({ exitCode }) => say(exitCode));`;
      t.match(await runProgram(t, body, options), { ...ends, said: [0] });
    }
  });
  t.test('is kept alive by dispose()', async (t) => {
    const body = `${start} machine.run(['sleep', '60']).catch(({ message }) => say(message)); sandbox.dispose().then(() => say('disposed'));`;
    const { said, ...rest } = await runProgram(t, body, options);
    t.match(rest, ends);
    t.equal(said.at(-1), 'disposed');
    t.match(said[0], /^os-sandbox: .*disposed/);
  });
  t.test('can end in the middle of runs, by any way, and nothing is left', async (t) => {
    const ways = [
      ['process.exit(7)', { code: 7, signal: null, stderr: '' }],
      ['setTimeout(() => { throw new Error("thrown"); })', { code: 1, signal: null, stderr: /thrown/ }],
      ['process.nextTick(() => { throw new Error("thrown"); })', { code: 1, signal: null, stderr: /thrown/ }],
      ['Promise.reject(new Error("thrown"))', { code: 1, signal: null, stderr: /thrown/ }],
      ['process.kill(process.pid, "SIGKILL")', { code: null, signal: 'SIGKILL' }],
      ['process.kill(process.pid, "SIGTERM")', { code: null, signal: 'SIGTERM' }],
    ];
    for (const [way, expected] of ways) {
      const duration = uniqueDuration();
      const script = `trap "" TERM HUP; setsid sleep ${duration} & echo x; sleep ${duration}`;
      // The program has the duration in its environment: among its arguments it would be found itself.
      const body = `${start}
        const script = process.env.STRAY_SCRIPT;
        for (let i = 0; i < 3; i++) machine.run(['sh', '-c', script]);
        machine.run(['sh', '-c', script], { onOutput() { ${way}; } });`;
      const result = await runProgram(t, body, { ...options, env: { ...process.env, STRAY_SCRIPT: script } });
      t.match(result, expected, way);
      t.ok(await eventually(() => processesWith(duration).length === 0), way);
    }
  });
  t.test('can end at any moment of a start or run without a crash', async (t) => {
    for (const wait of [0, 1, 2, 3, 5, 8, 13, 20, 30]) {
      const body = `
        setTimeout(() => process.exit(7), ${wait});
        for (;;) {
          const sandbox = await OsSandbox.start();
          await sandbox.machine(process.argv[1]).run(['true']);
        }`;
      t.match(await runProgram(t, body, options), { code: 7, signal: null, stderr: '' }, `after ${wait} ms`);
    }
  });
});
