'use strict';
// Sandboxes of worker threads.

const { once } = require('node:events');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const t = require('tap');
const { eventually } = require('./helpers/processes');
const { runProgram } = require('./helpers/program');
const { childrenOf, processesWith, scratchFolder, startMachine, uniqueDuration } = require('./helpers/sandbox');

const PACKAGE = path.join(__dirname, '..');
const PRELUDE = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { OsSandbox, SandboxedLocalMachine } = require(${JSON.stringify(PACKAGE)});
  const say = (value) => parentPort.postMessage(value);`;

/** A worker that runs the body of an async function; and the promise of all it says until it ends. */
function startWorker(body, workerData, options = {}) {
  const worker = new Worker(`${PRELUDE}(async () => {${body}\n})();`, { eval: true, workerData, ...options });
  const said = [];
  worker.on('message', (value) => said.push(value));
  const ended = once(worker, 'exit').then(([code]) => ({ code, said }));
  return { worker, ended };
}

const agents = () => childrenOf(process.pid).length;

t.test('a sandbox starts, runs and is disposed of in a worker', async (t) => {
  const workspace = scratchFolder(t);
  const body = `
    const sandbox = await OsSandbox.start();
    say(sandbox.status.enabled);
    const machine = sandbox.machine(workerData);
    const chunks = [];
    say(await machine.run(['sh', '-c', 'cat; echo x > file; echo err >&2; exit 3'], { stdin: 'in', onOutput: ({ data }) => chunks.push(data) }));
    say(chunks.sort());
    say((await machine.run(['sh', '-c', 'echo x > ../escaped-$$'])).exitCode !== 0);
    say((await machine.run(['sleep', '60'], { timeoutMs: 200 })).timedOut);
    say((await machine.run(['sleep', '60'], { signal: AbortSignal.timeout(200) })).exitCode);
    await sandbox.dispose();
    say(await machine.run(['true']).catch(({ message }) => message));`;
  const { code, said } = await startWorker(body, workspace).ended;
  t.equal(code, 0);
  t.match(said, [
    true,
    { stdout: 'in', stderr: 'err\n', exitCode: 3 },
    ['err\n', 'in'],
    true,
    true,
    143,
    /^os-sandbox: .*disposed/,
  ]);
  t.equal(said.length, 7);
  t.equal(agents(), 0);
});

t.test('sandboxes of the main thread and of workers live side by side', async (t) => {
  const { machine } = await startMachine(t);
  const network = (await machine.run(['readlink', '/proc/self/ns/net'])).stdout;
  const body = `
    const machine = (await OsSandbox.start()).machine(workerData);
    const results = await Promise.all(Array.from({ length: 10 }, (_, i) => machine.run(['echo', String(i)])));
    say(results.map(({ stdout }) => stdout.trim()).join());
    say((await machine.run(['readlink', '/proc/self/ns/net'])).stdout);`;
  const workers = Array.from({ length: 4 }, () => startWorker(body, machine.getcwd()).ended);
  const own = Promise.all(Array.from({ length: 10 }, (_, i) => machine.run(['echo', String(i)])));
  t.equal((await own).map(({ stdout }) => stdout.trim()).join(), '0,1,2,3,4,5,6,7,8,9');
  const networks = [network];
  for (const { code, said } of await Promise.all(workers)) {
    t.equal(code, 0);
    t.equal(said[0], '0,1,2,3,4,5,6,7,8,9');
    networks.push(said[1]);
  }
  t.equal(new Set(networks).size, 5, 'each has its own network');
  t.match(await machine.run(['echo', 'still here']), { stdout: 'still here\n' });
});

t.test('a machine that was constructed directly knows the sandboxes of its own thread only', async (t) => {
  await startMachine(t);
  const body = `say(await new SandboxedLocalMachine({}, '/').run(['true']).catch(({ message }) => message));`;
  t.match((await startWorker(body).ended).said, [/^os-sandbox: .*OsSandbox\.start\(\)/]);
});

t.test("commands of a worker see the worker's environment", async (t) => {
  process.env.OS_SANDBOX_TEST_MAIN = 'main';
  t.teardown(() => delete process.env.OS_SANDBOX_TEST_MAIN);
  const body = `
    process.env.OS_SANDBOX_TEST_OWN = 'own';
    const machine = (await OsSandbox.start()).machine('/');
    say((await machine.run(['sh', '-c', 'echo $OS_SANDBOX_TEST_MAIN $OS_SANDBOX_TEST_OWN $OS_SANDBOX_TEST_GIVEN'])).stdout);`;
  const copy = await startWorker(body).ended;
  t.same(copy.said, ['main own\n']);
  const given = await startWorker(body, null, { env: { PATH: process.env.PATH, OS_SANDBOX_TEST_GIVEN: 'given' } }).ended;
  t.same(given.said, ['own given\n']);
  const { machine } = await startMachine(t);
  t.match(await machine.run(['sh', '-c', 'echo [$OS_SANDBOX_TEST_OWN]']), { stdout: '[]\n' });
});

t.test('a worker that ends without dispose leaves nothing', async (t) => {
  const duration = uniqueDuration();
  const script = `trap "" TERM HUP; setsid sleep ${duration} & echo x; sleep ${duration}`;
  const bodies = {
    'idle, by itself': 'await (await OsSandbox.start()).machine("/").run(["true"]);',
    'by process.exit() in a callback': `
      const machine = (await OsSandbox.start()).machine('/');
      machine.run(['sh', '-c', workerData], { onOutput: () => process.exit(5) });`,
    'by an uncaught exception': `
      const machine = (await OsSandbox.start()).machine('/');
      machine.run(['sh', '-c', workerData], { onOutput: () => process.nextTick(() => { throw new Error('thrown'); }) });`,
  };
  for (const [way, body] of Object.entries(bodies)) {
    const { worker, ended } = startWorker(body, script);
    worker.on('error', () => {});
    await ended.catch(() => {});
    t.ok(await eventually(() => agents() === 0 && processesWith(duration).length === 0), way);
  }
});

t.test('a worker can be terminated at any moment of a start, of runs and of dispose', async (t) => {
  // A program of its own: a crash would end it.
  const worker = `${PRELUDE}
    say('loaded');
    (async () => {
      for (;;) {
        const sandbox = await OsSandbox.start();
        const machine = sandbox.machine('/');
        for (let i = 0; i < 5; i++) machine.run(['sh', '-c', workerData], { onOutput() {}, stdin: 'x'.repeat(1e6) }).catch(() => {});
        await Promise.all(Array.from({ length: 5 }, () => machine.run(['echo', 'x'], { onOutput: () => say('x') })));
        await sandbox.dispose();
      }
    })();`;
  const body = `
    const { Worker } = require('node:worker_threads');
    const { setTimeout: sleep } = require('node:timers/promises');
    const { WORKER, SCRIPT } = process.env;
    delete process.env.SCRIPT;
    const seed = Number(process.argv[1]);
    for (let i = 0; i < 20; i++) {
      const worker = new Worker(WORKER, { eval: true, workerData: SCRIPT });
      worker.on('error', ({ message }) => say(message));
      // Not before that: a Node that is terminated while it require()s an ES module, as this package does, aborts.
      await new Promise((resolve) => worker.once('message', resolve));
      await sleep(((seed + i * 7919) % 120) + Math.random() * 3);
      await worker.terminate();
    }
    const after = await OsSandbox.start();
    say((await after.machine('/').run(['echo', 'after'])).stdout);
    await after.dispose();`;
  const duration = uniqueDuration();
  const script = `trap "" TERM HUP; setsid sleep ${duration} & yes; sleep ${duration}`;
  const env = { ...process.env, WORKER: worker, SCRIPT: script };
  for (let round = 0; round < 2; round++) {
    const seed = String(Math.floor(Math.random() * 120));
    const result = await runProgram(t, body, { env, args: [seed] });
    t.match(result, { code: 0, signal: null, stderr: '', said: ['after\n'] }, `seed ${seed}`);
    t.ok(await eventually(() => processesWith(duration).length === 0));
  }
});
