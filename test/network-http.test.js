'use strict';
// The proxy that commands are told of takes nothing but plain requests: what could be read in two ways it refuses, and
// behind a request that is allowed nothing else gets through.

const t = require('tap');
const { bash, makePlace, startSandbox } = require('./helpers/attack');
const { onTestHost } = require('./helpers/outside');
const { absolute, connect, sendRaw, socks } = require('./helpers/outside-raw');

const HOST = 'allowed.example.com';
const RULES = { network: { allowedDomains: [HOST] } };
/** Where a recorder listens; where one that switches protocols uninvited does. */
const PORT = 8000;
const SWITCHING = 8001;

/** @param {string[]} lines @param {string} [body] */
const request = (lines, body = '') => `${lines.join('\r\n')}\r\n\r\n${body}`;
const GET = `GET http://${HOST}:${PORT}/ HTTP/1.1`;
const POST = `POST http://${HOST}:${PORT}/ HTTP/1.1`;
const OWN = `Host: ${HOST}:${PORT}`;
const INNER = 'GET http://denied.example.net/smuggled HTTP/1.1\r\nHost: denied.example.net\r\n\r\n';

/** Refused before anything is dialed. */
const REFUSED_HEADS = {
  'another Host': request([GET, 'Host: denied.example.net']),
  'another port in Host': request([GET, `Host: ${HOST}:80`]),
  'the target of another': request([`GET http://denied.example.net:${PORT}/ HTTP/1.1`, OWN]),
  'two Hosts': request([GET, OWN, 'Host: denied.example.net']),
  'the same Host twice': request([GET, OWN, OWN]),
  'no Host': request([GET]),
  'a list of hosts': request([GET, `${OWN}, denied.example.net`]),
  'user information': request([`GET http://user:password@${HOST}:${PORT}/ HTTP/1.1`, OWN]),
  'a host as user information': request([`GET http://${HOST}:${PORT}@denied.example.net/ HTTP/1.1`, OWN]),
  'origin form': request(['GET / HTTP/1.1', OWN]),
  'asterisk form': request(['OPTIONS * HTTP/1.1', OWN]),
  'a scheme of TLS': request([`GET https://${HOST}:${PORT}/ HTTP/1.1`, OWN]),
  'another scheme': request([`GET ftp://${HOST}:${PORT}/ HTTP/1.1`, OWN]),
  'no scheme': request([`GET //${HOST}:${PORT}/ HTTP/1.1`, OWN]),
  'a backslash': request([`GET http://${HOST}:${PORT}\\@denied.example.net/ HTTP/1.1`, OWN]),
  'a space in the target': request([`GET http://${HOST}:${PORT}/ x HTTP/1.1`, OWN]),
  'a tab for a space': request([GET.replaceAll(' ', '\t'), OWN]),
  'two spaces': request([GET.replace(' ', '  '), OWN]),
  'version 0.9': request([`GET http://${HOST}:${PORT}/`, OWN]),
  'version 1.2': request([GET.replace('1.1', '1.2'), OWN]),
  'version 2.0': request([GET.replace('1.1', '2.0'), OWN]),
  'the version in lower case': request([GET.replace('HTTP/', 'http/'), OWN]),
  'port 0': request([`GET http://${HOST}:0/ HTTP/1.1`, `Host: ${HOST}:0`]),
  'port 65536': request([`GET http://${HOST}:65536/ HTTP/1.1`, `Host: ${HOST}:65536`]),
  'a port with a sign': request([`GET http://${HOST}:+${PORT}/ HTTP/1.1`, `Host: ${HOST}:+${PORT}`]),
  'CONNECT without a port': request([`CONNECT ${HOST} HTTP/1.1`, `Host: ${HOST}`]),
  'CONNECT with an empty port': request([`CONNECT ${HOST}: HTTP/1.1`, `Host: ${HOST}:`]),
  'CONNECT and another Host': request([`CONNECT ${HOST}:${PORT} HTTP/1.1`, 'Host: denied.example.net:443']),
  'CONNECT to a URL': request([`CONNECT http://${HOST}:${PORT}/ HTTP/1.1`, OWN]),
  'CONNECT with user information': request([`CONNECT x@${HOST}:${PORT} HTTP/1.1`, OWN]),
  'a length and chunks': request([POST, OWN, 'Content-Length: 5', 'Transfer-Encoding: chunked'], `0\r\n\r\n${INNER}`),
  'chunks and a length': request([POST, OWN, 'Transfer-Encoding: chunked', 'Content-Length: 5'], `0\r\n\r\n${INNER}`),
  'two lengths': request([POST, OWN, 'Content-Length: 0', 'Content-Length: 5'], INNER),
  'the same length twice': request([POST, OWN, 'Content-Length: 5', 'Content-Length: 5'], 'hello'),
  'a list of lengths': request([POST, OWN, 'Content-Length: 5, 5'], 'hello'),
  'a length with a sign': request([POST, OWN, 'Content-Length: +5'], 'hello'),
  'a negative length': request([POST, OWN, 'Content-Length: -5'], 'hello'),
  'a hexadecimal length': request([POST, OWN, 'Content-Length: 0x5'], 'hello'),
  'an empty length': request([POST, OWN, 'Content-Length:'], 'hello'),
  'a length beyond 64 bits': request([POST, OWN, 'Content-Length: 18446744073709551621'], 'hello'),
  'chunks with 1.0': request([POST.replace('1.1', '1.0'), OWN, 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
  'an unknown coding': request([POST, OWN, 'Transfer-Encoding: xchunked'], '0\r\n\r\n'),
  'chunks, and not last': request([POST, OWN, 'Transfer-Encoding: chunked, identity'], '0\r\n\r\n'),
  'chunks twice': request([POST, OWN, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
  'a space before the colon': request([POST, OWN, 'Transfer-Encoding : chunked'], '0\r\n\r\n'),
  'a folded line': request([POST, OWN, 'X: y', ' Transfer-Encoding: chunked'], '0\r\n\r\n'),
  'a first line that is folded': request([GET, ` X: y`, OWN]),
  'bare line feeds': `${GET}\n${OWN}\n\n`,
  'one bare line feed': `${GET}\r\nX: y\nTransfer-Encoding: chunked\r\n${OWN}\r\n\r\n`,
  'a bare carriage return': `${GET}\r\nX: y\rTransfer-Encoding: chunked\r\n${OWN}\r\n\r\n`,
  'a NUL in a value': request([GET, OWN, 'X: a\0b']),
  'a NUL in a name': request([GET, OWN, 'X\0: b']),
  'a line without a colon': request([GET, OWN, 'Nothing']),
  'a line without a name': request([GET, OWN, ': nothing']),
  'a space in a name': request([GET, OWN, 'X Y: z']),
};

/** Chunks that no reader may take for what they are not; the head has gone out by then. */
const BAD_CHUNKS = {
  'a hexadecimal prefix': '0x5\r\nhello\r\n0\r\n\r\n',
  'a sign': '+5\r\nhello\r\n0\r\n\r\n',
  'a space before': ' 5\r\nhello\r\n0\r\n\r\n',
  'no size': '\r\nhello\r\n0\r\n\r\n',
  'a bare line feed after the size': '5\nhello\r\n0\r\n\r\n',
  'more than the size says': '5\r\nhello!\r\n0\r\n\r\n',
  'no end of the data': '5\r\nhello0\r\n\r\n',
  'a size beyond 64 bits': '10000000000000005\r\nhello\r\n0\r\n\r\n',
  'a bare line feed in an extension': '5;x\ny\r\nhello\r\n0\r\n\r\n',
};

const CANNOT_BE_SOCKS = {
  'SOCKS4': '\x04\x01\x1f\x40\xc0\x00\x02\x0auser\0',
  'SOCKS4a': `\x04\x01\x1f\x40\x00\x00\x00\x01user\0${HOST}\0`,
  'TLS at once': '\x16\x03\x01\x00\x05hello',
  'a byte of nothing': '\x00\x01\x02\x03',
};

onTestHost(t, __filename, async (outside) => {
  await outside.start('web');
  await outside.start('recorder', { port: PORT });
  await outside.start('recorder', { port: SWITCHING, answer: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n' });

  /** Sends a table, all at once. @param {any} t @param {Record<string, string | any[]>} table */
  const sendTable = async (t, table, rules = RULES) => {
    const machine = (await startSandbox(t, rules)).machine(makePlace(t).workspace);
    await outside.events();
    const attempts = Object.values(table).map((send) => ({ send: Array.isArray(send) ? send : [send] }));
    const { replies, stderr } = await sendRaw(machine, attempts);
    const results = Object.keys(table).map((title, i) => ({ title, ...replies[i] }));
    return { results, stderr, events: await outside.events() };
  };
  /** What a recorder wrote down, connection by connection. @param {any[]} events */
  const recorded = (events) => events.filter(({ kind }) => kind === 'bytes').map(({ text }) => text);

  t.test('a request that could be read in two ways is refused, and nothing is dialed', async (t) => {
    const { results, events } = await sendTable(t, REFUSED_HEADS);
    for (const { title, reply, ended } of results) {
      t.match(reply, /^HTTP\/1\.1 (400|403|501|505) /, title);
      t.match(reply, /\r\nConnection: close\r\n/i, title);
      t.ok(ended, `${title}: the connection is closed`);
      t.equal(reply.match(/HTTP\/1\.[01] \d{3} /g).length, 1, `${title}: one reply`);
    }
    t.same(events, []);
  });

  t.test('a plain request goes through without what belongs to the hop', async (t) => {
    const hop = ['Proxy-Authorization: Basic c2VjcmV0', 'Proxy-Connection: keep-alive', 'Connection: X-Private', 'X-Private: 1'];
    const more = ['Keep-Alive: 1', 'TE: trailers', 'Upgrade: h2c', 'X-Kept: yes'];
    const { results, events } = await sendTable(t, {
      headers: request([GET, OWN, ...hop, ...more]),
      'no header at all': `CONNECT ${HOST}:${PORT} HTTP/1.0\r\n\r\n`,
      length: request([POST, OWN, 'Content-Length: 5'], 'hello'),
      chunks: request([POST, OWN, 'Transfer-Encoding: chunked'], '5\r\nhello\r\n0\r\n\r\n'),
      'an empty path': request([GET.replace('/ HTTP', ' HTTP'), OWN]),
      'HTTP/1.0': request([GET.replace('1.1', '1.0'), OWN]),
    });
    for (const { title, reply } of results) t.match(reply, /^HTTP\/1\.[01] 200 /, title);
    const seen = recorded(events);
    const first = seen.find((text) => text.includes('X-Kept'));
    t.match(first, /^GET \/ HTTP\/1\.1\r\n/);
    t.match(first, new RegExp(`\r\nHost: ${HOST}:${PORT}\r\n`));
    t.match(first, /\r\nConnection: close\r\n/i);
    t.notMatch(first, /Proxy-|X-Private|Keep-Alive|Upgrade|\r\nTE:/i);
    t.ok(seen.some((text) => text.endsWith('\r\n\r\nhello')), 'a body by length');
    t.ok(seen.some((text) => text.endsWith('5\r\nhello\r\n0\r\n\r\n')), 'a body in chunks');
  });

  t.test('behind an allowed request nothing else gets through', async (t) => {
    const plain = absolute(HOST, PORT);
    const { events } = await sendTable(t, {
      'at once': plain + INNER,
      'after the reply': [plain, null, INNER],
      'behind a length': request([POST, OWN, 'Content-Length: 5'], `hello${INNER}`),
      'behind chunks': request([POST, OWN, 'Transfer-Encoding: chunked'], `5\r\nhello\r\n0\r\n\r\n${INNER}`),
      'behind a body that nobody announced': request([GET, OWN, 'Connection: keep-alive'], INNER),
      'after a switch of protocols': [absolute(HOST, SWITCHING), null, INNER],
      'after a switch that was asked for': [
        request([GET.replace(`:${PORT}`, `:${SWITCHING}`), `Host: ${HOST}:${SWITCHING}`, 'Upgrade: x', 'Connection: Upgrade']),
        null,
        INNER,
      ],
    });
    for (const text of recorded(events)) t.notMatch(text, /smuggled/);
    t.notOk(events.some(({ kind, name, host }) => kind === 'http' || `${name} ${host}`.includes('denied')));
  });

  t.test('chunks that could be read in two ways end the connection', async (t) => {
    const bodies = Object.entries(BAD_CHUNKS).map(([title, chunks]) => [
      title,
      request([POST, OWN, 'Transfer-Encoding: chunked'], chunks + INNER),
    ]);
    const { results, events } = await sendTable(t, Object.fromEntries(bodies));
    for (const { title, ended, error } of results) t.ok(ended || error, title);
    for (const text of recorded(events)) t.notMatch(text, /smuggled|hello!|0x5|\+5/);
    t.notOk(events.some(({ kind, name, host }) => kind === 'http' || `${name} ${host}`.includes('denied')));
  });

  t.test('a head has a limit, by size and by number of lines', async (t) => {
    const { results, events } = await sendTable(t, {
      'a long line': request([GET, OWN, `X: ${'y'.repeat(1 << 20)}`]),
      'many lines': request([GET, OWN, ...Array.from({ length: 100_000 }, (_, i) => `X-${i}: y`)]),
      'a long target': request([GET.replace('/ HTTP', `/${'x'.repeat(1 << 20)} HTTP`), OWN]),
      'no end': `GET http://${'x'.repeat(1 << 20)}`,
    });
    for (const { title, reply, ended, error } of results) {
      t.ok(ended || error, title);
      t.notMatch(reply, /^HTTP\/1\.1 200/, title);
    }
    t.same(events, []);
  });

  t.test('a head may come byte by byte', async (t) => {
    const slowly = (/** @type {string} */ text) => [...text].flatMap((byte) => [byte, 1]);
    const { results } = await sendTable(t, {
      http: slowly(absolute(HOST, PORT)),
      CONNECT: slowly(connect(HOST, PORT)),
      SOCKS5: socks(HOST, PORT).flatMap((part) => (part === null ? [null] : slowly(part))),
    });
    for (const { title, reply } of results) t.match(reply, /^HTTP\/1\.[01] 200 |\x05\x00\x00/, title);
  });

  t.test('SOCKS is version 5, without authentication, and connects only', async (t) => {
    const command = (/** @type {string} */ byte) => ['\x05\x01\x00', null, `\x05${byte}\x00\x01\xc0\x00\x02\x0a\x1f\x40`];
    const { results, events } = await sendTable(t, {
      BIND: command('\x02'),
      'UDP ASSOCIATE': command('\x03'),
      'a password alone': ['\x05\x01\x02', null, '\x01\x01x\x01y'],
      ...CANNOT_BE_SOCKS,
    });
    const replies = Object.fromEntries(results.map(({ title, reply }) => [title, reply]));
    t.equal(replies.BIND.slice(0, 4), '\x05\x00\x05\x07');
    t.equal(replies['UDP ASSOCIATE'].slice(0, 4), '\x05\x00\x05\x07');
    t.equal(replies['a password alone'].slice(0, 2), '\x05\xff');
    for (const title of Object.keys(CANNOT_BE_SOCKS)) t.notMatch(replies[title], /^\0\x5a|200/, title);
    t.same(events, []);
  });

  t.test('the proxy leads nowhere by way of itself', async (t) => {
    const wide = { network: { allowedDomains: ['*'], allowedIPs: ['0.0.0.0/0', '::/0'] } };
    const inner = absolute('allowed.example.com');
    const through = (/** @type {string} */ host) => [connect(host, 3128), null, inner];
    const own = ['100.127.255.253', '[fd6f:732d:7362::1]', '127.0.0.1', '[::1]', 'localhost'];
    const { results, events } = await sendTable(t, Object.fromEntries(own.map((host) => [host, through(host)])), wide);
    for (const { title, reply } of results) t.notMatch(reply, /200|hello from/, title);
    t.notOk(events.some(({ kind }) => kind === 'http'));
  });

  t.test('a redirect leads nowhere that a request does not', async (t) => {
    const machine = (await startSandbox(t, RULES)).machine(makePlace(t).workspace);
    const targets = ['http://denied.example.net/', 'http://169.254.169.254/latest', 'http://127.0.0.1:22/', 'http://[::1]:22/'];
    for (const target of targets) {
      const url = `http://${HOST}/redirect?${encodeURIComponent(target)}`;
      await outside.events();
      for (const way of ['', "--noproxy '*'"]) {
        const { stdout } = await bash(machine, `curl -sS -L -m 10 ${way} '${url}'`);
        t.notMatch(stdout, /hello from|SSH/, `${target} ${way}`);
      }
      const reached = (await outside.events()).filter(({ kind, host }) => kind === 'http' && host !== HOST);
      t.same(reached, [], target);
    }
  });
});
