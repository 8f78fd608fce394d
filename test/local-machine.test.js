'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const t = require('tap');
const { LocalEnvironment, LocalMachine } = require('../lib/local-machine');
const { wrapOutputCallback } = require('../lib/output-callback');
const { Utf8Stream } = require('../lib/utf8-stream');
const { testOutputCallback } = require('./helpers/every-machine');

const machine = new LocalMachine();
const sh = (script, options) => machine.run(['sh', '-c', script], options);
const node = (script, options) => machine.run([process.execPath, '-e', script], options);
const MIB = 2 ** 20;

t.test('a machine', async (t) => {
  t.test('knows its directory as it was given, else the one of the process', async (t) => {
    t.equal(new LocalMachine().getcwd(), process.cwd());
    t.equal(new LocalMachine({}).getcwd(), process.cwd());
    t.equal(new LocalMachine('/usr/../usr/').getcwd(), '/usr/../usr/');
    t.equal(new LocalMachine({ cwd: '/usr' }).getcwd(), '/usr');
  });
  t.test('describes itself and its system', async (t) => {
    t.equal(machine.name, 'local');
    t.equal(machine.pathClass(), 'posix');
    t.equal(machine.gethome(), os.homedir());
    t.equal(machine.normpath('/a/../b//c/'), '/b/c/');
    t.match(machine.osEnv, { osKind: /^(Linux|Darwin|Windows)$/, osArch: os.arch(), osVersion: os.release() });
    t.same(machine.osInfo, machine.osEnv);
    t.equal(LocalEnvironment, LocalMachine);
    t.not(typeof machine, 'function');
  });
  t.test('takes its shell from SHELL, else bash', async (t) => {
    const before = process.env.SHELL;
    t.teardown(() => (before === undefined ? delete process.env.SHELL : (process.env.SHELL = before)));
    process.env.SHELL = '/opt/zsh';
    t.match(new LocalMachine().osEnv, { shellName: 'zsh', shellPath: '/opt/zsh' });
    delete process.env.SHELL;
    t.match(new LocalMachine().osEnv, { shellName: 'bash', shellPath: '/bin/bash' });
  });
  t.test('has a sibling in another directory, with its grants and settings', async (t) => {
    class Special extends LocalMachine {}
    const own = new Special({ cwd: '/usr', additionalDirs: ['/opt', 'share'] });
    own.sigtermGraceMs = 7;
    const sibling = own.withCwd('no/such');
    t.equal(sibling.getcwd(), '/usr/no/such');
    t.ok(sibling instanceof Special);
    t.same(sibling.additionalDirs(), ['/opt', '/usr/share']);
    t.equal(sibling.sigtermGraceMs, 7);
    t.equal(own.withCwd('/etc').getcwd(), '/etc');
    t.equal(own.getcwd(), '/usr');
    t.same(own.additionalDirs(), ['/opt', 'share']);
    t.same(machine.additionalDirs(), []);
  });
  t.test('lets a subclass with another constructor make its siblings', async (t) => {
    class Other extends LocalMachine {
      constructor(policy, cwd) {
        super(cwd);
        this.policy = policy;
      }
      sibling(cwd) {
        return new Other(this.policy, cwd);
      }
    }
    const sibling = new Other('strict', '/usr').withCwd('bin');
    t.same([sibling.policy, sibling.getcwd()], ['strict', '/usr/bin']);
  });
  t.test('is where the ports of its commands are', async (t) => {
    t.equal(await machine.exposedPortUrl(8080), 'http://127.0.0.1:8080');
    for (const port of [0, 65536, 1.5, '80']) t.equal(await machine.exposedPortUrl(port), undefined);
  });
});

t.test('a run gives exactly six results', async (t) => {
  t.strictSame(Object.entries(await sh('echo out; echo err >&2; exit 3')), [
    ['stdout', 'out\n'],
    ['stderr', 'err\n'],
    ['exitCode', 3],
    ['timedOut', false],
    ['truncated', false],
    ['terminated', true],
  ]);
});

t.test('arguments reach the program as they are', async (t) => {
  const words = ['', ' a  b ', '"', "it's", 'a\nb', '*', '~', '$HOME', '`id`', '\\', '--', '-n', '!', 'é', '😀'];
  const script = 'JSON.stringify(process.argv.slice(1))';
  const { stdout } = await machine.run([process.execPath, '-p', script, '--', ...words]);
  t.same(JSON.parse(stdout), words);
});

t.test('a mistake of the caller rejects, and nothing is started', async (t) => {
  const marker = path.join(t.testdir(), 'started');
  const start = ['touch', marker];
  const bad = [
    [[]],
    ['touch'],
    [undefined],
    [[5]],
    [[...start, 5]],
    [[...start, 'a\0b']],
    [start, { env: { A: 'x\0y' } }],
    [start, { env: { A: 5 } }],
    [start, { env: { 'A=B': 'x' } }],
    [start, { env: { '': 'x' } }],
    [start, { cwd: '/\0' }],
    [start, { stdin: 5 }],
    [start, { timeoutMs: -1 }],
    [start, { timeoutMs: NaN }],
    [start, { maxOutputBytes: '5' }],
    [start, { signal: {} }],
    [start, { onOutput: 'print' }],
  ];
  for (const [argv, options] of bad) await t.rejects(machine.run(argv, options), TypeError);
  t.notOk(fs.existsSync(marker));
});

t.test('a command runs in the directory of its machine, or one relative to it', async (t) => {
  const dir = fs.realpathSync(t.testdir({ sub: {}, file: '' }));
  const here = new LocalMachine(dir);
  const cwdOf = async (cwd) => (await here.run(['pwd', '-P'], { cwd })).stdout.trim();
  t.equal(await cwdOf(undefined), dir);
  t.equal(await cwdOf('sub'), path.join(dir, 'sub'));
  t.equal(await cwdOf('/'), '/');
  for (const cwd of ['missing', 'file']) {
    const { exitCode, stderr } = await here.run(['pwd'], { cwd });
    t.equal(exitCode, 127);
    t.ok(stderr.startsWith(`os-sandbox: cannot enter ${path.join(dir, cwd)}: `));
  }
});

t.test('a command has the whole environment, changed as asked', async (t) => {
  process.env.OS_SANDBOX_TEST_A = 'ambient';
  process.env.OS_SANDBOX_TEST_B = 'ambient';
  t.teardown(() => ['A', 'B'].forEach((name) => delete process.env[`OS_SANDBOX_TEST_${name}`]));
  const env = { OS_SANDBOX_TEST_B: undefined, OS_SANDBOX_TEST_C: 'own é\n=' };
  const { stdout } = await node('console.log(JSON.stringify(process.env))', { env });
  const seen = JSON.parse(stdout);
  t.equal(seen.OS_SANDBOX_TEST_A, 'ambient');
  t.notOk('OS_SANDBOX_TEST_B' in seen);
  t.equal(seen.OS_SANDBOX_TEST_C, 'own é\n=');
  t.equal(seen.PATH, process.env.PATH);
});

t.test('stdin', async (t) => {
  t.test('arrives as UTF-8, then ends', async (t) => {
    t.equal((await machine.run(['cat'], { stdin: 'é😀\0\n' })).stdout, 'é😀\0\n');
    t.equal((await machine.run(['wc', '-c'], { stdin: 'x'.repeat(5e6) })).stdout.trim(), '5000000');
  });
  t.test('is at its end when absent', async (t) => {
    t.equal((await machine.run(['cat'])).exitCode, 0);
    t.equal((await machine.run(['wc', '-c'], { stdin: '' })).stdout.trim(), '0');
  });
  t.test('may stay unread, at any size', async (t) => {
    const stdin = 'x'.repeat(50e6);
    t.match(await sh('exit 4', { stdin }), { exitCode: 4, stderr: '' });
    t.match(await sh('exec <&-; sleep 0.1; echo on', { stdin }), { exitCode: 0, stdout: 'on\n' });
    t.match(await machine.run(['head', '-c', '3'], { stdin }), { exitCode: 0, stdout: 'xxx' });
  });
});

t.test('exitCode', async (t) => {
  t.test('is the code of the command', async (t) => {
    for (const code of [0, 1, 2, 77, 126, 127, 128, 143, 255]) t.equal((await sh(`exit ${code}`)).exitCode, code);
  });
  t.test('is 128 and its number for a signal', async (t) => {
    for (const name of ['HUP', 'INT', 'ABRT', 'KILL', 'SEGV', 'PIPE', 'TERM']) {
      t.equal((await sh(`kill -${name} $$`)).exitCode, 128 + os.constants.signals[`SIG${name}`]);
    }
  });
  t.test('is 127 for a program that is not there, with a message', async (t) => {
    for (const name of ['no-such-program', '/no/such', './no-such', '']) {
      const { exitCode, stderr, ...rest } = await machine.run([name, 'x']);
      t.equal(exitCode, 127);
      t.equal(stderr, `os-sandbox: ${name}: command not found\n`);
      t.strictSame(rest, { stdout: '', timedOut: false, truncated: false, terminated: true });
    }
  });
  t.test('is 127 also when an entry of PATH is no directory', async (t) => {
    const PATH = `${process.execPath}:${process.env.PATH}:${process.execPath}`;
    t.match(await machine.run(['no-such-program'], { env: { PATH } }), { exitCode: 127, stderr: /command not found/ });
  });
  t.test('is 126 for one that cannot be executed, with a message', async (t) => {
    const file = path.join(t.testdir({ file: 'text' }), 'file');
    for (const argv of [[file], [path.dirname(file)], [`${file}/x`], ['echo', 'x'.repeat(4 * MIB)]]) {
      const { exitCode, stderr } = await machine.run(argv);
      t.equal(exitCode, 126);
      t.match(stderr, /^os-sandbox: .+: [a-z ]+\n$/);
    }
  });
  t.test('comes with its message through onOutput too', async (t) => {
    const chunks = [];
    const { stderr } = await machine.run(['no-such-program'], { onOutput: (chunk) => chunks.push(chunk) });
    t.same(chunks, [{ stream: 'stderr', data: stderr }]);
  });
});

t.test('a command starts with default signal dispositions', async (t) => {
  const { stdout } = await machine.run(['bash', '-c', 'yes | head -1; echo ${PIPESTATUS[0]}']);
  t.equal(stdout, 'y\n141\n');
});

t.test('output is decoded as UTF-8', async (t) => {
  const cases = ['\\101\\377\\102', '\\303', '\\342\\202', 'a\\342\\202b', '\\357\\273\\277x', '\\360\\237\\230\\200'];
  for (const bytes of cases) {
    const latin1 = bytes.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8)));
    const raw = Buffer.from(latin1, 'latin1');
    t.equal((await machine.run(['printf', bytes])).stdout, raw.toString('utf8'));
  }
});

t.test('the cap', async (t) => {
  const capped = (script, maxOutputBytes) => sh(script, { maxOutputBytes });

  t.test('cuts each stream by itself, in bytes', async (t) => {
    t.match(await capped('printf 12345; printf 123 >&2', 4), { stdout: '1234', stderr: '123', truncated: true });
    t.match(await capped('printf 123; printf 12345 >&2', 4), { stdout: '123', stderr: '1234', truncated: true });
    t.match(await capped('printf aé', 2), { stdout: 'a\uFFFD', truncated: true });
    t.match(await capped('printf é; sleep 0.1; printf é', 3), { stdout: 'é\uFFFD', truncated: true });
  });
  t.test('that is exactly full has truncated nothing', async (t) => {
    t.match(await capped('printf 1234; printf 1234 >&2', 4), { stdout: '1234', stderr: '1234', truncated: false });
    t.match(await capped('printf 1234; sleep 0.1; printf 5', 4), { stdout: '1234', truncated: true });
  });
  t.test('of 0 truncates anything', async (t) => {
    t.match(await capped('printf x', 0), { stdout: '', truncated: true });
    t.match(await capped('true', 0), { stdout: '', truncated: false });
  });
  t.test('does not stop the command', async (t) => {
    const script = 'head -c 20000000 /dev/zero; echo end >&2; exit 5';
    t.match(await capped(script, 10), { stdout: '\0'.repeat(10), stderr: 'end\n', exitCode: 5, truncated: true });
  });
  t.test('leaves timeout and abort at work', async (t) => {
    const options = { maxOutputBytes: 10 };
    t.match(await sh('yes', { ...options, timeoutMs: 200 }), { stdout: 'y\n'.repeat(5), timedOut: true });
    const signal = AbortSignal.timeout(200);
    t.match(await sh('exec yes', { ...options, signal }), { exitCode: 143, truncated: true, timedOut: false });
  });
  t.test('is the longest possible string when none is asked for', async (t) => {
    const { stdout, exitCode, truncated } = await sh(`head -c ${2 ** 29} /dev/zero`, { maxOutputBytes: Infinity });
    t.strictSame([stdout.length, exitCode, truncated], [2 ** 29 - 24, 0, true]);
  });
});

t.test('onOutput', async (t) => {
  const collect = async (script, options) => {
    const chunks = [];
    const result = await sh(script, { ...options, onOutput: (chunk) => chunks.push(chunk) });
    const joined = (name) => chunks.filter(({ stream }) => stream === name).map(({ data }) => data).join('');
    t.same([joined('stdout'), joined('stderr')], [result.stdout, result.stderr]);
    t.ok(chunks.every(({ data }) => data !== ''));
    return chunks.map(({ stream, data }) => `${stream} ${data}`);
  };

  t.test('gets output as it arrives', async (t) => {
    let go;
    const first = new Promise((resolve) => (go = resolve));
    const dir = t.testdir();
    const running = sh('echo first; while [ ! -e go ]; do sleep 0.05; done; echo second', { cwd: dir, onOutput: go });
    t.strictSame(await first, { stream: 'stdout', data: 'first\n' });
    fs.writeFileSync(path.join(dir, 'go'), '');
    t.equal((await running).stdout, 'first\nsecond\n');
  });
  t.test('gets a split character whole, and a cut one as U+FFFD', async (t) => {
    const script = "printf 'a\\360\\237'; sleep 0.1; printf '\\230\\200'; sleep 0.1; printf '\\342\\202' >&2";
    t.same(await collect(script), ['stdout a', 'stdout 😀', 'stderr \uFFFD']);
  });
  t.test('gets the crossing chunk up to the cap, then nothing', async (t) => {
    const script = 'printf 123; sleep 0.1; printf 456; sleep 0.1; printf 789';
    t.same(await collect(script, { maxOutputBytes: 5 }), ['stdout 123', 'stdout 45']);
    t.same(await collect('printf aé; printf b', { maxOutputBytes: 2 }), ['stdout a\uFFFD']);
    t.same(await collect('printf x', { maxOutputBytes: 0 }), []);
  });
  t.test('gets all of a large output', async (t) => {
    await collect('seq 300000; seq 300000 >&2');
  });
  testOutputCallback(t, machine);
  t.test('keeps the context in which it was wrapped', async (t) => {
    const storage = new AsyncLocalStorage();
    const seen = [];
    const wrapped = storage.run('three', () => wrapOutputCallback(() => seen.push(storage.getStore())));
    storage.run('elsewhere', () => wrapped('stdout', 'x'));
    t.same(seen, ['three']);
  });
});

t.test('a decoded stream adds up to what decoding it at once gives, however it is cut', async (t) => {
  const bytes = Buffer.from('aé€😀\uFEFF', 'utf8');
  const pool = [...bytes, 0xff, 0xc0, 0xed, 0xa0, 0xf4, 0x90];
  let seed = 7;
  const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
  let wrong = 0;
  for (let round = 0; round < 5000; round++) {
    const input = Buffer.from(Array.from({ length: random(12) }, () => pool[random(pool.length)]));
    const cap = random(14);
    const stream = new Utf8Stream(cap, () => {});
    for (let at = 0; at < input.length; ) stream.push(input.subarray(at, (at += 1 + random(3))));
    stream.end();
    const right = stream.text === input.subarray(0, cap).toString() && stream.truncated === input.length > cap;
    if (!right) wrong++;
  }
  t.equal(wrong, 0);
});
