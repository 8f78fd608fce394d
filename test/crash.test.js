'use strict';
// What is left, and what is said, when a process of a run dies that should not, and when bwrap is not what it should be.

const fs = require('node:fs');
const t = require('tap');
const { eventually, isAlive } = require('./helpers/processes');
const { startProgram } = require('./helpers/program');
const { childrenOf, parentOf, processesOfRuns, processesWith, scratchFolder, uniqueDuration } = require('./helpers/sandbox');
const { withBwrap } = require('./helpers/namespace');

const mounts = () => fs.readFileSync('/proc/self/mountinfo', 'utf8');

/** A program with a sandbox that runs shell scripts, one for each line of its stdin, and says what came of them. */
const RUNNER = `
  const sandbox = await OsSandbox.start();
  say(sandbox.status);
  const machine = sandbox.machine(process.argv[1]);
  for await (const script of require('node:readline').createInterface({ input: process.stdin })) {
    machine.run(['sh', '-c', script]).then(say, ({ message }) => say({ message }));
  }
  await sandbox.dispose();
  say('disposed');`;

/** A running program, in a workspace of its own. */
function startRunner(t, options) {
  const workspace = scratchFolder(t);
  const program = startProgram(t, RUNNER, { args: [workspace], ...options });
  return { ...program, workspace, start: (script) => program.child.stdin.write(`${script}\n`) };
}

/** The agent starts a run's supervisor right after its bwrap. */
function supervisorOf(bwrap, agent) {
  const isHelper = (pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'os-sandbox-exec\n';
  return Math.min(...childrenOf(agent).filter((pid) => pid > bwrap && isHelper(pid)));
}

/** From the command outwards: its stage (pid 1 inside), bwrap, the agent, and Node; and beside them the supervisor. */
function chainOf(sleeper) {
  const stage = parentOf(sleeper);
  const bwrap = parentOf(stage);
  const agent = parentOf(bwrap);
  return { stage, bwrap, supervisor: supervisorOf(bwrap, agent), agent, node: parentOf(agent) };
}

/** Starts a run that nothing but SIGKILL ends, and gives its chain. */
async function startStubborn(runner) {
  const duration = uniqueDuration();
  runner.start(`trap "" TERM HUP; exec >&- 2>&-; setsid sleep ${duration} & exec sleep ${duration}`);
  const command = await eventually(() => {
    const found = processesWith(duration);
    return found.length === 2 && found.find((pid) => chainOf(pid).node === runner.pid);
  });
  return { duration, chain: chainOf(command) };
}

t.test('a process of a run that is killed', async (t) => {
  for (const victim of ['stage', 'bwrap', 'supervisor']) {
    t.test(`${victim}: that run rejects, others go on, nothing is left`, async (t) => {
      const runner = startRunner(t);
      t.match(await runner.next(), { enabled: true });
      const before = mounts();
      const one = await startStubborn(runner);
      const other = await startStubborn(runner);
      process.kill(one.chain[victim], 'SIGKILL');
      t.match(await runner.next(), { message: /^os-sandbox: .*(bwrap|killed|stage|supervisor ended)/ });
      t.same(processesWith(one.duration), []);
      t.equal(processesWith(other.duration).length, 2);
      runner.start('echo still here');
      t.match(await runner.next(), { stdout: 'still here\n', exitCode: 0 });
      runner.child.stdin.end();
      t.match(await runner.next(), { message: /^os-sandbox: .*disposed/ });
      t.equal(await runner.next(), 'disposed');
      t.match(await runner.ended, { code: 0, signal: null, stderr: '' });
      for (const pid of Object.values(other.chain)) t.notOk(isAlive(pid));
      t.same(processesWith(other.duration), []);
      t.same(fs.readdirSync(runner.workspace), []);
      t.equal(mounts(), before);
    });
  }

  t.test('agent: every run rejects, later ones too, nothing is left', async (t) => {
    for (let round = 0; round < 5; round++) {
      const runner = startRunner(t);
      t.match(await runner.next(), { enabled: true });
      const before = mounts();
      const one = await startStubborn(runner);
      const other = await startStubborn(runner);
      process.kill(one.chain.agent, 'SIGKILL');
      for (let i = 0; i < 2; i++) t.match(await runner.next(), { message: /^os-sandbox: .*agent/ });
      for (const { duration } of [one, other]) t.ok(await eventually(() => processesWith(duration).length === 0));
      runner.start('echo anew');
      t.match(await runner.next(), { message: /^os-sandbox: .*agent/ });
      runner.child.stdin.end();
      t.equal(await runner.next(), 'disposed');
      t.match(await runner.ended, { code: 0, signal: null, stderr: '' });
      for (const pid of Object.values({ ...one.chain, ...other.chain })) t.ok(await eventually(() => !isAlive(pid)));
      t.same(fs.readdirSync(runner.workspace), []);
      t.equal(mounts(), before);
    }
  });

  t.test('agent: the process stays alive until the run has rejected', async (t) => {
    const body = `
      const sandbox = await OsSandbox.start();
      const script = 'exec >&- 2>&-; trap "" TERM HUP; exec sleep ' + process.env.DURATION;
      sandbox.machine(process.argv[1]).run(['sh', '-c', script]).catch(({ message }) => say(message));`;
    for (let round = 0; round < 10; round++) {
      const duration = uniqueDuration();
      const env = { ...process.env, DURATION: duration };
      const program = startProgram(t, body, { args: [scratchFolder(t)], env });
      const command = await eventually(() => processesWith(duration)[0]);
      process.kill(chainOf(command).agent, 'SIGKILL');
      const { said, ...rest } = await program.ended;
      t.match(rest, { code: 0, signal: null, stderr: '' });
      t.match(said, [/^os-sandbox: .*agent/]);
    }
  });

  t.test('gateway: runs go on, what is not open yet is refused, and the status tells', async (t) => {
    const body = `
      const sandbox = await OsSandbox.start({ network: { onAskHost: async () => false } });
      const machine = sandbox.machine(process.argv[1]);
      const connect = (port) => machine.run(['bash', '-c', 'exec 9<>/dev/tcp/192.0.2.1/' + port + ' && echo connected']);
      say(await connect(4444));
      await require('node:events').once(process.stdin, 'data');
      for (const port of [80, 4444, 5555]) say(await connect(port));
      say({ ...sandbox.status, exposed: (await machine.exposedPortUrl(8080)) ?? 'none' });
      await sandbox.dispose();
      process.stdin.destroy();`;
    const before = mounts();
    const program = startProgram(t, body, { args: [scratchFolder(t)] });
    t.match(await program.next(), { stdout: 'connected\n', exitCode: 0 });
    const [agent] = childrenOf(program.pid);
    const gateway = childrenOf(agent).find((pid) => !processesOfRuns(agent).includes(pid));
    process.kill(gateway, 'SIGKILL');
    t.ok(await eventually(() => !isAlive(gateway)));
    program.child.stdin.write('go on\n');
    for (let i = 0; i < 2; i++) t.match(await program.next(), { stdout: 'connected\n', exitCode: 0 });
    t.match(await program.next(), { stdout: '', stderr: /\ndeny network-outbound 192\.0\.2\.1:5555 \(no network in the sandbox\)\n/, exitCode: 1 });
    t.match(await program.next(), { enabled: true, warnings: [/gateway process ended/], exposed: 'none' });
    t.match(await program.ended, { code: 0, signal: null, stderr: '' });
    t.notOk(isAlive(agent));
    t.equal(mounts(), before);
  });

  t.test('Node: nothing is left', async (t) => {
    const runner = startRunner(t);
    t.match(await runner.next(), { enabled: true });
    const before = mounts();
    const { duration, chain } = await startStubborn(runner);
    t.equal(chain.node, runner.pid);
    process.kill(chain.node, 'SIGKILL');
    await runner.ended;
    t.ok(await eventually(() => processesWith(duration).length === 0));
    for (const pid of Object.values(chain)) t.ok(await eventually(() => !isAlive(pid)));
    t.same(fs.readdirSync(runner.workspace), []);
    t.equal(mounts(), before);
  });
});

t.test('a process of a run that is stopped', async (t) => {
  const start = async (t, script) => {
    const runner = startRunner(t);
    t.match(await runner.next(), { enabled: true });
    const duration = uniqueDuration();
    runner.start(script.replace('DURATION', duration));
    const command = await eventually(() => processesWith(duration)[0]);
    return { runner, duration, chain: await eventually(() => chainOf(command).supervisor && chainOf(command)) };
  };
  const end = async (t, { runner, chain, duration }) => {
    runner.child.stdin.end();
    t.equal(await runner.next(), 'disposed');
    t.match(await runner.ended, { code: 0, signal: null, stderr: '' });
    t.ok(await eventually(() => processesWith(duration).length === 0));
    for (const pid of Object.values(chain)) t.ok(await eventually(() => !isAlive(pid)));
  };

  t.test('supervisor: that run rejects at once', async (t) => {
    const run = await start(t, 'exec sleep DURATION');
    process.kill(run.chain.supervisor, 'SIGSTOP');
    t.match(await run.runner.next(), { message: /^os-sandbox: .*supervisor ended/ });
    await end(t, run);
  });

  t.test('bwrap: the result comes all the same', async (t) => {
    const run = await start(t, `exec sh -c 'mkfifo ready; read -r line < ready; exit 7' DURATION`);
    process.kill(run.chain.bwrap, 'SIGSTOP');
    fs.writeFileSync(`${run.runner.workspace}/ready`, 'go\n');
    t.match(await run.runner.next(), { exitCode: 7, terminated: true });
    await end(t, run);
  });

  for (const victim of ['stage', 'agent']) {
    t.test(`${victim}: dispose() ends the run`, async (t) => {
      const run = await start(t, 'exec sleep DURATION');
      process.kill(run.chain[victim], 'SIGSTOP');
      run.runner.child.stdin.end();
      t.match(await run.runner.next(), { message: /^os-sandbox: .*disposed/ });
      await end(t, run);
    });
  }
});

t.test('an idle agent that is killed makes runs reject, and dispose() end', async (t) => {
  const runner = startRunner(t);
  t.match(await runner.next(), { enabled: true });
  const { chain, duration } = await startStubborn(runner);
  process.kill(chain.stage, 'SIGKILL');
  t.match(await runner.next(), { message: /^os-sandbox: / });
  t.same(processesWith(duration), []);
  process.kill(chain.agent, 'SIGKILL');
  t.ok(await eventually(() => !isAlive(chain.agent)));
  runner.start('echo x');
  t.match(await runner.next(), { message: /^os-sandbox: .*agent/ });
  runner.child.stdin.end();
  t.equal(await runner.next(), 'disposed');
});

t.test('a bwrap that does not work when the sandbox starts', async (t) => {
  // What is said when nothing can be sandboxed names what bwrap did or printed.
  const rows = [
    ['crashes', 'kill -SEGV $$', /signal 11/],
    ['is killed', 'kill -KILL $$', /signal 9/],
    ['ends well without starting anything', 'exit 0', /bwrap ended with code 0/],
    ['fails with a message', 'echo "bwrap: No permissions" >&2; exit 1', /bwrap: No permissions/],
    ['prints garbage', `head -c 100000 /dev/urandom >&2; printf 'end\\n\\033[31m\\377' >&2; exit 3`, /^sandbox initialization failed: ./],
    ['prints garbage into every descriptor', 'for n in 0 1 2 3 4 6 7 8 9; do echo garbage >&$n; done 2>/dev/null; exit 3', /^sandbox initialization failed: ./],
  ];
  for (const [what, script, expected] of rows) {
    t.test(`and ${what}: start() says so`, async (t) => {
      const runner = startRunner(t, { launcher: withBwrap(scratchFolder(t), script) });
      const { enabled, reason } = await runner.next();
      t.equal(enabled, false);
      t.match(reason, /^sandbox initialization failed: /);
      t.match(reason, expected);
      t.notMatch(reason, /[\x00-\x1f\x7f]/, 'one line of text');
      runner.start('echo plain');
      t.match(await runner.next(), { stdout: 'plain\n', exitCode: 0 });
      runner.child.stdin.end();
      t.equal(await runner.next(), 'disposed');
      t.match(await runner.ended, { code: 0, signal: null, stderr: '' });
    });
  }

  t.test('but hangs: start() gives up, and nothing is left', async (t) => {
    const duration = uniqueDuration();
    const before = Date.now();
    const runner = startRunner(t, { launcher: withBwrap(scratchFolder(t), `sleep ${duration}`) });
    const { enabled, reason } = await runner.next();
    t.ok(Date.now() - before < 30_000, 'it does not try again and again');
    t.equal(enabled, false);
    t.match(reason, /^sandbox initialization failed: .*time/);
    t.same(processesWith(duration), []);
    runner.child.stdin.end();
    t.equal(await runner.next(), 'disposed');
  });
});

t.test('a bwrap that stops working later', async (t) => {
  const rows = [
    ['crashes', 'kill -SEGV $$', /^os-sandbox: .*signal 11/],
    ['is killed', 'kill -KILL $$', /^os-sandbox: .*signal 9/],
    ['fails with a message', 'echo "bwrap: out of luck" >&2; exit 1', /^os-sandbox: .*bwrap: out of luck/],
    ['prints garbage', 'head -c 100000 /dev/urandom >&2; exit 3', /^os-sandbox: ./],
    ['writes garbage where the first process of the sandbox reports', 'echo garbage >&4; exit 3', /^os-sandbox: ./],
  ];
  for (const [what, script, message] of rows) {
    t.test(`and ${what}: the run rejects, and the next one that can works`, async (t) => {
      const folder = scratchFolder(t);
      const launcher = withBwrap(folder, `[ -e ${folder}/broken ] || exec $BWRAP "$@"\n${script}`);
      const runner = startRunner(t, { launcher });
      t.match(await runner.next(), { enabled: true });
      fs.writeFileSync(`${folder}/broken`, '');
      runner.start('echo x');
      const failure = await runner.next();
      t.match(failure, { message });
      t.notMatch(failure.message, /[\x00-\x1f\x7f]/, 'one line of text');
      fs.rmSync(`${folder}/broken`);
      runner.start('echo x');
      t.match(await runner.next(), { stdout: 'x\n' });
      runner.child.stdin.end();
      t.equal(await runner.next(), 'disposed');
      t.match(await runner.ended, { code: 0, signal: null, stderr: '' });
    });
  }

  t.test('but hangs: timeout, abort and dispose() end the run', async (t) => {
    const folder = scratchFolder(t);
    const duration = uniqueDuration();
    const launcher = withBwrap(folder, `[ -e ${folder}/broken ] || exec $BWRAP "$@"\nsleep ${duration}`);
    const body = `
      const sandbox = await OsSandbox.start();
      say(sandbox.status.enabled);
      const machine = sandbox.machine(process.argv[1]);
      require('node:fs').writeFileSync(process.argv[1] + '/broken', '');
      say(await machine.run(['true'], { timeoutMs: 300 }));
      say(await machine.run(['true'], { signal: AbortSignal.timeout(300) }));
      const running = machine.run(['true']).catch(({ message }) => say({ message }));
      setTimeout(() => sandbox.dispose().then(() => say('disposed')), 300);`;
    const program = startProgram(t, body, { launcher, args: [folder] });
    t.equal(await program.next(), true);
    t.match(await program.next(), { timedOut: true, terminated: true });
    t.match(await program.next(), { timedOut: false, terminated: true, stdout: '' });
    t.match(await program.next(), { message: /^os-sandbox: .*disposed/ });
    t.equal(await program.next(), 'disposed');
    t.match(await program.ended, { code: 0, signal: null, stderr: '' });
    t.ok(await eventually(() => processesWith(duration).length === 0));
  });
});
