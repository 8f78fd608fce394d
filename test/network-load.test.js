'use strict';
// What commands do to the network of their session in bulk: the host process stays small, quick, and idle afterwards.

const t = require('tap');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { performance } = require('node:perf_hooks');
const { setTimeout: delay } = require('node:timers/promises');
const { bash, makePlace, startSandbox } = require('./helpers/attack');
const { blockOf } = require('./helpers/violations');

const MIB = 2 ** 20;
const KIB = 2 ** 10;
/** Of policy and design: tunnels at once, and what an idle one may hold. */
const TUNNELS = 1024;
const TUNNEL_BYTES = 32 * KIB;
const RUN_MS = 120_000;

/** Outside: echoes; after "endless" it sends for ever, as fast as it is read. Tells what it has sent when asked. */
const SERVER = `
const net = require('net');
const sockets = new Set();
const block = Buffer.alloc(65536, 120);
const pour = (socket) => { while (socket.write(block)); };
const server = net.createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  socket.on('data', (data) => {
    if (!data.includes('endless')) return socket.write(data);
    if (data.includes('GET ')) socket.write('HTTP/1.1 200 OK\\r\\n\\r\\n');
    pour(socket.on('drain', () => pour(socket)));
  });
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => process.send(server.address().port));
process.on('message', () => {
  let sent = 0;
  for (const socket of sockets) sent += socket.bytesWritten - socket.writableLength;
  process.send(sent);
});
process.on('disconnect', () => process.exit());`;

/** Inside: Python that knows the proxy and the server. */
const PRELUDE = `
import os, resource, select, socket, struct, sys, time, urllib.parse
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
where = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
port = int(sys.argv[1])
def proxy():
    return socket.create_connection((where.hostname, where.port), 20)
def ask(host, port):
    stream = proxy()
    stream.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
    return stream
def head(stream):
    reply = b""
    while b"\\r\\n\\r\\n" not in reply:
        data = stream.recv(65536)
        if not data: break
        reply += data
    return reply.decode()
def rest(stream):
    reply = b""
    try:
        while True:
            data = stream.recv(65536)
            if not data: return reply.decode()
            reply += data
    except ConnectionError:
        return reply.decode() + "(reset)"
def tunnel():
    stream = ask("localhost", port)
    reply = head(stream)
    assert reply.startswith("HTTP/1.1 200"), reply
    return stream
def say(*words):
    print(*words, flush=True)
`;

/** A server, a sandbox in which it may be reached as localhost, and Python inside. */
async function setUp(t, network = {}) {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  t.teardown(() => server.kill('SIGKILL'));
  const [port] = await once(server, 'message');
  const sent = async () => {
    server.send('sent');
    return (await once(server, 'message'))[0];
  };
  const { allowedDomains = [], ...others } = network;
  const sandbox = await startSandbox(t, {
    network: { allowedDomains: [`localhost:${port}`, ...allowedDomains], ...others },
  });
  const machine = sandbox.machine(makePlace(t).workspace);
  const python = (script, options) =>
    machine.run(['/usr/bin/python3', '-c', PRELUDE + script, String(port)], { timeoutMs: RUN_MS, ...options });
  const warmUp = await python('stream = tunnel(); stream.sendall(b"warm"); say(stream.recv(4).decode())');
  t.match(warmUp, { stdout: 'warm\n', stderr: '' }, 'the server is reached');
  return { sandbox, machine, port, python, sent };
}

/**
 * Watches the host process: the most memory that it has more than at the beginning, and the longest turn of its loop.
 * What watches keeps the loop from sleeping: it pauses while that is looked at.
 */
function watchHost() {
  const before = process.memoryUsage().rss;
  const seen = { grown: 0, stallMs: 0, busyMs: 0 };
  let last;
  let cpu;
  let timer;
  const look = () => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(cpu);
    seen.stallMs = Math.max(seen.stallMs, now - last);
    seen.busyMs = Math.max(seen.busyMs, (user + system) / 1000);
    seen.grown = Math.max(seen.grown, process.memoryUsage().rss - before);
    last = now;
    cpu = process.cpuUsage();
  };
  const resume = () => {
    last = performance.now();
    cpu = process.cpuUsage();
    timer = setInterval(look, 5);
  };
  const pause = () => {
    look();
    clearInterval(timer);
  };
  resume();
  return { seen, pause, resume };
}

/** Ends the watch: little memory, and nothing held the loop, neither work nor (others use the machine too) waiting. */
function checkHost(t, host, bytes) {
  host.pause();
  const { grown, stallMs, busyMs } = host.seen;
  t.ok(grown <= bytes, `${(grown / MIB).toFixed(1)} MiB more`);
  t.ok(busyMs < 150, `${busyMs.toFixed(1)} ms of work in one turn of the loop`);
  t.ok(stallMs < 1500, `${stallMs.toFixed(1)} ms from one turn to the next`);
}

/** What a sleeping process does in half a second, the timer that waits for it included. */
const IDLE = { ms: 10, turns: 5 };

/** The loop sleeps. The best of some periods: V8 tidies up in one of them. */
async function checkIdle(t, message) {
  let best = { ms: Infinity, turns: Infinity };
  for (let i = 0; i < 6 && (best.ms > IDLE.ms || best.turns > IDLE.turns); i++) {
    const { loopCount } = performance.nodeTiming.uvMetricsInfo;
    const before = process.cpuUsage();
    await delay(500);
    const { user, system } = process.cpuUsage(before);
    const turns = performance.nodeTiming.uvMetricsInfo.loopCount - loopCount;
    if (turns <= best.turns) best = { ms: (user + system) / 1000, turns };
  }
  const text = `${best.ms.toFixed(1)} ms of work and ${best.turns} turns in half a second`;
  t.ok(best.ms <= IDLE.ms && best.turns <= IDLE.turns, `${message}: ${text}`);
}

/** Others are served meanwhile. */
async function checkService(t, python) {
  const start = performance.now();
  const echo = await python('stream = tunnel(); stream.sendall(b"echo"); say(stream.recv(4).decode())');
  t.match(echo, { stdout: 'echo\n' }, 'another command is served');
  const ms = performance.now() - start;
  t.ok(ms < 10_000, `in ${ms.toFixed(0)} ms`);
}

/** Runs a script that says "ready" and waits for its input to be of no use any more; `during` runs in between. */
async function whileReady(python, script, during) {
  const controller = new AbortController();
  let output = '';
  let running;
  await new Promise((resolve, reject) => {
    const onOutput = ({ data }) => {
      output += data;
      if (output.includes('ready\n')) resolve(undefined);
    };
    running = python(script, { signal: controller.signal, onOutput });
    running.then(({ stdout, stderr }) => reject(new Error(`not ready: ${stdout}${stderr}`)), reject);
  });
  try {
    await during();
  } finally {
    controller.abort();
  }
  return running;
}

t.test('two thousand tunnels: as many as may be, each small, and the others are told of the limit', async (t) => {
  const { python } = await setUp(t);
  const host = watchHost();
  const script = `
streams = []
told = 0
for i in range(2000):
    stream = ask("localhost", port)
    reply = head(stream)
    if reply.startswith("HTTP/1.1 200 "):
        streams.append(stream)
    else:
        told += reply.startswith("HTTP/1.1 503 ") and "network.maxTunnels" in reply + rest(stream)
        stream.close()
for stream in streams: stream.sendall(b"x" * 1000)
echoed = sum(len(stream.recv(1000, socket.MSG_WAITALL)) for stream in streams)
say(len(streams), told, echoed)
say("ready")
time.sleep(5)
for stream in streams: stream.close()
time.sleep(0.5)
tunnel()
say("room again")
`;
  let output = '';
  let idle;
  const lookAtIdle = async () => {
    host.pause();
    await checkIdle(t, 'with all of them open');
    host.resume();
  };
  const { stdout, stderr } = await python(script, {
    onOutput: ({ data }) => {
      output += data;
      if (output.includes('ready\n')) idle ??= lookAtIdle();
    },
  });
  await idle;
  t.equal(stdout, `${TUNNELS} ${2000 - TUNNELS} ${TUNNELS * 1000}\nready\nroom again\n`, stderr);
  t.ok(idle, 'it was looked at in between');
  checkHost(t, host, TUNNELS * TUNNEL_BYTES);
  await checkIdle(t, 'afterwards');
});

/** Name → what follows the method, for ever. */
const BOMBS = {
  'an endless target': 'b"GET http://localhost/"',
  'an endless header': 'b"GET http://localhost/ HTTP/1.1\\r\\nHost: localhost\\r\\nX: "',
  'endless headers': 'b"GET http://localhost/ HTTP/1.1\\r\\nHost: localhost\\r\\n"',
  'an endless version': 'b"CONNECT localhost:80 HTTP/1.1"',
};

t.test('heads without an end are refused at their limit', async (t) => {
  const { python } = await setUp(t);
  const host = watchHost();
  const service = delay(500).then(() => checkService(t, python));
  for (const [name, beginning] of Object.entries(BOMBS)) {
    const more = name === 'endless headers' ? 'b"X-Header: value\\r\\n" * 4000' : 'b"x" * 65536';
    const { stdout, stderr } = await python(`
streams = [proxy() for i in range(200)]
for stream in streams: stream.sendall(${beginning})
sent = dict.fromkeys(streams, 0)
more = ${more}
refused = 0
end = time.monotonic() + 20
for stream in streams: stream.setblocking(False)
while sent and time.monotonic() < end:
    readable, writable, _ = select.select(list(sent), list(sent), [], 1)
    for stream in writable:
        try: sent[stream] += stream.send(more)
        except (BlockingIOError, ConnectionError): pass
    for stream in readable:
        try: reply = stream.recv(65536)
        except ConnectionError: reply = b""
        refused += reply.startswith(b"HTTP/1.1 400 ") or reply == b""
        del sent[stream]
say(refused, len(sent))
`);
    t.equal(stdout, '200 0\n', `${name} ${stderr}`);
  }
  await service;
  checkHost(t, host, 32 * MIB);
  await checkIdle(t, 'afterwards');
});

t.test('requests that come byte by byte hold little, and end when their time is over', async (t) => {
  const { python } = await setUp(t);
  const host = watchHost();
  const started = performance.now();
  const slow = python(`
text = b"GET http://localhost/ HTTP/1.1\\r\\nHost: localhost\\r\\nX: "
streams = [proxy() for i in range(500)]
for i, stream in enumerate(streams): stream.sendall(text[:i % len(text)])
for stream in streams: stream.setblocking(False)
answered = ended = 0
at = 0
end = time.monotonic() + 60
while streams and time.monotonic() < end:
    time.sleep(0.5)
    at += 1
    readable, _, _ = select.select(streams, [], [], 0)
    for stream in readable:
        try: reply = stream.recv(4096)
        except ConnectionError: reply = b""
        answered += reply.startswith(b"HTTP/1.1 408 ")
        ended += 1
        streams.remove(stream)
    for stream in streams:
        try: stream.send(b"x")
        except ConnectionError: pass
say(answered > 400, ended, len(streams))
`);
  await delay(1000);
  await checkService(t, python);
  const { stdout, stderr } = await slow;
  t.equal(stdout, 'True 500 0\n', `all were ended, and told why ${stderr.slice(0, 1000)}`);
  const seconds = (performance.now() - started) / 1000;
  t.ok(seconds > 25 && seconds < 50, `${seconds.toFixed(0)} s`);
  checkHost(t, host, 16 * MIB);
  await checkIdle(t, 'afterwards');
});

t.test('what is not read stays with its sender', async (t) => {
  const { python, sent } = await setUp(t);
  const host = watchHost();
  const script = `
streams = []
for i in range(20):
    streams.append(tunnel())
    streams[-1].sendall(b"endless")
    streams.append(proxy())
    streams[-1].sendall(f"GET http://localhost:{port}/endless HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n\\r\\n".encode())
    streams.append(socket.create_connection(("127.0.0.1", port)))
    streams[-1].sendall(b"endless")
time.sleep(2)
say("ready")
sys.stdin.read()
time.sleep(600)
`;
  const result = await whileReady(python, script, async () => {
    let before;
    let now = await sent();
    // What the kernel's buffers take it takes soon.
    for (let i = 0; i < 20 && now !== before; i++) {
      await delay(500);
      [before, now] = [now, await sent()];
    }
    t.equal(now, before, 'the server can send no more');
    t.ok(now > 60 * 64 * KIB, `${(now / MIB).toFixed(1)} MiB are on their way, in the kernel`);
    await checkService(t, python);
    checkHost(t, host, 16 * MIB);
    await checkIdle(t, 'while nothing is read');
  });
  t.equal(result.stderr, '', 'nothing was refused');
});

t.test('a flood of names is answered, with little memory', async (t) => {
  const { sandbox, python } = await setUp(t, { allowedDomains: ['*.allowed.example.com'] });
  const host = watchHost();
  const flood = python(`
def query(name, number):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack(">HHHHHH", number, 0x100, 1, 0, 0, 0) + labels + b"\\0\\0\\1\\0\\1"
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.connect(("192.0.2.53", 53))
resolver.settimeout(5)
codes = {}
addresses = set()
BATCH = 50
for name in ("allowed.example.com", "denied.example.com"):
    for first in range(0, 10000, BATCH):
        for i in range(first, first + BATCH): resolver.send(query(f"{'y' * 60}.name{i}.{name}", i))
        for i in range(BATCH):
            answer = resolver.recv(4096)
            code = answer[3] & 15
            codes[code] = codes.get(code, 0) + 1
            if code == 0: addresses.add(answer[-4:])
say(codes, len(addresses))
`);
  await delay(200);
  await checkService(t, python);
  const { stdout, stderr } = await flood;
  t.equal(stdout, '{0: 10000, 3: 10000} 10000\n', stderr.slice(0, 1000));
  const block = blockOf(stderr);
  t.ok(block.length > 1 && block.length <= 101, `${block.length} lines`);
  t.match(block.at(-1), /^\(\d+ more\)$/);
  t.ok(sandbox.violations.list().length <= 1000, 'as many are kept as may be');
  t.equal(sandbox.violations.counts.attempts, 10_000, 'all are counted');
  checkHost(t, host, 48 * MIB);
  await checkIdle(t, 'afterwards');
});

t.test('two hundred questions at once', async (t) => {
  const asked = new Map();
  const answers = [];
  let all;
  const onAskHost = ({ host, port }) => {
    asked.set(`${host}:${port}`, (asked.get(`${host}:${port}`) ?? 0) + 1);
    return new Promise((resolve) => {
      answers.push(resolve);
      if (answers.length === 200) all();
    });
  };
  const { sandbox, python } = await setUp(t, { onAskHost });
  const host = watchHost();
  const gathered = () =>
    new Promise((resolve) => {
      answers.length = 0;
      asked.clear();
      all = resolve;
    });
  const script = `
streams = [ask(f"host{i % 200}.example.com", 443) for i in range(600)]
replies = [head(stream) for stream in streams]
say(sum(reply.startswith("HTTP/1.1 403 ") for reply in replies))
`;
  let open = gathered();
  const running = python(script);
  await open;
  await delay(500);
  t.equal(asked.size, 200, 'all are asked at the same time');
  t.same([...new Set(asked.values())], [1], 'one for each host, whoever waits for it');
  await checkService(t, python);
  host.pause();
  await checkIdle(t, 'while all of them are open');
  host.resume();
  for (const answer of answers.splice(0)) answer(false);
  const { stdout, stderr } = await running;
  t.equal(stdout, '600\n', stderr.slice(0, 1000));
  const wanted = Array.from({ length: 200 }, (_, i) => `host${i}.example.com:443 refused by network.onAskHost ×3`);
  const told = sandbox.violations.list().map(({ host, port, why, count }) => `${host}:${port} ${why} ×${count}`);
  t.same(told.sort(), wanted.sort(), 'each refusal is told');

  open = gathered();
  const controller = new AbortController();
  const stopped = python(script, { signal: controller.signal });
  await open;
  controller.abort();
  t.match(await stopped, { stdout: '', terminated: true }, 'a command that waits for two hundred answers can be stopped');
  for (const answer of answers.splice(0)) answer(true);
  await checkService(t, python);
  checkHost(t, host, 32 * MIB);
  await checkIdle(t, 'afterwards');
});
