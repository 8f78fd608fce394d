'use strict';
// What the tests' internet serves on the web: pages, a git repository, packages of npm, WebSockets; a server that writes
// down what arrives, byte for byte; and a proxy.

const { execFileSync, spawn } = require('node:child_process');
const crypto = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const net = require('node:net');
const path = require('node:path');
const tls = require('node:tls');

const plain = (/** @type {string | undefined} */ address) => (address ?? '').replace(/^::ffff:/, '');

/** @param {{ folder: string }} context */
function certificate({ folder }) {
  return {
    key: fs.readFileSync(path.join(folder, 'server.key')),
    cert: fs.readFileSync(path.join(folder, 'server.pem')),
  };
}

/** A repository with one commit, which makes it for the first that asks. @param {{ folder: string }} context */
function repository({ folder }) {
  const root = path.join(folder, 'git');
  if (!fs.existsSync(root)) {
    const work = path.join(folder, 'work');
    const git = (...args) => execFileSync('git', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    git('init', '-q', work);
    fs.writeFileSync(path.join(work, 'README'), 'hello from git\n');
    git('-C', work, 'add', 'README');
    git('-C', work, '-c', 'user.name=Test', '-c', 'user.email=test@example.com', 'commit', '-q', '-m', 'One');
    git('clone', '-q', '--bare', work, path.join(root, 'project.git'));
  }
  return root;
}

/** git http-backend, a CGI program (RFC 3875). */
function serveGit(context, request, response) {
  const [file, query = ''] = request.url.split('?');
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: repository(context),
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: file.slice('/git'.length),
      QUERY_STRING: query,
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    },
  });
  request.pipe(backend.stdin.on('error', () => {}));
  const chunks = [];
  backend.stdout.on('data', (data) => chunks.push(data)).on('end', () => {
    const all = Buffer.concat(chunks);
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.toString('latin1', 0, end).split('\r\n')) {
      const [name, value] = line.split(': ');
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}

/** The package `greeting`, as a registry tells it and as it gives it. */
function serveNpm({ folder }, request, response) {
  const packed = path.join(folder, 'greeting.tgz');
  if (!fs.existsSync(packed)) {
    const made = path.join(folder, 'npm', 'package');
    fs.mkdirSync(made, { recursive: true });
    fs.writeFileSync(path.join(made, 'package.json'), JSON.stringify({ name: 'greeting', version: '1.0.0' }));
    fs.writeFileSync(path.join(made, 'index.js'), "console.log('hello from npm');\n");
    execFileSync('tar', ['-czf', packed, '-C', path.dirname(made), 'package']);
  }
  const content = fs.readFileSync(packed);
  if (request.url.endsWith('.tgz')) return response.end(content);
  const tarball = `https://${request.headers.host}/npm/greeting/-/greeting-1.0.0.tgz`;
  const integrity = `sha512-${crypto.createHash('sha512').update(content).digest('base64')}`;
  const versions = { '1.0.0': { name: 'greeting', version: '1.0.0', dist: { tarball, integrity } } };
  response.end(JSON.stringify({ name: 'greeting', 'dist-tags': { latest: '1.0.0' }, versions }));
}

/** One text message, and the end of the connection (RFC 6455). */
function serveWebSocket(request, socket) {
  const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = crypto.createHash('sha1').update(request.headers['sec-websocket-key'] + magic).digest('base64');
  const text = `hello from ${request.headers.host}`;
  // What a client sends is its end of it.
  for (const event of ['data', 'end']) socket.on(event, () => socket.end());
  socket.on('error', () => {});
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text), Buffer.from([0x88, 0])]));
}

/**
 * Pages on port 80 and, by HTTP/1.1 and 2, on port 443 of every address: `hello from HOST`; `/redirect?URL` leads there,
 * `/git/project.git` and `/npm/` are what they say. Tells each request as `http`, and each server name as `tls`.
 */
async function web(context, { ports = [80], tlsPorts = [443] } = context) {
  const { tell } = context;
  const onRequest = (request, response) => {
    const host = request.headers.host ?? request.headers[':authority'];
    const { method, url, socket } = request;
    tell({ kind: 'http', method, host, url, address: plain(socket.localAddress), version: request.httpVersion });
    if (url.startsWith('/git/')) return serveGit(context, request, response);
    if (url.startsWith('/npm/')) return serveNpm(context, request, response);
    if (url.startsWith('/redirect?')) {
      response.writeHead(302, { Location: decodeURIComponent(url.slice('/redirect?'.length)) });
      return response.end();
    }
    if (url.startsWith('/bytes?')) return response.end(Buffer.alloc(Number(url.slice('/bytes?'.length)), 'x'));
    if (method !== 'POST') return response.end(`hello from ${host}\n`);
    const chunks = [];
    request.on('data', (data) => chunks.push(data)).on('end', () => response.end(`got ${Buffer.concat(chunks)}\n`));
  };
  const secure = () =>
    http2
      .createSecureServer({ ...certificate(context), allowHTTP1: true }, onRequest)
      .on('secureConnection', ({ servername }) => tell({ kind: 'tls', name: servername || '' }));
  const servers = [...ports.map(() => http.createServer(onRequest)), ...tlsPorts.map(secure)];
  const listening = [...ports, ...tlsPorts].map((port, i) => {
    servers[i].on('upgrade', serveWebSocket).on('sessionError', () => {}).on('clientError', (_, socket) => socket.destroy());
    return once(servers[i].listen(port, '::'), 'listening');
  });
  await Promise.all(listening);
}

/** Answers whatever ends a head, and tells all bytes of a connection as `bytes` when it ends, a connection as `connection`. */
async function recorder({ tell, open, port, secure = false, answer = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n', folder }) {
  const onConnection = (/** @type {net.Socket} */ socket) => {
    tell({ kind: 'connection', port, address: plain(socket.localAddress) });
    open.add(socket);
    let text = '';
    let answered = false;
    socket.setEncoding('latin1').on('data', (data) => {
      text += data;
      if (!answered && text.includes('\r\n\r\n')) answered = socket.write(answer) || true;
    });
    socket.on('end', () => socket.end()).on('error', () => {}).on('close', () => {
      open.delete(socket);
      tell({ kind: 'bytes', port, text });
    });
  };
  const server = secure
    ? tls.createServer(certificate({ folder }), onConnection).on('tlsClientError', () => {})
    : net.createServer({ allowHalfOpen: true }, onConnection);
  await once(server.listen(port, '::'), 'listening');
}

/** A proxy that knows CONNECT alone, and tells each as `proxy`. Every name is this internet's own. */
async function proxy({ tell, port, refuse = 0 }) {
  const server = http.createServer((_, response) => response.writeHead(405).end());
  server.on('connect', (request, client, head) => {
    const { url, headers } = request;
    tell({ kind: 'proxy', url, authorization: headers['proxy-authorization'] ?? '' });
    if (refuse) return client.end(`HTTP/1.1 ${refuse} No\r\n\r\n`);
    const to = net.connect(Number(url.split(':').pop()), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      to.write(head);
      client.pipe(to).pipe(client);
    });
    to.on('error', () => client.destroy());
    client.on('error', () => to.destroy());
  });
  await once(server.listen(port, '::'), 'listening');
}

module.exports = { proxy, recorder, repository, web };
