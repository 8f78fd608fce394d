'use strict';
// Many runs, at once and one after the other, and many sandboxes: nothing fails, and nothing grows.

const fs = require('node:fs');
const t = require('tap');
const { eventually } = require('./helpers/processes');
const { runProgram } = require('./helpers/program');
const { childrenOf, processesOfRuns, startMachine } = require('./helpers/sandbox');

const MIB = 2 ** 20;
const descriptorsOf = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length;

t.test('two hundred runs at once', async (t) => {
  const { machine, sh } = await startMachine(t);
  const agent = childrenOf(process.pid)[0];
  await machine.run(['true']);
  const before = { own: descriptorsOf('self'), agents: descriptorsOf(agent) };

  t.test('all succeed, each with its own output', async (t) => {
    const numbers = Array.from({ length: 200 }, (_, i) => i);
    const run = (i) => sh('read line; echo "$line $0"; echo "e$0" >&2; exit $(($0 % 100))'.replaceAll('$0', String(i)), { stdin: `in ${i}\n` });
    const results = await Promise.all(numbers.map(run));
    t.same(
      results.map(({ stdout, stderr, exitCode }) => [stdout, stderr, exitCode]),
      numbers.map((i) => [`in ${i} ${i}\n`, `e${i}\n`, i % 100]),
    );
  });

  t.test('each gets its own large output and input', async (t) => {
    const bytes = 200_000;
    const run = (i) => machine.run(['cat'], { stdin: String.fromCharCode(97 + (i % 26)).repeat(bytes) });
    const results = await Promise.all(Array.from({ length: 200 }, (_, i) => run(i)));
    const wrong = results.filter(({ stdout }, i) => stdout !== String.fromCharCode(97 + (i % 26)).repeat(bytes));
    t.equal(wrong.length, 0);
  });

  t.test('can all be stopped at once', async (t) => {
    const controller = new AbortController();
    const runs = Array.from({ length: 200 }, () => machine.run(['sh', '-c', 'exec sleep 60'], { signal: controller.signal }));
    setTimeout(() => controller.abort(), 300);
    const results = await Promise.all(runs);
    t.ok(results.every(({ terminated, timedOut }) => terminated && !timedOut));
    t.ok(results.every(({ exitCode }) => [undefined, 143, 137].includes(exitCode)));
  });

  t.test('leave no descriptor open, here or in the agent', async (t) => {
    // What belongs to the last runs may close behind their results.
    const settled = () =>
      descriptorsOf('self') <= before.own && descriptorsOf(agent) <= before.agents && processesOfRuns(agent).length === 0;
    await eventually(settled);
    t.ok(descriptorsOf('self') <= before.own, `${descriptorsOf('self')} of ours, ${before.own} before`);
    t.ok(descriptorsOf(agent) <= before.agents, `${descriptorsOf(agent)} of the agent's, ${before.agents} before`);
    t.same(processesOfRuns(agent), [], 'and no process');
  });
});

/** Measures a program that does something so many times, after a warm-up, and what it grew by. */
async function growth(t, setUp, once) {
  const body = `
    const fs = require('node:fs');
    const children = () => fs.readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim().split(' ').filter(Boolean);
    const measure = () => {
      globalThis.gc();
      const agent = children()[0];
      return {
        own: fs.readdirSync('/proc/self/fd').length,
        agent: agent ? fs.readdirSync('/proc/' + agent + '/fd').length : 0,
        children: children().length,
        rss: process.memoryUsage.rss(),
      };
    };
    ${setUp}
    const once = async (i) => { ${once} };
    // The first word opens the stream.
    say('started');
    for (let i = 0; i < 50; i++) await once(i);
    say(measure());
    for (let i = 0; i < 500; i++) await once(i);
    say(measure());`;
  const { said, ...rest } = await runProgram(t, body, { nodeArgs: ['--expose-gc'] });
  t.match(rest, { code: 0, signal: null, stderr: '' });
  const [, before, after] = said;
  // What belongs to the last runs may close behind their results: a few of either.
  for (const what of ['own', 'agent', 'children']) {
    t.ok(after[what] <= before[what] + 8, `${what}: ${before[what]}, after five hundred more ${after[what]}`);
  }
  const grown = (after.rss - before.rss) / MIB;
  t.ok(grown < 20, `resident memory grew by ${grown.toFixed(1)} MiB`);
}

t.test('loading, starting, running and disposing five hundred times does not grow', async (t) => {
  const once = `
    const sandbox = await OsSandbox.start({ filesystem: { denyRead: ['/etc/hostname'] } });
    const { stdout } = await sandbox.machine('/').run(['echo', String(i)], { onOutput() {}, stdin: 'x' });
    if (stdout !== i + '\\n') throw new Error(stdout);
    await sandbox.dispose();`;
  await growth(t, '', once);
});

t.test('five hundred runs in one sandbox do not grow', async (t) => {
  const setUp = `
    const machine = (await OsSandbox.start()).machine('/');
    const controller = new AbortController();
    const options = { onOutput() {}, stdin: 'x'.repeat(1e5), timeoutMs: 1e5, signal: controller.signal };`;
  const once = `
    const { stdout } = await machine.run(['sh', '-c', 'cat > /dev/null; head -c 100000 /dev/zero; echo ' + i], options);
    if (!stdout.endsWith(i + '\\n')) throw new Error(stdout.slice(-10));`;
  await growth(t, setUp, once);
});

t.test('five hundred runs that are stopped or cannot start do not grow', async (t) => {
  const setUp = `const machine = (await OsSandbox.start()).machine('/'); machine.sigtermGraceMs = 0;`;
  const once = `
    const controller = new AbortController();
    const running = machine.run(['sleep', '60'], { signal: controller.signal });
    setTimeout(() => controller.abort(), i % 15);
    await Promise.all([
      running,
      machine.run(['no-such-program']),
      machine.run(['true'], { cwd: '/no/such' }),
      machine.run(['sleep', '60'], { timeoutMs: i % 15 }),
    ]);`;
  await growth(t, setUp, once);
});
