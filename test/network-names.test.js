'use strict';
// A name is what the rules say it is, however it is written and by whichever way it comes; an address, too.

const net = require('node:net');
const { once } = require('node:events');
const t = require('tap');
const { makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { everyWay, sendRaw, socksAddress } = require('./helpers/outside-raw');
const { blockOf } = require('./helpers/violations');

const GOT = /hello from/;

/** Attempts with a title each, made at once. @param {any} machine @param {Array<[title: string, attempt: any]>} attempts */
async function attemptAll(machine, attempts) {
  const { replies, stderr } = await sendRaw(
    machine,
    attempts.map(([, attempt]) => attempt),
  );
  return { results: attempts.map(([title], i) => ({ title, ...replies[i] })), stderr };
}

/** @param {string[]} hosts @param {number} [port] @returns {Array<[string, any]>} */
const byEveryWay = (hosts, port = 80) =>
  hosts.flatMap((host) => Object.entries(everyWay(host, port)).map(([way, attempt]) => [`${JSON.stringify(host)} by ${way}`, attempt]));

const RULES = { allowedDomains: ['allowed.example.com', '*.wild.example.com', 'xn--bcher-kva.example.com'] };

const ALLOWED = [
  'allowed.example.com',
  'ALLOWED.Example.COM',
  'allowed.example.com.',
  'a.wild.example.com',
  'a.b.wild.example.com',
  'under_score.wild.example.com',
  'xn--bcher-kva.example.com',
  'XN--BCHER-KVA.example.com',
];

/** Names of others. */
const OTHERS = [
  'denied.example.net',
  'evilallowed.example.com',
  'xallowed.example.com',
  'allowed.example.net',
  'allowed.example.com.example.net',
  'allowed.example.com.denied.example.net',
  'denied.allowed.example.com',
  'wild.example.com',
  'evilwild.example.com',
  'a.wild.example.com.example.net',
  'xn--llowed-4nf.example.com',
  'bucher.example.com',
];

/** What is no name at all. */
const MALFORMED = [
  'allowed.example.com..',
  '.allowed.example.com',
  'allowed..example.com',
  '*.wild.example.com',
  'denied.example.net\0.wild.example.com',
  'allowed.example.com\0.example.net',
  'denied.example.net .wild.example.com',
  'denied.example.net\n.wild.example.com',
  'denied.example.net\r\n.wild.example.com',
  'denied.example.net%00.wild.example.com',
  'denied.example.net%2e.wild.example.com',
  'denied.example.net#.wild.example.com',
  'denied.example.net?.wild.example.com',
  'denied.example.net/.wild.example.com',
  'denied.example.net\\.wild.example.com',
  'denied.example.net:80.wild.example.com',
  'allowed.example.com@denied.example.net',
  'denied.example.net@allowed.example.com',
  Buffer.from('аllowed.example.com').toString('latin1'),
  Buffer.from('ａllowed.example.com').toString('latin1'),
  Buffer.from('allowed。example.com').toString('latin1'),
  `${'a'.repeat(64)}.wild.example.com`,
  `${'a.'.repeat(119)}wild.example.com`,
];

/** Spellings of addresses that nobody may reach by a wildcard. */
const SPECIAL = [
  '127.0.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.1',
  '127.0.1',
  '127.0.0.1.',
  '0',
  '0.0.0.0',
  '169.254.169.254',
  '0xa9fea9fe',
  '100.100.100.200',
  '168.63.129.16',
  '224.0.0.1',
  '203.0.113.2',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:7f00:1]',
  '[::ffff:127.0.0.1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[::ffff:a9fe:a9fe]',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[::1%lo]',
  '[::1%25lo]',
];

/** A server on the host's own loopback that nobody may reach. @param {any} t */
async function startCanary(t) {
  const reached = [];
  const server = net.createServer((socket) => {
    reached.push(socket.localAddress);
    socket.on('error', () => {}).end('hello from the host');
  });
  await once(server.listen(0, '::'), 'listening');
  t.teardown(() => server.close());
  return { port: server.address().port, reached };
}

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');

  t.test('a name that is allowed is reached by every way', async (t) => {
    const machine = (await startSandbox(t, { network: RULES })).machine(makePlace(t).workspace);
    const { results, stderr } = await attemptAll(machine, byEveryWay(ALLOWED));
    for (const { title, reply, error } of results) t.match(reply, GOT, `${title} ${error ?? ''}`);
    t.same(blockOf(stderr), [], 'nothing is reported');
    const heard = new Set((await outside.events()).filter(({ kind }) => kind === 'lookup').map(({ name }) => name));
    t.same([...heard].sort(), [...new Set(ALLOWED.map((name) => name.toLowerCase().replace(/\.$/, '')))].sort());
  });

  t.test('a name of others is refused by every way', async (t) => {
    const machine = (await startSandbox(t, { network: RULES })).machine(makePlace(t).workspace);
    await outside.events();
    const { results, stderr } = await attemptAll(machine, byEveryWay(OTHERS));
    t.same(await outside.events(), [], 'no packet and no look-up leaves the host');
    for (const { title, reply, error } of results) {
      t.notMatch(reply, GOT, title);
      if (/by (http|CONNECT)$/.test(title)) {
        t.match(reply, /^HTTP\/1\.[01] 403 .*\r\nX-Proxy-Error: blocked-by-allowlist\r\n/s, title);
        t.match(reply, /\r\n\r\nConnection blocked by network allowlist/, `${title}: says why`);
      }
      if (/by SOCKS5$/.test(title)) t.equal(reply.slice(2, 4), '\x05\x02', title);
      if (/by transparent$/.test(title)) t.ok(error, title);
    }
    const block = blockOf(stderr).join('\n');
    for (const name of OTHERS) t.ok(block.includes(`deny network-outbound ${name}:80 (not in network.allowedDomains)`), name);
  });

  t.test('what is no name is refused by every way', async (t) => {
    const machine = (await startSandbox(t, { network: RULES })).machine(makePlace(t).workspace);
    await outside.events();
    const attempts = byEveryWay(MALFORMED).filter(([title]) => !/transparent$/.test(title));
    const { results } = await attemptAll(machine, attempts);
    t.same(await outside.events(), [], 'no packet and no look-up leaves the host');
    for (const { title, reply } of results) {
      t.notMatch(reply, GOT, title);
      t.notMatch(reply, /^HTTP\/1\.[01] 200|\x05\x00\x00/, title);
    }
  });

  t.test('special addresses are refused in every spelling and by every way, whatever wildcard there is', async (t) => {
    const { port, reached } = await startCanary(t);
    await sendRaw(withoutSandbox('/'), [{ to: ['127.1', port], send: [] }]);
    t.same(reached.splice(0), ['::ffff:127.0.0.1'], 'without a sandbox there is something to be reached');
    const network = { allowedDomains: ['*'], allowedIPs: ['0.0.0.0/0', '::/0'] };
    const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
    await outside.events();
    const attempts = byEveryWay(SPECIAL, port).filter(([title]) => !/transparent$/.test(title));
    const raw = [
      [127, 0, 0, 1],
      [0, 0, 0, 0],
      [169, 254, 169, 254],
      [203, 0, 113, 2],
      [...Array(15).fill(0), 1],
      [...Array(10).fill(0), 255, 255, 127, 0, 0, 1],
    ];
    for (const bytes of raw) attempts.push([`${bytes} by SOCKS5`, { send: [...socksAddress(bytes, port), null, 'x\r\n\r\n'] }]);
    const { results } = await attemptAll(machine, attempts);
    t.same(await outside.events(), [], 'no packet leaves the host');
    t.same(reached, [], 'and none reaches its loopback');
    for (const { title, reply } of results) {
      t.notMatch(reply, GOT, title);
      t.notMatch(reply, /^HTTP\/1\.[01] 200|\x05\x00\x00/, title);
    }
    const transparent = await attemptAll(
      machine,
      ['127.0.0.1', '127.1.2.3', '169.254.169.254', '203.0.113.2', '::1', '2001:db8:ffff::2', 'fd00:ec2::254'].map((host) => [
        host,
        { to: [host, port], send: ['GET / HTTP/1.0\r\n\r\n'] },
      ]),
    );
    t.same(await outside.events(), []);
    t.same(reached, []);
    for (const { title, reply } of transparent.results) t.equal(reply, '', title);
    const { results: open } = await attemptAll(machine, byEveryWay(['192.0.2.10']));
    for (const { title, reply } of open) t.match(reply, GOT, `${title}, which is nothing special`);
  });

  t.test('a wildcard for names opens no literal address', async (t) => {
    const machine = (await startSandbox(t, { network: { allowedDomains: ['*'] } })).machine(makePlace(t).workspace);
    await outside.events();
    const { results, stderr } = await attemptAll(machine, byEveryWay(['192.0.2.10', '3221225994', '0xc000020a']));
    t.same(await outside.events(), []);
    for (const { title, reply } of results) t.notMatch(reply, GOT, title);
    t.match(blockOf(stderr).join('\n'), /deny network-outbound 192\.0\.2\.10:80 \(not in network\.allowedIPs\)/);
  });

  t.test('an address that is named by a rule is reached in every spelling', async (t) => {
    const network = { allowedIPs: ['192.0.2.8/29:80', '2001:db8::10'] };
    const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
    const hosts = ['192.0.2.10', '3221225994', '0xc000020a', '0300.0.2.10', '192.0.522'];
    const { results } = await attemptAll(machine, byEveryWay(hosts));
    for (const { title, reply, error } of results) t.match(reply, GOT, `${title} ${error ?? ''}`);
    const v6 = await attemptAll(machine, [
      ['v6', { to: ['2001:db8::10', 80], send: ['GET / HTTP/1.0\r\n\r\n'] }],
      ['v6 by SOCKS5', everyWay('2001:db8::10', 80).SOCKS5],
    ]);
    for (const { title, reply, error } of v6.results) t.match(reply, GOT, `${title} ${error ?? ''}`);
    await outside.events();
    const others = byEveryWay(['192.0.2.16', '192.0.2.7', '198.51.100.1']).concat(byEveryWay(['192.0.2.10'], 8080));
    const { results: refused } = await attemptAll(machine, others);
    for (const { title, reply } of refused) t.notMatch(reply, GOT, title);
    t.same(await outside.events(), [], 'others, and other ports, are not');
  });
});
