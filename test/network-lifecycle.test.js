'use strict';
// What the network of a sandbox holds and how it ends: with open tunnels, questions and look-ups, from inside callbacks, in
// workers, with the process.

const dns = require('node:dns/promises');
const net = require('node:net');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { bash, makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { eventually, isAlive } = require('./helpers/processes');
const { runProgram } = require('./helpers/program');
const { childrenOf, processesWith, uniqueDuration } = require('./helpers/sandbox');

/** Inside: so many connections by CONNECT to each of these, which are then held. */
const hold = (/** @type {number} */ count, /** @type {string[]} */ targets, duration = '60') => `exec /usr/bin/python3 -c "
import socket, sys, time
held = []
for target in sys.argv[3:]:
    for i in range(int(sys.argv[1])):
        held.append(socket.create_connection(('100.127.255.253', 3128)))
        held[-1].sendall(b'CONNECT %s HTTP/1.0\\r\\n\\r\\n' % target.replace('N', str(i)).encode())
print('up', flush=True)
time.sleep(float(sys.argv[2]))" ${count} ${duration} ${targets.join(' ')}`;

/** Many names of which no resolver says anything. */
const SILENT = 'nN.silent.example.com:80';
/** The agent of a process's sandbox, and the agent's own processes. @param {number} pid */
const agentsOf = (pid) => childrenOf(pid).flatMap((child) => [child, ...childrenOf(child)]);

/** A server of the host that says nothing. @param {any} t */
async function startHostServer(t) {
  const sockets = new Set();
  const server = net.createServer((socket) => sockets.add(socket.on('error', () => {})));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: server.address().port, sockets };
}

onTestHost(t, __filename, () => {
  t.test('a resolver that does not answer holds up neither the look-ups of this process nor dispose', async (t) => {
    const { workspace } = makePlace(t);
    const sandbox = await startSandbox(t, { network: { allowedDomains: ['*.example.com'] } });
    t.match(await bash(sandbox.machine(workspace), hold(40, [SILENT]), { timeoutMs: 500 }), { timedOut: true });
    const running = bash(sandbox.machine(workspace), hold(40, [SILENT])).catch(({ message }) => message);
    await sleep(300);
    const began = performance.now();
    t.match(await dns.lookup('host.example.net'), { address: /^(192\.0\.2\.20|2001:db8::20)$/ });
    await sandbox.dispose();
    t.match(await running, /^os-sandbox: the sandbox was disposed/);
    const took = performance.now() - began;
    t.ok(took < 2000, `${Math.round(took)} ms`);
  });

  t.test('nor does it keep a process alive, or a worker', async (t) => {
    const body = `
      const sandbox = await OsSandbox.start({ network: { allowedDomains: ['*.example.com'] } });
      const hold = process.env.HOLD;
      await sandbox.machine('/').run(['bash', '-c', hold], { timeoutMs: 500 });
      say('over');`;
    const inWorker = `
      const { Worker } = require('node:worker_threads');
      const script = 'const say = () => require("node:worker_threads").parentPort.postMessage("");' +
        'const { OsSandbox } = require(process.env.PACKAGE);(async () => {' + process.env.BODY + '})()';
      const worker = new Worker(script, { eval: true });
      await new Promise((resolve) => worker.once('message', resolve));
      await worker.terminate();
      say('over');
      // The addon's threads of that worker still wait for the resolver, in code that only it had loaded.
      await new Promise((resolve) => setTimeout(resolve, 11_000));`;
    const env = { ...process.env, HOLD: hold(40, [SILENT]), BODY: body, PACKAGE: require.resolve('..') };
    const began = performance.now();
    t.match(await runProgram(t, body, { env }), { code: 0, signal: null, said: ['over'] });
    const took = performance.now() - began;
    t.ok(took < 4000, `${Math.round(took)} ms`);
    t.match(await runProgram(t, inWorker, { env }), { code: 0, signal: null, stderr: '', said: ['over'] });
  });

  t.test('dispose may come from inside whatever the network calls', async (t) => {
    const { workspace } = makePlace(t);
    const host = await startHostServer(t);
    /** @type {Record<string, (sandbox: any, dispose: () => unknown) => unknown>} */
    const callers = {
      'a violation listener': (sandbox, dispose) => sandbox.on('violation', dispose),
      onAskHost: (sandbox, dispose) => sandbox.updateNetwork({ allowedDomains: [`localhost:${host.port}`], onAskHost: dispose }),
      exposedPortUrl: (sandbox, dispose) => sandbox.machine().exposedPortUrl(8080).then(dispose),
      onOutput: () => {},
    };
    const before = agentsOf(process.pid).length;
    for (const [name, register] of Object.entries(callers)) {
      const sandbox = await startSandbox(t, { network: { allowedDomains: [`localhost:${host.port}`] } });
      let disposing;
      const dispose = async () => {
        disposing ??= sandbox.dispose();
        await disposing;
        return true;
      };
      const targets = [`localhost:${host.port}`, 'askedN.example.net:80', '192.0.2.10:N1'];
      const onOutput = () => (name === 'exposedPortUrl' ? register(sandbox, dispose) : name === 'onOutput' && dispose());
      if (name !== 'exposedPortUrl') await register(sandbox, dispose);
      const runs = Array.from({ length: 3 }, () => bash(sandbox.machine(workspace), hold(50, targets), { onOutput }));
      for (const { status, reason } of await Promise.allSettled(runs)) {
        t.match([status, reason?.message], ['rejected', /^os-sandbox: the sandbox was disposed/], name);
      }
      await disposing;
      t.ok(await eventually(() => [...host.sockets].every((socket) => socket.destroyed || socket.readableEnded)), name);
    }
    t.equal(agentsOf(process.pid).length, before);
  });

  t.test('a process that ends by whatever way leaves nothing', async (t) => {
    const { port } = await startHostServer(t);
    /** Where it is → by which way it ends there. */
    const ends = {
      'process.exit() in onAskHost': ['ask', 'process.exit(5)', { code: 5 }],
      'process.exit() in a listener': ['violation', 'process.exit(5)', { code: 5 }],
      'process.exit() when all is up': ['up', 'process.exit(5)', { code: 5 }],
      'process.exit() while it disposes': ['up', 'sandbox.dispose(); process.exit(5)', { code: 5 }],
      'an exception': ['up', 'setImmediate(() => { throw new Error("thrown"); })', { code: 1 }],
      SIGTERM: ['up', 'process.kill(process.pid, "SIGTERM")', { signal: 'SIGTERM' }],
      SIGKILL: ['up', 'process.kill(process.pid, "SIGKILL")', { signal: 'SIGKILL' }],
    };
    for (const [name, [where, way, end]] of Object.entries(ends)) {
      const duration = uniqueDuration();
      const body = `
        const at = (place) => { if (place === ${JSON.stringify(where)}) { ${way}; } };
        const onAskHost = () => { at('ask'); return new Promise(() => {}); };
        const network = { allowedDomains: ['localhost:${port}'], allowLocalBinding: true, onAskHost, deniedDomains: ['denied.example.com'] };
        const sandbox = await OsSandbox.start({ network });
        sandbox.on('violation', () => at('violation'));
        const machine = sandbox.machine('/');
        await machine.exposedPortUrl(8080);
        say(require(process.env.HELPERS).childrenOf(process.pid).flatMap((pid) => [pid, ...require(process.env.HELPERS).childrenOf(pid)]));
        machine.run(['bash', '-c', process.env.HOLD], { onOutput: () => at('up') }).catch(() => {});`;
      const HELPERS = require.resolve('./helpers/sandbox');
      const env = { ...process.env, HELPERS, HOLD: hold(30, [`localhost:${port}`, 'askedN.example.net:80', 'denied.example.com:1'], duration) };
      const { said, ...result } = await runProgram(t, body, { env });
      t.match(result, end, name);
      t.ok(said[0].length >= 2, 'an agent and its gateway process');
      t.ok(await eventually(() => processesWith(duration).length === 0 && !said[0].some(isAlive)), name);
    }
  });

  t.test('a worker can be terminated at any moment of what its network does', async (t) => {
    const { port } = await startHostServer(t);
    const worker = `
      const { parentPort } = require('node:worker_threads');
      const { OsSandbox } = require(process.env.PACKAGE);
      parentPort.postMessage('loaded');
      (async () => {
        const network = { allowedDomains: ['localhost:${port}'], allowLocalBinding: true, onAskHost: async () => Math.random() < 0.5 };
        for (;;) {
          const sandbox = await OsSandbox.start({ network });
          sandbox.on('violation', () => parentPort.postMessage('violation'));
          const machine = sandbox.machine('/');
          const runs = [1, 2].map(() => machine.run(['bash', '-c', process.env.HOLD]).catch(() => {}));
          for (let i = 0; i < 5; i++) {
            machine.exposedPortUrl(9000 + i);
            await sandbox.updateNetwork(network);
            await new Promise((resolve) => setTimeout(resolve, 30));
          }
          if (Math.random() < 0.5) await Promise.all(runs);
          await sandbox.dispose();
        }
      })();`;
    const body = `
      const { Worker } = require('node:worker_threads');
      let violations = 0;
      for (let i = 0; i < 30; i++) {
        const worker = new Worker(process.env.WORKER, { eval: true });
        worker.on('error', ({ message }) => say(message)).on('message', (word) => (violations += word === 'violation' ? 1 : 0));
        await new Promise((resolve) => worker.once('message', resolve));
        await new Promise((resolve) => setTimeout(resolve, (i * 7919) % 700));
        await worker.terminate();
      }
      say(violations > 0);`;
    const duration = uniqueDuration().replace('600.', '0.1');
    const targets = [`localhost:${port}`, 'askedN.example.net:80', '192.0.2.10:N1', SILENT];
    const env = { ...process.env, PACKAGE: require.resolve('..'), WORKER: worker, HOLD: hold(10, targets, duration) };
    t.match(await runProgram(t, body, { env }), { code: 0, signal: null, stderr: '', said: [true] });
    t.ok(await eventually(() => processesWith(duration).length === 0));
  });
});
