'use strict';
// Attacks on the sandbox itself. Each is made for real; whether it worked is asked of the outside.

const t = require('tap');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, compile, makePlace, quote, snapshot, startSandbox, successes, withoutSandbox } = require('./helpers/attack');
const { eventually, isAlive } = require('./helpers/processes');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = Object.fromEntries(['flip', 'handle', 'kernel', 'mounts', 'processes'].map((name) => [name, compile(programs, name)]));

const SECRET = 'the-secret-of-this-test';

t.test('mounts, roots and namespaces stay as they are', async (t) => {
  const { workspace, out, secrets } = makePlace(t);
  fs.writeFileSync(path.join(secrets, 'key'), SECRET);
  const machine = (await startSandbox(t, { filesystem: { denyRead: [secrets] } })).machine(workspace);
  const attack = [program.mounts, workspace, out, secrets];
  const result = await machine.run(attack);
  t.match(result, { exitCode: 0, stderr: '' });
  t.same(successes(result), []);
  t.match(await bash(machine, `${attack.map(quote).join(' ')} >/dev/null; cat ${secrets}/key`), { stdout: '', exitCode: 1 });
  t.match(await bash(machine, 'unshare -Ur true; unshare -Urm true'), { exitCode: 1, stderr: /unshare failed/ });
  const inOwnNamespace = await withoutSandbox(workspace).run(['unshare', '-Urm', ...attack]);
  t.ok(successes(inOwnNamespace).length > 15, `who has a user namespace of its own can: ${successes(inOwnNamespace)}`);
});

t.test('pid 1, the only process of the sandbox that a command can see, is closed to it', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const result = await machine.run([program.processes, '1']);
  t.match(result, { exitCode: 0, stderr: '' });
  t.same(successes(result), []);
  t.equal(successes(await machine.run([program.processes, 'child'])).includes('ptrace seize'), true, 'a debugger works on own children');
  t.equal(successes(await withoutSandbox(workspace).run([program.processes, 'child'])).length, 17, 'every attack works on a child');
  const script = 'ls /proc | grep -E "^[0-9]+$" | wc -l; for p in /proc/[0-9]*; do cat $p/comm; done | sort | uniq -c; echo $PPID';
  const { stdout } = await bash(machine, script);
  t.ok(Number(stdout.split('\n')[0]) < 10, 'nothing of the host is in /proc');
  t.match(await bash(machine, 'echo overwritten > /proc/1/exe'), { exitCode: 1, stderr: /denied|Read-only/ });
  t.match(await bash(machine, 'kill -STOP 1; kill -KILL 1; kill -TERM 1; kill -KILL -1; echo after'), { stdout: 'after\n', exitCode: 0 }, 'signals do not reach it');
});

t.test('the processes of the host are out of reach', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const victim = spawn('sleep', ['300'], { stdio: 'ignore' });
  t.teardown(() => victim.kill('SIGKILL'));
  const attack = `kill -KILL ${victim.pid} ${process.pid}; kill -KILL -- -${process.pid}; ls /proc/${victim.pid}; cat /proc/${victim.pid}/environ`;
  t.match(await bash(machine, attack), { exitCode: 1, stdout: '', stderr: /No such process/ });
  const traced = await machine.run([program.processes, String(victim.pid)]);
  t.same(successes(traced), []);
  t.equal(isAlive(victim.pid), true);
  await bash(withoutSandbox(workspace), `kill -KILL ${victim.pid}`);
  t.ok(await eventually(() => !isAlive(victim.pid)), 'without a sandbox it dies');
});

t.test('what belongs to the owner of the machine is refused: devices, clock, names, modules', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const { dev } = fs.statSync('/');
  const result = await machine.run([program.kernel, workspace, String((dev >> 8) & 0xfff), String(dev & 0xff)]);
  t.match(result, { exitCode: 0, stderr: '' });
  t.same(successes(result).filter((name) => !/ \/dev\//.test(name)), []);
  const status = (await machine.run(['cat', '/proc/self/status'])).stdout;
  t.match(status, /^CapPrm:\s+0+\nCapEff:\s+0+\nCapBnd:\s+0+\nCapAmb:\s+0+\nNoNewPrivs:\s+1$/m);
  t.match(await bash(machine, 'cat /proc/self/uid_map'), { stdout: new RegExp(`^\\s*${process.getuid()}\\s+${process.getuid()}\\s+1\\n$`) });
});

t.test("a command cannot change the host's device nodes", async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const facts = () => ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => fs.statSync(`/dev/${name}`).mode);
  const before = facts();
  const result = await machine.run([program.kernel, workspace, '0', '0']);
  t.same(successes(result).filter((name) => / \/dev\//.test(name)), [], 'not even to what it is');
  t.same(facts(), before);
  t.match(await bash(machine, 'echo x > /dev/null && head -c 4 /dev/urandom | wc -c && ls /dev'), { exitCode: 0, stdout: /^4\n/ });
  const { stdout } = await bash(machine, 'ls -1 /dev; mkdir /dev/x; touch /dev/x; rm /dev/null');
  t.same(stdout.trim().split('\n'), ['core', 'fd', 'full', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']);
  const shared = `/dev/shm/os-sandbox-test-${process.pid}`;
  t.match(await bash(machine, `echo x > ${shared} && cat ${shared}`), { stdout: 'x\n' });
  t.notOk(fs.existsSync(shared), 'shared memory is private');
  fs.writeFileSync(shared, SECRET);
  t.teardown(() => fs.rmSync(shared));
  t.match(await bash(machine, `cat ${shared}`), { stdout: '', exitCode: 1 });
});

t.test('kernel files are read-only, also where the workspace is the root directory', async (t) => {
  const { workspace, out } = makePlace(t);
  const sandbox = await startSandbox(t);
  const find = 'find /proc /sys -xdev -writable \\( -type f -o -type d \\) 2>/dev/null | head -5; for m in $(awk \'$5 ~ "^/(proc|sys)" {print $5}\' /proc/self/mountinfo); do find $m -maxdepth 2 -xdev -writable \\( -type f -o -type d \\) 2>/dev/null; done | head -5';
  const writes = ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/self/oom_score_adj', '/proc/1/oom_score_adj', '/proc/self/uid_map', '/proc/sys/net/ipv4/ip_forward', '/sys/kernel/mm/transparent_hugepage/enabled', '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/x', '/sys/power/state'];
  const before = fs.readFileSync('/proc/sys/kernel/core_pattern', 'latin1');
  for (const cwd of [workspace, '/']) {
    const machine = sandbox.machine(cwd);
    t.equal((await bash(machine, find)).stdout, '', cwd);
    for (const file of writes) t.not((await bash(machine, `echo '|${out}/x' > ${file}`)).exitCode, 0, `${file} for ${cwd}`);
    t.match(await bash(machine, 'mkdir /sys/fs/cgroup/x; mkdir /sys/fs/cgroup/*/x'), { exitCode: 1 });
  }
  t.equal(fs.readFileSync('/proc/sys/kernel/core_pattern', 'latin1'), before);
  t.match(await sandbox.machine('/').run(['touch', path.join(out, 'here')]), { exitCode: 0 }, 'the root directory itself was granted');
});

t.test('a file cannot be opened by its handle', async (t) => {
  const { workspace, secrets } = makePlace(t);
  const key = path.join(secrets, 'key');
  fs.writeFileSync(key, SECRET);
  const handle = execFileSync(program.handle, ['get', key], { encoding: 'utf8' });
  const machine = (await startSandbox(t, { filesystem: { denyRead: [secrets] } })).machine(workspace);
  for (const folder of [workspace, '/var/tmp', '/']) {
    t.match(await machine.run([program.handle, 'open', folder, handle]), { stdout: 'open_by_handle_at: EPERM\n' });
  }
});

t.test('setuid programs give nothing', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const copy = path.join(workspace, 'id');
  fs.copyFileSync('/usr/bin/id', copy);
  fs.chmodSync(copy, 0o6755);
  if (process.getuid() === 0) fs.chownSync(copy, 1, 1);
  fs.chmodSync(copy, 0o6755);
  const user = `${process.getuid()}\n`;
  t.equal((await machine.run([copy, '-u'])).stdout, user);
  if (process.getuid() === 0) t.equal((await withoutSandbox(workspace).run([copy, '-u'])).stdout, '1\n');
  t.match(await bash(machine, 'su -c id < /dev/null'), { stdout: '', stderr: /./ });
  t.not((await bash(machine, 'mount --bind / /tmp')).exitCode, 0);
});

t.test('no descriptor of the host is inherited', async (t) => {
  const { workspace, secrets } = makePlace(t);
  fs.writeFileSync(path.join(secrets, 'key'), SECRET);
  const folder = fs.openSync(secrets, 'r');
  t.teardown(() => fs.closeSync(folder));
  const machine = (await startSandbox(t, { filesystem: { denyRead: [secrets] } })).machine(workspace);
  const script = 'for f in /proc/self/fd/*; do [ -e $f ] && basename $f; done; for n in $(seq 0 64); do cat /proc/self/fd/$n/key; done 2>/dev/null';
  for (const stdin of [undefined, 'text', 'x'.repeat(1 << 20)]) {
    const { stdout } = await machine.run(['sh', '-c', script], { stdin });
    t.equal(stdout, '0\n1\n2\n');
  }
  const kinds = await bash(machine, 'for n in 0 1 2; do readlink /proc/self/fd/$n; done', { stdin: 'x' });
  t.match(kinds.stdout, /^(pipe:\[\d+\]\n|\/dev\/null\n){3}$/, 'pipes, over which no descriptor can be passed');
  t.equal((await withoutSandbox(workspace).run(['cat', `/proc/${process.pid}/fd/${folder}/key`])).stdout, SECRET);
});

t.test('a daemon does not outlive its run', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const daemon = `trap '' TERM HUP INT; (setsid bash -c "trap '' TERM HUP; (while :; do date +%N > alive; sleep 0.02; done) & disown" & )`;
  const detached = `${daemon} > /dev/null 2>&1 < /dev/null; until [ -s alive ]; do sleep 0.01; done`;
  const alive = () => fs.readFileSync(path.join(workspace, 'alive'), 'latin1');
  const ended = async (why) => {
    const before = alive();
    await new Promise((resolve) => setTimeout(resolve, 200));
    t.equal(alive(), before, why);
    fs.rmSync(path.join(workspace, 'alive'));
  };
  t.match(await bash(machine, detached), { exitCode: 0 });
  await ended('after a normal end');
  machine.sigtermGraceMs = 50;
  t.match(await bash(machine, `${detached}; sleep 60`, { timeoutMs: 500 }), { timedOut: true, terminated: true });
  await ended('after a timeout');
});

t.test("the environment that a caller gives acts on the command only, not on the sandbox's own programs", async (t) => {
  const { base, workspace, out } = makePlace(t);
  const library = path.join(workspace, 'evil.so');
  const source = `#include <fcntl.h>
    __attribute__((constructor)) static void act(void) { open("${out}/canary", O_CREAT | O_WRONLY, 0600); open("${workspace}/acted", O_CREAT | O_WRONLY, 0600); }`;
  execFileSync('cc', ['-shared', '-fPIC', '-x', 'c', '-', '-o', library], { input: source });
  for (const name of ['bwrap', 'sh', 'env']) fs.writeFileSync(path.join(workspace, name), `#!/bin/bash\necho x > ${out}/${name}\n`, { mode: 0o755 });
  const machine = (await startSandbox(t)).machine(workspace);
  const env = { LD_PRELOAD: library, LD_AUDIT: library, LD_LIBRARY_PATH: workspace, PATH: `${workspace}:.:/usr/bin:/bin`, BASH_ENV: `${workspace}/sh`, HOME: out, TMPDIR: workspace };
  t.match(await machine.run(['/usr/bin/true'], { env }), { exitCode: 0 });
  t.ok(fs.existsSync(path.join(workspace, 'acted')), 'it acts on the command');
  t.same(fs.readdirSync(out), []);
  await withoutSandbox(base).run(['/usr/bin/true'], { env });
  t.same(fs.readdirSync(out), ['canary'], 'without a sandbox it acts');
});

t.test('a bwrap planted in the workspace or a writable PATH entry is never run', async (t) => {
  const { base, workspace, out } = makePlace(t);
  fs.writeFileSync(path.join(workspace, 'bwrap'), `#!/bin/sh\necho x > ${out}/ran\n`, { mode: 0o755 });
  const script = `require(${JSON.stringify(path.join(__dirname, '..'))}).OsSandbox.start()
    .then((sandbox) => { console.log(JSON.stringify(sandbox.status)); return sandbox.dispose(); });`;
  const start = (PATH) => spawnedOutput(['unshare', '-Urm', 'sh', '-c', 'for f in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do [ ! -e $f ] || mount --bind /dev/null $f; done; exec "$0" -e "$1"', process.execPath, script], { cwd: workspace, env: { ...process.env, PATH } });
  for (const PATH of [`${workspace}:/usr/bin:/bin`, `.:/usr/bin:/bin`, `:/usr/bin:/bin`, `${base}/./workspace:/usr/bin:/bin`]) {
    t.match(JSON.parse(await start(PATH)), { enabled: false, reason: /^missing sandbox dependencies: .*bubblewrap|bwrap/ }, PATH);
  }
  t.same(fs.readdirSync(out), []);
});

/** @param {string[]} argv */
function spawnedOutput([file, ...args], options) {
  return execFileSync(file, args, { encoding: 'utf8', ...options });
}

t.test('argv is data', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const words = ['--bind', '/', '/', '--', '--args', '3', 'a\nb', 'back\\slash', '', '*', '$(id)', '`id`', "'", '"', '\u{1f600}', '-c', ' '];
  t.equal((await machine.run(['printf', '<%s>', ...words])).stdout, words.map((word) => `<${word}>`).join(''));
  for (const name of ['--bind', '--version', '-x', 'new\nline', 'back\\slash', 'a b', '*']) {
    fs.writeFileSync(path.join(workspace, name), '#!/bin/sh\necho ran\n', { mode: 0o755 });
    const found = await machine.run([name], { env: { PATH: `${workspace}:/usr/bin:/bin` } });
    t.match(found, { stdout: 'ran\n', exitCode: 0 }, `${JSON.stringify(name)} in PATH`);
    t.match(await machine.run([path.join(workspace, name)]), { stdout: 'ran\n' }, `${JSON.stringify(name)} by path`);
  }
  const folder = path.join(workspace, '--ro-bind\n \\x');
  fs.mkdirSync(folder);
  t.match(await machine.withCwd(folder).run(['sh', '-c', 'pwd; touch here']), { stdout: `${folder}\n`, exitCode: 0 });
  t.match(await machine.run(['--perms', '0777']), { exitCode: 127, stderr: /--perms/ });
  for (const argv of [['a\0b'], ['true', 'a\0'], []]) await t.rejects(machine.run(argv));
});


t.test('a folder that a command swapped for a symlink does not become a write root', async (t) => {
  const { base, workspace, out } = makePlace(t);
  const inTmp = fs.mkdtempSync('/tmp/os-sandbox-test-');
  t.teardown(() => fs.rmSync(inTmp, { recursive: true, force: true }));
  const planted = {
    'a cwd below /tmp': { first: inTmp, then: path.join(inTmp, 'cwd') },
    'an ancestor of a cwd below /tmp': { first: inTmp, swap: path.join(inTmp, 'up'), then: path.join(inTmp, 'up/out') },
    'an additional folder below the cwd': { first: workspace, then: { cwd: workspace, additionalDirs: [path.join(workspace, 'additional')] } },
    'a folder below an additional one': { first: workspace, then: { cwd: path.join(workspace, 'cwd'), additionalDirs: [workspace] } },
    'a worktree below the cwd of another machine': { first: workspace, then: path.join(workspace, 'worktree') },
    'a folder below a folder of another machine': { first: { cwd: inTmp, additionalDirs: [workspace] }, then: path.join(workspace, 'other') },
  };
  for (const [what, { first, then, swap }] of Object.entries(planted)) {
    const target = swap ?? (typeof then === 'string' ? then : then.additionalDirs[0] === workspace ? then.cwd : then.additionalDirs[0]);
    for (const link of [swap ? base : out, path.relative(path.dirname(target), swap ? base : out)]) {
      const sandbox = await startSandbox(t);
      fs.mkdirSync(swap ? path.join(target, 'out') : target, { recursive: true });
      t.match(await bash(sandbox.machine(first), `rm -r ${target} && ln -s ${link} ${target}`), { exitCode: 0 }, what);
      t.equal(fs.realpathSync(target), swap ? base : out);
      const result = await bash(sandbox.machine(then), `echo x > ${out}/canary; echo x > canary; echo x > ${target}/canary; mkdir ${target}/folder`);
      t.not(result.exitCode, 0, what);
      t.same(fs.readdirSync(out), [], what);
      t.match(sandbox.status.warnings.join('\n'), target, `a warning names ${what}`);
      for (const name of ['out/canary', 'out/folder', 'canary', 'folder']) fs.rmSync(path.join(base, name), { recursive: true, force: true });
      fs.rmSync(target, { recursive: true });
    }
  }
});

/** Starts the program that exchanges two names again and again; gives what stops it. */
function flip(t, cwd, names, microseconds) {
  const flipping = spawn(program.flip, [...names, String(microseconds)], { cwd, stdio: 'ignore' });
  const stop = () => flipping.kill('SIGKILL');
  t.teardown(stop);
  return stop;
}

/** Many runs, a few at a time: the results of those that came to run, the messages of the others. */
async function manyRuns(machine, count, script) {
  const results = [];
  const errors = [];
  const worker = async () => {
    while (results.length + errors.length < count) {
      await bash(machine, script).then((result) => results.push(result), (error) => errors.push(error.message));
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return { results, errors };
}

t.test('a component of denied paths that changes while 500 sandboxes start opens nothing', async (t) => {
  const { workspace } = makePlace(t);
  // p is the folder or a symlink to q, q the folder or a symlink to itself: p/secret always names the same file.
  fs.mkdirSync(path.join(workspace, 'p/secret'), { recursive: true });
  fs.writeFileSync(path.join(workspace, 'p/secret/key'), SECRET);
  fs.writeFileSync(path.join(workspace, 'p/kept'), 'original');
  fs.symlinkSync('q', path.join(workspace, 'q'));
  const machine = (await startSandbox(t, { filesystem: { denyRead: ['p/secret'], denyWrite: ['p/kept'] } })).machine(workspace);
  flip(t, workspace, ['p', 'q'], 2000);
  const { results, errors } = await manyRuns(machine, 500, 'for i in 1 2 3; do cat p/secret/key q/secret/key; echo x > p/kept; echo x > q/kept; done 2>/dev/null; echo end');
  t.ok(results.length > 0 && errors.length > 0, `${results.length} ran, ${errors.length} were refused`);
  t.same(results.filter(({ stdout }) => stdout !== 'end\n'), []);
  t.same(errors.filter((text) => !/^os-sandbox: (.*replaced while|bwrap: |mount check failed: )/.test(text)), []);
  const kept = ['p', 'q'].map((name) => path.join(workspace, name, 'kept')).find((file) => fs.existsSync(file));
  t.equal(fs.readFileSync(kept, 'utf8'), 'original');
});

t.test('a cwd or a folder in it that is swapped for a link to the outside opens nothing and leaves nothing there', async (t) => {
  const { out } = makePlace(t);
  const base = fs.mkdtempSync('/tmp/os-sandbox-test-');
  t.teardown(() => fs.rmSync(base, { recursive: true, force: true }));
  // The last one is the name that bwrap gives to the host's tree while it works.
  for (const [i, link] of [out, path.relative(base, out), path.relative(path.join(base, 'cwd1'), out), `/oldroot${out}`].entries()) {
    const cwd = path.join(base, `cwd${i}`);
    fs.mkdirSync(path.join(cwd, 'p/denied'), { recursive: true });
    fs.writeFileSync(path.join(cwd, 'p/secret'), SECRET);
    const [folder, name] = i < 2 ? [base, `cwd${i}`] : [cwd, 'p'];
    fs.symlinkSync(link, path.join(folder, 'link'));
    const machine = (await startSandbox(t, { filesystem: { denyRead: ['p/denied', 'p/secret'] } })).machine(cwd);
    const stop = flip(t, folder, [name, 'link'], 2000);
    const { results, errors } = await manyRuns(machine, 100, `echo x > ${out}/canary; echo x > ${folder}/${name}/canary; echo end`);
    t.ok(results.length > 0, `${results.length} ran, ${errors.length} were refused`);
    t.same(fs.readdirSync(out), [], link);
    stop();
    for (const left of fs.readdirSync(out)) fs.rmSync(path.join(out, left), { recursive: true });
  }
});

t.test('a mount that the host makes while a command runs is not writable for it', async (t) => {
  const { base, workspace, out } = makePlace(t);
  fs.mkdirSync(path.join(base, 'place'));
  const script = `const { execFileSync } = require('node:child_process');
    require(${JSON.stringify(path.join(__dirname, '..'))}).OsSandbox.start().then(async (sandbox) => {
      const machine = sandbox.machine(${JSON.stringify(workspace)});
      const wait = 'echo up; until [ -e go ]; do sleep 0.01; done; touch ${base}/place/canary; mkdir ${base}/place/folder';
      const onOutput = () => {
        execFileSync('mount', ['--bind', ${JSON.stringify(out)}, ${JSON.stringify(path.join(base, 'place'))}]);
        require('node:fs').writeFileSync(${JSON.stringify(path.join(workspace, 'go'))}, '');
      };
      const { exitCode } = await machine.run(['sh', '-c', wait], { onOutput });
      console.log(sandbox.status.enabled, exitCode);
      await sandbox.dispose();
    });`;
  const stdout = execFileSync('unshare', ['-Urm', '--propagation', 'shared', process.execPath, '-e', script], { encoding: 'utf8' });
  t.equal(stdout, 'true 1\n');
  t.same(fs.readdirSync(out), []);
});
