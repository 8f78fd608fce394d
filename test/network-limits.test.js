'use strict';
// What the network of a session withstands: many connections, runs that end in the middle, its own end.

const t = require('tap');
const { bash, makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { blockOf } = require('./helpers/violations');

const ALLOWED = 'allowed.example.com';
const python = (/** @type {any} */ machine, /** @type {string} */ script) =>
  machine.run(['/usr/bin/python3', '-c', script], { timeoutMs: 60_000 });

/** Python that connects to the explicit proxy. */
const PROXY = `
import os, socket, sys, time, urllib.parse
where = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
def proxy():
    return socket.create_connection((where.hostname, where.port), 10)
def tunnel(host):
    stream = proxy()
    stream.sendall(f"CONNECT {host}:80 HTTP/1.1\\r\\nHost: {host}:80\\r\\n\\r\\n".encode())
    reply = b""
    while True:
        data = stream.recv(65536)
        reply += data
        if not data or reply.endswith(b"established\\r\\n\\r\\n"):
            return stream, reply.decode()
`;

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  const machineFor = async (/** @type {any} */ t, /** @type {any} */ network) => {
    const sandbox = await startSandbox(t, { network });
    return { sandbox, machine: sandbox.machine(makePlace(t).workspace) };
  };

  t.test('one connection more than maxTunnels is told so, and there is room again when one has ended', async (t) => {
    const { machine } = await machineFor(t, { allowedDomains: [ALLOWED], maxTunnels: 3 });
    const { stdout, stderr } = await python(
      machine,
      `${PROXY}
open = [tunnel("${ALLOWED}") for i in range(3)]
print([reply.split()[1] for _, reply in open])
print(tunnel("${ALLOWED}")[1])
socks = proxy()
socks.sendall(b"\\x05\\x01\\x00")
socks.recv(2)
socks.sendall(b"\\x05\\x01\\x00\\x03" + bytes([len("${ALLOWED}")]) + b"${ALLOWED}\\x00\\x50")
print("socks", socks.recv(10)[1])
direct = socket.socket()
try:
    direct.connect(("${ALLOWED}", 80))
    print("direct", len(direct.recv(1)))
except ConnectionResetError:
    print("direct reset")
open.pop()[0].close()
time.sleep(0.3)
print("again", tunnel("${ALLOWED}")[1].split()[1])
`,
    );
    t.match(stdout, /^\['200', '200', '200'\]\nHTTP\/1\.1 503 /, stderr);
    t.match(stdout, /network\.maxTunnels/);
    t.match(stdout, /\nsocks 1\ndirect reset\nagain 200\n$/);
    const told = `deny network-outbound ${ALLOWED}:80 (more connections at once than network.maxTunnels) (×3)`;
    t.same(blockOf(stderr), [told], 'also where a client is just reset');
  });

  t.test('two thousand connections that say nothing cost little memory and no time', async (t) => {
    const { machine } = await machineFor(t, { allowedDomains: [ALLOWED] });
    await bash(machine, 'true');
    const before = process.memoryUsage().rss;
    /** @type {NodeJS.CpuUsage | undefined} */
    let cpu;
    let grown = 0;
    const { stdout, stderr } = await machine.run(
      [
        '/usr/bin/python3',
        '-c',
        `${PROXY}
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
idle = []
for i in range(2000):
    try:
        idle.append(proxy())
    except ConnectionResetError:
        pass
print("open", flush=True)
time.sleep(3)
print("end", flush=True)
time.sleep(0.1)
for stream in idle: stream.close()
time.sleep(0.3)
print(tunnel("${ALLOWED}")[1].split()[1])
`,
      ],
      {
        timeoutMs: 60_000,
        onOutput: ({ data }) => {
          if (data.includes('open')) setTimeout(() => (cpu = process.cpuUsage()), 1000);
          if (!data.includes('end')) return;
          cpu = process.cpuUsage(cpu);
          grown = process.memoryUsage().rss - before;
        },
      },
    );
    t.match(stdout, /200\n$/, stderr);
    t.ok(grown < 48 << 20, `${grown >> 20} MiB more`);
    const spent = cpu === undefined ? Infinity : (cpu.user + cpu.system) / 1000;
    t.ok(spent < 200, `${spent} ms of two seconds`);
  });

  t.test('what a run was refused right before its end is in its block, and in no other', async (t) => {
    const { machine } = await machineFor(t, { allowedDomains: [ALLOWED] });
    const ways = [
      // Neither waits for an answer.
      (n) => `exec 3<>/dev/tcp/192.0.2.${n}/80`,
      (n) => `exec 3<>/dev/tcp/100.127.255.253/3128; printf 'GET http://192.0.2.${n}/ HTTP/1.0\\r\\n\\r\\n' >&3`,
      (n) => `exec 3<>/dev/tcp/100.127.255.253/3128; printf 'CONNECT 192.0.2.${n}:80 HTTP/1.0\\r\\n\\r\\n' >&3`,
    ];
    const numbers = Array.from({ length: 48 }, (_, i) => i + 20);
    const wrong = [];
    const attempt = async (n) => {
      const { stderr } = await bash(machine, ways[n % ways.length](n));
      const block = blockOf(stderr);
      const wanted = `deny network-outbound 192.0.2.${n}:80 (not in network.allowedIPs)`;
      if (block.length !== 1 || block[0] !== wanted) wrong.push([n, block, stderr]);
    };
    for (const n of numbers.slice(0, 12)) await attempt(n);
    t.same(wrong, [], 'one after the other');
    for (let at = 12; at < numbers.length; at += 12) await Promise.all(numbers.slice(at, at + 12).map(attempt));
    t.same(wrong, [], 'twelve at once');
    const name = async (n) => {
      const query = `printf '\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\2d${n}\\7example\\3org\\0\\0\\1\\0\\1' >/dev/udp/192.0.2.53/53`;
      const block = blockOf((await bash(machine, query)).stderr);
      if (!block.includes(`deny network-outbound d${n}.example.org (not in network.allowedDomains)`)) wrong.push([n, block]);
    };
    await Promise.all([1, 2, 3, 4, 5, 6].map(name));
    t.same(wrong, [], 'by a question of DNS');
  });

  t.test('nothing is lost of a run that was over before anybody looked', async (t) => {
    const { machine } = await machineFor(t, { allowedDomains: [ALLOWED] });
    const count = 90;
    const script = `echo begun; sleep 0.2; for n in $(seq ${count}); do exec 3<>/dev/tcp/192.0.2.$n/80; done`;
    const { stderr } = await machine.run(['bash', '-c', script], {
      timeoutMs: 60_000,
      // Longer than the run lasts: its connections and its end are found together.
      onOutput: ({ data }) => data.includes('begun') && Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500),
    });
    const wanted = Array.from({ length: count }, (_, i) => `deny network-outbound 192.0.2.${i + 1}:80 (not in network.allowedIPs)`);
    t.same(blockOf(stderr).sort(), wanted.sort());
  });

  t.test('dispose ends whatever goes on', async (t) => {
    for (let round = 0; round < 4; round++) {
      const asked = new Promise((resolve) => {
        t.context.asked = resolve;
      });
      const sandbox = await startSandbox(t, {
        network: {
          allowedDomains: [ALLOWED],
          onAskHost: () => {
            t.context.asked();
            return new Promise(() => {});
          },
        },
      });
      const machine = sandbox.machine(makePlace(t).workspace);
      const run = python(
        machine,
        `${PROXY}
open = [tunnel("${ALLOWED}") for i in range(20)] + [proxy() for i in range(20)]
for i in range(20):
    stream = socket.socket()
    stream.setblocking(False)
    stream.connect_ex(("192.0.2.10", 1000 + i))
    open.append(stream)
asking = proxy()
asking.sendall(b"CONNECT asked.example.com:80 HTTP/1.0\\r\\n\\r\\n")
asking.recv(1)
`,
      ).catch((error) => error);
      await asked;
      await sandbox.dispose();
      t.match(await run, { message: /disposed|ended/ });
    }
  });
});
