'use strict';
// Attacks on the sandbox itself. Each is made for real; whether it worked is asked of the outside.

const t = require('tap');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const {
  NOTHING_BUT_DENIALS,
  bash,
  compile,
  makePlace,
  quote,
  startSandbox,
  successes,
  withoutSandbox,
} = require('./helpers/attack');
const { eventually, isAlive } = require('./helpers/processes');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = Object.fromEntries(
  ['handle', 'kernel', 'mounts', 'processes'].map((name) => [name, compile(programs, name)]),
);

const SECRET = 'the-secret-of-this-test';

t.test('mounts, roots and namespaces stay as they are', async (t) => {
  const { workspace, out, secrets } = makePlace(t);
  fs.writeFileSync(path.join(secrets, 'key'), SECRET);
  const machine = (await startSandbox(t, { filesystem: { denyRead: [secrets] } })).machine(workspace);
  const attack = [program.mounts, workspace, out, secrets];
  const result = await machine.run(attack);
  t.match(result, { exitCode: 0, stderr: NOTHING_BUT_DENIALS });
  t.same(successes(result), []);
  t.match(await bash(machine, `${attack.map(quote).join(' ')} >/dev/null; cat ${secrets}/key`), {
    stdout: '',
    exitCode: 1,
  });
  t.match(await bash(machine, 'unshare -Ur true; unshare -Urm true'), { exitCode: 1, stderr: /unshare failed/ });
  const inOwnNamespace = await withoutSandbox(workspace).run(['unshare', '-Urm', ...attack]);
  t.ok(successes(inOwnNamespace).length > 15, `who has a user namespace of its own can: ${successes(inOwnNamespace)}`);
});

t.test('pid 1, the only process of the sandbox that a command can see, is closed to it', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const result = await machine.run([program.processes, '1']);
  t.match(result, { exitCode: 0, stderr: NOTHING_BUT_DENIALS });
  t.same(successes(result), []);
  t.equal(
    successes(await machine.run([program.processes, 'child'])).includes('ptrace seize'),
    true,
    'a debugger works on own children',
  );
  t.equal(
    successes(await withoutSandbox(workspace).run([program.processes, 'child'])).length,
    17,
    'every attack works on a child',
  );
  const script =
    'ls /proc | grep -E "^[0-9]+$" | wc -l; for p in /proc/[0-9]*; do cat $p/comm; done | sort | uniq -c; echo $PPID';
  const { stdout } = await bash(machine, script);
  t.ok(Number(stdout.split('\n')[0]) < 10, 'nothing of the host is in /proc');
  t.match(await bash(machine, 'echo overwritten > /proc/1/exe'), { exitCode: 1, stderr: /denied|Read-only/ });
  t.match(
    await bash(machine, 'kill -STOP 1; kill -KILL 1; kill -TERM 1; kill -KILL -1; echo after'),
    { stdout: 'after\n', exitCode: 0 },
    'signals do not reach it',
  );
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
  t.match(result, { exitCode: 0, stderr: NOTHING_BUT_DENIALS });
  t.same(
    successes(result).filter((name) => !/ \/dev\//.test(name)),
    [],
  );
  const status = (await machine.run(['cat', '/proc/self/status'])).stdout;
  t.match(status, /^CapPrm:\s+0+\nCapEff:\s+0+\nCapBnd:\s+0+\nCapAmb:\s+0+\nNoNewPrivs:\s+1$/m);
  t.match(await bash(machine, 'cat /proc/self/uid_map'), {
    stdout: new RegExp(`^\\s*${process.getuid()}\\s+${process.getuid()}\\s+1\\n$`),
  });
});

t.test("a command cannot change the host's device nodes", async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const facts = () =>
    ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => fs.statSync(`/dev/${name}`).mode);
  const before = facts();
  const result = await machine.run([program.kernel, workspace, '0', '0']);
  t.same(
    successes(result).filter((name) => / \/dev\//.test(name)),
    [],
    'not even to what it is',
  );
  t.same(facts(), before);
  t.match(await bash(machine, 'echo x > /dev/null && head -c 4 /dev/urandom | wc -c && ls /dev'), {
    exitCode: 0,
    stdout: /^4\n/,
  });
  const { stdout } = await bash(machine, 'ls -1 /dev; mkdir /dev/x; touch /dev/x; rm /dev/null');
  t.same(stdout.trim().split('\n'), [
    'core',
    'fd',
    'full',
    'null',
    'ptmx',
    'pts',
    'random',
    'shm',
    'stderr',
    'stdin',
    'stdout',
    'tty',
    'urandom',
    'zero',
  ]);
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
  const find =
    'find /proc /sys -xdev -writable \\( -type f -o -type d \\) 2>/dev/null | head -5; for m in $(awk \'$5 ~ "^/(proc|sys)" {print $5}\' /proc/self/mountinfo); do find $m -maxdepth 2 -xdev -writable \\( -type f -o -type d \\) 2>/dev/null; done | head -5';
  const writes = [
    '/proc/sys/kernel/core_pattern',
    '/proc/sysrq-trigger',
    '/proc/self/oom_score_adj',
    '/proc/1/oom_score_adj',
    '/proc/self/uid_map',
    '/proc/sys/net/ipv4/ip_forward',
    '/sys/kernel/mm/transparent_hugepage/enabled',
    '/sys/fs/cgroup/cgroup.procs',
    '/sys/fs/cgroup/x',
    '/sys/power/state',
  ];
  const before = fs.readFileSync('/proc/sys/kernel/core_pattern', 'latin1');
  for (const cwd of [workspace, '/']) {
    const machine = sandbox.machine(cwd);
    t.equal((await bash(machine, find)).stdout, '', cwd);
    for (const file of writes)
      t.not((await bash(machine, `echo '|${out}/x' > ${file}`)).exitCode, 0, `${file} for ${cwd}`);
    t.match(await bash(machine, 'mkdir /sys/fs/cgroup/x; mkdir /sys/fs/cgroup/*/x'), { exitCode: 1 });
  }
  t.equal(fs.readFileSync('/proc/sys/kernel/core_pattern', 'latin1'), before);
  t.match(
    await sandbox.machine('/').run(['touch', path.join(out, 'here')]),
    { exitCode: 0 },
    'the root directory itself was granted',
  );
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
  const script =
    'for f in /proc/self/fd/*; do [ -e $f ] && basename $f; done; for n in $(seq 0 64); do cat /proc/self/fd/$n/key; done 2>/dev/null';
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
  for (const name of ['bwrap', 'sh', 'env'])
    fs.writeFileSync(path.join(workspace, name), `#!/bin/bash\necho x > ${out}/${name}\n`, { mode: 0o755 });
  const machine = (await startSandbox(t)).machine(workspace);
  const env = {
    LD_PRELOAD: library,
    LD_AUDIT: library,
    LD_LIBRARY_PATH: workspace,
    PATH: `${workspace}:.:/usr/bin:/bin`,
    BASH_ENV: `${workspace}/sh`,
    HOME: out,
    TMPDIR: workspace,
  };
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
  const start = (PATH) =>
    spawnedOutput(
      [
        'unshare',
        '-Urm',
        'sh',
        '-c',
        'for f in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do [ ! -e $f ] || mount --bind /dev/null $f; done; exec "$0" -e "$1"',
        process.execPath,
        script,
      ],
      { cwd: workspace, env: { ...process.env, PATH } },
    );
  for (const PATH of [
    `${workspace}:/usr/bin:/bin`,
    `.:/usr/bin:/bin`,
    `:/usr/bin:/bin`,
    `${base}/./workspace:/usr/bin:/bin`,
  ]) {
    t.match(
      JSON.parse(await start(PATH)),
      { enabled: false, reason: /^missing sandbox dependencies: .*bubblewrap|bwrap/ },
      PATH,
    );
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
  const words = [
    '--bind',
    '/',
    '/',
    '--',
    '--args',
    '3',
    'a\nb',
    'back\\slash',
    '',
    '*',
    '$(id)',
    '`id`',
    "'",
    '"',
    '\u{1f600}',
    '-c',
    ' ',
  ];
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
  const stdout = execFileSync('unshare', ['-Urm', '--propagation', 'shared', process.execPath, '-e', script], {
    encoding: 'utf8',
  });
  t.equal(stdout, 'true 1\n');
  t.same(fs.readdirSync(out), []);
});

t.test('what the host mounts after the start comes without its devices', async (t) => {
  const { workspace, base } = makePlace(t);
  const late = path.join(base, 'late');
  const inside = path.join(workspace, 'late');
  for (const folder of [late, inside]) fs.mkdirSync(folder);
  const script = `const { OsSandbox } = require(${JSON.stringify(path.join(__dirname, '..'))});
    const { execFileSync } = require('node:child_process');
    OsSandbox.start().then(async (sandbox) => {
      if (!sandbox.status.enabled) throw new Error(sandbox.status.reason);
      for (const target of ${JSON.stringify([late, inside])}) execFileSync('mount', ['--rbind', '/dev', target]);
      const machine = sandbox.machine(${JSON.stringify(workspace)});
      const { stdout } = await machine.run(['cat', '/proc/self/mountinfo']);
      console.log(stdout);
      await sandbox.dispose();
    });`;
  const stdout = execFileSync('unshare', ['-Urm', '--propagation', 'shared', process.execPath, '-e', script], {
    encoding: 'utf8',
  });
  const flags = (point) => stdout.split('\n').map((line) => line.split(' ')).find((fields) => fields[4] === point)[5];
  for (const flag of ['nosuid', 'nodev']) t.ok(flags(late).split(',').includes(flag), `outside: ${flag}`);
  for (const flag of ['nosuid', 'nodev']) t.ok(flags(inside).split(',').includes(flag), `in a write root: ${flag}`);
  t.ok(flags(late).split(',').includes('ro'), 'outside: read-only');
});

t.test('a kernel file system that is mounted in the workspace is read-only', async (t) => {
  const { workspace } = makePlace(t);
  fs.mkdirSync(path.join(workspace, 'a chroot/proc'), { recursive: true });
  const script = `const { LocalMachine, OsSandbox } = require(${JSON.stringify(path.join(__dirname, '..'))});
    OsSandbox.start().then(async (sandbox) => {
      if (!sandbox.status.enabled) throw new Error(sandbox.status.reason);
      const write = ['sh', '-c', 'cd "$0/a chroot/proc" && echo 500 > self/oom_score_adj', ${JSON.stringify(workspace)}];
      const machines = [new LocalMachine('/'), sandbox.machine(${JSON.stringify(workspace)}), sandbox.machine('/')];
      for (const machine of machines) console.log((await machine.run(write)).exitCode);
      await sandbox.dispose();
    });`;
  const mounted = 'mount -t proc none "$0/a chroot/proc" && exec "$1" -e "$2"';
  const stdout = execFileSync('unshare', ['-Urmpf', '--mount-proc', 'sh', '-c', mounted, workspace, process.execPath, script], {
    encoding: 'utf8',
  });
  t.match(stdout, /^0\n[12]\n[12]\n$/, 'it can be written without a sandbox only');
});

/** Each takes what it can of a resource, says so, and holds it. */
const HOGS = {
  processes: 'for i in $(seq 300); do sleep 300 & done; echo full; wait',
  descriptors: `exec /usr/bin/python3 -c "
import os, time
try:
    while True: os.open('/dev/null', 0)
except OSError: print('full', flush=True)
time.sleep(300)"`,
  'descriptors in flight': `exec /usr/bin/python3 -c "
import array, os, socket, time
fds = array.array('i', [os.open('/dev/null', 0) for _ in range(200)])
held = []
try:
    while len(held) < 2000:
        a, b = socket.socketpair(); held += [a, b]
        a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
except OSError: pass
print('full', flush=True)
time.sleep(300)"`,
  'pipes and their buffers': `exec /usr/bin/python3 -c "
import fcntl, os, time
try:
    while True:
        r, w = os.pipe(); fcntl.fcntl(w, 1031, 1 << 20); os.set_blocking(w, False)
        os.write(w, bytes(1 << 20))
except OSError: print('full', flush=True)
time.sleep(300)"`,
  'its own limits and those of pid 1':
    'for r in NOFILE NPROC CPU AS; do prlimit --pid 1 --${r,,}=1:1; done 2>/dev/null; ulimit -n 4; echo full; sleep 300',
};

t.test('a command that takes all it can get is stopped, and others start beside it and after it', async (t) => {
  const { workspace } = makePlace(t);
  // Who may be asked for has listeners, each made when it is needed; nothing goes out.
  const network = { onAskHost: async () => false };
  const machine = (await startSandbox(t, { network })).machine(workspace);
  const other = (await startSandbox(t, { network })).machine(workspace);
  let port = 10000;
  const connect = () => `(exec 9<>/dev/tcp/192.0.2.1/${port++}) && echo connected`;
  machine.sigtermGraceMs = 200;
  for (const [what, hog] of Object.entries(HOGS)) {
    const controller = new AbortController();
    let running;
    const first = await new Promise((resolve) => {
      running = bash(machine, hog, { signal: controller.signal, onOutput: ({ data }) => resolve(data) });
      running.catch(resolve);
    });
    t.match(first, /^full/, what);
    t.match(await bash(machine, 'echo beside'), { stdout: 'beside\n', exitCode: 0 }, `beside: ${what}`);
    for (const one of [machine, other]) t.match(await bash(one, connect()), { stdout: 'connected\n', exitCode: 0 }, `to a new port, beside: ${what}`);
    controller.abort();
    const ended = await running.catch((error) => error);
    t.ok(ended.terminated || /^os-sandbox: /.test(ended.message), `stopped: ${what}`);
    t.match(await bash(machine, 'echo after'), { stdout: 'after\n', exitCode: 0 }, `after: ${what}`);
  }
});
