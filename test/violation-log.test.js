'use strict';
// The file that violations are appended to for other systems.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { OsSandbox, SandboxedLocalMachine } = require('..');
const { ViolationLog } = require('../lib/violation-log');
const { eventually } = require('./helpers/processes');
const { runProgram } = require('./helpers/program');
const { scratchFolder, startMachine } = require('./helpers/sandbox');
const { outsideOf } = require('./helpers/violations');

/** @param {string} file */
function linesOf(file) {
  const text = fs.readFileSync(file, 'utf8');
  return text === '' ? [] : text.replace(/\n$/, '').split('\n').map((line) => JSON.parse(line));
}

/** A machine whose sandbox has a log outside of its write roots. */
async function startLogged(t, options) {
  const file = path.join(scratchFolder(t), 'violations.jsonl');
  const started = await startMachine(t, { violationLog: file, ...options });
  const outside = outsideOf(started.workspace);
  return { ...started, file, outside, refused: (name) => started.sh(`echo x > ${outside}/${name}`) };
}

t.test('has a line for every event, and one for every count, in their order', async (t) => {
  const { sandbox, sh, refused, file, outside } = await startLogged(t);
  const told = [];
  sandbox.on('violation', (event) => told.push(event));
  t.equal(fs.statSync(file).mode & 0o777, 0o600);
  await sh(`for i in 1 2 3; do echo x > ${outside}/a; done; echo x > ${outside}/b`);
  await refused('c');
  await sandbox.dispose();
  const counted = { ...told[0], type: 'count', count: 3 };
  t.same(linesOf(file), [told[0], told[1], counted, told[2]]);
});

t.test('is appended to, by every sandbox that names it', async (t) => {
  const { sandbox, refused, file } = await startLogged(t);
  fs.writeFileSync(file, '{"earlier":true}\n');
  const other = await startLogged(t, { violationLog: file });
  await Promise.all([refused('a'), other.refused('b')]);
  await Promise.all([sandbox.dispose(), other.sandbox.dispose()]);
  const [first, ...lines] = linesOf(file);
  t.same(first, { earlier: true });
  t.same(lines.map((line) => path.basename(line.path)).sort(), ['a', 'b']);
});

t.test('is written while commands run', async (t) => {
  const { sh, file, outside } = await startLogged(t);
  const controller = new AbortController();
  const running = sh(`echo x > ${outside}/a; sleep 60`, { signal: controller.signal });
  t.ok(await eventually(() => linesOf(file).length === 1));
  controller.abort();
  await running;
});

t.test('survives rotation', async (t) => {
  const { sandbox, refused, file } = await startLogged(t);
  await refused('a');
  t.ok(await eventually(() => linesOf(file).length === 1));
  fs.renameSync(file, `${file}.1`);
  await refused('b');
  t.ok(await eventually(() => fs.existsSync(file) && linesOf(file).length === 1));
  fs.truncateSync(file);
  await refused('c');
  t.ok(await eventually(() => linesOf(file).length === 1));
  fs.renameSync(file, `${file}.2`);
  fs.writeFileSync(file, '', { mode: 0o640 });
  await refused('d');
  await sandbox.dispose();
  const names = ['.1', '.2', ''].map((suffix) => linesOf(`${file}${suffix}`).map((line) => path.basename(line.path)));
  t.same(names, [['a'], ['c'], ['d']]);
  t.equal(fs.statSync(file).mode & 0o777, 0o640);
  t.same(sandbox.status.warnings, []);
});

t.test('loses nothing while it is rotated all the time', async (t) => {
  const folder = scratchFolder(t);
  const file = `${folder}/log`;
  const warnings = new Set();
  const log = await ViolationLog.open(file, '/', warnings);
  let files = 0;
  for (let i = 0; i < 2000; i += 1) {
    log.append({ i });
    if (i % 10 !== 0) continue;
    await sleep(1);
    if (fs.existsSync(file)) fs.renameSync(file, `${file}.${(files += 1)}`);
  }
  await log.flush();
  const all = Array.from({ length: files }, (_, i) => `${file}.${i + 1}`).concat(fs.existsSync(file) ? file : []);
  t.same(all.flatMap(linesOf).map(({ i }) => i), Array.from({ length: 2000 }, (_, i) => i));
  t.ok(files > 10);
  t.same([...warnings], []);
});

t.test('in a write root, is out of reach for commands', async (t) => {
  const workspace = path.join(scratchFolder(t), 'workspace');
  const file = `${workspace}/logs/violations.jsonl`;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const sandbox = await OsSandbox.start({ violationLog: file });
  t.teardown(() => sandbox.dispose());
  const machines = [sandbox.machine(workspace), new SandboxedLocalMachine({ allowWrite: [workspace] }, workspace)];
  const attacks = [
    'echo forged >> logs/violations.jsonl',
    ': > logs/violations.jsonl',
    'rm -f logs/violations.jsonl',
    'mv logs/violations.jsonl other',
    'mv logs other',
    'rm -rf logs',
    'ln logs/violations.jsonl other && echo forged >> other',
    'ln -sf /dev/null logs/violations.jsonl',
    'cp /etc/hostname logs/violations.jsonl',
    'truncate -s 0 logs/violations.jsonl; chmod 777 logs/violations.jsonl',
  ];
  for (const machine of machines) {
    for (const attack of attacks) {
      // Rotated: what is not there could be made by a command.
      if (fs.existsSync(file)) fs.renameSync(file, `${file}.1`);
      const { exitCode } = await machine.run(['sh', '-c', attack]);
      t.not(exitCode, 0, attack);
      const { mode, nlink } = fs.lstatSync(file);
      t.same([mode, nlink], [0o100600, 1], attack);
      t.ok(linesOf(file).every(({ type }) => type === 'violation' || type === 'count'), attack);
      fs.rmSync(`${workspace}/other`, { force: true });
    }
  }
});

t.test('is not written through what a command could put in its place', async (t) => {
  const plant = {
    'a link': (file, victim) => fs.symlinkSync(victim, file),
    'a link to nothing': (file, victim) => fs.symlinkSync(`${victim}.new`, file),
    'a FIFO': (file) => execFileSync('mkfifo', [file]),
    'a folder': (file) => fs.mkdirSync(file),
    'a link to its folder': (file, victim) => {
      fs.renameSync(path.dirname(file), `${path.dirname(file)}.moved`);
      fs.symlinkSync(path.dirname(victim), path.dirname(file));
    },
  };
  for (const [what, replace] of Object.entries(plant)) {
    const { sandbox, refused, sh } = await startLogged(t);
    const [logs, victims] = ['logs', 'victims'].map((name) => path.join(scratchFolder(t), name));
    for (const folder of [logs, victims]) fs.mkdirSync(folder);
    const victim = `${victims}/victim`;
    fs.writeFileSync(victim, 'untouched');
    const own = await startLogged(t, { violationLog: `${logs}/log` });
    fs.rmSync(`${logs}/log`);
    replace(`${logs}/log`, victim);
    const { exitCode } = await own.refused('a');
    t.not(exitCode, 0);
    t.equal((await own.sh('exit 0')).exitCode, 0, 'runs go on');
    await own.sandbox.dispose();
    t.equal(own.sandbox.status.warnings.filter((text) => text.startsWith('violationLog: ')).length, 1, what);
    t.equal(fs.readFileSync(victim, 'utf8'), 'untouched', what);
    t.equal(own.sandbox.violations.counts.events, 1);
    // Nothing of the other sandbox has to do with it.
    await Promise.all([refused('b'), sh('true')]);
    await sandbox.dispose();
    t.same(sandbox.status.warnings, []);
  }
});

t.test('that fails for a while says how many lines are missing', async (t) => {
  const file = `${scratchFolder(t)}/log`;
  const warnings = new Set();
  const log = await ViolationLog.open(file, '/', warnings);
  const append = async (...records) => {
    for (const i of records) log.append({ i });
    await log.flush();
  };
  await append(1, 2);
  fs.renameSync(file, `${file}.1`);
  fs.mkdirSync(file);
  await append(3, 4);
  await append(5);
  fs.rmdirSync(file);
  await append(6);
  t.same(linesOf(`${file}.1`), [{ i: 1 }, { i: 2 }]);
  const [missing, ...others] = linesOf(file);
  t.match(missing, { type: 'dropped', count: 3, timestamp: /Z$/ });
  t.same(others, [{ i: 6 }]);
  t.match([...warnings], [/^violationLog: nothing can be appended to .*: .*directory/]);
  t.equal(warnings.size, 1);
});

t.test('on a full disk is torn in one line, and goes on in the next', async (t) => {
  const file = `${scratchFolder(t)}/log`;
  const lib = require.resolve('../lib/violation-log');
  const body = `
    const { ViolationLog } = require(${JSON.stringify(lib)});
    const warnings = new Set();
    const log = await ViolationLog.open(${JSON.stringify(file)}, '/', warnings);
    for (let i = 0; i < 10; i += 1) log.append({ i, text: 'x'.repeat(80) });
    await log.flush();
    require('node:fs').renameSync(${JSON.stringify(file)}, ${JSON.stringify(`${file}.1`)});
    log.append({ i: 10 });
    await log.flush();
    say([...warnings]);`;
  // What a test runner loads into Node writes files too.
  const launcher = ['env', '-u', 'NODE_OPTIONS', 'prlimit', '--fsize=450'];
  const { said, stderr } = await runProgram(t, body, { launcher });
  t.equal(stderr, '');
  t.match(said, [[/^violationLog: nothing can be appended .*: file too large$/]]);
  const whole = fs.readFileSync(`${file}.1`, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
  t.same(whole.map(({ i }) => i), [0, 1, 2, 3]);
  const [torn, missing, last] = fs.readFileSync(file, 'utf8').split('\n');
  t.equal(torn, '');
  t.match(JSON.parse(missing), { type: 'dropped', count: 6 });
  t.same(JSON.parse(last), { i: 10 });
});

t.test('keeps a bounded queue for a slow disk, and says what is missing', async (t) => {
  const file = `${scratchFolder(t)}/log`;
  const log = await ViolationLog.open(file, '/', new Set());
  const text = 'x'.repeat(1000);
  for (let i = 0; i < 20_000; i += 1) log.append({ i, text });
  await log.flush();
  log.append({ last: true });
  await log.flush();
  const lines = linesOf(file);
  const { count } = lines.at(-2);
  t.equal(lines.at(-2).type, 'dropped');
  t.same(lines.at(-1), { last: true });
  t.equal(lines.length - 2 + count, 20_000);
  t.ok(count > 1000 && count < 10_000, String(count));
});

t.test('that cannot be opened is the mistake of the caller', async (t) => {
  const folder = scratchFolder(t);
  fs.symlinkSync('/nonexistent', `${folder}/link`);
  fs.writeFileSync(`${folder}/file`, '');
  execFileSync('mkfifo', [`${folder}/fifo`]);
  const wrong = {
    [`${folder}/none/log`]: 'no such file or directory',
    [`${folder}/file/log`]: 'not a directory',
    [folder]: 'illegal operation on a directory',
    [`${folder}/link`]: 'it is a symbolic link',
    [`${folder}/fifo`]: 'no such device or address',
    '/dev/null': 'it is not a regular file',
    '~': 'illegal operation on a directory',
  };
  for (const [violationLog, reason] of Object.entries(wrong)) {
    const error = await OsSandbox.start({ violationLog }).catch((thrown) => thrown);
    t.equal(error.name, 'TypeError', violationLog);
    const start = `violationLog: expected a file that can be appended to, found ${JSON.stringify(violationLog)} (`;
    t.ok(error.message.startsWith(start), error.message);
    t.match(error.message.slice(start.length), reason);
  }
  await t.rejects(OsSandbox.start({ violationLog: 'log' }), { name: 'TypeError', message: /^violationLog: expected an absolute path/ });
});

t.test('may lie in the home directory', async (t) => {
  const home = scratchFolder(t);
  const body = `
    const sandbox = await OsSandbox.start({ violationLog: '~/violations.jsonl' });
    await sandbox.machine('/tmp').run(['sh', '-c', 'echo x > ' + process.env.HOME + '/f']);
    await sandbox.dispose();
    say(sandbox.status.warnings);`;
  const { said, stderr } = await runProgram(t, body, { env: { ...process.env, HOME: home } });
  t.same([said, stderr], [[[]], '']);
  t.match(linesOf(`${home}/violations.jsonl`), [{ path: `${home}/f` }]);
});

t.test('keeps no process alive, and is complete when one ends by itself', async (t) => {
  const { file, outside } = await startLogged(t);
  const body = `
    const sandbox = await OsSandbox.start({ violationLog: ${JSON.stringify(file)} });
    sandbox.on('violation', () => {});
    await sandbox.machine(${JSON.stringify(os.tmpdir())}).run(['sh', '-c', 'echo x > ${outside}/f']);
    say(sandbox.violations.counts.events);`;
  t.match(await runProgram(t, body), { code: 0, stderr: '', said: [1] });
  t.equal(linesOf(file).length, 1);
});
