'use strict';
// No network leads out of a sandbox. Servers outside count what arrives.

const t = require('tap');
const { once } = require('node:events');
const dgram = require('node:dgram');
const net = require('node:net');
const os = require('node:os');
const { NOTHING_BUT_DENIALS, bash, compile, makePlace, resultsOf, startSandbox, successes, withoutSandbox } = require('./helpers/attack');

/** The host's own addresses. */
const interfaces = Object.values(os.networkInterfaces()).flat();
const addresses = [
  ...new Set(['127.0.0.1', ...interfaces.filter(({ family }) => family === 'IPv4').map(({ address }) => address)]),
];

/** Servers for TCP and UDP on one port of every address, and an abstract unix socket; `arrived` lists what reached them. */
async function listenOutside(t) {
  const arrived = [];
  const tcp = net.createServer((socket) => {
    arrived.push(`tcp ${socket.localAddress}`);
    socket.on('error', () => {}).end('HTTP/1.0 200 OK\r\n\r\nanswer');
  });
  await once(tcp.listen(0, '0.0.0.0'), 'listening');
  const { port } = tcp.address();
  const udp = dgram.createSocket('udp4', (message, from) => arrived.push(`udp ${from.address}`));
  await once(udp.bind(port, '0.0.0.0'), 'listening');
  const abstract = `os-sandbox-test-${process.pid}-${port}`;
  const unix = net.createServer((socket) => {
    arrived.push('abstract');
    socket.on('error', () => {}).destroy();
  });
  await once(unix.listen(`\0${abstract}`), 'listening');
  t.teardown(() => [tcp, udp, unix].forEach((server) => server.close()));
  return { port, abstract, arrived };
}

/** Everything that is on its way arrives within this. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 200));

const NO_NETWORK = [
  undefined,
  { network: {} },
  { network: { allowedDomains: [] } },
  { network: { allowedDomains: undefined } },
  { network: { deniedDomains: ['*.example.com'] } },
  {
    network: {
      allowedDomains: ['*', 'api.example.com'],
      allowLocalBinding: true,
      onAskHost: async () => true,
    },
  },
];

t.test('no client gets out, whatever the options say', async (t) => {
  const { workspace } = makePlace(t);
  const { port, arrived } = await listenOutside(t);
  const clients = addresses.flatMap((address) => [
    `curl -s -m 5 --noproxy '*' http://${address}:${port}/`,
    `curl -s -m 5 -x http://${address}:${port} http://api.example.com/`,
    `/usr/bin/python3 -c "import socket; print(socket.create_connection(('${address}', ${port}), 5).recv(9))"`,
    `exec 9<>/dev/tcp/${address}/${port} && cat <&9`,
    `echo x > /dev/udp/${address}/${port}; echo x > /dev/udp/${address}/${port}; false`,
    `"$NODE" -e "require('net').connect(${port}, '${address}').on('data', (d) => console.log(String(d))).on('error', () => process.exit(1))"`,
  ]);
  const env = { NODE: process.execPath };
  for (const options of NO_NETWORK) {
    const machine = (await startSandbox(t, options)).machine(workspace);
    const script = clients.map((client, i) => `( ${client} ) 2>/dev/null && echo "client ${i} got out"`).join('\n');
    t.equal((await bash(machine, `${script}\ntrue`, { env })).stdout, '', JSON.stringify(options));
  }
  await settle();
  t.same(arrived, []);
  for (const client of clients.slice(0, 6)) await bash(withoutSandbox(workspace), client, { env });
  await settle();
  t.equal(arrived.length, 7, 'without a sandbox all of them arrive');
});

t.test('no socket gets out', async (t) => {
  const { base, workspace } = makePlace(t);
  const { port, abstract, arrived } = await listenOutside(t);
  const attack = [compile(base, 'sockets'), ...addresses.flatMap((address) => [address, String(port)]), abstract];
  const machine = (await startSandbox(t)).machine(workspace);
  const result = await machine.run(attack);
  t.match(result, { exitCode: 0, stderr: NOTHING_BUT_DENIALS });
  t.same(successes(result), []);
  await settle();
  t.same(arrived, []);
  const far = await machine.run([
    attack[0],
    '192.0.2.1',
    '80',
    '198.18.0.1',
    '443',
    '169.254.169.254',
    '80',
    '255.255.255.255',
    '53',
    abstract,
  ]);
  for (const [name, answer] of Object.entries(resultsOf(far.stdout))) {
    if (/^(tcp|udp) /.test(name)) t.match(answer, /ECONNREFUSED|ENETUNREACH|EACCES/, `${name} fails at once`);
  }
  t.match(far.stderr, 'deny network-outbound 192.0.2.1:80 (not in network.allowedIPs)');
  const plain = await withoutSandbox(workspace).run(attack);
  for (const way of ['tcp', 'udp', 'tcp mapped']) t.ok(successes(plain).includes(`${way} 127.0.0.1 ${port}`), way);
  t.ok(successes(plain).includes('abstract stream socket'));
  await settle();
  t.ok(arrived.length >= 4, 'without a sandbox they arrive');
});

t.test('no name is looked up outside', async (t) => {
  const { workspace } = makePlace(t);
  const resolver = dgram.createSocket('udp4');
  const queries = [];
  resolver.on('message', (message) => queries.push(message));
  await once(resolver.bind(0, '0.0.0.0'), 'listening');
  t.teardown(() => resolver.close());
  const ask = (address) => `/usr/bin/python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
query = bytes.fromhex('abcd01000001000000000000') + b'\\\\x06secret\\\\x07example\\\\x03com\\\\x00' + bytes.fromhex('00010001')
s.sendto(query, ('${address}', ${resolver.address().port}))"`;
  const machine = (await startSandbox(t)).machine(workspace);
  for (const address of addresses) await bash(machine, ask(address));
  await settle();
  t.same(queries, []);
  await bash(withoutSandbox(workspace), ask('127.0.0.1'));
  await settle();
  t.equal(queries.length, 1, 'without a sandbox the query arrives');
});

t.test('there is a loopback, a link to the gateway, and nothing else', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const { stdout } = await bash(
    machine,
    'ls /sys/class/net /proc/self/net; tail -n +3 /proc/net/dev | cut -d: -f1; cat /proc/net/route | wc -l',
  );
  t.match(stdout, /\n\s+lo\n\s+eth0\n3\n$/, 'two devices, and below the heading the link and the way out by it');
});

/** Inside: a server that answers with a word, and says when it listens. */
const server = (port, word) => `/usr/bin/python3 -c "
import socket
s = socket.create_server(('127.0.0.1', ${port}))
print('up', flush=True)
while True: s.accept()[0].sendall(b'${word}')"`;
const client = (port) =>
  `/usr/bin/python3 -c "import socket; print(socket.create_connection(('127.0.0.1', ${port}), 5).recv(99).decode())"`;

/** Starts a script and waits for its first output; gives what ends it. */
async function untilUp(t, machine, script) {
  const controller = new AbortController();
  let running;
  await new Promise((resolve) => {
    running = bash(machine, script, { signal: controller.signal, onOutput: resolve });
  });
  const stop = () => {
    controller.abort();
    return running;
  };
  t.teardown(stop);
  return stop;
}

t.test('the commands of one sandbox share their localhost with each other and with nobody else', async (t) => {
  const { workspace } = makePlace(t);
  const sandbox = await startSandbox(t);
  const other = await startSandbox(t);
  t.match(sandbox.status.guarantees, { network: 'session' });
  const port = 18080;
  const stop = await untilUp(t, sandbox.machine(workspace), server(port, 'from inside'));
  t.match(
    await bash(sandbox.machine(workspace), client(port)),
    { stdout: 'from inside\n' },
    'the next command reaches it',
  );
  t.match(await bash(sandbox.machine('/tmp'), client(port)), { stdout: 'from inside\n' }, 'and one of another machine');
  t.match(await bash(other.machine(workspace), client(port)), { stdout: '', exitCode: 1 }, 'another sandbox does not');
  t.match(await bash(withoutSandbox(workspace), client(port)), { stdout: '', exitCode: 1 }, 'the host does not');
  t.match(
    await bash(other.machine(workspace), `${server(port, 'other')} & sleep 0.3; ${client(port)}`),
    { stdout: /other/ },
    'the port is free elsewhere',
  );
  await stop();
  t.match(
    await bash(sandbox.machine(workspace), client(port)),
    { stdout: '', exitCode: 1 },
    'it ended with its command',
  );
  const left = await bash(sandbox.machine(workspace), `( setsid ${server(port, 'left')} & ) | head -1`);
  t.match(left, { stdout: 'up\n' });
  t.match(
    await bash(sandbox.machine(workspace), client(port)),
    { stdout: '', exitCode: 1 },
    'also where the command left it behind',
  );
});

t.test('abstract sockets are those of the sandbox', async (t) => {
  const { workspace } = makePlace(t);
  const sandbox = await startSandbox(t);
  const other = await startSandbox(t);
  const name = `\\0os-sandbox-inside-${process.pid}`;
  const listen = `/usr/bin/python3 -c "
import socket
s = socket.socket(socket.AF_UNIX); s.bind('${name}'); s.listen(); print('up', flush=True)
while True: s.accept()[0].sendall(b'inside')"`;
  const reach = `/usr/bin/python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect('${name}'); print(s.recv(9).decode())"`;
  const stop = await untilUp(t, sandbox.machine(workspace), listen);
  t.match(await bash(sandbox.machine(workspace), reach), { stdout: 'inside\n' });
  t.match(await bash(other.machine(workspace), reach), { stdout: '', exitCode: 1 });
  t.match(await bash(withoutSandbox(workspace), reach), { stdout: '', exitCode: 1 });
  await stop();
});

t.test('System V and POSIX memory, semaphores and queues of the host are not visible', async (t) => {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t)).machine(workspace);
  const key = 0x0b5a0000 + (process.pid & 0xffff);
  const shm = (flags) => `/usr/bin/python3 -c "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
id = libc.shmget(${key}, 4096, ${flags})
print('found' if id >= 0 else 'none')"`;
  t.match(await bash(withoutSandbox(workspace), shm('0o1600')), { stdout: 'found\n' });
  t.teardown(() => bash(withoutSandbox(workspace), `ipcrm -M ${key}`));
  t.match(await bash(withoutSandbox(workspace), shm('0')), { stdout: 'found\n' });
  t.match(await bash(machine, shm('0')), { stdout: 'none\n' });
  t.equal((await bash(machine, 'cat /proc/sysvipc/shm | wc -l')).stdout, '1\n');
});
