'use strict';
// TLS is not opened, but its first words are read: the server that a client asks for by name is the one that was allowed.

const t = require('tap');
const { makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { ENCRYPTED_HELLO, clientHello, connect, extension, sendRaw, socks } = require('./helpers/outside-raw');
const { blockOf } = require('./helpers/violations');

const HOST = 'allowed.example.com';
const OTHER = 'denied.example.net';
const hello = clientHello([HOST]);

/** What a client sends first, and what is said of it; null: it goes through. @type {Array<[title: string, first: any[], why: RegExp | null]>} */
const HELLOS = [
  ['the name that was allowed', [hello], null],
  ['in upper case', [clientHello([HOST.toUpperCase()])], null],
  ['byte by byte', [...hello].flatMap((byte) => [byte, 1]), null],
  ['over records of five bytes', [clientHello([HOST], { recordSize: 5 })], null],
  ['over records of a byte, each sent alone', clientHello([HOST], { recordSize: 1 }).match(/[^]{6}/g), null],
  ['with an encrypted one inside', [clientHello([HOST], { extensions: [ENCRYPTED_HELLO] })], null],
  ['no TLS at all', ['SSH-2.0-client\r\n\r\n'], null],
  ['another name', [clientHello([OTHER])], /the TLS server name is denied\.example\.net/],
  ['another name, over records', [clientHello([OTHER], { recordSize: 3 })], /the TLS server name is denied\.example\.net/],
  [
    'another name, byte by byte',
    [...clientHello([OTHER])].flatMap((byte) => [byte, 1]),
    /the TLS server name is denied\.example\.net/,
  ],
  [
    'another name, with an encrypted one inside',
    [clientHello([OTHER], { extensions: [ENCRYPTED_HELLO] })],
    /the TLS server name is denied\.example\.net/,
  ],
  ['a name below it', [clientHello([`evil.${HOST}`])], /the TLS server name is evil\.allowed\.example\.com/],
  ['no name', [clientHello([])], /no TLS server name/],
  ['no name, over records', [clientHello([], { recordSize: 7 })], /no TLS server name/],
  ['two names', [clientHello([HOST, OTHER])], /TLS/],
  ['two extensions with names', [clientHello([HOST], { extensions: [extension(0, '\0\x05\0\0\x02no')] })], /malformed TLS ClientHello/],
  ['a name with a NUL', [clientHello([`${HOST}\0.example.net`])], /TLS/],
  ['an empty name', [clientHello([''])], /TLS/],
  ['a length beyond its end', [hello.slice(0, 5) + hello[5] + '\xff' + hello.slice(7), 50], /malformed TLS ClientHello/],
];

/** Each goes to a port of its own, by which reports can be told apart. */
const PORTS = HELLOS.map((_, i) => (i === 0 ? 443 : 9000 + i));

/** How each way gets there. @type {Record<string, (first: any[], port: number) => any>} */
const WAYS = {
  transparent: (first, port) => ({ to: [HOST, port], send: first }),
  CONNECT: (first, port) => ({ send: [connect(HOST, port), null, ...first] }),
  SOCKS5: (first, port) => ({ send: [...socks(HOST, port), null, ...first] }),
};

onTestHost(t, __filename, async (outside) => {
  for (const port of PORTS) await outside.start('recorder', { port });
  const machineFor = async (/** @type {any} */ t, /** @type {any} */ network) =>
    (await startSandbox(t, { network })).machine(makePlace(t).workspace);
  /** The bytes that reached servers, of each connection that brought any. */
  const arrived = async () => (await outside.events()).filter(({ kind, text }) => kind === 'bytes' && text !== '');

  for (const [way, attempt] of Object.entries(WAYS)) {
    t.test(`the server name is that of the connection: ${way}`, async (t) => {
      const machine = await machineFor(t, { allowedDomains: [HOST] });
      await arrived();
      const { replies, stderr } = await sendRaw(
        machine,
        HELLOS.map(([, first], i) => attempt(first, PORTS[i])),
      );
      const seen = await arrived();
      const block = blockOf(stderr);
      for (const [i, [title, first, why]] of HELLOS.entries()) {
        const lines = block.filter((line) => line.startsWith(`deny network-outbound ${HOST}:${PORTS[i]} `));
        const got = seen.filter(({ port }) => port === PORTS[i]).map(({ text }) => text);
        if (why === null) {
          t.same(got, [first.filter((part) => typeof part === 'string').join('')], `${title}: arrives as it was sent`);
          t.same(lines, [], `${title}: is not reported`);
        } else {
          t.same(got, [], `${title}: not a byte arrives`);
          t.ok(replies[i].ended || replies[i].error, `${title}: is closed`);
          t.match(lines, [why], `${title}: is reported`);
        }
      }
    });
  }

  t.test('on a connection that was allowed by its address the name must be allowed by itself', async (t) => {
    const machine = await machineFor(t, { allowedDomains: [HOST], allowedIPs: ['192.0.2.10'] });
    const to = (/** @type {string[]} */ names) => ({ to: ['192.0.2.10', 443], send: [clientHello(names)] });
    await arrived();
    await sendRaw(machine, [to([HOST])]);
    t.equal((await arrived()).length, 1);
    const { stderr } = await sendRaw(machine, [to([OTHER])]);
    t.match(blockOf(stderr).join('\n'), /deny network-outbound 192\.0\.2\.10:443 \(the TLS server name is denied\.example\.net/);
    t.same(await arrived(), []);
  });

  t.test('a hello that never ends is given up', async (t) => {
    const machine = await machineFor(t, { allowedDomains: [HOST] });
    await arrived();
    const endless = '\x16\x03\x01\x40\x00\x01\xff\xff\xff' + 'x'.repeat(16380);
    const { replies } = await sendRaw(machine, [{ to: [HOST, 443], send: [endless, endless, endless, endless] }]);
    t.ok(replies[0].ended || replies[0].error);
    t.same(await arrived(), []);
  });
});
