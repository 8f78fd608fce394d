'use strict';
// What the caller decides while commands run: questions, new rules, limits; and the proxy through which the host goes out.

const t = require('tap');
const { bash, makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { connect, sendRaw } = require('./helpers/outside-raw');
const { blockOf } = require('./helpers/violations');

const HOST = 'asked.example.com';
const get = (/** @type {string} */ host) => `curl -sS -m 20 http://${host}/`;
/** One that knows of no proxy. */
const getDirectly = (/** @type {string} */ host) => `curl -sS -m 20 --noproxy '*' http://${host}/`;
const HELLO = /hello from/;

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  const machineFor = async (/** @type {any} */ t, /** @type {any} */ network) => {
    const sandbox = await startSandbox(t, { network });
    return { sandbox, machine: sandbox.machine(makePlace(t).workspace) };
  };

  t.test('one question for connections at the same time, and the answer holds for the run that asked', async (t) => {
    const asked = [];
    const onAskHost = async (request) => {
      asked.push(request);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return true;
    };
    const { machine } = await machineFor(t, { onAskHost });
    const five = `for i in 1 2 3; do ${get(HOST)} & done; for i in 1 2; do ${getDirectly(HOST)} & done; wait; ${get(HOST)}`;
    const { stdout, stderr } = await bash(machine, five);
    t.equal(stdout.split('hello from').length - 1, 6, stderr);
    t.same(blockOf(stderr), []);
    t.same(asked, [{ host: HOST, port: 80 }]);
    await bash(machine, get(HOST));
    t.equal(asked.length, 2, 'the next run asks again');
    await bash(machine, `${get('a.example.com')}; curl -sS -m 20 http://${HOST}:81/`);
    t.same(asked.slice(2), [
      { host: 'a.example.com', port: 80 },
      { host: HOST, port: 81 },
    ]);
  });

  t.test('nothing but true allows', async (t) => {
    const rejected = () => Promise.reject(new Error('no'));
    const thrown = () => {
      throw new Error('no');
    };
    const answers = [false, undefined, null, 1, 'yes', {}, [], new Boolean(true)];
    const callbacks = [rejected, thrown, ...answers.map((answer) => async () => answer), () => 'no promise'];
    await outside.events();
    for (const onAskHost of callbacks) {
      const { machine } = await machineFor(t, { onAskHost });
      const { stdout, stderr } = await bash(machine, `${get(HOST)}; ${getDirectly(HOST)}`);
      t.notMatch(stdout, HELLO);
      t.match(blockOf(stderr), [/^deny network-outbound asked\.example\.com:80 \(refused by network\.onAskHost/]);
    }
    t.same(await outside.events(), [], 'no packet and no look-up leaves the host');
  });

  t.test('what the lists decide is not asked, nor what no answer could open', async (t) => {
    const asked = [];
    const onAskHost = async ({ host }) => asked.push(host) > 0;
    const network = { allowedDomains: ['allowed.example.com'], deniedDomains: ['denied.example.net'], onAskHost };
    const { machine } = await machineFor(t, network);
    const script = ['allowed.example.com', 'denied.example.net', '127.0.0.1', '169.254.169.254', '[::1]']
      .map((host) => `curl -sS -m 20 --noproxy '' http://${host}/`)
      .join('; ');
    await bash(machine, script);
    t.same(asked, []);
  });

  t.test('a question of a connection that is gone is forgotten, and a late answer harms nobody', async (t) => {
    /** @type {((answer: boolean) => void)[]} */
    const answers = [];
    const { machine } = await machineFor(t, { onAskHost: () => new Promise((resolve) => answers.push(resolve)) });
    const { stdout } = await bash(machine, `curl -sS -m 0.5 http://${HOST}/`);
    t.equal(stdout, '');
    t.equal(answers.length, 1);
    answers[0](true);
    const running = bash(machine, get(HOST));
    while (answers.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    answers[1](true);
    t.match(await running, { stdout: HELLO });
  });

  t.test('a run that is stopped while it asks ends', async (t) => {
    const controller = new AbortController();
    const onAskHost = () => {
      controller.abort();
      return new Promise(() => {});
    };
    const { machine, sandbox } = await machineFor(t, { onAskHost });
    t.match(await bash(machine, get(HOST), { signal: controller.signal }), { stdout: '', terminated: true });
    await sandbox.dispose();
  });

  t.test('updateNetwork holds at once, for whatever is connected from then on', async (t) => {
    const { sandbox, machine } = await machineFor(t, { allowedDomains: ['a.example.com'] });
    const both = () => bash(machine, `${get('a.example.com')}; ${getDirectly('b.example.com')}`);
    t.match(await both(), { stdout: /hello from a/ });
    await sandbox.updateNetwork({ allowedDomains: ['b.example.com'] });
    const after = await both();
    t.match(after.stdout, /hello from b/);
    t.notMatch(after.stdout, /hello from a/);
    await sandbox.updateNetwork({});
    t.notMatch(await both(), { stdout: HELLO });
    await t.rejects(sandbox.updateNetwork({ allowedDomains: ['b.example.com', 'http://a'] }), {
      name: 'TypeError',
      message: /^network\.allowedDomains\[1\]: /,
    });
    t.notMatch(await both(), { stdout: HELLO }, 'what makes no sense changes nothing');
    const during = bash(machine, `echo up; while ! ${get('b.example.com')} | grep hello; do sleep 0.02; done`, {
      onOutput: () => sandbox.updateNetwork({ allowedDomains: ['b.example.com'] }),
      timeoutMs: 20_000,
    });
    t.match(await during, { timedOut: false, stdout: /hello from b/ }, 'a command that runs already has them too');
  });

  t.test('upstreamProxy: what is allowed goes out through it, after the same decision', async (t) => {
    await outside.start('proxy', { port: 8888 });
    const upstreamProxy = 'http://user:pass%20word@proxy.example.org:8888';
    const { machine } = await machineFor(t, { allowedDomains: ['*.example.com'], upstreamProxy });
    for (const script of [get(HOST), getDirectly(HOST), `curl -sS -m 20 -p http://${HOST}/`]) {
      await outside.events();
      t.match(await bash(machine, script), { stdout: HELLO }, script);
      const events = await outside.events();
      const authorization = `Basic ${Buffer.from('user:pass word').toString('base64')}`;
      t.match(
        events.filter(({ kind }) => kind === 'proxy'),
        [{ url: `${HOST}:80`, authorization }],
      );
      const lookups = events.filter(({ kind }) => kind === 'lookup').map(({ name }) => name);
      t.same([...new Set(lookups)], ['proxy.example.org'], 'the name itself is the proxy\'s to look up');
      const dialed = events.filter(({ kind, protocol }) => kind === 'packet' && protocol === 'tcp').map(({ port }) => port);
      t.same(dialed, [8888]);
    }
    t.notMatch(await bash(machine, get('denied.example.net')), { stdout: HELLO });
    t.same(await outside.events(), [], 'what is denied does not reach the proxy');
    await outside.start('proxy', { port: 8889, refuse: 407 });
    const refused = await machineFor(t, { allowedDomains: ['*.example.com'], upstreamProxy: 'proxy.example.org:8889' });
    t.match(await bash(refused.machine, `curl -sS -o /dev/null -w '%{http_code}' http://${HOST}/`), { stdout: '502' });
  });

  t.test('maxTunnels: what is too much is refused by its name, and later connections work', async (t) => {
    await outside.start('recorder', { port: 8000 });
    const { machine } = await machineFor(t, { allowedDomains: [HOST], maxTunnels: 4 });
    const idle = Array.from({ length: 12 }, () => ({ send: [connect(HOST, 8000), null, 700] }));
    const { replies, stderr } = await sendRaw(machine, idle);
    const opened = replies.filter(({ reply }) => /^HTTP\/1\.1 200/.test(reply)).length;
    t.equal(opened, 4);
    t.match(replies.find(({ reply }) => !/^HTTP\/1\.1 200/.test(reply)).reply, /^HTTP\/1\.1 50\d [^]*maxTunnels/);
    t.notMatch(stderr, /Traceback/);
    t.match(await bash(machine, get(HOST)), { stdout: HELLO });
  });
});
