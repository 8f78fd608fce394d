'use strict';
// What a name stands for is asked once, after it was allowed, and what it stands for is checked. Names that are not allowed
// are asked of nobody, by whatever way a command tries; nothing but TCP and questions for names is carried at all.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const t = require('tap');
const { bash, makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { everyWay, sendRaw } = require('./helpers/outside-raw');
const { blockOf } = require('./helpers/violations');

/** What names stand for → why that is refused. @type {Record<string, [address: string, why: string]>} */
const SPECIAL = {
  loopback: ['127.0.0.1', 'resolves to 127.0.0.1, a loopback address'],
  'loopback-block': ['127.9.9.9', 'resolves to 127.9.9.9, a loopback address'],
  loopback6: ['::1', 'resolves to ::1, a loopback address'],
  mapped: ['::ffff:127.0.0.1', 'resolves to .*127.0.0.1, a loopback address'],
  translated: ['64:ff9b::7f00:1', 'resolves to 64:ff9b::7f00:1, a loopback address'],
  '6to4': ['2002:7f00:1::', 'resolves to 2002:7f00:1::, a loopback address'],
  unspecified: ['0.0.0.0', 'resolves to 0.0.0.0, the unspecified address'],
  'link-local': ['169.254.7.7', 'resolves to 169.254.7.7, a link-local address'],
  'link-local6': ['fe80::1', 'resolves to fe80::1, a link-local address'],
  metadata: ['169.254.169.254', 'resolves to 169.254.169.254, a .*'],
  metadata2: ['100.100.100.200', 'resolves to 100.100.100.200, a metadata service'],
  metadata3: ['168.63.129.16', 'resolves to 168.63.129.16, a metadata service'],
  metadata6: ['fd00:ec2::254', 'resolves to fd00:ec2::254, a metadata service'],
  multicast: ['224.0.0.1', 'resolves to 224.0.0.1, a multicast address'],
  own: ['203.0.113.2', 'resolves to 203.0.113.2, an address of this host'],
  own6: ['2001:db8:ffff::2', 'resolves to 2001:db8:ffff::2, an address of this host'],
};
const nameOf = (/** @type {string} */ kind) => `${kind}.example.com`;

/** A question as a client writes it. */
const query = (/** @type {string} */ name, type = 1) => {
  const labels = name.split('.').map((label) => `${String.fromCharCode(label.length)}${label}`);
  return `\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00${labels.join('')}\x00\x00${String.fromCharCode(type)}\x00\x01`;
};

/** Asks resolvers: prints a line each, the answer's code and addresses, or the error and how long it took. */
const ASK = `/usr/bin/python3 -c "
import json, socket, sys, time
for transport, host, port, text in json.load(sys.stdin):
    start = time.monotonic()
    try:
        family = socket.AF_INET6 if ':' in host else socket.AF_INET
        stream = socket.socket(family, socket.SOCK_DGRAM if transport == 'udp' else socket.SOCK_STREAM)
        stream.settimeout(5)
        data = text.encode('latin-1')
        if transport == 'udp':
            stream.sendto(data, (host, port))
            answer, sender = stream.recvfrom(4096)
            if sender[0] != host: print('from', sender[0], end=' ')
        else:
            stream.connect((host, port))
            stream.sendall(len(data).to_bytes(2, 'big') + data)
            answer = stream.recv(4096)[2:]
        print(answer[3] & 15, *[socket.inet_ntoa(answer[-4:])] if answer[7] else [])
    except OSError as error:
        print(type(error).__name__, 'at once' if time.monotonic() - start < 0.5 else 'late')
"`;

/** @param {any} machine @param {Array<[transport: string, host: string, port: number, text: string]>} questions */
async function ask(machine, questions) {
  const { stdout, stderr } = await bash(machine, ASK, { stdin: JSON.stringify(questions) });
  return { answers: stdout.trimEnd().split('\n'), stderr };
}

/** Servers on this host, on every address, that nobody may reach. @param {any} t @param {number} port */
async function canary(t, port) {
  const reached = [];
  const server = net.createServer((socket) => {
    reached.push(socket.localAddress);
    socket.on('error', () => {}).end('hello from this host');
  });
  await once(server.listen(port, '::'), 'listening');
  t.teardown(() => server.close());
  return reached;
}

onTestHost(t, __filename, async (outside) => {
  await outside.start('web', { ports: [80, 8080] });

  t.test('an allowed name that stands for something of the host or of the machine room is refused', async (t) => {
    const reached = await canary(t, 8080);
    await outside.names(Object.fromEntries(Object.entries(SPECIAL).map(([kind, [address]]) => [nameOf(kind), [[address]]])));
    const free = ['loopback', 'mapped', 'own', 'own6'].map((kind) => everyWay(nameOf(kind), 8080).transparent);
    await sendRaw(withoutSandbox('/'), free);
    t.equal(reached.splice(0).length, free.length, 'without a sandbox there is something to be reached');
    await outside.events();
    const machine = (await startSandbox(t, { network: { allowedDomains: ['*'] } })).machine(makePlace(t).workspace);
    for (const [kind, [address, why]] of Object.entries(SPECIAL)) {
      const attempts = Object.values(everyWay(nameOf(kind), 8080));
      const { replies, stderr } = await sendRaw(machine, attempts);
      for (const { reply } of replies) t.notMatch(reply, /hello from|^HTTP\/1\.1 200/, kind);
      t.match(replies[0].reply, /^HTTP\/1\.1 403 /, kind);
      const line = new RegExp(`deny network-outbound ${nameOf(kind)}:8080 \\(${why}`);
      t.match(blockOf(stderr).join('\n'), line, `${kind}: ${address}`);
      const packets = (await outside.events()).filter(({ kind, protocol }) => kind === 'packet' && protocol === 'tcp');
      t.same(packets, [], `${kind}: nothing is sent there`);
    }
    t.same(reached, [], 'nothing of this host was reached');
  });

  t.test('a private address is no more special than another', async (t) => {
    await outside.names({ 'private.example.com': [['10.0.0.7']] });
    const network = { allowedDomains: ['private.example.com'] };
    const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
    const { replies } = await sendRaw(machine, Object.values(everyWay('private.example.com', 80)));
    for (const { reply } of replies) t.match(reply, /hello from/);
  });

  t.test('a name is looked up once for a connection, and the address that was checked is the one that is dialed', async (t) => {
    const reached = await canary(t, 8081);
    await outside.start('recorder', { port: 8081 });
    const machine = (await startSandbox(t, { network: { allowedDomains: ['*'] } })).machine(makePlace(t).workspace);
    for (const [way, attempt] of Object.entries(everyWay('changing.example.com', 8081))) {
      await outside.names({ 'changing.example.com A': [['192.0.2.10'], ['127.0.0.1']], 'changing.example.com AAAA': [[]] });
      await outside.events();
      await sendRaw(machine, [attempt]);
      const events = await outside.events();
      const lookups = events.filter(({ kind, type }) => kind === 'lookup' && type === 'A');
      t.equal(lookups.length, 1, `${way}: one look-up`);
      const dialed = events.filter(({ kind, protocol }) => kind === 'packet' && protocol === 'tcp');
      t.match(dialed, [{ address: '192.0.2.10', port: 8081 }], way);
      t.equal(dialed.length, 1, way);
    }
    t.same(reached, []);
  });

  t.test('of several addresses only those that may be dialed are', async (t) => {
    const reached = await canary(t, 8082);
    await outside.names({ 'mixed.example.com A': [['127.0.0.1', '203.0.113.2', '169.254.169.254']], 'mixed.example.com AAAA': [['::1']] });
    const machine = (await startSandbox(t, { network: { allowedDomains: ['*'] } })).machine(makePlace(t).workspace);
    await outside.events();
    const { replies } = await sendRaw(machine, Object.values(everyWay('mixed.example.com', 8082)));
    for (const { reply } of replies) t.notMatch(reply, /hello from/);
    t.notOk((await outside.events()).some(({ kind, protocol }) => kind === 'packet' && protocol === 'tcp'));
    t.same(reached, []);
  });

  t.test('a name that has no address, and a server that is not there, are told so', async (t) => {
    await outside.names({ 'nowhere.example.com': [[]] });
    const machine = (await startSandbox(t, { network: { allowedDomains: ['*.example.com'] } })).machine(makePlace(t).workspace);
    const { replies, stderr } = await sendRaw(machine, [
      everyWay('nowhere.example.com', 80).http,
      everyWay('closed.example.com', 81).CONNECT,
    ]);
    for (const { reply } of replies) t.match(reply, /^HTTP\/1\.1 50[24] /);
    t.same(blockOf(stderr), [], 'which is no denial');
  });

  t.test('names inside: one address for an allowed one, none for others, and nobody outside is asked', async (t) => {
    const network = { allowedDomains: ['allowed.example.com', '*.wild.example.com'] };
    const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
    await outside.events();
    const [NXDOMAIN, REFUSED, MINE] = ['3', '5', /^0 198\.1[89]\.\d+\.\d+$/];
    const secret = (/** @type {number} */ n) => `secret-${n}.example.net`;
    /** @type {Array<[any, string | RegExp]>} */
    const rows = [
      [['udp', '192.0.2.53', 53, query('allowed.example.com')], MINE],
      [['tcp', '192.0.2.53', 53, query('allowed.example.com')], MINE],
      [['udp', '192.0.2.53', 53, query('ALLOWED.example.com')], MINE],
      [['udp', '198.51.100.99', 53, query('a.b.wild.example.com')], MINE],
      [['udp', '2001:db8::53', 53, query('allowed.example.com')], MINE],
      [['tcp', '2001:db8::99', 53, query('allowed.example.com')], MINE],
      [['udp', '192.0.2.53', 53, query('allowed.example.com', 28)], '0'],
      [['udp', '192.0.2.53', 53, query('allowed.example.com', 65)], '0'],
      [['udp', '192.0.2.53', 53, query('allowed.example.com', 16)], REFUSED],
      [['udp', '192.0.2.53', 53, query(secret(1))], NXDOMAIN],
      [['tcp', '192.0.2.53', 53, query(secret(2))], NXDOMAIN],
      [['udp', '8.8.8.8', 53, query(secret(3))], NXDOMAIN],
      [['udp', '2001:db8::53', 53, query(secret(4))], NXDOMAIN],
      [['tcp', '198.51.100.1', 53, query(secret(5))], NXDOMAIN],
      [['udp', '192.0.2.53', 53, query(secret(6), 28)], NXDOMAIN],
      [['udp', '192.0.2.53', 53, query(secret(7), 16)], /^[35]$/],
      [['udp', '192.0.2.53', 53, query('wild.example.com')], NXDOMAIN],
      [['udp', '192.0.2.53', 53, query('1.2.0.192.in-addr.arpa', 12)], /^[35]$/],
    ];
    await ask(withoutSandbox('/'), [rows[9][0], rows[10][0]]);
    const seen = (await outside.events()).filter(({ kind }) => kind === 'lookup').map(({ name, transport }) => `${name} ${transport}`);
    t.same(seen, [`${secret(1)} udp`, `${secret(2)} tcp`], 'without a sandbox they are seen');
    const { answers, stderr } = await ask(
      machine,
      rows.map(([question]) => question),
    );
    rows.forEach(([[transport, resolver], expected], i) => t.match(answers[i], expected, `${i}: ${transport} ${resolver}`));
    t.equal(answers[0], answers[1], 'the address stays');
    const block = blockOf(stderr).join('\n');
    for (const n of [1, 2, 3, 4, 5, 6]) t.match(block, new RegExp(`deny network-outbound ${secret(n)}\\b.*not in network\\.allowedDomains`));
    const tools = ['getent ahosts', 'getent hosts', 'dig +short', 'dig +tcp +short', 'dig +short @198.51.100.7', 'host', 'nslookup'];
    for (const tool of tools) {
      const { stdout } = await bash(machine, `timeout 10 ${tool} "$(echo data | base64 | tr -d =).example.net"`);
      t.notMatch(stdout, /192\.0\.2\.20|2001:db8::20/, tool);
      const { stdout: found } = await bash(machine, `timeout 10 ${tool} allowed.example.com`);
      t.match(found, /198\.1[89]\./, `${tool} finds what is allowed`);
    }
    t.same(await outside.events(), [], 'nothing leaves the host');
  });

  t.test('a resolver on the loopback is served, whether the host had it at the start or has it now', async (t) => {
    const file = path.join(outside.folder, 'resolv.conf');
    const before = fs.readFileSync(file);
    t.teardown(() => fs.writeFileSync(file, before));
    fs.writeFileSync(file, 'nameserver 127.0.0.53\n');
    const network = { allowedDomains: ['allowed.example.com'] };
    const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
    const script = 'getent ahostsv4 allowed.example.com; dig +tcp +short allowed.example.com';
    t.match(await bash(machine, script), { stdout: /^198\.18\.[^]*\n198\.18\.\S+\n$/ });
    fs.writeFileSync(file, 'nameserver 127.0.2.2\nnameserver ::1\n');
    await sleep(1100); // what was read is fresh for a second
    t.match(await bash(machine, `${script}; dig @::1 +short allowed.example.com`), { stdout: /^198\.18\.[^]*(\n198\.18\.\S+){2}\n$/ });
    t.match(await bash(machine, 'getent hosts denied.example.net'), { stdout: '', exitCode: 2 });
  });

  t.test('datagrams, QUIC and ICMP are refused at once, every time', async (t) => {
    const network = { allowedDomains: ['*'], allowedIPs: ['0.0.0.0/0', '::/0'] };
    const machine = (await startSandbox(t, { network })).machine(makePlace(t).workspace);
    await outside.events();
    const to = [['192.0.2.10', 443], ['192.0.2.10', 123], ['2001:db8::10', 443], ['198.18.0.1', 443], ['255.255.255.255', 68], ['224.0.0.251', 5353]];
    const questions = [...to, ...to, ...to].map(([host, port]) => ['udp', host, port, 'datagram']);
    await bash(withoutSandbox('/'), 'echo > /dev/udp/192.0.2.10/443');
    t.match(await outside.events(), [{ kind: 'packet', protocol: 'udp', address: '192.0.2.10', port: 443 }], 'without a sandbox one is seen');
    const { answers, stderr } = await ask(machine, questions);
    for (const [i, answer] of answers.entries()) t.match(answer, /^(ConnectionRefusedError|PermissionError|OSError) at once$/, `${questions[i]}`);
    t.match(blockOf(stderr).join('\n'), /deny network-outbound 192\.0\.2\.10:443 \(UDP is not forwarded\)/);
    t.match(blockOf(stderr).join('\n'), /deny network-outbound \[?2001:db8::10\]?:443 \(UDP is not forwarded\)/);
    const icmp = await bash(
      machine,
      `/usr/bin/python3 -c "
import socket
for family, protocol in (socket.AF_INET, socket.IPPROTO_ICMP), (socket.AF_INET6, socket.IPPROTO_ICMPV6):
    for kind in socket.SOCK_DGRAM, socket.SOCK_RAW:
        try:
            s = socket.socket(family, kind, protocol)
            s.sendto(bytes([8, 0, 247, 255, 0, 0, 0, 0]), ('192.0.2.10' if family == socket.AF_INET else '2001:db8::10', 0))
            print('sent')
        except OSError as error: print('refused')"`,
    );
    t.equal(icmp.stdout, 'refused\n'.repeat(4));
    t.same(await outside.events(), []);
  });
});
