'use strict';
// What users are told of refused attempts: the block on stderr, events, the list.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { LocalMachine, OsSandbox, SandboxedLocalMachine } = require('..');
const { collectWarnings } = require('./helpers/every-machine');
const { eventually, isAlive } = require('./helpers/processes');
const { parentOf, processesWith, scratchFolder, startMachine, startSandbox, uniqueDuration } = require('./helpers/sandbox');
const { beforeBlock, blockOf, collectViolations, outsideOf } = require('./helpers/violations');

const RESULT_KEYS = ['exitCode', 'stderr', 'stdout', 'terminated', 'timedOut', 'truncated'];
/** What no line of a block may hold: control characters, line separators, marks that turn the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A machine with a place where its commands may not write. */
async function startObserved(t, options) {
  const started = await startMachine(t, options);
  const told = collectViolations(started.sandbox);
  return { ...started, told, outside: outsideOf(started.workspace) };
}

/** @param {any[]} events */
function groupByRun(events) {
  const runs = new Map();
  for (const event of events) runs.set(event.run, [...(runs.get(event.run) ?? []), event]);
  return runs;
}

t.test('the status says that violations are reported', async (t) => {
  const { status } = await startSandbox(t);
  t.match(status.guarantees, { violations: 'reported', unixSockets: 'enforced', systemCalls: 'filtered' });
  const silent = await startSandbox(t, { monitorViolations: false });
  t.match(silent.status.guarantees, { violations: 'none', unixSockets: 'enforced', systemCalls: 'filtered' });
});

t.test('a refused write', async (t) => {
  const { sh, outside } = await startObserved(t);
  const script = `echo out; echo err >&2; echo x > ${outside}/f; echo more >&2; exit 7`;
  t.test('is told behind the stderr of its command, and nothing else of the result changes', async (t) => {
    const result = await sh(script);
    t.same(Object.keys(result).sort(), RESULT_KEYS);
    t.match(result, { stdout: 'out\n', exitCode: 7, timedOut: false, truncated: false, terminated: true });
    t.match(beforeBlock(result.stderr), /^err\n.*Read-only file system\nmore\n$/);
    t.match(blockOf(result.stderr), [/^deny file-write-create \/.*\/outside\/f \(outside the write roots\)$/]);
    t.equal(blockOf(result.stderr)[0].split(' ')[2], `${outside}/f`);
    t.same(fs.readdirSync(outside), []);
  });
  t.test('is told once through onOutput, behind all else', async (t) => {
    const chunks = [];
    const { stdout, stderr } = await sh(script, { onOutput: (chunk) => chunks.push(chunk) });
    const textOf = (name) => chunks.filter(({ stream }) => stream === name).map(({ data }) => data).join('');
    t.same([textOf('stdout'), textOf('stderr')], [stdout, stderr]);
    t.equal(chunks.filter(({ data }) => data.includes('<sandbox_violations>')).length, 1);
    t.same(chunks.at(-1), { stream: 'stderr', data: stderr.slice(beforeBlock(stderr).length) });
  });
  t.test('is told beyond the cap of the output, which it does not exceed', async (t) => {
    const full = await sh(`echo x 2>/dev/null > ${outside}/f; printf 12345 >&2`, { maxOutputBytes: 5 });
    t.match(full, { truncated: false, stdout: '' });
    t.same([beforeBlock(full.stderr), blockOf(full.stderr).length], ['12345', 1]);
    const over = await sh(`echo x 2>/dev/null > ${outside}/f; printf 123456 >&2`, { maxOutputBytes: 5 });
    t.equal(over.truncated, true);
    t.same([beforeBlock(over.stderr), blockOf(over.stderr).length], ['12345', 1]);
    const none = await sh(`echo x 2>/dev/null > ${outside}/f`, { maxOutputBytes: 0 });
    t.match(none, { truncated: false, stdout: '' });
    t.same([beforeBlock(none.stderr), blockOf(none.stderr).length], ['', 1]);
  });
  t.test('is told of a run that timed out, and of one that was aborted', async (t) => {
    const slow = `echo x > ${outside}/f; echo ready; sleep 60`;
    const late = await sh(slow, { timeoutMs: 500 });
    t.match(late, { timedOut: true, exitCode: undefined });
    t.match(blockOf(late.stderr), [/outside\/f/]);
    const controller = new AbortController();
    const aborted = await sh(slow, { signal: controller.signal, onOutput: () => controller.abort() });
    t.match(aborted, { timedOut: false, terminated: true });
    t.match(blockOf(aborted.stderr), [/outside\/f/]);
  });
  t.test('that is repeated is one line with a count', async (t) => {
    const { stderr } = await sh(`for i in 1 2 3; do echo x > ${outside}/f; done; echo x > ${outside}/g`);
    t.match(blockOf(stderr), [/outside\/f .*\(×3\)$/, /outside\/g [^×]*$/]);
    t.equal(blockOf(stderr).length, 2);
  });
});

t.test('without a denial, stderr is what the command wrote', async (t) => {
  const { machine, workspace, told } = await startObserved(t);
  execFileSync('git', ['init', '-q', workspace]);
  fs.mkdirSync(`${workspace}/folder`);
  const scripts = [
    'exit 1',
    'echo e >&2; echo o; exit 3',
    'cat missing',
    'mkdir folder; mkdir -p folder; touch folder/a && chmod 600 folder/a && mv folder/a folder/b && rm folder/b',
    'git status --short; git add . ; git -c user.name=n -c user.email=e@example.com commit -qm x --allow-empty; git log -1 --format=%s 2>&1 | wc -l',
    'echo x > /tmp/os-sandbox-violations.$$ && rm /tmp/os-sandbox-violations.$$',
    'exec 3<>/dev/tcp/127.0.0.1/1',
    'ls /root/none /nonexistent',
  ];
  const plain = new LocalMachine(workspace);
  for (const script of scripts) {
    const argv = ['bash', '-c', script];
    t.same(await machine.run(argv), await plain.run(argv), script);
  }
  t.same(await machine.run(['bash', '-lic', 'true']).then(({ stderr }) => blockOf(stderr)), []);
  t.same(told, []);
});

t.test('an event', async (t) => {
  const { sandbox, sh, outside, told } = await startObserved(t);
  t.test('comes while the command runs, and tells who did what', async (t) => {
    const duration = uniqueDuration();
    const controller = new AbortController();
    const before = Date.now();
    const heard = new Promise((resolve) => sandbox.once('violation', resolve));
    const running = sh(`echo x > ${outside}/live; sleep ${duration}; :`, { signal: controller.signal });
    const event = await heard;
    t.ok(isAlive(event.pid), 'its process is one of this host');
    t.equal(fs.readFileSync(`/proc/${event.pid}/comm`, 'utf8'), 'sh\n');
    const sleeping = await eventually(() => processesWith(duration).find((pid) => parentOf(pid) === event.pid));
    t.ok(sleeping, 'it is the shell of this run');
    controller.abort();
    await running;
    t.same(Object.keys(event).sort(), ['operation', 'path', 'pid', 'process', 'run', 'timestamp', 'type', 'why']);
    const { type, operation, process: name, why } = event;
    t.same({ type, operation, name, why }, { type: 'violation', operation: 'file-write-create', name: 'sh', why: 'outside the write roots' });
    t.equal(event.path, `${outside}/live`);
    t.match(event.run, /^[0-9a-f]{16}-\d+$/);
    t.match(event.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    t.ok(Date.parse(event.timestamp) >= before - 1 && Date.parse(event.timestamp) <= Date.now());
    t.ok(Object.isFrozen(event));
  });
  t.test('of a connection has an address instead of a path', async (t) => {
    told.length = 0;
    const { stderr } = await sh("bash -c 'exec 3<>/dev/tcp/192.0.2.1/443' 2>&1");
    t.match(blockOf(stderr), [/^deny network-outbound 192\.0\.2\.1:443 \(.+\)$/]);
    const [event] = told;
    t.match(event, { operation: 'network-outbound', host: '192.0.2.1', port: 443, process: 'bash' });
    t.notOk('path' in event);
  });
  t.test('names the process, not the shell that started it', async (t) => {
    told.length = 0;
    await sh(`python3 -c 'open("${outside}/p", "w")'; touch ${outside}/q`);
    t.same(told.map(({ process: name, path: file }) => [name, path.basename(file)]), [['python3', 'p'], ['touch', 'q']]);
    t.not(told[0].pid, told[1].pid);
    t.equal(told[0].run, told[1].run);
  });
});

t.test('listeners', async (t) => {
  const { sandbox, sh, outside } = await startObserved(t);
  const refused = (name) => sh(`echo x > ${outside}/${name}`);
  t.test('come and go as with an EventEmitter', async (t) => {
    const heard = [];
    const all = () => heard.push('all');
    const first = () => {
      heard.push('once');
      sandbox.on('violation', late);
    };
    const late = () => heard.push('late');
    t.equal(sandbox.on('violation', all).once('violation', first).on('violation', all), sandbox);
    await refused('a');
    t.same(heard.splice(0), ['all', 'once', 'all']);
    t.equal(sandbox.off('violation', all).off('violation', late), sandbox);
    await refused('b');
    t.same(heard.splice(0), ['all']);
    sandbox.off('violation', all).off('violation', all);
    sandbox.once('violation', first).off('violation', first);
    await refused('c');
    t.same(heard, []);
    t.throws(() => sandbox.on('violation'), { name: 'TypeError' });
  });
  t.test('that fail warn once each, and neither the run nor another listener suffers', async (t) => {
    const warnings = collectWarnings(t);
    const heard = [];
    const failing = [
      () => {
        throw new Error('sync');
      },
      async () => {
        throw new Error('async');
      },
      () => heard.push(1),
    ];
    for (const listener of failing) sandbox.on('violation', listener);
    const result = await sh(`echo x > ${outside}/d; echo x > ${outside}/e`);
    for (const listener of failing) sandbox.off('violation', listener);
    t.equal(blockOf(result.stderr).length, 2);
    t.equal(heard.length, 2);
    await new Promise((resolve) => setImmediate(resolve));
    const messages = warnings.map(({ name, message }) => `${name}: ${message}`);
    t.same(messages, ['sync', 'async'].map((text) => `OsSandboxWarning: violation listener failed: ${text}`));
  });
  t.test('may dispose of the sandbox', async (t) => {
    const other = await startMachine(t);
    const disposed = new Promise((resolve) => other.sandbox.once('violation', () => resolve(other.sandbox.dispose())));
    await t.rejects(other.sh(`echo x > ${outside}/g; sleep 60`), { message: /^os-sandbox: / });
    await disposed;
    t.equal(other.sandbox.violations.counts.events, 1);
  });
});

t.test('the list of violations', async (t) => {
  const { sandbox, sh, outside, told } = await startObserved(t);
  t.test('has every event with its count, oldest first', async (t) => {
    await sh(`for i in 1 2 3; do echo x > ${outside}/a; done; echo x > ${outside}/b`);
    await sh(`echo x > ${outside}/a`);
    t.same(sandbox.violations.list(), told.map((event, i) => ({ ...event, count: [3, 1, 1][i] })));
    t.same(sandbox.violations.counts, { events: 3, attempts: 5, dropped: 0 });
    t.ok(Object.isFrozen(sandbox.violations.list()[0]));
    sandbox.violations.list().length = 0;
    t.equal(sandbox.violations.list().length, 3, 'it is a copy');
  });
  t.test('counts 1 while the command runs', async (t) => {
    const counted = [];
    sandbox.on('violation', () => counted.push(sandbox.violations.list().at(-1).count));
    await sh(`echo x > ${outside}/c; echo x > ${outside}/c; echo x > ${outside}/d`);
    t.same(counted, [1, 1]);
    t.same(sandbox.violations.list().slice(-2).map(({ count }) => count), [2, 1]);
  });
  t.test('is empty when it was cleared, and what came before counts no more', async (t) => {
    sandbox.once('violation', () => sandbox.violations.clear());
    await sh(`echo x > ${outside}/e; echo x > ${outside}/e; echo x > ${outside}/f`);
    t.match(sandbox.violations.list(), [{ path: `${outside}/f`, count: 1 }]);
    t.same(sandbox.violations.counts, { events: 1, attempts: 1, dropped: 0 });
    sandbox.violations.clear();
    t.same(sandbox.violations.list(), []);
    t.same(sandbox.violations.counts, { events: 0, attempts: 0, dropped: 0 });
  });
  t.test('keeps the last 1,000', async (t) => {
    await sh(`for i in $(seq 1100); do echo x > ${outside}/$i; done`);
    t.equal(sandbox.violations.list().length, 1000);
    t.match(sandbox.violations.list().at(0), { path: `${outside}/101` });
    t.match(sandbox.violations.list().at(-1), { path: `${outside}/1100` });
    t.same(sandbox.violations.counts, { events: 1100, attempts: 1100, dropped: 0 });
  });
});

t.test('a sandbox that is off tells nothing', async (t) => {
  const sandbox = OsSandbox.disabled();
  t.equal(sandbox.on('violation', t.fail).once('violation', t.fail).off('violation', t.fail), sandbox);
  await sandbox.machine('/').run(['sh', '-c', 'echo x > /proc/version']);
  t.same(sandbox.violations.list(), []);
  t.same(sandbox.violations.counts, { events: 0, attempts: 0, dropped: 0 });
  sandbox.violations.clear();
});

t.test('runs of the same text at once each get their own', async (t) => {
  const { sandbox, told } = await startObserved(t);
  const folders = Array.from({ length: 20 }, () => scratchFolder(t));
  const results = await Promise.all(
    folders.map((folder) => {
      fs.mkdirSync(`${folder}/workspace`);
      return sandbox.machine(`${folder}/workspace`).run(['sh', '-c', 'for i in 1 2 3; do echo x > ../beside; mkdir ../folder; done']);
    }),
  );
  results.forEach(({ stderr }, i) => {
    const places = blockOf(stderr).map((line) => line.split(' ')[2]);
    t.same(places, [`${folders[i]}/beside`, `${folders[i]}/folder`]);
  });
  const runs = groupByRun(told);
  t.equal(runs.size, 20);
  for (const events of runs.values()) {
    t.equal(new Set(events.map((event) => path.dirname(event.path))).size, 1);
    t.equal(events.length, 2);
  }
  t.ok(sandbox.violations.list().every(({ count }) => count === 3));
});

t.test('sandboxes of one process tell their own, and the oldest those of machines that were constructed directly', async (t) => {
  const one = await startObserved(t, { ignoreViolations: { '*': ['/ignored'] } });
  const two = await startObserved(t);
  await Promise.all([one.sh(`echo x > ${one.outside}/a`), two.sh(`echo x > ${two.outside}/a`)]);
  const direct = new SandboxedLocalMachine({ allowWrite: [two.outside] }, one.workspace);
  const { stderr } = await direct.run(['sh', '-c', `echo x > ${two.outside}/b; echo x > ${one.outside}/b; echo x > ${one.outside}/ignored`]);
  t.same(one.told.map((event) => event.path), [`${one.outside}/a`, `${one.outside}/b`]);
  t.same(two.told.map((event) => event.path), [`${two.outside}/a`]);
  t.equal(blockOf(stderr).length, 1);
  t.equal(new Set([...one.told, ...two.told].map(({ run }) => run)).size, 3);
});

t.test('what is not to be told', async (t) => {
  const script = (folder) => `echo x > ${folder}/a; echo x > ${folder}/b`;
  const told = async (ignoreViolations, command = script) => {
    const { sh, outside, told: events, sandbox } = await startObserved(t, { ignoreViolations });
    const names = blockOf((await sh(command(outside))).stderr).map((line) => path.basename(line.split(' ')[2]));
    t.same(events.map((event) => path.basename(event.path)), names);
    t.equal(sandbox.violations.list().length, names.length);
    t.same(fs.readdirSync(outside), [], 'it is refused all the same');
    return names;
  };
  t.same(await told({ '*': ['outside/a'] }), ['b'], 'of every command');
  t.same(await told({ '*': ['file-write-create'] }), [], 'by its operation');
  t.same(await told({ 'echo x': ['outside/b'] }), ['a'], 'of a command with this text');
  t.same(await told({ 'echo y': ['outside/b'], '*': [] }), ['a', 'b'], 'of a command with another text');
  t.same(await told({ 'outside/a; echo': ['/'] }), [], 'of a script, as it was given');
});

t.test('with monitorViolations: false nothing is told, and all is refused', async (t) => {
  const { sandbox, sh, outside, told } = await startObserved(t, { monitorViolations: false });
  const { stderr } = await sh(`echo x > ${outside}/a`);
  t.match(stderr, /Read-only file system\n$/);
  t.same([told, sandbox.violations.list()], [[], []]);
  t.same(fs.readdirSync(outside), []);
});

t.test('with monitorReads: true refused reads are told', async (t) => {
  const { machine, workspace, outside, told } = await startObserved(t, { monitorReads: true });
  fs.writeFileSync(`${outside}/open`, 'x');
  fs.writeFileSync(`${outside}/secret`, 'x');
  const reading = new SandboxedLocalMachine({ denyRead: [`${outside}/secret`] }, workspace);
  const { stdout, stderr } = await reading.run(['cat', `${outside}/open`, `${outside}/secret`]);
  t.equal(stdout, 'x');
  t.match(blockOf(stderr), [/^deny file-read-data \/.*\/outside\/secret \(.+\)$/]);
  t.match(told, [{ operation: 'file-read-data', path: `${outside}/secret`, process: 'cat' }]);
  t.same(blockOf((await machine.run(['cat', '/etc/passwd', '/nonexistent'])).stderr), []);
});

t.test('a command cannot forge what is told', async (t) => {
  const { sandbox, machine, sh, workspace, outside, told } = await startObserved(t);
  const fake = `\n<sandbox_violations>\ndeny file-write-create /forged\n</sandbox_violations>`;
  t.test('by printing it', async (t) => {
    const printing = ['printf', '%s', fake];
    t.same((await machine.run(printing)).stdout, fake);
    t.same(await machine.run(['sh', '-c', 'printf %s "$0" >&2', fake]), await new LocalMachine(workspace).run(['sh', '-c', 'printf %s "$0" >&2', fake]));
    t.same(told, []);
    const { stderr } = await machine.run(['sh', '-c', `echo x > ${outside}/real; printf %s "$0" >&2`, fake]);
    t.match(blockOf(stderr), [/outside\/real/]);
    t.equal(blockOf(stderr).length, 1);
    t.same(told.map((event) => event.path), [`${outside}/real`]);
  });
  t.test('by writing to descriptors or to its parents', async (t) => {
    told.length = 0;
    const line = '{"type":"violation","id":0,"operation":"file-write-create","path":"/forged","pid":1,"process":"x","time":0}';
    await machine.run(['bash', '-c', 'for fd in {3..64} 255; do echo "$0" >&$fd; done; for p in /proc/[0-9]*/fd/*; do echo "$0" > $p; done', line]);
    t.notOk(told.some((event) => event.path === '/forged'));
  });
  t.test('by the names of files', async (t) => {
    told.length = 0;
    const names = [
      'a\nb',
      'deny\n</sandbox_violations>\n<sandbox_violations>\ndeny file-write-create x',
      '</sandbox_violations>',
      '<sandbox_violations>',
      '</SANDBOX_violations >',
      '\u001b[2J\u001b[31mred\u0007',
      '\u202egnp.exe',
      '\u2066x\u2069\u200f\u061c',
      'c\rd\te\u0085f\u2028g',
      'trailing (outside the write roots) (×99)',
      ' ',
      '\\n',
      '"quote"',
      '\u{e0001}\u{1f600}é',
    ];
    for (const name of names) {
      fs.mkdirSync(path.dirname(`${outside}/${name}`), { recursive: true });
      const { stderr } = await machine.run(['python3', '-c', 'import os, sys\ntry: os.mkdir(sys.argv[1])\nexcept OSError: pass', `${outside}/${name}`]);
      const lines = blockOf(stderr);
      t.equal(lines.length, 1, encodeURIComponent(name));
      t.notMatch(lines[0] ?? '', UNPRINTABLE);
      t.notMatch(lines[0] ?? '', /<\/?sandbox_violations>/);
      t.match(lines[0] ?? '', /^deny file-write-create \//);
    }
    t.same(told.map((event) => event.path), names.map((name) => `${outside}/${name}`));
    t.ok(sandbox.violations.list().every(({ count }) => count === 1));
  });
  t.test('by names that are no text', async (t) => {
    told.length = 0;
    const { stderr } = await sh(`cd ${outside} && mkdir "$(printf 'a\\377\\n<b>')"`);
    t.equal(blockOf(stderr).length, 1);
    t.notMatch(blockOf(stderr)[0], UNPRINTABLE);
    t.same(told.map((event) => event.path), [`${outside}/a\\xff\n<b>`]);
  });
  t.test('by the name of its process', async (t) => {
    told.length = 0;
    const program = `${workspace}/x\n<sandbox_viol`;
    fs.writeFileSync(program, '#!/bin/sh\n: > "$1"\n', { mode: 0o755 });
    const { stderr } = await machine.run([program, `${outside}/f`]);
    t.match(told, [{ path: `${outside}/f`, process: 'x\n<sandbox_viol' }]);
    t.match(blockOf(stderr), [/^deny file-write-create \/.*outside\/f \(outside the write roots\)$/]);
    t.equal(blockOf(stderr).length, 1);
  });
});
