'use strict';
// Where names are not only DNS's: the hosts file, search domains, names below localhost; protocols that only look like TLS;
// ports that lead back.

const fs = require('node:fs');
const net = require('node:net');
const { once } = require('node:events');
const t = require('tap');
const { bash, makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { everyWay, sendRaw } = require('./helpers/outside-raw');
const { blockOf } = require('./helpers/violations');

const HOST = 'allowed.example.com';
const HOSTS = '127.0.0.1 localhost\n::1 localhost\n';
const RESOLVER = 'nameserver 192.0.2.53\n';

/** Files of the test's host, for one test. @param {any} t @param {{ hosts?: string, resolver?: string }} more */
function addToFiles(t, { hosts = '', resolver = '' }) {
  fs.writeFileSync('/etc/hosts', HOSTS + hosts);
  fs.writeFileSync('/etc/resolv.conf', RESOLVER + resolver);
  t.teardown(() => {
    fs.writeFileSync('/etc/hosts', HOSTS);
    fs.writeFileSync('/etc/resolv.conf', RESOLVER);
  });
}

/** How many connections this host has accepted. */
function accepted() {
  const [names, values] = fs.readFileSync('/proc/net/snmp', 'utf8').split('\n').filter((line) => line.startsWith('Tcp:'));
  return Number(values.split(' ')[names.split(' ').indexOf('PassiveOpens')]);
}

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  await outside.start('recorder', { port: 3306 });
  const machineFor = async (/** @type {any} */ t, /** @type {any} */ network) =>
    (await startSandbox(t, { network })).machine(makePlace(t).workspace);
  const lookups = async () => (await outside.events()).filter(({ kind }) => kind === 'lookup').map(({ name }) => name);

  t.test('names that share an address in the hosts file are each reached by TLS, and only those that are allowed', async (t) => {
    addToFiles(t, { hosts: `192.0.2.10 ${HOST} second.example.com third.example.com\n` });
    const machine = await machineFor(t, { allowedDomains: [HOST, 'second.example.com'] });
    const page = (/** @type {string} */ name) => bash(machine, `curl -sS -m 10 --noproxy '*' https://${name}/`, { env: outside.env });
    for (const name of [HOST, 'second.example.com']) t.match(await page(name), { stdout: `hello from ${name}\n`, stderr: '' });
    const { stdout, stderr } = await page('third.example.com');
    t.equal(stdout, '');
    t.match(blockOf(stderr), [/the TLS server name is third\.example\.com/]);
  });

  t.test('a search domain of the host leads to nothing that is denied', async (t) => {
    addToFiles(t, { resolver: 'search example.net\n' });
    t.match(await bash(withoutSandbox('/'), 'curl -sS -m 10 http://db/'), { stdout: 'hello from db\n' });
    const machine = await machineFor(t, { allowedDomains: ['*'], deniedDomains: ['*.example.net'] });
    await lookups();
    const { replies, stderr } = await sendRaw(machine, Object.values(everyWay('db', 80)));
    for (const { reply } of replies) t.notMatch(reply, /hello/);
    t.match(replies[0].reply, /^HTTP\/1\.1 403 [^]*db:80 \(in network\.deniedDomains\)/);
    t.match(blockOf(stderr), [/^deny network-outbound db:80 \(in network\.deniedDomains\)/]);
    await sendRaw(machine, Object.values(everyWay('db.nowhere', 80)));
    t.same([...new Set(await lookups())], ['db.nowhere'], 'a longer name is looked up as it is');
    t.match(await bash(machine, `curl -sS -m 10 http://${HOST}/`), { stdout: `hello from ${HOST}\n`, stderr: '' });
  });

  t.test('names below localhost are localhost, and nobody outside is asked for them', async (t) => {
    const server = net.createServer((socket) => socket.on('error', () => {}).end('HTTP/1.0 200 OK\r\n\r\nhello from this host'));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => server.close());
    const { port } = server.address();
    await lookups();
    const ways = Object.values(everyWay('app.localhost', port)).slice(0, 3);
    const { replies, stderr } = await sendRaw(await machineFor(t, { allowedDomains: ['*', '*.localhost'] }), ways);
    for (const { reply } of replies) t.notMatch(reply, /hello/);
    t.match(blockOf(stderr), [new RegExp(`deny network-outbound app\\.localhost:${port} \\(a loopback address\\)`)]);
    const named = await sendRaw(await machineFor(t, { allowedDomains: [`localhost:${port}`] }), ways);
    for (const { reply } of named.replies) t.match(reply, /hello from this host/);
    t.same(await lookups(), []);
  });

  t.test('what begins with the first byte of TLS, and goes on as no TLS does, goes through', async (t) => {
    const machine = await machineFor(t, { allowedDomains: [HOST] });
    const mysql = `\x16\x01\x00\x01\x8d\xa2\x0b\x00${'x'.repeat(274)}`;
    const mongo = `\x16\x01\x00\x00\x05\x00\x00\x00${'x'.repeat(270)}`;
    await outside.events();
    const { stderr } = await sendRaw(machine, [mysql, mongo].map((bytes) => ({ to: [HOST, 3306], send: [bytes] })));
    t.same(blockOf(stderr), []);
    const arrived = (await outside.events()).filter(({ kind }) => kind === 'bytes').map(({ text }) => text);
    t.same(arrived.sort(), [mongo, mysql].sort());
  });

  t.test('an answer opens nothing that new rules have closed meanwhile', async (t) => {
    /** @type {any} */
    let sandbox;
    const onAskHost = async () => {
      sandbox.updateNetwork({ deniedDomains: ['192.0.2.10', '2001:db8::10'], onAskHost });
      return true;
    };
    sandbox = await startSandbox(t, { network: { onAskHost } });
    const { stdout, stderr } = await bash(sandbox.machine(makePlace(t).workspace), `curl -sS -m 10 http://${HOST}/`);
    t.notMatch(stdout, /hello/);
    t.match(blockOf(stderr), [/^deny network-outbound allowed\.example\.com:80 \(resolves to .*, in network\.deniedDomains\)/]);
  });

  t.test('an exposed port of a rule leads nowhere rather than back to itself', async (t) => {
    const sandbox = await startSandbox(t, { network: { allowedDomains: ['localhost:5499'] } });
    const machine = sandbox.machine(makePlace(t).workspace);
    await bash(machine, 'true');
    const { port } = new URL(await machine.exposedPortUrl(5499));
    const before = accepted();
    const client = net.connect(Number(port), '127.0.0.1');
    await new Promise((resolve) => client.on('error', () => {}).on('close', resolve));
    t.equal(accepted() - before, 1);
  });
});
