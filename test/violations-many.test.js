'use strict';
// Floods of refused attempts, and threads and processes that end while events flow.

const fs = require('node:fs');
const t = require('tap');
const { Worker } = require('node:worker_threads');
const { eventually } = require('./helpers/processes');
const { runProgram } = require('./helpers/program');
const { childrenOf, processesWith, scratchFolder, startMachine, uniqueDuration } = require('./helpers/sandbox');
const { blockOf, collectViolations, outsideOf } = require('./helpers/violations');

const ROOT = JSON.stringify(require.resolve('..'));

/** A command that is refused so many files. @param {string} folder @param {number} count */
const flood = (folder, count) => ['perl', '-e', `for (1..${count}) { open(F, ">", "${folder}/$_") }`];

t.test('a flood of 200,000 different denials', async (t) => {
  const file = `${scratchFolder(t)}/log`;
  const { sandbox, machine, sh, workspace } = await startMachine(t, { violationLog: file });
  const outside = outsideOf(workspace);
  const told = collectViolations(sandbox);
  await sh(`echo x > ${outside}/warm`);
  sandbox.violations.clear();
  told.length = 0;
  const before = process.memoryUsage().rss;
  const { stderr, exitCode } = await machine.run(flood(outside, 200_000));
  const grown = (process.memoryUsage().rss - before) / 2 ** 20;
  t.test('is counted exactly, in bounded memory', async (t) => {
    t.equal(exitCode, 0);
    const { events, attempts, dropped } = sandbox.violations.counts;
    t.equal(attempts, 200_000);
    t.equal(events + dropped, 200_000);
    t.equal(events, told.length);
    t.ok(events >= 1000, `${events} events`);
    t.equal(sandbox.violations.list().length, 1000);
    t.ok(grown < 100, `${grown.toFixed()} MB more`);
    t.same(fs.readdirSync(outside), []);
  });
  t.test('gives a short block, which says how many lines are missing', async (t) => {
    const lines = blockOf(stderr);
    const [, more] = /^\((\d+) more\)$/.exec(lines.at(-1) ?? '') ?? [];
    t.equal(lines.length - 1 + Number(more), 200_000);
    t.ok(stderr.length < 64 * 1024, `${stderr.length} characters`);
  });
  t.test('leaves later runs as they are', async (t) => {
    told.length = 0;
    const after = await sh(`echo x > ${outside}/1; echo out`);
    t.equal(after.stdout, 'out\n');
    t.equal(blockOf(after.stderr).length, 1);
    t.match(told, [{ path: `${outside}/1` }]);
  });
  t.test('is in the log, with what it lacks', async (t) => {
    await sandbox.dispose();
    const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
    const run = lines.filter((line) => line.run === lines[1].run);
    const dropped = run.filter(({ type }) => type === 'dropped').reduce((sum, { count }) => sum + count, 0);
    t.equal(run.filter(({ type }) => type === 'violation').length + dropped, 200_000);
    t.same(sandbox.status.warnings, []);
  });
});

t.test('a hundred runs at once that are refused much each', async (t) => {
  const { sandbox, machine, workspace } = await startMachine(t);
  const outside = outsideOf(workspace);
  const told = collectViolations(sandbox);
  const folders = Array.from({ length: 100 }, (_, i) => `${outside}/${i}`);
  for (const folder of folders) fs.mkdirSync(folder);
  const results = await Promise.all(folders.map((folder) => machine.run(flood(folder, 50))));
  results.forEach(({ stderr }, i) => {
    const lines = blockOf(stderr);
    t.ok(lines.every((line) => line.startsWith('(') || line.includes(`${folders[i]}/`)), folders[i]);
  });
  t.same(sandbox.violations.counts, { events: 5000, attempts: 5000, dropped: 0 });
  t.equal(new Set(told.map(({ run }) => run)).size, 100);
});

t.test('worker threads have their own', async (t) => {
  const { sandbox, workspace } = await startMachine(t);
  const told = collectViolations(sandbox);
  const outside = outsideOf(workspace);
  const script = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { OsSandbox } = require(${ROOT});
    (async () => {
      const sandbox = await OsSandbox.start();
      const events = [];
      sandbox.on('violation', (event) => events.push(event));
      await sandbox.machine(${JSON.stringify(workspace)}).run(['sh', '-c', 'echo x > ${outside}/' + workerData]);
      parentPort.postMessage({ events, listed: sandbox.violations.list() });
    })();`;
  const answers = await Promise.all(
    ['a', 'b'].map((workerData) => new Promise((resolve, reject) => {
      new Worker(script, { eval: true, workerData }).once('message', resolve).once('error', reject);
    })),
  );
  t.match(answers.map(({ events }) => events.map((event) => event.path)), [[`${outside}/a`], [`${outside}/b`]]);
  t.same(answers.map(({ events, listed }) => listed.length - events.length), [0, 0]);
  t.not(answers[0].events[0].run, answers[1].events[0].run);
  t.same(told, []);
});

t.test('a worker thread that ends while events flow takes its commands with it', async (t) => {
  const { workspace } = await startMachine(t);
  const outside = outsideOf(workspace);
  const duration = uniqueDuration();
  const before = new Set(childrenOf(process.pid));
  const script = `
    const { parentPort } = require('node:worker_threads');
    const { OsSandbox } = require(${ROOT});
    (async () => {
      const sandbox = await OsSandbox.start();
      let events = 0;
      sandbox.on('violation', () => (events += 1) === 100 && parentPort.postMessage(events));
      await sandbox.machine(${JSON.stringify(workspace)}).run(['sh', '-c', '"$@"; sleep ${duration}', 'sh', ...${JSON.stringify(flood(outside, 100_000))}]);
    })();`;
  for (let i = 0; i < 5; i += 1) {
    const worker = new Worker(script, { eval: true });
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
    await worker.terminate();
  }
  t.ok(await eventually(() => childrenOf(process.pid).every((pid) => before.has(pid))), 'no child more');
  t.same(processesWith(duration), []);
});

t.test('a process that ends in a listener, or while events flow, ends well', async (t) => {
  const { workspace } = await startMachine(t);
  const outside = outsideOf(workspace);
  const start = `
    const sandbox = await OsSandbox.start({ violationLog: ${JSON.stringify(`${scratchFolder(t)}/log`)} });
    const running = sandbox.machine(${JSON.stringify(workspace)}).run(${JSON.stringify(flood(outside, 50_000))});`;
  const ends = {
    'in a listener': "let events = 0; sandbox.on('violation', () => (events += 1) === 10 && process.exit(7));",
    'a little later': "sandbox.once('violation', () => setTimeout(() => process.exit(7), 20));",
  };
  for (const [how, end] of Object.entries(ends)) t.match(await runProgram(t, start + end), { code: 7, stderr: '' }, how);
});

t.test('listeners keep no process alive', async (t) => {
  const body = "const sandbox = await OsSandbox.start(); sandbox.on('violation', () => {}).once('violation', () => {}); say(1)";
  t.match(await runProgram(t, body), { code: 0, said: [1] });
});
