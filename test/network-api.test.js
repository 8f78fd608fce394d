'use strict';
// The network of a sandbox as its user has it in JS: questions, new rules, exposed ports, events, status, environment.

const t = require('tap');
const { AsyncLocalStorage } = require('node:async_hooks');
const { once } = require('node:events');
const net = require('node:net');
const { LocalMachine, OsSandbox, SandboxedLocalMachine } = require('..');
const { runProgram } = require('./helpers/program');
const { startMachine, startSandbox } = require('./helpers/sandbox');

/** What the proxy answers to a request for a URL; 000: nothing within a second. */
const asks = (url) => `curl -s -m 1 -o /dev/null -w '%{http_code}\n' ${url}`;
const BLOCK = /\n<sandbox_violations>\n([^]*)\n<\/sandbox_violations>$/;
const linesOf = ({ stderr }) => BLOCK.exec(stderr)?.[1].split('\n') ?? [];

t.test('a command finds the proxy in its environment', async (t) => {
  const before = { HTTP_PROXY: process.env.HTTP_PROXY, no_proxy: process.env.no_proxy };
  Object.assign(process.env, { HTTP_PROXY: 'http://ambient.example.com:1', no_proxy: 'ambient.example.com' });
  const { machine, sh } = await startMachine(t);
  t.teardown(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'];
  const print = names.map((name) => `printenv ${name} || echo none`).join('\n');
  const [proxy, ...rest] = (await sh(print)).stdout.trim().split('\n');
  t.match(proxy, /^http:\/\/[\d.]+:\d+$/);
  const exceptions = 'localhost,127.0.0.1,::1';
  t.same(rest, [proxy, proxy, exceptions, proxy, proxy, proxy, exceptions], 'over the ambient one, in both spellings');
  const env = { HTTP_PROXY: 'http://own.example.com:2', ALL_PROXY: undefined, no_proxy: 'own.example.com' };
  const own = (await sh(print, { env })).stdout.trim().split('\n');
  t.same(own, [env.HTTP_PROXY, proxy, 'none', exceptions, proxy, proxy, proxy, env.no_proxy], 'and below its own, in that spelling');
  t.match(await sh('printenv NODE_USE_ENV_PROXY'), { stdout: process.env.NODE_USE_ENV_PROXY ?? '' });
  const quiet = { env: { NODE_OPTIONS: '' } };
  t.match(await machine.run([process.execPath, '-e', 'console.log(1)'], quiet), { stdout: '1\n', stderr: '' }, 'Node.js has nothing to warn of');
});

t.test('status tells which clients reach what is allowed', async (t) => {
  const { status } = await startSandbox(t, { network: { allowedDomains: ['*'], allowLocalBinding: true, onAskHost: async () => false } });
  t.match(status.guarantees, { network: 'session', capture: 'transparent' });
  t.same(status.warnings, []);
});

t.test('what was refused is told with its host, its port and why', async (t) => {
  const { sandbox, machine, sh } = await startMachine(t, { network: { deniedDomains: ['denied.example.com'] }, ignoreViolations: { '*': ['ignored.example.com'] } });
  const events = [];
  sandbox.on('violation', (event) => events.push(event));
  const result = await sh([
    asks('http://evil.example.com/'),
    asks('http://EVIL.example.com./again'),
    asks('http://denied.example.com:8080/'),
    asks('http://ignored.example.com/'),
    asks("'http://[2001:db8::7]:81/'"),
  ].join('; '));
  t.equal(result.stdout, '403\n403\n403\n403\n403\n');
  t.same(linesOf(result), [
    'deny network-outbound evil.example.com:80 (not in network.allowedDomains) (×2)',
    'deny network-outbound denied.example.com:8080 (in network.deniedDomains)',
    'deny network-outbound [2001:db8::7]:81 (not in network.allowedIPs)',
  ]);
  t.match(events, [
    { type: 'violation', operation: 'network-outbound', host: 'evil.example.com', port: 80, process: 'curl' },
    { host: 'denied.example.com', port: 8080, why: 'in network.deniedDomains' },
    { host: '2001:db8::7', port: 81, why: 'not in network.allowedIPs' },
  ]);
  t.equal(events.length, 3);
  t.equal(new Set(events.map(({ run }) => run)).size, 1);
  t.match(events[0].run, /^[0-9a-f]+-1$/);
  t.same(sandbox.violations.list().map(({ count }) => count), [2, 1, 1]);
  t.same(sandbox.violations.counts, { events: 3, attempts: 4, dropped: 0 });
  const next = await machine.run(['true']);
  t.equal(next.stderr, '', 'the next command has nothing of it');
});

t.test('two commands at once have each its own refusals', async (t) => {
  const { machine } = await startMachine(t);
  const names = Array.from({ length: 8 }, (_, i) => `host${i}.example.com`);
  const results = await Promise.all(names.map((name) => machine.run(['sh', '-c', asks(`http://${name}/`)])));
  t.same(results.map(linesOf), names.map((name) => [`deny network-outbound ${name}:80 (not in network.allowedDomains)`]));
});

t.test('without a monitor nothing is told, and everything refused', async (t) => {
  const { sandbox, sh } = await startMachine(t, { monitorViolations: false });
  t.match(await sh(asks('http://evil.example.com/')), { stdout: '403\n', stderr: '' });
  t.same(sandbox.violations.counts, { events: 0, attempts: 0, dropped: 0 });
});

/** What a question can be answered with, and whether the connection is then tried. */
const ANSWERS = [
  ['true', () => true, true],
  ['a promise of true', async () => true, true],
  ['a thenable of true', () => ({ then: (resolve) => setTimeout(resolve, 5, true) }), true],
  ['false', async () => false, false],
  ['what is only truthy', async () => 1, false],
  ['nothing', () => {}, false],
  ['a promise that is rejected', () => Promise.reject(new Error('rejected')), false],
  ['an exception', () => { throw new Error('thrown'); }, false],
  ['an exception that cannot be printed', () => { throw Object.create(null); }, false],
];

t.test('a question is answered by true and by nothing else', async (t) => {
  const warnings = [];
  const onWarning = ({ name, message }) => name === 'OsSandboxWarning' && warnings.push(message);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  for (const [name, answer, allows] of ANSWERS) {
    const asked = [];
    const onAskHost = (request) => {
      asked.push(request);
      return answer();
    };
    const { sh } = await startMachine(t, { network: { onAskHost, deniedDomains: ['denied.example.com'] } });
    const result = await sh(`${asks('http://Asked.example.com:81/')}; ${asks('http://asked.example.com:81/again')}; ${asks('http://denied.example.com/')}`);
    t.same(asked, [{ host: 'asked.example.com', port: 81 }], `${name}: asked once, of what no list decides`);
    const [first, second, denied] = result.stdout.split('\n');
    t.same([first !== '403', second !== '403', denied], [allows, allows, '403'], name);
    t.equal(linesOf(result).includes('deny network-outbound asked.example.com:81 (refused by network.onAskHost) (×2)'), !allows, result.stderr);
  }
  await new Promise((resolve) => setImmediate(resolve));
  t.same(warnings.sort(), ['onAskHost failed: rejected', 'onAskHost failed: thrown', 'onAskHost failed: with what cannot be printed'], 'a failure becomes a warning');
});

t.test('onAskHost is called in the async context in which it was given', async (t) => {
  const storage = new AsyncLocalStorage();
  const seen = [];
  const onAskHost = async () => seen.push(storage.getStore()) === 0;
  const { sandbox, sh } = await storage.run('start', () => startMachine(t, { network: { onAskHost } }));
  await storage.run('run', () => sh(asks('http://a.example.com/')));
  await storage.run('update', () => sandbox.updateNetwork({ onAskHost }));
  await storage.run('run', () => sh(asks('http://a.example.com/')));
  t.same(seen, ['start', 'update']);
});

t.test('an answer that comes too late is nobody\'s', async (t) => {
  let answer;
  const asked = new Promise((resolve) => {
    answer = resolve;
  });
  const answers = [];
  const onAskHost = () => {
    answer();
    return new Promise((resolve) => answers.push(resolve));
  };
  const { sandbox, sh } = await startMachine(t, { network: { onAskHost } });
  const running = sh(asks('http://a.example.com/'));
  await asked;
  t.match(await running, { stdout: '000\n' }, 'the client has gone');
  answers[0](true);
  const other = sh(`${asks('http://b.example.com/').replace('-m 1', '-m 60')}`).catch(({ message }) => message);
  while (answers.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  await sandbox.dispose();
  answers[1](true);
  t.match(await other, /^os-sandbox: the sandbox was disposed/);
});

t.test('new rules hold at once, and all of them', async (t) => {
  const { sandbox, machine, sh } = await startMachine(t, { network: { onAskHost: async () => true, allowedDomains: ['a.example.com'] } });
  const own = new SandboxedLocalMachine({ denyWrite: ['x'] }, machine.getcwd());
  const both = `${asks('http://a.example.com/')}; ${asks('http://b.example.com/')}`;
  const refused = async (by) => (await by.run(['sh', '-c', both])).stdout.trim().split('\n').map((code) => code === '403');
  t.same(await refused(machine), [false, false]);
  const done = sandbox.updateNetwork({ allowedDomains: ['b.example.com'] });
  t.same(await refused(machine), [true, false], 'before the promise settles');
  t.equal(await done, undefined);
  t.same(await refused(machine.withCwd('/tmp')), [true, false], 'in siblings');
  t.same(await refused(own), [true, false], 'and in machines that were constructed directly');
  await t.rejects(sandbox.updateNetwork({ allowedDomains: ['a.example.com', 'http://x'] }), { name: 'TypeError', message: /^network\.allowedDomains\[1\]: / });
  await t.rejects(sandbox.updateNetwork({ allowed: [] }), { name: 'TypeError', message: /^network\.allowed: / });
  await t.rejects(sandbox.updateNetwork(null), { name: 'TypeError', message: /^network: / });
  t.same(await refused(machine), [true, false], 'wrong ones change nothing');
  await sandbox.updateNetwork();
  t.same(await refused(machine), [true, true], 'none allow nothing');
  t.match(await sh('echo x > x; echo y'), { stdout: 'y\n' }, 'files are as before');
  t.not((await own.run(['sh', '-c', 'echo x > x'])).exitCode, 0);
});

t.test('a command that runs has the new rules as well', async (t) => {
  const { sandbox, sh } = await startMachine(t);
  const onOutput = () => sandbox.updateNetwork({ allowedDomains: ['a.example.com'] });
  const { stdout } = await sh(`echo up; sleep 1; ${asks('http://a.example.com/')}`, { onOutput });
  t.match(stdout, /^up\n\d{3}\n$/);
  t.notMatch(stdout, /403/);
});

t.test('new rules reach unix sockets of the host too', async (t) => {
  const { sandbox, workspace, machine } = await startMachine(t);
  const socket = `${workspace}/../socket`;
  const server = net.createServer((connection) => connection.end('reached')).listen(socket);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const connect = ['/usr/bin/python3', '-c', "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9).decode())", socket];
  t.not((await machine.run(connect)).exitCode, 0);
  await sandbox.updateNetwork({ allowUnixSockets: [socket] });
  t.match(await machine.run(connect), { stdout: 'reached\n' });
  await sandbox.updateNetwork({});
  t.not((await machine.run(connect)).exitCode, 0);
});

t.test('the way out of the host stays', async (t) => {
  const upstreamProxy = 'http://proxy.example.com:3128';
  const sandbox = await startSandbox(t, { network: { upstreamProxy } });
  await sandbox.updateNetwork({ allowedDomains: ['a.example.com'] });
  await sandbox.updateNetwork({ upstreamProxy });
  await t.rejects(sandbox.updateNetwork({ upstreamProxy: 'direct' }), { name: 'TypeError', message: /^network\.upstreamProxy: / });
});

t.test('a proxy of the environment that cannot be used is named', async (t) => {
  const body = `
    const sandbox = await OsSandbox.start();
    say(sandbox.status.warnings);
    await sandbox.dispose();`;
  const run = async (env) => (await runProgram(t, body, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } })).said[0];
  t.match(await run({ HTTPS_PROXY: 'socks5://secret:secret@proxy.example.com' }), [/^HTTPS_PROXY: (?!.*secret)/]);
  t.same(await run({ https_proxy: 'http://proxy.example.com:3128', HTTPS_PROXY: 'socks5://other.example.com' }), []);
  t.same(await run({ HTTP_PROXY: '' }), []);
});

t.test('a sandbox that is off takes rules that make sense, and has none', async (t) => {
  const sandbox = OsSandbox.disabled();
  t.equal(await sandbox.updateNetwork({ allowedDomains: ['a.example.com'] }), undefined);
  await t.rejects(sandbox.updateNetwork({ allowedDomains: 'a.example.com' }), { name: 'TypeError', message: /^network\.allowedDomains: / });
  t.ok(sandbox.machine('/') instanceof LocalMachine);
});

t.test('after dispose there is no network to change, nor a port', async (t) => {
  const { sandbox, machine } = await startMachine(t);
  const url = await machine.exposedPortUrl(8080);
  const late = machine.exposedPortUrl(8081);
  await sandbox.dispose();
  t.equal(await late, undefined);
  await t.rejects(sandbox.updateNetwork({}), { message: /^os-sandbox: the sandbox was disposed/ });
  t.equal(await machine.exposedPortUrl(8080), undefined);
  await t.rejects(fetch(/** @type {string} */ (url)), 'and the one that was open is closed');
});

t.test('a port on which a command listens is reached by its URL', async (t) => {
  const { sandbox, machine, workspace } = await startMachine(t);
  const port = 18080;
  const serve = `require('http').createServer((q, s) => s.end('inside ' + q.url)).listen(${port}, '127.0.0.1', () => console.log('up'))`;
  const controller = new AbortController();
  let running;
  await new Promise((resolve) => {
    running = machine.run([process.execPath, '-e', serve], { signal: controller.signal, onOutput: resolve });
  });
  running.catch(() => {});
  t.teardown(() => controller.abort());
  const own = new SandboxedLocalMachine({}, workspace);
  const urls = await Promise.all([machine, machine.withCwd('/tmp'), own, sandbox.machine()].map((by) => by.exposedPortUrl(port)));
  t.equal(new Set(urls).size, 1, 'of whatever machine of the sandbox');
  t.match(urls[0], /^http:\/\/127\.0\.0\.1:\d+$/);
  t.equal(await (await fetch(`${urls[0]}/path`)).text(), 'inside /path');
  for (const wrong of [0, -1, 65536, 1.5, NaN, '80', undefined]) t.equal(await machine.exposedPortUrl(wrong), undefined, String(wrong));
  const other = await startSandbox(t);
  const elsewhere = await other.machine(workspace).exposedPortUrl(port);
  t.not(elsewhere, urls[0]);
  await t.rejects(fetch(elsewhere), 'another sandbox has another port there');
  controller.abort();
  await running;
  await t.rejects(fetch(urls[0]), 'when the server is gone nobody answers');
});

t.test('who waits for a URL keeps the process alive, who has one does not', async (t) => {
  const body = `
    const machine = (await OsSandbox.start()).machine('/');
    say(typeof (await machine.exposedPortUrl(8080)));`;
  t.match(await runProgram(t, body), { code: 0, signal: null, said: ['string'] });
});

t.test('who waits for an answer keeps the process alive', async (t) => {
  const body = `
    const ask = () => new Promise((resolve) => setTimeout(resolve, 100, false).unref());
    const machine = (await OsSandbox.start({ network: { onAskHost: ask } })).machine('/');
    say((await machine.run(['sh', '-c', process.argv[1]])).stdout);`;
  t.match(await runProgram(t, body, { args: [asks('http://a.example.com/')] }), { code: 0, signal: null, said: ['403\n'] });
});
