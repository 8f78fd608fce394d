'use strict';
// Unix sockets: those of the host are out of reach, those made inside work, and what is allowed is reached. Services and
// attacks are real; whether they were reached is asked of the services.

const t = require('tap');
const { spawn } = require('node:child_process');
const dgram = require('node:dgram');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { bash, compile, quote, startSandbox, successes, withoutSandbox } = require('./helpers/attack');
const { eventually } = require('./helpers/processes');
const { OWN_MOUNTS } = require('./helpers/namespace');
const { runProgram } = require('./helpers/program');
const { scratchFolder } = require('./helpers/sandbox');
const services = require('./helpers/services');
const { beforeBlock, blockOf } = require('./helpers/violations');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = Object.fromEntries(['socket_names', 'flip_address'].map((name) => [name, compile(programs, name)]));

/** The line of a refused socket. @param {string} socket */
const refused = (socket) => `deny network-outbound ${socket} (unix socket of the host, see allowUnixSockets)`;

/** The lines of a block without their counts, in order. @param {string} stderr */
const linesOf = (stderr) => blockOf(stderr).map((line) => line.replace(/ \(×\d+\)$/, '')).sort();

/** A short path: that of a socket has 107 bytes at most. @param {any} t */
function shortFolder(t) {
  const folder = fs.mkdtempSync('/var/tmp/oss-');
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * A sandbox with a machine in a workspace, and a folder outside for services.
 * @param {any} t
 * @param {any} [options] made of the folder
 */
async function start(t, options = () => ({})) {
  const folder = shortFolder(t);
  const workspace = path.join(folder, 'w');
  fs.mkdirSync(workspace);
  const sandbox = await startSandbox(t, options(folder));
  return { sandbox, machine: sandbox.machine(workspace), workspace, folder };
}

t.test('an ssh-agent with a key', async (t) => {
  const { machine, folder } = await start(t);
  const agent = await services.startSshAgent(t, folder);
  const env = { SSH_AUTH_SOCK: agent.socket };
  t.match(await withoutSandbox(folder).run(['ssh-add', '-l'], { env }), { stdout: /key-of-this-test/, exitCode: 0 });
  const before = agent.requests();
  const result = await machine.run(['ssh-add', '-l'], { env });
  t.match(result, { stdout: '', exitCode: 2 }, 'is refused');
  t.match(beforeBlock(result.stderr), /Permission denied/);
  t.same(blockOf(result.stderr), [refused(agent.socket)], 'and reported');
  t.equal(agent.requests(), before, 'and heard nothing');
});

t.test('a session bus', async (t) => {
  const { machine, folder } = await start(t);
  const bus = await services.startBus(t, folder);
  const list = ['dbus-send', '--print-reply', '--dest=org.freedesktop.DBus', '/', 'org.freedesktop.DBus.ListNames'];
  const env = { DBUS_SESSION_BUS_ADDRESS: bus.address };
  t.match(await withoutSandbox(folder).run(list, { env }), { stdout: /org\.freedesktop\.DBus/, exitCode: 0 });
  const result = await machine.run(list, { env });
  t.match(result, { stdout: '', exitCode: 1 });
  t.same(blockOf(result.stderr), [refused(bus.socket)]);
});

t.test('a gpg-agent', async (t) => {
  const { machine, folder } = await start(t);
  const agent = await services.startGpgAgent(t, folder);
  const ask = ['gpg-connect-agent', '--no-autostart', '-S', agent.socket, 'GETINFO pid', '/bye'];
  t.match(await withoutSandbox(folder).run(ask), { stdout: /^D \d+\nOK/, exitCode: 0 });
  const result = await machine.run(ask);
  t.equal(result.stdout, '');
  t.not(result.exitCode, 0);
  t.ok(blockOf(result.stderr).includes(refused(agent.socket)), result.stderr);
});

t.test('a tmux server', async (t) => {
  const { machine, folder } = await start(t);
  const tmux = services.startTmux(t, folder);
  const canary = path.join(folder, 'canary');
  const order = ['tmux', '-S', tmux.socket, 'run-shell', `touch ${canary}`];
  const result = await machine.run(order);
  t.equal(result.exitCode, 1);
  t.same(blockOf(result.stderr), [refused(tmux.socket)]);
  t.match(tmux.sessions(), /session-of-this-test/, 'it is alive');
  t.notOk(fs.existsSync(canary), 'and ran nothing');
  await withoutSandbox(folder).run(order);
  t.ok(fs.existsSync(canary), 'which it does for others');
});

t.test('something like docker.sock', async (t) => {
  const { machine, folder } = await start(t);
  const docker = await services.startHttp(t, path.join(folder, 'docker.sock'));
  const curl = ['curl', '-sS', '--max-time', '5', '--unix-socket', docker.socket, 'http://localhost/info'];
  const result = await machine.run(curl);
  t.match(result, { stdout: '', exitCode: 7 });
  t.same(blockOf(result.stderr), [refused(docker.socket)]);
  t.equal(docker.counts.connections, 0);
  t.match(await withoutSandbox(folder).run(curl), { stdout: /ServerVersion/, exitCode: 0 });
});

t.test('every way to a socket by its path', async (t) => {
  const { machine, workspace, folder } = await start(t);
  const servers = await services.startServers(t, folder);
  const attack = [program.socket_names, ...servers.paths];
  const result = await machine.run(attack);
  t.equal(result.exitCode, 0);
  t.same(successes(result), []);
  t.same(linesOf(result.stderr), servers.paths.map(refused).sort(), 'each is reported once');
  t.same(servers.hits(), []);
  t.equal(successes(await withoutSandbox(workspace).run(attack)).length, 33, 'all of them work without a sandbox');
  await eventually(() => servers.hits().length >= 33);
});

t.test('a thread that swaps address and descriptor reaches nobody', async (t) => {
  const { machine, folder } = await start(t);
  const servers = await services.startServers(t, folder);
  const [stream, , datagram] = servers.paths;
  const { stdout, stderr } = await machine.run([program.flip_address, '2', datagram, stream]);
  const counts = Object.fromEntries(stdout.trim().split('\n').map((line) => line.split(': ')));
  t.ok(counts.made > 10 && counts.refused > 10, stdout);
  t.same(linesOf(stderr), [refused(datagram), refused(stream)]);
  t.same(servers.hits(), []);
  await withoutSandbox(folder).run([program.flip_address, '1', datagram, stream]);
  t.ok(servers.hits().length > 0, 'without a sandbox it does');
});

t.test('allowUnixSockets', async (t) => {
  const curl = (socket) => ['curl', '-sS', '--max-time', '5', '--unix-socket', socket, 'http://localhost/info'];
  /** @type {Array<[string, (folder: string) => string, boolean]>} */
  const rows = [
    ['the path', (folder) => `${folder}/x/docker.sock`, true],
    ['a spelling of it', (folder) => `${folder}/w/..//x/./docker.sock`, true],
    ['a path relative to the working directory', () => '../x/docker.sock', true],
    ['a path through a symlink', (folder) => `${folder}/link/docker.sock`, true],
    ['its folder', (folder) => `${folder}/x`, true],
    ['its folder, with a slash', (folder) => `${folder}/x/`, true],
    ['a glob', (folder) => `${folder}/*/docker*.sock`, true],
    ['a glob of any depth', (folder) => `${folder}/**/*.sock`, true],
    ['braces', (folder) => `${folder}/x/{podman,docker}.sock`, true],
    ['another path', (folder) => `${folder}/x/docker.socket`, false],
    ['another folder', (folder) => `${folder}/w`, false],
    ['a glob that does not match', (folder) => `${folder}/*.sock`, false],
  ];
  for (const [name, entry, allowed] of rows) {
    await t.test(`${allowed ? 'opens' : 'does not open'} a socket by ${name}`, async (t) => {
      const folder = shortFolder(t);
      for (const name of ['w', 'x']) fs.mkdirSync(path.join(folder, name));
      fs.symlinkSync('x', path.join(folder, 'link'));
      const docker = await services.startHttp(t, path.join(folder, 'x', 'docker.sock'));
      const sandbox = await startSandbox(t, { network: { allowUnixSockets: [entry(folder)] } });
      const machine = sandbox.machine(path.join(folder, 'w'));
      const result = await machine.run(curl(docker.socket));
      if (allowed) t.match(result, { stdout: '{"ServerVersion":"27.0"}', stderr: '', exitCode: 0 });
      else t.match(result, { stdout: '', exitCode: 7 });
      t.equal(docker.counts.connections, allowed ? 1 : 0);
      if (!allowed) return;
      const viaLink = await machine.run(curl(path.join(folder, 'link', 'docker.sock')));
      t.match(viaLink, { exitCode: 0, stderr: '' }, 'also by a symlink');
    });
  }

  t.test('means a socket that is made later, too', async (t) => {
    const { machine, folder } = await start(t, (folder) => ({ network: { allowUnixSockets: [`${folder}/later`] } }));
    const script = `touch ready; until [ -S ../later ]; do sleep 0.05; done; ${curl('../later').map(quote).join(' ')}`;
    const running = bash(machine, script);
    await eventually(() => fs.existsSync(path.join(folder, 'w', 'ready')));
    await services.startHttp(t, path.join(folder, 'later'));
    t.match(await running, { stdout: /ServerVersion/, exitCode: 0 });
  });

  t.test('does not follow a symlink that a command could have made', async (t) => {
    const { sandbox, machine, workspace, folder } = await start(t, () => ({ network: { allowUnixSockets: ['./own'] } }));
    const docker = await services.startHttp(t, path.join(folder, 'docker.sock'));
    t.match(await bash(machine, `ln -s ${docker.socket} own`), { exitCode: 0 });
    const result = await machine.run(curl(path.join(workspace, 'own')));
    t.match(result, { stdout: '', exitCode: 7 });
    t.same(blockOf(result.stderr), [refused(docker.socket)]);
    t.equal(docker.counts.connections, 0);
    t.match(sandbox.status.warnings.join('\n'), /own is not open to commands: .* a symlink/);
  });

  t.test('does not open a socket that a command moved there', async (t) => {
    const { machine, workspace } = await start(t, (folder) => ({ network: { allowUnixSockets: [`${folder}/w/open/`] } }));
    const docker = await services.startHttp(t, path.join(workspace, 'docker.sock'));
    const ask = curl('open/x.sock').map(quote).join(' ');
    const result = await bash(machine, `mkdir open; ln docker.sock open/x.sock; ${ask}; mv docker.sock open/x.sock; ${ask}`);
    t.match(result, { stdout: '', exitCode: 7 });
    t.same(linesOf(result.stderr), [
      `deny network-outbound ${workspace}/open/x.sock (unix socket of the host, bound to ${docker.socket}, see allowUnixSockets)`,
    ]);
    t.equal(docker.counts.connections, 0);
  });

  t.test('opens every type', async (t) => {
    const { machine, folder } = await start(t, (folder) => ({ network: { allowUnixSockets: [folder] } }));
    const servers = await services.startServers(t, folder);
    const result = await machine.run([program.socket_names, ...servers.paths]);
    const hardLinks = ['stream', 'seqpacket', 'datagram'].map((type) => `${type} connect by a hard link`);
    t.equal(successes(result).length, 33 - hardLinks.length, 'but what makes a name elsewhere');
    t.notOk(successes(result).some((name) => hardLinks.includes(name)));
    await eventually(() => servers.hits().length >= 30);
  });
});

/** Connects to each name in the folder, and says how that ends. */
const connecting = (folder, names) => `
import errno, os, socket
for name in ${JSON.stringify(names)}:
    error = socket.socket(socket.AF_UNIX).connect_ex(os.path.join("${folder}", name))
    print(name, errno.errorcode[error])`;

/** Leaves a socket file behind on which nobody listens. */
async function leaveSocket(folder, name) {
  const script = `import socket; socket.socket(1).bind("${path.join(folder, name)}")`;
  t.match(await withoutSandbox(folder).run(['python3', '-c', script]), { exitCode: 0 });
}

t.test('a stale socket file and a plain file refuse as everywhere, silently', async (t) => {
  const { machine, folder } = await start(t);
  await leaveSocket(folder, 'w/stale');
  fs.writeFileSync(path.join(folder, 'file'), '');
  const names = ['w/stale', 'file', 'nothing', 'w/nothing'];
  t.match(await machine.run(['python3', '-c', connecting(folder, names)]), {
    stdout: 'w/stale ECONNREFUSED\nfile ECONNREFUSED\nnothing ENOENT\nw/nothing ENOENT\n',
    stderr: '',
  });
});

t.test('where no command can write, a socket that this network does not know may be of another', async (t) => {
  const { machine, folder } = await start(t);
  await leaveSocket(folder, 'unknown');
  const result = await machine.run(['python3', '-c', connecting(folder, ['unknown'])]);
  t.equal(result.stdout, 'unknown EACCES\n');
  t.same(blockOf(result.stderr), [refused(path.join(folder, 'unknown'))]);
});

t.test('a denied folder hides the sockets in it', async (t) => {
  const { machine, folder } = await start(t, (folder) => ({
    filesystem: { denyRead: [`${folder}/x`] },
    network: { allowUnixSockets: [`${folder}/x`] },
  }));
  fs.mkdirSync(path.join(folder, 'x'));
  const docker = await services.startHttp(t, path.join(folder, 'x', 'docker.sock'));
  const curl = ['curl', '-sS', '--unix-socket', docker.socket, 'http://localhost/info'];
  const result = await machine.run(curl);
  t.equal(result.exitCode, 7);
  t.match(blockOf(result.stderr), [new RegExp(`^deny network-outbound ${folder}/x`)]);
  t.equal(docker.counts.connections, 0);
});

t.test('sockets made inside', async (t) => {
  const { machine, workspace } = await start(t);
  const temporary = `/tmp/os-sandbox-inside-${process.pid}`;
  t.teardown(() => fs.rmSync(temporary, { recursive: true, force: true }));
  fs.mkdirSync(temporary);
  for (const folder of [workspace, temporary, '/dev/shm']) {
    await t.test(`work in ${folder === workspace ? 'the workspace' : path.dirname(`${folder}/x`)}`, async (t) => {
      const result = await machine.run(['python3', path.join(__dirname, 'fixtures', 'sockets_inside.py'), folder]);
      t.match(result, { stdout: 'all work\n', stderr: '', exitCode: 0 });
    });
  }

  t.test('work between two runs of one sandbox', async (t) => {
    const server = `
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("between"); server.listen()
client, _ = server.accept()
client.sendall(b"from " + client.recv(100))`;
    const running = machine.run(['python3', '-c', server]);
    await eventually(() => fs.existsSync(path.join(workspace, 'between')));
    const client = `
import socket, time
client = socket.socket(socket.AF_UNIX)
while client.connect_ex("${workspace}/between") != 0: time.sleep(0.05)
client.sendmsg([b"another run"]); print(client.recv(100).decode())`;
    t.match(await machine.run(['python3', '-c', client]), { stdout: 'from another run\n', stderr: '', exitCode: 0 });
    t.match(await running, { stderr: '', exitCode: 0 });
  });

  t.test('work where fstat gives other numbers than the kernel has inside: on overlayfs', async (t) => {
    const folder = shortFolder(t);
    for (const name of ['lower', 'upper', 'merged']) fs.mkdirSync(path.join(folder, name));
    const mount = `set -e; cd ${folder}; mount -t tmpfs tmpfs upper; mkdir upper/files upper/work
mount -t overlay -o lowerdir=lower,upperdir=upper/files,workdir=upper/work overlay merged; cd /; exec "$@"`;
    const servers = path.join(__dirname, 'fixtures', 'sockets_inside.py');
    const { said, stderr } = await runProgram(
      t,
      `
const fs = require('node:fs');
const [folder, inside, attack] = process.argv.slice(1);
fs.mkdirSync(folder + '/w');
const host = folder + '/host';
let hits = 0;
const server = require('node:net').createServer(() => hits++).listen(host);
await require('node:events').once(server, 'listening');
const sandbox = await OsSandbox.start();
const machine = sandbox.machine(folder + '/w');
say(await machine.run(['python3', inside, folder + '/w']));
say(await machine.run([attack, host, host, host]));
say(hits);
server.close();
await sandbox.dispose();`,
      { launcher: [...OWN_MOUNTS, 'sh', '-c', mount, 'sh'], args: [`${folder}/merged`, servers, program.socket_names] },
    );
    t.equal(stderr, '');
    const [inside, attack, hits] = said;
    t.match(inside, { stdout: 'all work\n', stderr: '', exitCode: 0 });
    t.same(successes(attack), []);
    t.same(linesOf(attack.stderr), [refused(`${folder}/merged/host`)]);
    t.equal(hits, 0);
  });

  t.test('are told from those of the host by the kernel, not by their place', async (t) => {
    const servers = await services.startServers(t, workspace);
    const result = await machine.run([program.socket_names, ...servers.paths]);
    t.same(successes(result), []);
    t.same(servers.hits(), []);
  });

  t.test('of programs work: ssh-agent, dbus, tmux', async (t) => {
    const script = `
set -e
export HOME=$PWD TMUX_TMPDIR=$PWD
ssh-keygen -q -t ed25519 -N '' -C inner-key -f inner-key
eval "$(ssh-agent -a "$PWD/agent")" >/dev/null
ssh-add -q inner-key 2>/dev/null
ssh-add -l | grep -o inner-key
dbus-run-session -- dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.GetId |
    grep -c string
tmux -f /dev/null new-session -d -s inner 'sleep 60'
tmux list-sessions -F '#{session_name}'`;
    const result = await bash(machine, script);
    t.match(result, { stdout: 'inner-key\n1\ninner\n', exitCode: 0 });
    t.same(blockOf(result.stderr), []);
  });
});

t.test('sockets of the host that an allowed one hands over lead nowhere but where they are connected', async (t) => {
  const { machine, folder } = await start(t, (folder) => ({ network: { allowUnixSockets: [`${folder}/given`] } }));
  const fixture = path.join(__dirname, 'fixtures', 'given_sockets.py');
  const copy = path.join(folder, 'given_sockets.py');
  fs.copyFileSync(fixture, copy);
  const socket = path.join(folder, 'given');
  const program = spawn('python3', [copy, 'serve', socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => program.kill('SIGKILL'));
  await once(program.stdout, 'data');
  const hits = [];
  const stream = net.createServer((client) => hits.push('stream') && client.destroy());
  await once(stream.listen(0, '127.0.0.1'), 'listening');
  const { port } = stream.address();
  const datagrams = dgram.createSocket('udp4').on('message', () => hits.push('datagram'));
  datagrams.bind(port, '127.0.0.1');
  await once(datagrams, 'listening');
  t.teardown(() => [stream, datagrams].forEach((server) => server.close()));
  const use = ['python3', copy, 'use', socket, String(port)];
  const { stdout, stderr } = await machine.run(use);
  const refused = ['fast open', 'stream', 'stream6', 'sendto', 'sendmsg', 'datagram', 'abstract', 'abstract stream', 'bind', 'listen'];
  t.same(stdout.trim().split('\n'), ['connected: still connected', ...refused.map((name) => `${name}: EACCES`)], stderr);
  t.ok(linesOf(stderr).includes(`deny network-outbound 127.0.0.1:${port} (no network in the sandbox)`), stderr);
  t.same(hits, []);
  t.equal(successes(await withoutSandbox(folder).run(use)).length, 9, 'without a sandbox they get out');
  t.same([...new Set(hits)].sort(), ['datagram', 'stream']);
});

t.test('a message with a descriptor waits for room, as without a sandbox', async (t) => {
  const { machine, folder } = await start(t);
  const script = `
import array, os, signal, socket, struct, threading, time
passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))]
def fill(one):
    count = 0
    try:
        while True: count += one.sendmsg([bytes(1000)], passed, socket.MSG_DONTWAIT) > 0
    except BlockingIOError: return count
def drain(other, count):
    time.sleep(0.1)
    for _ in range(count):
        for fd in socket.recv_fds(other, 1000, 1)[1]: os.close(fd)
def attempt(one):
    started = time.monotonic()
    try: result = one.sendmsg([b'last'], passed)
    except (OSError, TimeoutError) as error: result = type(error).__name__
    print(result, time.monotonic() - started > 0.05)
def alarm(*_): raise TimeoutError
signal.signal(signal.SIGALRM, alarm)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    reader = threading.Thread(target=drain, args=(other, fill(one)))
    reader.start()
    attempt(one)
    reader.join()
    fill(one)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    attempt(one)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 0, 100000))
    attempt(one)`;
  const wanted = { stdout: '4 True\nTimeoutError True\nBlockingIOError True\n'.repeat(3), stderr: '', exitCode: 0 };
  for (const one of [machine, withoutSandbox(folder)]) t.match(await one.run(['python3', '-c', script], { timeoutMs: 20000 }), wanted);
});

t.test('binding to a path is held by the mounts, and reported', async (t) => {
  const { machine, folder } = await start(t);
  fs.writeFileSync(path.join(folder, 'taken'), '');
  const script = `
import errno, os, socket
for name in ("new", "taken", "w/new"):
    try: print(name, socket.socket(socket.AF_UNIX).bind(os.path.join("${folder}", name)))
    except OSError as error: print(name, errno.errorcode[error.errno])
for port in (80, 8080):
    try: print(port, socket.socket().bind(("127.0.0.1", port)))
    except OSError as error: print(port, errno.errorcode[error.errno])`;
  const result = await machine.run(['python3', '-c', script]);
  t.equal(result.stdout, 'new EROFS\ntaken EADDRINUSE\nw/new None\n80 EACCES\n8080 None\n');
  t.same(blockOf(result.stderr), [
    `deny network-bind ${folder}/new (outside the write roots)`,
    'deny network-bind 127.0.0.1:80 (ports below 1024 need a privilege)',
  ]);
  t.same(fs.readdirSync(folder).sort(), ['taken', 'w']);
});

t.test('variables that name a socket of the host', async (t) => {
  const variables = ['SSH_AUTH_SOCK', 'DBUS_SESSION_BUS_ADDRESS', 'DOCKER_HOST'];
  const socket = path.join(scratchFolder(t), 'socket');
  const values = [socket, `unix:path=${socket},guid=00`, `unix://${socket}`];
  const show = ['sh', '-c', variables.map((name) => `echo "\${${name}-unset}"`).join('; ')];
  const saved = { ...process.env };
  t.teardown(() => Object.assign(process.env, saved));
  variables.forEach((name, i) => {
    process.env[name] = values[i];
    t.teardown(() => saved[name] === undefined && delete process.env[name]);
  });
  const { machine } = await start(t);
  t.equal((await machine.run(show)).stdout, 'unset\nunset\nunset\n', 'are unset');
  const env = { SSH_AUTH_SOCK: '/mine' };
  t.equal((await machine.run(show, { env })).stdout, '/mine\nunset\nunset\n', 'but what the run itself gives');
  const allowing = await start(t, () => ({ network: { allowUnixSockets: [socket] } }));
  t.equal((await allowing.machine.run(show)).stdout, `${values.join('\n')}\n`, 'and where their socket is allowed');
});
