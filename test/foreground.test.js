'use strict';
// One command in the place of a process: its stdio, its signals, its end. Terminals: foreground-terminal.test.js.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { withBwrap } = require('./helpers/namespace');
const { eventually, isAlive } = require('./helpers/processes');
const { childrenOf, parentOf, processesWith, scratchFolder, uniqueDuration } = require('./helpers/sandbox');

const COMMAND_LINE = [process.execPath, path.join(__dirname, '..', 'lib', 'cli', 'main.js')];

/** @param {string[]} words @param {import('node:child_process').SpawnSyncOptions} [options] */
function runToEnd(words, options) {
  return spawnSync(COMMAND_LINE[0], [...COMMAND_LINE.slice(1), ...words], { encoding: 'utf8', cwd: '/var/tmp', ...options });
}

/** A running one, in a process group of its own, and its lines. @param {any} t @param {string[]} words @param {any} [options] */
function start(t, words, options) {
  const child = spawn(COMMAND_LINE[0], [...COMMAND_LINE.slice(1), ...words], { detached: true, cwd: '/var/tmp', ...options });
  t.teardown(() => child.kill('SIGKILL'));
  const output = { text: '' };
  child.stdout?.on('data', (data) => (output.text += data));
  child.stderr?.on('data', (data) => (output.text += data));
  const says = (/** @type {string} */ line) => eventually(() => `\n${output.text}`.includes(`\n${line}\n`));
  return { child, output, says, ended: once(child, 'close') };
}

t.test('exit codes pass through, and a death by signal is one', async (t) => {
  for (const code of [0, 3, 130]) t.equal(runToEnd(['sh', '-c', `exit ${code}`]).status, code, `exit ${code}`);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) {
    t.match(runToEnd(['sh', '-c', `kill -${signal.slice(3)} $$`]), { status: null, signal }, signal);
  }
  t.match(runToEnd(['sh', '-c', 'kill -KILL $$']), { status: 137, signal: null }, 'KILL is 137');
  t.match(runToEnd(['no-such-program']), { status: 127, stderr: /no-such-program: command not found/ });
  t.match(runToEnd(['/etc/passwd']), { status: 126, stderr: /Permission denied/ });
});

t.test('stdio are the descriptors that this process has', async (t) => {
  const folder = scratchFolder(t);
  const file = path.join(folder, 'out');
  const out = fs.openSync(file, 'w');
  const input = fs.openSync('/etc/passwd', 'r');
  fs.readSync(input, Buffer.alloc(10));
  const script = 'stat -L -c %i /dev/fd/1; cat; ls /proc/self/fd | tr "\\n" " "';
  t.equal(runToEnd(['sh', '-c', script], { stdio: [input, out, 'inherit'] }).status, 0);
  const rest = fs.readFileSync('/etc/passwd', 'latin1').slice(10);
  t.equal(fs.readFileSync(file, 'latin1'), `${fs.statSync(file).ino}\n${rest}0 1 2 3 `, 'no other one is open, but that of ls');
  t.equal(fs.readSync(input, Buffer.alloc(1)), 0, 'what it has read is read');
  const wide = runToEnd(['sh', '-c', 'head -c 3000000 /dev/zero; echo end >&2'], { maxBuffer: 2 ** 23 });
  t.match([wide.stdout.length, wide.stderr], [3000000, 'end\n']);
  t.match(runToEnd(['true'], { stdio: [fs.openSync('/', 'r'), 'pipe', 'pipe'] }), { status: 125, stderr: /stdin.*directory/ }, 'a folder is a way out');
});

t.test('descriptors that are closed are /dev/null, and never another file', async (t) => {
  const script = 'for fd in 0 1 2; do found="$found $(stat -L -c %t:%T /proc/$$/fd/$fd)"; done; echo $found > "$0"';
  const file = path.join(scratchFolder(t), 'found');
  const line = [...COMMAND_LINE, 'sh', '-c', script, file].map((word) => `'${word}'`).join(' ');
  t.equal(spawnSync('sh', ['-c', `exec ${line} <&- >&- 2>&-`], { cwd: path.dirname(file) }).status, 0);
  t.equal(fs.readFileSync(file, 'utf8'), '1:3 1:3 1:3\n');
});

t.test('a reader that goes away is the command\'s own business', async (t) => {
  const line = [...COMMAND_LINE, 'sh', '-c', 'yes; echo $? >&2'].map((word) => `'${word}'`).join(' ');
  const { stdout, stderr } = spawnSync('sh', ['-c', `${line} | head -n1`], { encoding: 'utf8', cwd: '/var/tmp' });
  t.match([stdout, stderr], ['y\n', /^(141|yes: standard output: Broken pipe\n1)\n$/]);
});

/** Says each signal that it gets, and ends at the second TERM. */
const LISTENER = `for s in INT QUIT HUP USR1 USR2; do trap "echo $s" $s; done
  trap 'echo TERM; [ "$again" ] && exit 7; again=1' TERM
  echo ready; while :; do read line < /dev/fd/3; done`;

t.test('a signal reaches the command once, whether it was sent to this process or to its group', async (t) => {
  const workspace = scratchFolder(t);
  const fifo = path.join(workspace, 'fifo');
  spawnSync('mkfifo', [fifo]);
  const { child, output, says, ended } = start(t, ['bash', '-c', `exec 3<>'${fifo}'; ${LISTENER}`], { cwd: workspace });
  await says('ready');
  const sent = ['SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGTERM'];
  let expected = 'ready\n';
  for (const signal of sent.slice(0, 5)) {
    for (const target of [child.pid, -child.pid, child.pid]) {
      process.kill(target, signal);
      expected += `${signal.slice(3)}\n`;
      t.ok(await eventually(() => output.text.length >= expected.length), `${signal} to ${target}`);
      // Signals are passed on in order: behind this one nothing of the first is on its way.
      const fence = signal === 'SIGUSR2' ? 'SIGUSR1' : 'SIGUSR2';
      process.kill(child.pid, fence);
      expected += `${fence.slice(3)}\n`;
      t.ok(await eventually(() => output.text.length >= expected.length), `${fence} behind it`);
    }
  }
  t.equal(output.text, expected);
  process.kill(-child.pid, 'SIGTERM');
  await says('TERM');
  process.kill(child.pid, 'SIGTERM');
  t.same(await ended, [7, null]);
});

t.test('a command that has left the group hears of what the group got', async (t) => {
  const { child, says, ended } = start(t, ['setsid', 'bash', '-c', 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done']);
  await says('ready');
  process.kill(-child.pid, 'SIGTERM');
  t.ok(await eventually(() => child.exitCode !== null));
  child.kill('SIGKILL');
  t.same(await ended, [9, null]);
});

t.test('a signal that comes before there is a command ends it', async (t) => {
  for (const target of [1, -1]) {
    const runs = [0, 0, 1, 3, 6, 10, 20].map(async (ms) => {
      const { child, output, ended } = start(t, ['--debug', 'sleep', '600']);
      t.ok(await eventually(() => output.text.includes('debug: options')));
      setTimeout(() => process.kill(target * child.pid, 'SIGTERM'), ms);
      return ended;
    });
    for (const ended of await Promise.all(runs)) t.same(ended, [null, 'SIGTERM']);
  }
});

t.test('nothing is left', async (t) => {
  const STUBBORN = (/** @type {string} */ duration) => `trap "" TERM HUP INT; setsid sleep ${duration} & sleep ${duration} & echo started`;
  t.test('of a command that ends with children', async (t) => {
    const duration = uniqueDuration();
    t.equal(runToEnd(['bash', '-c', STUBBORN(duration)], { stdio: 'ignore' }).status, 0);
    t.same(processesWith(duration), []);
  });
  for (const who of ['it', 'its group', 'its agent']) {
    t.test(`when ${who} is killed`, async (t) => {
      const duration = uniqueDuration();
      const { child, says } = start(t, ['bash', '-c', `${STUBBORN(duration)}; wait`]);
      await says('started');
      const agent = childrenOf(child.pid)[0];
      const victims = { it: child.pid, 'its group': -child.pid, 'its agent': agent };
      process.kill(victims[who], 'SIGKILL');
      t.ok(await eventually(() => processesWith(duration).length === 0 && !isAlive(agent) && !isAlive(child.pid)));
    });
  }
});

t.test('a command that kills or stops its whole process group has not got the agent', async (t) => {
  const duration = uniqueDuration();
  const { child, says, ended } = start(t, ['bash', '-c', `setsid sleep ${duration} & echo started; read line; kill -STOP 0; echo on`]);
  await says('started');
  // Bash says so before the other process is what it is to be.
  const sleeping = () => processesWith(duration).find((pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n');
  t.ok(await eventually(() => sleeping() !== undefined));
  const stage = parentOf(parentOf(sleeping()));
  const agent = childrenOf(child.pid)[0];
  const stateOf = (/** @type {number} */ pid) => fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0];
  child.stdin.write('\n');
  t.ok(await eventually(() => stateOf(child.pid) === 'T'), 'this process is in the group');
  t.notOk([agent, stage, ...childrenOf(agent).filter((pid) => pid !== parentOf(stage))].some((pid) => stateOf(pid) === 'T'));
  process.kill(-child.pid, 'SIGCONT');
  t.ok(await says('on'));
  t.same(await ended, [0, null]);
  t.same(processesWith(duration), []);
});

/** As a bwrap before 0.8 answers, which cannot forbid user namespaces inside. */
const OLD_BWRAP = `
  if grep -qa -e --disable-userns /proc/self/fd/3; then
    echo "bwrap: Unknown option --disable-userns" >&2
    exit 1
  fi
  exec $BWRAP "$@"`;

t.test('where the sandbox fails that is tried first, the command is started once all the same', async (t) => {
  const folder = scratchFolder(t);
  const file = path.join(folder, 'ran');
  const run = (/** @type {string} */ bwrap) => {
    const words = [...withBwrap(folder, bwrap), ...COMMAND_LINE, 'sh', '-c', `echo once >> ${file}; exit 5`];
    return spawnSync(words[0], words.slice(1), { encoding: 'utf8', cwd: folder });
  };
  t.match(run(OLD_BWRAP), { status: 5, stderr: '' });
  t.equal(fs.readFileSync(file, 'utf8'), 'once\n');
  t.match(run('echo "none of it" >&2; exit 1'), { status: 125, stderr: /os-sandbox: .*none of it/ }, 'and never without one');
  t.match(run('$BWRAP "$@"; kill -9 $PPID; exit 1'), { status: 125, stderr: /os-sandbox: / }, 'nor again where it fails behind the command');
  t.equal(fs.readFileSync(file, 'utf8'), 'once\nonce\n');
});
