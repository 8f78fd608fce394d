'use strict';
// Our reader of request heads against Node's: whatever we accept, Node reads the same, as it came and as it goes upstream.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { Duplex } = require('node:stream');

const root = path.join(__dirname, '..');
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'http-differential-'));
t.teardown(() => fs.rmSync(scratch, { recursive: true }));

/* --- the two readers --- */

const reader = path.join(scratch, 'reader');
const flags = execFileSync(process.execPath, ['scripts/cflags.js', 'language', 'warnings'], { cwd: root, encoding: 'utf8' });
const sources = ['test/helpers/http_head_reader.c', 'csrc/policy/ip_address.c'].concat(
  fs
    .readdirSync(path.join(root, 'csrc', 'protocol'))
    .filter((name) => /^http_.*\.c$/.test(name))
    .map((name) => `csrc/protocol/${name}`),
);
const sanitize = ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined', '-g', '-O1'];
execFileSync('cc', [...flags.trim().split(' '), ...sanitize, '-o', reader, ...sources], { cwd: root });

const text = (hex) => Buffer.from(hex, 'hex').toString('latin1');

/** How ours reads them. @param {string[]} requests as Latin-1 */
function readByOurs(requests) {
  const input = requests.flatMap((request) => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(request.length);
    return [size, Buffer.from(request, 'latin1')];
  });
  const output = execFileSync(reader, { input: Buffer.concat(input), encoding: 'utf8', maxBuffer: 1 << 28 });
  const lines = output.trim().split('\n').map((line) => JSON.parse(line));
  return lines.map((line) => {
    if (line.state !== 'done') return { state: line.state, why: text(line.why) };
    const field = (_, i) => [text(line[`name${i}`]), text(line[`value${i}`])];
    const rawHeaders = Array.from({ length: line.fields }, field).flat();
    const texts = Object.fromEntries(['method', 'host', 'path', 'rewritten'].map((key) => [key, text(line[key])]));
    return { ...line, ...texts, rawHeaders };
  });
}

/** A connection over which these bytes come, and then nothing. */
class Connection extends Duplex {
  /** @param {string} bytes */
  constructor(bytes) {
    super();
    this.push(Buffer.from(bytes, 'latin1'));
    setImmediate(() => this.push(null));
  }
  _read() {}
  _write(_chunk, _encoding, done) {
    done();
  }
  setTimeout() {}
  setKeepAlive() {}
  setNoDelay() {}
}

/** @type {any} the connections are no sockets */
const server = http.createServer({ insecureHTTPParser: false, maxHeaderSize: 1 << 16, keepAliveTimeout: 0 });
server.on('connect', (request, socket, head) => {
  if (socket.answerRequest) socket.answerRequest(); // it is the second one of its connection
  else socket.answer({ ...facts(request), body: head.toString('latin1'), whole: true });
});
for (const event of ['request', 'checkContinue', 'checkExpectation']) {
  server.on(event, (request) => {
    const { socket } = request;
    const parts = [];
    const answer = () => {
      const body = Buffer.concat(parts).toString('latin1');
      socket.answer({ ...facts(request), body, whole: request.complete });
    };
    socket.answerRequest ??= answer;
    request.on('data', (data) => parts.push(data));
    request.on('end', answer).on('close', answer).on('error', () => {});
  });
}
// What is wrong with a body, or behind it, comes after the request, and before what was read of the body.
server.on('clientError', (error, socket) => {
  if (socket.answerRequest) setImmediate(() => socket.destroy());
  else socket.answer({ refused: error.code });
});

const facts = ({ method, url, httpVersion, rawHeaders }) => ({ method, url, httpVersion, rawHeaders });

/** How Node reads the first request of a connection. @param {string} bytes @returns {Promise<any>} */
function readByNode(bytes) {
  return new Promise((resolve) => {
    /** @type {any} */
    const connection = new Connection(bytes);
    connection.answer = (answer) => {
      resolve(answer);
      connection.destroy();
    };
    connection.on('error', () => {});
    connection.on('close', () => (connection.answerRequest ?? resolve)({ refused: 'closed' }));
    server.emit('connection', connection);
  });
}

/* --- what is compared --- */

/** Why Node may refuse what we accept: methods that it does not know, bytes above ASCII, which curl sends as they are. */
const NODE_REFUSES = ['HPE_INVALID_METHOD', 'HPE_INVALID_URL'];

/** Why we may refuse what Node accepts: it is no proxy, or leaves these to who uses it. */
const WE_REFUSE = [
  /^Host is not the target's host and port$/,
  /^(no|two) Host fields?$/,
  /^CONNECT with a body$/,
  /^CONNECT without a port$/,
  /^user information in the target$/,
  /^a fragment in the target$/,
  /^no (valid port|host) in the target$/,
  /^a byte in the host that no host name has$/,
  /^no IPv6 address in the brackets$|^a bracket that nothing closes$/,
  /^the target is no absolute http:\/\/ URL$|^this is a proxy|^https:\/\/ goes through/,
  /^a Transfer-Encoding other than chunked$|^two Transfer-Encoding fields$/,
  // It takes several spaces, and versions of the past, whose requests are one line.
  /^a line feed without a carriage return$/,
  /^the request line is not "method target version"$/,
  /^a version that is neither HTTP\/1.0 nor HTTP\/1.1$/,
  /^Transfer-Encoding in HTTP\/1.0$/,
];

/** The body's own bytes, out of chunks that are known to be right. @param {string} chunks */
function joinChunks(chunks) {
  let body = '';
  for (let at = 0; at < chunks.length; ) {
    const line = chunks.indexOf('\r\n', at);
    if (line < 0) break;
    const size = parseInt(chunks.slice(at, line), 16);
    body += chunks.slice(line + 2, Math.min(line + 2 + size, chunks.length));
    at = line + 2 + size + 2;
  }
  return body;
}

const bodyOf = (ours, rest) => {
  const bytes = rest.slice(0, ours.body);
  return ours.framing === 'chunked' ? joinChunks(bytes) : bytes;
};

const DONE = 1;
const INVALID = 2;

/** Whether we stopped at a chunk's extension or at a trailer: both are right, and we take neither. */
const isExtended = (taken, rest) => rest.startsWith(';', taken) || /(^|\r\n)0+\r\n$/.test(rest.slice(0, taken));

/** What differs in the body, or undefined. */
function differentBody(ours, node, rest) {
  if (ours.method === 'CONNECT') return undefined;
  if (ours.bodyState === DONE && !(node.whole && node.body === bodyOf(ours, rest))) return `body ${JSON.stringify(node)}`;
  if (ours.bodyState === INVALID && isExtended(ours.body, rest)) return undefined;
  if (ours.bodyState !== DONE && node.whole) return `a whole body ${JSON.stringify(node)}`;
  return undefined;
}

/** What differs in the target, or undefined: Node gives it as it came, and URL is a reader of its own. */
function differentTarget(ours, node) {
  const bracketed = ours.host.includes(':') ? `[${ours.host}]` : ours.host;
  if (ours.method === 'CONNECT') return node.url === `${bracketed}:${ours.port}` ? undefined : `target ${node.url}`;
  const authority = node.url.slice(0, node.url.length - ours.path.length);
  if (!node.url.endsWith(ours.path) || !/^http:\/\/[^/?]+$/i.test(authority)) return `path ${node.url}`;
  let theirs, mine;
  try {
    theirs = new URL(node.url);
    mine = new URL(`http://${bracketed}:${ours.port}/`);
  } catch {
    return undefined; // No URL at all: a name that no rule matches and nobody looks up.
  }
  return theirs.host === mine.host ? undefined : `host ${theirs.host}`;
}

/** What differs between two readings of what we accepted, or undefined. */
function difference(request, ours, node) {
  if (node.refused) return NODE_REFUSES.includes(node.refused) ? undefined : node.refused;
  if (node.method !== ours.method || node.httpVersion !== `1.${ours.minor}`) return 'request line';
  if (JSON.stringify(node.rawHeaders) !== JSON.stringify(ours.rawHeaders)) return `fields ${node.rawHeaders}`;
  return differentTarget(ours, node) ?? differentBody(ours, node, request.slice(ours.size));
}

/** What Node reads out of what goes upstream: the same request, our Host, one connection's end, the same body. */
function differenceUpstream(request, ours, node) {
  if (node.refused) return NODE_REFUSES.includes(node.refused) ? undefined : `upstream ${node.refused}`;
  const asterisk = ours.path === '' && ours.method === 'OPTIONS';
  const target = asterisk ? '*' : ours.path.startsWith('/') ? ours.path : `/${ours.path}`;
  if (node.method !== ours.method || node.url !== target) return `upstream ${node.method} ${node.url}`;
  const values = (name) => node.rawHeaders.filter((_, i, all) => i % 2 === 1 && all[i - 1].toLowerCase() === name);
  if (values('host').join() !== 'upstream.example.com') return `upstream Host ${values('host')}`;
  if (values('connection').join() !== 'close') return `upstream Connection ${values('connection')}`;
  if (values('proxy-authorization').length > 0 || values('te').length > 0) return 'a hop-by-hop field upstream';
  return differentBody(ours, node, request.slice(ours.size));
}

/** @param {string[]} requests @returns {Promise<{ differences: string[], accepted: number }>} */
async function compare(requests) {
  const differences = [];
  let accepted = 0;
  for (const [i, ours] of readByOurs(requests).entries()) {
    const request = requests[i];
    const node = await readByNode(request);
    let found;
    if (ours.state === 'done') {
      accepted++;
      // A body that we refuse never goes upstream whole: there is nothing to compare.
      const upstream = ours.rewritten + request.slice(ours.size, ours.size + ours.body);
      found = difference(request, ours, node);
      if (ours.method !== 'CONNECT' && ours.bodyState !== INVALID)
        found ??= differenceUpstream(request, ours, await readByNode(upstream));
    } else if (ours.state === 'invalid' && !node.refused && node.whole) {
      const skips = /^[\r\n]/.test(request); // line ends before a request, as Node does
      if (!skips && !WE_REFUSE.some((reason) => reason.test(ours.why))) found = `refused: ${ours.why}`;
    } else if (ours.state === 'more' && !node.refused && node.whole) {
      found = 'whole for Node';
    }
    if (found) differences.push(`${JSON.stringify(request)}: ${found}`);
  }
  return { differences, accepted };
}

/* --- the corpus --- */

const HOST = 'Host: example.com\r\n';
const get = (...lines) => ['GET http://example.com/a HTTP/1.1', ...lines, '', ''].join('\r\n');
const post = (fields, body) => `POST http://example.com/a?b HTTP/1.1\r\n${HOST}${fields}\r\n${body}`;
const target = (url, method = 'GET') => `${method} ${url} HTTP/1.0\r\n\r\n`;
const connect = (...lines) => ['CONNECT example.com:443 HTTP/1.1', ...lines, '', ''].join('\r\n');

const ACCEPTED = [
  get('Host: example.com'),
  get('host:example.com'),
  get('HOST: \t EXAMPLE.COM:80 \t'),
  get('Host: example.com', 'Accept: */*', 'X: a\tb', 'Empty:', 'U: \xfc\xff'),
  get('Host: example.com', 'Connection: keep-alive, x-mine', 'X-Mine: 1', 'TE: trailers', 'Keep-Alive: 5'),
  get('Host: example.com', 'Proxy-Authorization: Basic eA==', 'Proxy-Connection: keep-alive'),
  get('Host: example.com', 'Connection: Upgrade', 'Upgrade: websocket'),
  get('Host: example.com', "!#$%&'*+-.^_`|~09AZaz: token"),
  get('Connection: close', 'Host: example.com', 'Cookie: a=b', 'Cookie: c=d'),
  target('http://example.com'),
  target('http://example.com?q'),
  target('HTTP://Example.COM:8080/a?b=c'),
  target('http://example.com//a/../b'),
  target('http://example.com/http://other.example.com/@:'),
  target('http://[2001:db8::7]:81/x'),
  target('http://[::ffff:192.0.2.7]/'),
  target('http://2130706433/'),
  target('http://0x7f.1:81/'),
  target('http://a_b.example.com./'),
  target('http://example.com/', 'DELETE'),
  target('http://example.com/', 'PROPFIND'),
  target('http://example.com/', 'HEAD'),
  target('http://example.com', 'OPTIONS'),
  target('http://example.com/', 'UNHEARD-OF'),
  'GET http://example.com:81/ HTTP/1.1\r\nHost: example.com:81\r\n\r\n',
  'GET http://[2001:db8::7]/ HTTP/1.1\r\nHost: [2001:DB8:0::7]\r\n\r\n',
  post('Content-Length: 5\r\n', 'hello'),
  post('Content-Length: 0\r\n', ''),
  post('Content-Length: 05\r\n', 'hello, and more'),
  post('Content-Length: 10\r\n', 'hello'),
  post('Expect: 100-continue\r\nContent-Length: 5\r\n', 'hello'),
  post('Connection: content-length\r\nContent-Length: 5\r\n', 'hello'),
  post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'),
  post('Transfer-Encoding: CHUNKED\r\n', 'A\r\n0123456789\r\n00a\r\n0123456789\r\n0\r\n\r\nGET / HTTP/1.1\r\n'),
  post('Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n', '5\r\nhello\r\n0\r\n\r\n'),
  post('Transfer-Encoding: chunked\r\n', '5\r\nhel'),
  post('Transfer-Encoding: chunked\r\n', '5\nhello\n0\n\n'),
  post('Transfer-Encoding: chunked\r\n', '5;a=b\r\nhello\r\n0\r\n\r\n'),
  post('Transfer-Encoding: chunked\r\n', '0\r\nX: a\r\n\r\n'),
  post('Transfer-Encoding: chunked\r\n', '-5\r\nhello\r\n0\r\n\r\n'),
  post('', 'hello'),
  connect('Host: example.com:443'),
  connect('Host: example.com', 'User-Agent: a', 'Proxy-Connection: Keep-Alive'),
  target('example.com:443', 'CONNECT'),
  target('[2001:db8::7]:443', 'CONNECT'),
  target('192.0.2.7:22', 'CONNECT'),
];

const REFUSED = [
  'GET / HTTP/1.1\nHost: example.com\n\n',
  get('Host: example.com\nX: a'),
  get('X: a\rHost: example.com'),
  get('Host: example.com', 'X:\rContent-Length: 5'),
  get('Host: example.com', 'X: a', ' b'),
  get('Host: example.com', 'X: a', '\tContent-Length: 5'),
  get(' Host: example.com'),
  get('Host : example.com'),
  get('Host: example.com', 'Content-Length : 5'),
  get('Host: example.com', 'Content-Length\t: 5'),
  get('Host: example.com', ': a'),
  get('Host: example.com', 'nothing'),
  get('Host: example.com', 'a b: c'),
  get('Host: example.com', '\xfc: c'),
  get('Host: example.com', 'X: a\0b'),
  get('Host: example.com', 'X\0: a'),
  get('Host: example.com', 'X: a\x7f'),
  get('Host: example.com', 'X: a\x0b'),
  get('X: no host'),
  get('Host:'),
  get('Host: example.com', 'Host: example.com'),
  get('Host: other.example.com'),
  get('Host: example.com, other.example.com'),
  'GET  http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n',
  'GET http://example.com/ HTTP/1.1 \r\nHost: example.com\r\n\r\n',
  'GET http://example.com/ x HTTP/1.1\r\nHost: example.com\r\n\r\n',
  'GET\thttp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n',
  'GET http://example.com/ HTTP/1.2\r\nHost: example.com\r\n\r\n',
  'GET http://example.com/ HTTP/0.9\r\nHost: example.com\r\n\r\n',
  'GET http://example.com/ http/1.1\r\nHost: example.com\r\n\r\n',
  'GET http://example.com/\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  target('/'),
  target('https://example.com/'),
  target('http://user@example.com/'),
  target('http://example.com#@other.example.com/'),
  target('http://example.com\\@other.example.com/'),
  target('http://example.com%00.other.example.com/'),
  target('http://example.com:0080/'),
  target('http://[::1%25lo]/'),
  target('http:///example.com'),
  target('example.com', 'CONNECT'),
  target('http://example.com:443', 'CONNECT'),
  target('example.com:443', 'connect'),
  connect('Host: other.example.com:443'),
  connect('Host: example.com', 'Content-Length: 5'),
  connect('Host: example.com', 'Transfer-Encoding: chunked'),
  post('Content-Length: 5\r\nContent-Length: 5\r\n', 'hello'),
  post('Content-Length: 5\r\nContent-Length: 6\r\n', 'hello!'),
  post('Content-Length: 5, 5\r\n', 'hello'),
  post('Content-Length: +5\r\n', 'hello'),
  post('Content-Length: -5\r\n', 'hello'),
  post('Content-Length: 0x5\r\n', 'hello'),
  post('Content-Length: 5 5\r\n', 'hello'),
  post('Content-Length:\r\n', ''),
  post('Content-Length: 18446744073709551621\r\n', 'hello'),
  post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
  post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
  post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'),
  post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
  post('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n'),
  'POST http://example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
];

/* --- mutations --- */

/** Numbers that are the same each time. @param {number} seed */
function randomFrom(seed) {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const PIECES = [
  ...'\r|\n|\r\n|\r\n\r\n|\0| |\t|:|;|,|@|#|?|/|\\|%00|[|]|.|-|+|0|5|a|\x0b|\x7f|\x80|\xa0|\xff'.split('|'),
  ...['Content-Length: 5\r\n', 'Content-Length: 0\r\n', 'Transfer-Encoding: chunked\r\n', HOST, 'Connection: host\r\n'],
  ...[' HTTP/1.1', ' HTTP/1.0', 'http://', 'CONNECT ', 'chunked', '0\r\n\r\n', '5\r\nhello\r\n'],
];

/** @param {string} request @param {(below: number) => number} random */
function mutate(request, random) {
  const at = random(request.length + 1);
  const piece = PIECES[random(PIECES.length)];
  const lines = request.split('\r\n');
  const line = random(lines.length);
  const ways = [
    () => request.slice(0, at) + piece + request.slice(at),
    () => request.slice(0, at) + piece + request.slice(at + piece.length),
    () => request.slice(0, at) + request.slice(at + 1 + random(3)),
    () => request.slice(0, at) + String.fromCharCode(random(256)) + request.slice(at + 1),
    () => [...lines.slice(0, line), lines[line], ...lines.slice(line)].join('\r\n'),
    () => [...lines.slice(0, line), ...lines.slice(line + 1)].join('\r\n'),
    () => [...lines.slice(0, line), piece.trim(), ...lines.slice(line)].join('\r\n'),
  ];
  return ways[random(ways.length)]();
}

t.test('requests that a proxy takes are read as Node reads them, and go upstream as they are meant', async (t) => {
  const { differences, accepted } = await compare(ACCEPTED);
  t.same(differences, []);
  t.equal(accepted, ACCEPTED.length, 'all of them are taken');
});

t.test('requests that can be read in two ways are refused, and what Node takes of them is for a reason', async (t) => {
  const { differences, accepted } = await compare(REFUSED);
  t.same(differences, []);
  t.equal(accepted, 0, 'none of them is taken');
});

t.test('changed at random, they are read alike too', async (t) => {
  const random = randomFrom(20);
  const requests = Array.from({ length: 6000 }, () => {
    const all = random(4) === 0 ? REFUSED : ACCEPTED;
    let request = all[random(all.length)];
    for (let i = random(3); i >= 0; i--) request = mutate(request, random);
    return request;
  });
  const { differences, accepted } = await compare(requests);
  t.same(differences.slice(0, 20), []);
  t.ok(accepted > 600, 'many of them are still requests');
  t.ok(accepted < 5400, 'and many are not');
});
