'use strict';
// The supervisor under load, under storms of signals, and with programs that do unusual things; what is told stays true.

const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { LocalMachine } = require('..');
const { compile, resultsOf } = require('./helpers/attack');
const { blockLoop, eventually, isAlive } = require('./helpers/processes');
const { runProgram, startProgram } = require('./helpers/program');
const { childrenOf, processesOfRuns, processesWith, scratchFolder, startMachine, uniqueDuration } = require('./helpers/sandbox');
const { blockOf, collectViolations, outsideOf } = require('./helpers/violations');

const IS_ROOT = process.getuid?.() === 0;

const openFiles = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length;

/** Kilobytes; 0 once the process is gone. @param {number} pid */
function residentOf(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The agent of the newest sandbox. */
const newestAgent = () => Math.max(...childrenOf(process.pid));

/** A machine, its agent, a place where it may not write, and a program for it. */
async function startWith(t, program) {
  const agent = await startMachine(t).then((started) => ({ ...started, agent: newestAgent() }));
  const outside = outsideOf(agent.workspace);
  return { ...agent, outside, program: compile(path.dirname(agent.workspace), program) };
}

t.test('a refusal', async (t) => {
  const { sandbox, machine, program, outside } = await startWith(t, 'threads');
  t.test('of several threads at the same moment counts each of them', async (t) => {
    for (const threads of [2, 16]) {
      sandbox.violations.clear();
      const { stderr } = await machine.run([program, 'refused', outside, String(threads), '50']);
      t.same(blockOf(stderr).sort(), Array.from({ length: 50 }, (_, i) => `deny file-write-create ${outside}/${i} (outside the write roots) (×${threads})`).sort());
      t.same(sandbox.violations.counts, { events: 50, attempts: 50 * threads, dropped: 0 });
    }
  });
  t.test('is told where its process ends at once', async (t) => {
    for (let round = 0; round < 10; round += 1) {
      const runs = Array.from({ length: 8 }, () => machine.run([program, 'exit', `${outside}/end`, '8']));
      for (const { stderr } of await Promise.all(runs)) t.match(blockOf(stderr), [/outside\/end \(outside the write roots\)/]);
    }
  });
  t.test('is told in its order where the loop is blocked for longer than a run may take to end', async (t) => {
    const told = collectViolations(sandbox);
    const running = machine.run([program, 'flood', outside, '2000']);
    await new Promise((resolve) => setTimeout(resolve, 20));
    blockLoop(3000);
    t.equal(blockOf((await running).stderr).at(-1), '(1900 more)');
    t.same(told.map((violation) => path.basename(violation.path)), Array.from({ length: 2000 }, (_, i) => String(i)));
  });
});

t.test('while a command floods its supervisor', async (t) => {
  const { sandbox, machine, agent, program, outside, workspace } = await startWith(t, 'threads');
  const other = sandbox.machine(path.join(path.dirname(workspace), 'outside'));
  await other.run(['true']);
  t.ok(await eventually(() => processesOfRuns(agent).length === 0));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const before = [openFiles(process.pid), openFiles(agent), 0];
  const floods = {
    'with the same refusal': [[program, 'flood', outside, '100000', 'same'], { events: 1, attempts: 100_000, dropped: 0 }],
    'with different ones': [[program, 'flood', outside, '100000'], { attempts: 100_000 }],
    'with connects that wait': [[program, 'connects', '300'], { events: 0 }],
  };
  for (const [how, [argv, counts]] of Object.entries(floods)) {
    t.test(`${how}, its memory is bounded, and other runs go on`, async (t) => {
      sandbox.violations.clear();
      let largest = 0;
      let over = false;
      const delays = [];
      const running = machine.run(argv).finally(() => (over = true));
      while (!over) {
        largest = Math.max(largest, ...processesOfRuns(agent).map(residentOf));
        const start = Date.now();
        t.match(await other.run(['true']), { exitCode: 0, stderr: '' });
        delays.push(Date.now() - start);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const { exitCode, stdout } = await running;
      t.equal(exitCode, 0);
      if (stdout) t.same(resultsOf(stdout), { refused: '44', waiting: '256', meanwhile: 'made', connected: '256' });
      t.match(sandbox.violations.counts, counts);
      t.ok(largest > 500 && largest < 16_384, `${largest} kB`);
      const median = delays.sort((left, right) => left - right)[delays.length >> 1];
      t.ok(median < 1000, `${median} ms`);
    });
  }
  t.test('and after it nothing is left', async (t) => {
    t.ok(await eventually(() => String([openFiles(process.pid), openFiles(agent), processesOfRuns(agent).length]) === String(before)));
  });
});

t.test('a command at the limit of its processes is answered, stopped, and leaves nothing', async (t) => {
  const { machine, outside, agent } = await startWith(t, 'threads');
  const duration = uniqueDuration();
  const before = processesOfRuns(agent).length;
  const script = `
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NPROC, (200, 200))
made = 0
while made < 150 or ${IS_ROOT ? 'False' : 'True'}:
    try:
        pid = os.fork()
    except OSError as error:
        print(error.strerror, flush=True)
        break
    made += 1
    if pid == 0:
        while True:
            try: os.mkdir(f'${outside}/{os.getpid()}')
            except OSError: pass
os.mkdir('made')
print('made', flush=True)
while True: os.wait()`;
  const controller = new AbortController();
  const { stdout, exitCode } = await machine.run(['python3', '-c', script, duration], {
    signal: controller.signal,
    timeoutMs: 20_000,
    onOutput: ({ data }) => data.includes('made') && controller.abort(),
  });
  t.match(stdout, IS_ROOT ? /made/ : /unavailable\nmade/);
  t.equal(exitCode, 128 + 15);
  t.same(processesWith(duration), []);
  t.ok(await eventually(() => processesOfRuns(agent).length === before));
});

/** The threads of this user's processes, which a limit of processes counts. */
function threadsOfUser() {
  const ids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const threads = ids.map((pid) => {
    try {
      return fs.statSync(`/proc/${pid}`).uid === process.getuid?.() ? fs.readdirSync(`/proc/${pid}/task`).length : 0;
    } catch {
      return 0;
    }
  });
  return threads.reduce((sum, count) => sum + count, 0);
}

t.test('where no thread can be made, a call that would have to wait fails, and others are answered', async (t) => {
  const { workspace } = await startMachine(t);
  const script = `
import os, socket, time
listener = socket.socket(socket.AF_UNIX); listener.bind('full.sock'); listener.listen(0)
filler = socket.socket(socket.AF_UNIX); filler.connect('full.sock')
for number in range(300):
    try:
        pid = os.fork()
    except BlockingIOError:
        break
    if pid == 0:
        if number < 40: # more than other tests of this user may set free meanwhile
            time.sleep(0.5)
            try: socket.socket(socket.AF_UNIX).connect('full.sock')
            except OSError: os.write(1, b'refused ')
        time.sleep(600)
time.sleep(1)
os.mkdir('made')
os.write(1, b'made')`;
  const body = `
    const sandbox = await OsSandbox.start();
    say(await sandbox.machine(process.argv[1]).run(['python3', '-c', ${JSON.stringify(script)}], { timeoutMs: 10_000 }));
    await sandbox.dispose();`;
  const launcher = ['prlimit', `--nproc=${threadsOfUser() + 80}`];
  const { said } = await runProgram(t, body, { args: [workspace], launcher });
  t.match(said, [{ exitCode: 0, stdout: IS_ROOT ? 'made' : /^(refused )+made$/, stderr: '' }]);
});

t.test('under a storm of signals no call is made twice, and none fails', async (t) => {
  const expected = {
    ...Object.fromEntries(
      ['mkdir', 'rename', 'rmdir', 'open', 'link', 'symlink', 'rename to new', 'unlink', 'refused', 'connect', 'datagrams', 'sendmsg', 'waiting threads'].map((call) => [call, '0']),
    ),
    connections: '500',
    received: '3000',
    stream: '25165824 bytes, 0 wrong',
    'with a time limit': 'Interrupted system call',
    'called thread': 'Interrupted system call',
    'a stop': 'stops',
    continued: 'connected',
    signals: 'many',
  };
  const { machine, outside, program } = await startWith(t, 'storm');
  const { stdout, stderr } = await machine.run([program, `${outside}/storm`], { timeoutMs: 30_000 });
  t.same(resultsOf(stdout), expected);
  t.match(blockOf(stderr), [/storm \(outside the write roots\) \(×500\)$/]);
  const plain = await new LocalMachine(scratchFolder(t)).run([program, '/proc/storm'], { timeoutMs: 30_000 });
  t.same({ ...resultsOf(plain.stdout), refused: '0' }, expected);
});

t.test('programs that do unusual things to themselves', async (t) => {
  const { machine, program, workspace } = await startWith(t, 'nested');
  const run = async (argv) => (await machine.run(argv, { timeoutMs: 30_000 })).stdout;
  const plain = await new LocalMachine(scratchFolder(t)).run([program], { timeoutMs: 30_000 });
  t.test('get what they get elsewhere, but for a listener of their own', async (t) => {
    const result = await machine.run([program], { timeoutMs: 30_000 });
    t.same(resultsOf(result.stdout), { ...resultsOf(plain.stdout), 'own listener': 'EBUSY' });
    t.equal(Object.values(resultsOf(plain.stdout)).filter((text) => /work|done/.test(text)).length, 10);
    t.equal(result.stderr, '');
  });
  t.test('are traced and debugged', async (t) => {
    t.equal(await run(['strace', '-f', '-o', 'trace', 'sh', '-c', 'mkdir s1; (mkdir s2; echo x > s2/f); mv s1 s2; echo done']), 'done\n');
    t.same(fs.readdirSync(`${workspace}/s2`).sort(), ['f', 's1']);
    t.match(fs.readFileSync(`${workspace}/trace`, 'utf8'), /mkdir\("s1", 0777\) += 0\n[^]*rename[^\n]+ = 0\n/);
    const commands = ['break mkdir', 'run', ...Array(8).fill('continue')].flatMap((command) => ['-ex', command]);
    const threads = compile(path.dirname(workspace), 'threads');
    t.match(await run(['gdb', '-q', '-batch', ...commands, '--args', threads, 'flood', '/proc', '5']), /(Breakpoint 1, [^]*){5}exited normally/);
  });
  t.test('are closed to the supervisor where the kernel closes them to everybody: no names, no connections', async (t) => {
    const closed = path.join(path.dirname(workspace), 'closed');
    fs.copyFileSync(program, closed);
    if (IS_ROOT) fs.chownSync(closed, 65_534, 65_534);
    fs.chmodSync(closed, IS_ROOT ? 0o711 : 0o111);
    fs.rmSync(workspace, { recursive: true });
    fs.mkdirSync(workspace);
    const results = resultsOf(await run([closed]));
    if (IS_ROOT) t.match(results, { 'not dumpable': 'EACCES', umask: 'EACCES' });
    else t.same(results, { ...resultsOf(plain.stdout), 'own listener': 'EBUSY' });
  });
  t.test('find that there is no sandbox in the sandbox, with a reason', async (t) => {
    const script = `
      require(${JSON.stringify(require.resolve('..'))}).OsSandbox.start().then(async (sandbox) => {
        const { stdout } = await sandbox.machine(process.cwd()).run(['echo', 'plainly']);
        console.log(JSON.stringify({ ...sandbox.status, stdout }));
        await sandbox.dispose();
      });`;
    t.match(JSON.parse(await run([process.execPath, '-e', script])), { enabled: false, reason: /user namespace/, stdout: 'plainly\n' });
  });
});

t.test('with fifty processes in the middle of calls', async (t) => {
  const crowd = path.join(__dirname, 'escapes', 'crowd.py');
  const ends = {
    'the supervisor is killed': { kill: ({ supervisor }) => process.kill(supervisor, 'SIGKILL'), message: /supervisor ended/ },
    'the agent is killed': { kill: ({ agent }) => process.kill(agent, 'SIGKILL'), message: /agent ended/ },
    'the sandbox is disposed of': { kill: ({ sandbox }) => void sandbox.dispose(), message: /disposed/ },
  };
  for (const [how, { kill, message }] of Object.entries(ends)) {
    t.test(`${how}: the run rejects, nothing goes on, nothing is left`, async (t) => {
      const children = childrenOf(process.pid);
      const { sandbox, machine, workspace, outside, agent } = await startWith(t, 'threads');
      const duration = uniqueDuration();
      let up = () => {};
      const isUp = new Promise((resolve) => (up = () => resolve(undefined)));
      const running = machine.run(['python3', crowd, duration], { env: { REFUSED: outside }, onOutput: up });
      const rejected = t.rejects(running, { message });
      await isUp;
      await new Promise((resolve) => setTimeout(resolve, 100));
      t.equal(processesWith(duration).length, 51);
      const chain = processesOfRuns(agent);
      const supervisor = chain.find((pid) => !fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--args'));
      kill({ sandbox, agent, supervisor });
      await rejected;
      t.ok(await eventually(() => processesWith(duration).length === 0 && !chain.some(isAlive)));
      t.same(fs.readdirSync(workspace).filter((name) => name.startsWith('survived')), []);
      t.same(fs.readdirSync(outside), []);
      await sandbox.dispose();
      t.ok(await eventually(() => childrenOf(process.pid).length === children.length));
    });
  }
});

t.test('Node that is stopped and killed while events are in the pipe takes everything with it', async (t) => {
  const { workspace, program, outside } = await startWith(t, 'threads');
  const body = `
    const sandbox = await OsSandbox.start();
    sandbox.once('violation', () => say('heard'));
    await sandbox.machine(process.argv[1]).run([${[program, 'flood', outside, '100000000'].map((word) => JSON.stringify(word))}]);`;
  for (const stopped of [false, true]) {
    const node = startProgram(t, body, { args: [workspace] });
    t.equal(await node.next(), 'heard');
    const [agent] = childrenOf(node.pid);
    const chain = [agent, ...childrenOf(agent)];
    if (stopped) node.child.kill('SIGSTOP');
    if (stopped) await new Promise((resolve) => setTimeout(resolve, 300));
    node.child.kill('SIGKILL');
    await node.ended;
    t.ok(chain.length >= 4);
    t.ok(await eventually(() => !chain.some(isAlive)));
  }
});
