'use strict';
// Ports of the inside and of the host: localhost belongs to a sandbox; what is opened to the host, and what of the host's is
// reached, was asked for.

const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { bash, makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { blockOf } = require('./helpers/violations');

/** Inside: a server for as long as its run lasts. */
const serve = (/** @type {number} */ port, /** @type {string} */ word, host = '127.0.0.1') => `exec /usr/bin/python3 -c "
import http.server, socket
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ':' in '${host}' else socket.AF_INET
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'${word}\\n')
    def log_message(self, *args): pass
server = Server(('${host}', ${port}), Handler)
print('up', flush=True)
server.serve_forever()"`;

/** Starts such a run, and gives what ends it. @param {any} t @param {any} machine @param {string} script */
async function startServer(t, machine, script) {
  const controller = new AbortController();
  let running;
  await new Promise((resolve) => {
    // Where its sandbox ends first it rejects.
    running = bash(machine, script, { signal: controller.signal, onOutput: resolve }).catch(() => {});
  });
  const stop = () => {
    controller.abort();
    return running;
  };
  t.teardown(stop);
  return stop;
}

/** What a server of the host, or what is open there, says; or the error's name. @param {string} url @returns {Promise<string>} */
const get = (url) =>
  new Promise((resolve) => {
    const request = http.get(url, { agent: false, timeout: 5000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (data) => (text += data)).on('end', () => resolve(text.trim()));
    });
    request.on('timeout', () => request.destroy()).on('error', ({ code }) => resolve(String(code)));
  });

/** The same, once it is what is wanted, or after a few seconds. @param {string} url @param {string} wanted */
async function untilItSays(url, wanted) {
  for (let tries = 100; ; tries--) {
    const answer = await get(url);
    if (answer === wanted || tries === 0) return answer;
    await sleep(30);
  }
}

const curl = (/** @type {string} */ url) => `curl -sS -m 10 ${url}`;

/** A server of the host's. @param {any} t @param {string} host @param {number} [port] */
async function startHostServer(t, host, port = 0) {
  const server = http.createServer((_, response) => response.end('the host\n'));
  await once(server.listen(port, host), 'listening');
  t.teardown(() => server.close());
  return server.address().port;
}

/** A port that nobody has. */
async function freePort() {
  const server = net.createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

onTestHost(t, __filename, () => {
  t.test('a server of one run is there for the next, by any machine of the sandbox, and for no other sandbox', async (t) => {
    const { workspace, out } = makePlace(t);
    const [sandbox, other] = [await startSandbox(t), await startSandbox(t)];
    const stop = await startServer(t, sandbox.machine(workspace), serve(8123, 'inside'));
    for (const machine of [sandbox.machine(workspace), sandbox.machine(out), sandbox.machine(workspace).withCwd('/tmp')]) {
      const result = await bash(machine, `${curl('http://127.0.0.1:8123/')}; ${curl('http://localhost:8123/')}`);
      t.match(result, { stdout: 'inside\ninside\n', stderr: '' });
    }
    t.match(await bash(other.machine(workspace), curl('http://127.0.0.1:8123/')), { stdout: '' });
    t.equal(await get('http://127.0.0.1:8123/'), 'ECONNREFUSED', 'nor for the host');
    await stop();
    t.match(await bash(sandbox.machine(workspace), curl('http://127.0.0.1:8123/')), { stdout: '' });
  });

  t.test('exposedPortUrl gives a URL on the host that reaches a port inside', async (t) => {
    const { workspace } = makePlace(t);
    const [sandbox, other] = [await startSandbox(t), await startSandbox(t)];
    const machine = sandbox.machine(workspace);
    await startServer(t, machine, serve(8124, 'inside'));
    await startServer(t, other.machine(workspace), serve(8124, 'other'));
    const url = await machine.exposedPortUrl(8124);
    t.match(url, /^http:\/\/127\.0\.0\.1:\d+\/?$/);
    t.equal(await get(url), 'inside');
    t.equal(await machine.withCwd('/').exposedPortUrl(8124), url, 'the same for every machine of the sandbox');
    const otherUrl = await other.machine(workspace).exposedPortUrl(8124);
    t.not(otherUrl, url);
    t.equal(await get(otherUrl), 'other', 'another sandbox has another');
    const answers = await Promise.all(Array.from({ length: 20 }, () => get(url)));
    t.same(answers, Array(20).fill('inside'));
    await startServer(t, machine, serve(8125, 'six', '::1'));
    t.equal(await get(await machine.exposedPortUrl(8125)), 'six', 'a server on ::1 is reached too');
    const nobody = await machine.exposedPortUrl(8126);
    t.match(await get(nobody), /^ECONNRE|^$/, 'where nothing listens nothing answers');
    for (const port of [0, -1, 65536, 1.5, NaN, '80']) t.equal(await machine.exposedPortUrl(port), undefined, String(port));
    await sandbox.dispose();
    t.equal(await get(url), 'ECONNREFUSED', 'closed with the sandbox');
    t.equal(await machine.exposedPortUrl(8124), undefined);
  });

  t.test('an exposed port is open on the loopback alone', async (t) => {
    const machine = (await startSandbox(t)).machine(makePlace(t).workspace);
    await startServer(t, machine, serve(8127, 'inside'));
    const { port } = new URL(await machine.exposedPortUrl(8127));
    const addresses = Object.values(os.networkInterfaces()).flat().filter(({ internal, family }) => !internal && family === 'IPv4');
    t.ok(addresses.length > 0);
    for (const { address } of addresses) t.equal(await get(`http://${address}:${port}/`), 'ECONNREFUSED', address);
  });

  t.test('allowLocalBinding opens on the host what a command listens on, and closes it with it', async (t) => {
    const { workspace } = makePlace(t);
    const sandbox = await startSandbox(t, { network: { allowLocalBinding: true } });
    const port = await freePort();
    const stop = await startServer(t, sandbox.machine(workspace), serve(port, 'inside', '0.0.0.0'));
    const url = `http://127.0.0.1:${port}/`;
    t.equal(await untilItSays(url, 'inside'), 'inside', 'the same number');
    await stop();
    t.equal(await untilItSays(url, 'ECONNREFUSED'), 'ECONNREFUSED');
  });

  t.test('without it nothing is opened', async (t) => {
    const port = await freePort();
    await startServer(t, (await startSandbox(t)).machine(makePlace(t).workspace), serve(port, 'inside', '0.0.0.0'));
    await sleep(300);
    t.equal(await get(`http://127.0.0.1:${port}/`), 'ECONNREFUSED');
  });

  t.test('a port of the host that a server has already stays its own', async (t) => {
    const port = await startHostServer(t, '127.0.0.1');
    const sandbox = await startSandbox(t, { network: { allowLocalBinding: true } });
    const machine = sandbox.machine(makePlace(t).workspace);
    await startServer(t, machine, serve(port, 'inside'));
    await sleep(200);
    t.equal(await get(`http://127.0.0.1:${port}/`), 'the host');
    t.equal(await get(await machine.exposedPortUrl(port)), 'inside', 'the one inside has another number');
  });

  t.test("a rule for localhost reaches the host's port, and no other", async (t) => {
    const { workspace } = makePlace(t);
    const [port, secret] = [await startHostServer(t, '127.0.0.1'), await startHostServer(t, '127.0.0.1')];
    const network = { allowedDomains: [`localhost:${port}`] };
    const machine = (await startSandbox(t, { network })).machine(workspace);
    const ways = [
      curl(`http://localhost:${port}/`),
      curl(`http://127.0.0.1:${port}/`),
      `curl -sS -m 10 --noproxy '' http://localhost:${port}/`,
      `exec 9<>/dev/tcp/127.0.0.1/${port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&9; cat <&9`,
    ];
    for (const way of ways) t.match(await bash(machine, way), { stdout: /the host\n$/, exitCode: 0 }, way);
    for (const host of ['localhost', '127.0.0.1', '[::1]', '203.0.113.2']) {
      for (const proxy of ['', "--noproxy ''"]) {
        t.notMatch(await bash(machine, `curl -sS -m 10 ${proxy} http://${host}:${secret}/`), { stdout: /the host/ }, `${host} ${proxy}`);
      }
    }
    const none = (await startSandbox(t, { network: { allowedDomains: ['*'] } })).machine(workspace);
    t.notMatch(await bash(none, `${ways.join('; ')}`), { stdout: /the host/ }, 'a wildcard is no such rule');
    const denied = { allowedDomains: [`localhost:${port}`], deniedDomains: ['localhost'] };
    const closed = (await startSandbox(t, { network: denied })).machine(workspace);
    t.notMatch(await bash(closed, `${ways.join('; ')}`), { stdout: /the host/ }, 'a denial beats it');
  });

  t.test("without a rule the host's localhost is not there, and the attempt through the proxy is told", async (t) => {
    const port = await startHostServer(t, '127.0.0.1');
    const machine = (await startSandbox(t, { network: { allowedDomains: ['allowed.example.com'] } })).machine(makePlace(t).workspace);
    const result = await bash(machine, `curl -sS -m 10 --noproxy '' http://127.0.0.1:${port}/`);
    t.match(result.stdout, /^Connection blocked by network allowlist/);
    t.match(blockOf(result.stderr), [new RegExp(`^deny network-outbound 127\\.0\\.0\\.1:${port} \\(a loopback address`)]);
    t.match(await bash(withoutSandbox('/'), curl(`http://127.0.0.1:${port}/`)), { stdout: 'the host\n' });
  });
});
