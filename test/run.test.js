'use strict';
// What a sandboxed command gets and gives back: arguments, directory, environment, stdin, output, exit code.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const t = require('tap');
const { testOutputCallback } = require('./helpers/every-machine');
const { startMachine } = require('./helpers/sandbox');

const MIB = 2 ** 20;

t.test('a sandboxed run', async (t) => {
  const { machine, workspace, sh } = await startMachine(t);

  t.test('gives exactly six results', async (t) => {
    t.strictSame(Object.entries(await sh('echo out; echo err >&2; exit 3')), [
      ['stdout', 'out\n'],
      ['stderr', 'err\n'],
      ['exitCode', 3],
      ['timedOut', false],
      ['truncated', false],
      ['terminated', true],
    ]);
  });

  t.test('passes arguments as they are', async (t) => {
    const words = ['', ' a  b ', '"', "it's", 'a\nb', '*', '~', '$HOME', '`id`', '\\', '--', '-n', '!', 'é', '😀', ''];
    const { stdout } = await machine.run(['sh', '-c', 'printf "%s\\0" "$0" "$@"', 'zero', ...words]);
    t.same(stdout.split('\0').slice(0, -1), ['zero', ...words]);
    t.equal((await machine.run(['printf', '--', '%s|', '--args', '--', '-c'])).stdout, '--args|--|-c|');
  });

  t.test('passes an argument as long as the kernel takes, and says so when it is longer', async (t) => {
    const longest = 'é'.repeat(65535);
    t.equal((await machine.run(['printf', '%s', longest])).stdout, longest);
    const { exitCode, stderr } = await machine.run(['echo', 'x'.repeat(4 * MIB)]);
    t.equal(exitCode, 126);
    t.match(stderr, /^os-sandbox: .*echo: .+\n$/);
  });

  t.test('passes thousands of arguments', async (t) => {
    const words = Array.from({ length: 20000 }, (_, i) => `word ${i}`);
    t.equal((await machine.run(['printf', '%s\n', ...words])).stdout, `${words.join('\n')}\n`);
  });

  t.test('runs a shell triple as it is', async (t) => {
    const script = 'for x in a "b c"; do echo "[$x]"; done; echo $0 $#';
    t.equal((await machine.run(['bash', '-c', script])).stdout, '[a]\n[b c]\nbash 0\n');
  });

  t.test('rejects a mistake of the caller, and starts nothing', async (t) => {
    const start = ['touch', path.join(workspace, 'started')];
    const bad = [
      [[]],
      ['touch'],
      [undefined],
      [[...start, 5]],
      [[...start, 'a\0b']],
      [['\0']],
      [start, { env: { A: 'x\0y' } }],
      [start, { env: { 'A=B': 'x' } }],
      [start, { cwd: '/\0' }],
      [start, { stdin: 5 }],
      [start, { timeoutMs: -1 }],
      [start, { maxOutputBytes: NaN }],
      [start, { signal: {} }],
      [start, { onOutput: 'print' }],
    ];
    for (const [argv, options] of bad) await t.rejects(machine.run(argv, options), TypeError);
    t.notOk(fs.existsSync(start[1]));
  });

  t.test("runs in its machine's directory, or one relative to it", async (t) => {
    fs.mkdirSync(path.join(workspace, 'ünder dir'));
    const cwdOf = async (cwd) => (await machine.run(['pwd', '-P'], { cwd })).stdout;
    t.equal(await cwdOf(undefined), `${workspace}\n`);
    t.equal(await cwdOf('ünder dir'), `${workspace}/ünder dir\n`);
    t.equal(await cwdOf('..'), `${path.dirname(workspace)}\n`);
    t.equal(await cwdOf('/'), '/\n');
  });

  t.test('fails without throwing where the directory is missing', async (t) => {
    fs.writeFileSync(path.join(workspace, 'file'), '');
    for (const cwd of ['missing', 'file']) {
      const { exitCode, stderr, ...rest } = await machine.run(['pwd'], { cwd });
      t.equal(exitCode, 127);
      t.ok(stderr.startsWith(`os-sandbox: cannot enter ${path.join(workspace, cwd)}: `), stderr);
      t.strictSame(rest, { stdout: '', timedOut: false, truncated: false, terminated: true });
    }
    const gone = machine.withCwd('gone');
    t.match(await gone.run(['pwd']), { exitCode: 127, stderr: /gone/ });
  });

  t.test('sees the whole ambient environment, changed as asked', async (t) => {
    const names = ['A', 'B', 'C'].map((letter) => `OS_SANDBOX_TEST_${letter}`);
    t.teardown(() => names.forEach((name) => delete process.env[name]));
    for (const name of names.slice(0, 2)) process.env[name] = 'ambient';
    const env = { [names[1]]: undefined, [names[2]]: 'own é\n=' };
    const { stdout } = await machine.run(['env', '-0'], { env });
    const { [names[1]]: removed, ...expected } = { ...process.env, ...env };
    t.equal(removed, undefined);
    // A TMPDIR that does not exist is replaced.
    const { TMPDIR: ambientTmp, ...ambient } = expected;
    const entries = stdout.split('\0').slice(0, -1).map((line) => /^([^=]*)=(.*)$/s.exec(line).slice(1));
    const { TMPDIR: seenTmp, ...seen } = Object.fromEntries(entries);
    // Nor do the variables stay that name a proxy.
    const withoutProxy = (variables) => Object.fromEntries(Object.entries(variables).filter(([name]) => !/^(http|https|all|no)_proxy$/i.test(name)));
    t.same(withoutProxy(seen), withoutProxy(ambient));
    t.equal(seenTmp === undefined, ambientTmp === undefined);
  });

  t.test('searches its own PATH', async (t) => {
    fs.mkdirSync(path.join(workspace, 'bin'));
    fs.writeFileSync(path.join(workspace, 'bin', 'own-tool'), '#!/bin/sh\necho "own $1"\n', { mode: 0o755 });
    const env = { PATH: `${workspace}/bin:${process.env.PATH}` };
    t.equal((await machine.run(['own-tool', 'x'], { env })).stdout, 'own x\n');
    t.equal((await machine.run(['own-tool'])).exitCode, 127);
    t.equal((await machine.run(['./bin/own-tool', 'y'])).stdout, 'own y\n');
  });

  t.test('stdin', async (t) => {
    t.test('arrives as UTF-8, then ends', async (t) => {
      t.equal((await machine.run(['cat'], { stdin: 'é😀\0\n' })).stdout, 'é😀\0\n');
      t.equal((await machine.run(['wc', '-c'], { stdin: 'é'.repeat(5e6) })).stdout.trim(), '10000000');
      const text = Array.from({ length: 200000 }, (_, i) => `line ${i}\n`).join('');
      t.ok((await machine.run(['cat'], { stdin: text })).stdout === text);
    });
    t.test('is at its end when absent or empty', async (t) => {
      for (const stdin of [undefined, '']) {
        t.match(await machine.run(['wc', '-c'], { stdin }), { stdout: /^0\s*$/, exitCode: 0 });
        t.match(await sh('read line; echo $?', { stdin }), { stdout: '1\n' });
      }
    });
    t.test('may stay unread, at any size', async (t) => {
      const stdin = 'x'.repeat(50e6);
      t.match(await sh('exit 4', { stdin }), { exitCode: 4, stderr: '' });
      t.match(await sh('exec <&-; sleep 0.2; echo on', { stdin }), { exitCode: 0, stdout: 'on\n' });
      t.match(await machine.run(['head', '-c', '3'], { stdin }), { exitCode: 0, stdout: 'xxx' });
    });
    t.test('does not deadlock with large output', async (t) => {
      const stdin = 'x'.repeat(20e6);
      const { stdout, stderr, exitCode } = await sh('tee /dev/stderr', { stdin });
      t.strictSame([stdout.length, stderr.length, exitCode], [20e6, 20e6, 0]);
    });
  });

  t.test('exitCode', async (t) => {
    t.test('is the code of the command', async (t) => {
      const codes = [0, 1, 2, 77, 125, 126, 127, 128, 129, 137, 143, 254, 255];
      const results = await Promise.all(codes.map((code) => sh(`exit ${code}`)));
      t.same(results.map(({ exitCode }) => exitCode), codes);
      t.ok(results.every(({ stderr }) => stderr === ''));
    });
    t.test('is 128 and its number for a signal', async (t) => {
      const names = ['HUP', 'INT', 'QUIT', 'ABRT', 'KILL', 'USR1', 'SEGV', 'PIPE', 'ALRM', 'TERM', 'XFSZ', 'SYS'];
      const results = await Promise.all(names.map((name) => sh(`ulimit -c 0; kill -${name} $$`)));
      const expected = names.map((name) => 128 + os.constants.signals[`SIG${name}`]);
      t.same(results.map(({ exitCode }) => exitCode), expected);
    });
    t.test('is 127 for a program that is not there, with a message', async (t) => {
      for (const name of ['no-such-program', '/no/such', './no-such', '']) {
        const { exitCode, stderr, ...rest } = await machine.run([name, 'x']);
        t.equal(exitCode, 127);
        t.ok(/^os-sandbox: .+\n$/.test(stderr) && stderr.includes(name), stderr);
        t.strictSame(rest, { stdout: '', timedOut: false, truncated: false, terminated: true });
      }
    });
    t.test('is 126 for one that cannot be executed, with a message', async (t) => {
      const file = path.join(workspace, 'text');
      fs.writeFileSync(file, 'text', { mode: 0o644 });
      for (const name of [file, workspace]) {
        const { exitCode, stderr } = await machine.run([name]);
        t.equal(exitCode, 126);
        t.ok(stderr.startsWith('os-sandbox: ') && stderr.includes(name), stderr);
      }
    });
    t.test('comes with its message through onOutput too', async (t) => {
      const chunks = [];
      const { stderr } = await machine.run(['no-such-program'], { onOutput: (chunk) => chunks.push(chunk) });
      t.same(chunks, [{ stream: 'stderr', data: stderr }]);
    });
    t.test('leaves stderr alone', async (t) => {
      t.strictSame((await sh('exit 1')).stderr, '');
      t.strictSame((await sh('printf "no newline" >&2; exit 1')).stderr, 'no newline');
    });
  });

  t.test('decodes output as UTF-8', async (t) => {
    const cases = ['\\101\\377\\102', '\\303', '\\342\\202', 'a\\342\\202b', '\\357\\273\\277x', '\\360\\237\\230\\200', '\\355\\240\\200'];
    for (const bytes of cases) {
      const latin1 = bytes.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8)));
      const expected = Buffer.from(latin1, 'latin1').toString('utf8');
      t.equal((await machine.run(['printf', bytes])).stdout, expected);
    }
    t.equal((await machine.run(['printf', 'a\\000b'])).stdout, 'a\0b');
  });

  t.test('maxOutputBytes', async (t) => {
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
      t.match(await capped('true', 0), { stdout: '', stderr: '', truncated: false });
    });
    t.test('does not stop the command', async (t) => {
      const script = 'head -c 20000000 /dev/zero; echo end >&2; exit 5';
      t.match(await capped(script, 10), { stdout: '\0'.repeat(10), stderr: 'end\n', exitCode: 5, truncated: true });
    });
    t.test('leaves timeout and abort at work', async (t) => {
      const timed = await sh('yes', { maxOutputBytes: 10, timeoutMs: 400 });
      t.match(timed, { stdout: 'y\n'.repeat(5), timedOut: true, exitCode: undefined, truncated: true });
      const aborted = await sh('exec yes', { maxOutputBytes: 10, signal: AbortSignal.timeout(400) });
      t.match(aborted, { stdout: 'y\n'.repeat(5), exitCode: 143, truncated: true, timedOut: false });
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
      t.ok(joined('stdout') === result.stdout && joined('stderr') === result.stderr, 'chunks add up to the result');
      t.ok(chunks.every(({ data }) => data !== ''), 'no chunk is empty');
      return chunks.map(({ stream, data }) => `${stream} ${data}`);
    };

    t.test('gets output as it arrives', async (t) => {
      let go;
      const first = new Promise((resolve) => (go = resolve));
      const running = sh('echo first; while [ ! -e go ]; do sleep 0.05; done; echo second', { onOutput: go });
      t.strictSame(await first, { stream: 'stdout', data: 'first\n' });
      fs.writeFileSync(path.join(workspace, 'go'), '');
      t.equal((await running).stdout, 'first\nsecond\n');
    });
    t.test('gets a split character whole, and a cut one as U+FFFD', async (t) => {
      const split = "printf 'a\\360\\237'; sleep 0.2; printf '\\230\\200'; sleep 0.2; printf '\\342\\202' >&2";
      t.same(await collect(split), ['stdout a', 'stdout 😀', 'stderr \uFFFD']);
      const bytewise = "for byte in 360 237 230 200; do printf \"\\\\$byte\"; sleep 0.1; done; printf z";
      t.equal((await collect(bytewise))[0].slice(0, 'stdout 😀'.length), 'stdout 😀');
      t.same(await collect("printf '\\360\\237'; sleep 0.2; printf x"), ['stdout \uFFFDx']);
    });
    t.test('gets the crossing chunk up to the cap, then nothing', async (t) => {
      const script = 'printf 123; sleep 0.2; printf 456; sleep 0.2; printf 789';
      t.same(await collect(script, { maxOutputBytes: 5 }), ['stdout 123', 'stdout 45']);
      t.same(await collect('printf aé; sleep 0.2; printf b', { maxOutputBytes: 2 }), ['stdout a\uFFFD']);
      t.same(await collect('printf x', { maxOutputBytes: 0 }), []);
    });
    t.test('gets all of a large output of both streams', async (t) => {
      await collect('seq 300000; seq 300000 >&2');
      await collect('seq 200000 & seq 200000 >&2; wait');
    });
    testOutputCallback(t, machine);
    t.test('may start a run of its own', async (t) => {
      let inner;
      await sh('echo go', { onOutput: () => (inner = sh('echo inner')) });
      t.equal((await inner).stdout, 'inner\n');
    });
  });
});
