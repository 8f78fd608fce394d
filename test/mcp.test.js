'use strict';
// Real MCP servers as agents start them, with `os-sandbox` before the command: the official client talks to them.

const t = require('tap');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { makePlace, snapshot } = require('./helpers/attack');
const { connect } = require('./helpers/mcp');
const { eventually } = require('./helpers/processes');
const { startProgram } = require('./helpers/program');
const { scratchFolder, processesWith } = require('./helpers/sandbox');
const { packFolder } = require('./helpers/projects');

const MODULES = path.join(__dirname, '..', 'node_modules');
const FILESYSTEM = path.join(MODULES, '@modelcontextprotocol/server-filesystem/dist/index.js');
const SECRET = 'the-secret-of-this-test';

/** A project, what lies beside it, and a secret: all of it the server itself would give to anybody. @param {any} t */
function makeProject(t) {
  const { base, workspace, out, secrets } = makePlace(t);
  fs.writeFileSync(path.join(workspace, 'README'), 'read me\n');
  fs.writeFileSync(path.join(out, 'note'), 'a note\n');
  fs.writeFileSync(path.join(secrets, 'key'), SECRET);
  fs.mkdirSync(path.join(workspace, '.git/hooks'), { recursive: true });
  return { base, workspace, out, secrets };
}

t.test('the filesystem server reads and writes what the sandbox allows, and no more', async (t) => {
  const { base, workspace, out, secrets } = makeProject(t);
  const denied = snapshot(base);
  const args = ['--deny-read', secrets, '--', 'node', FILESYSTEM, base];
  const { call, client, close, said } = await connect(t, args, { cwd: workspace });
  t.ok((await client.listTools()).tools.some(({ name }) => name === 'read_text_file'));
  const read = (/** @type {string} */ file) => call('read_text_file', { path: file });
  const write = (/** @type {string} */ file) => call('write_file', { path: file, content: 'written\n' });

  t.match(await read(path.join(workspace, 'README')), /^read me\n/);
  t.match(await read(path.join(out, 'note')), /^a note\n/);
  t.match(await read(path.join(secrets, 'key')), /EACCES/);
  t.match(await write(path.join(out, 'new')), /EROFS/);
  t.match(await write(path.join(workspace, '.git/hooks/pre-commit')), /EACCES/);
  t.match(await call('move_file', { source: path.join(out, 'note'), destination: path.join(workspace, 'note') }), /EROFS|EXDEV/);
  t.same(snapshot(base), denied, 'of what was refused nothing happened');
  t.match(await write(path.join(workspace, 'new')), /^Successfully wrote/);
  t.equal(fs.readFileSync(path.join(workspace, 'new'), 'utf8'), 'written\n');

  const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => (i % 3 ? read(path.join(workspace, 'new')) : write(path.join(workspace, `many-${i}`)))));
  t.equal(answers.filter((text) => /^written|^Successfully/.test(text)).length, 300, 'hundreds of requests at once are answered');
  t.match(said(), `deny file-write-create ${out}/new`, 'refusals are told on stderr');
  t.same(await close(), [0, null], 'the server ends with its client');
  t.same(processesWith(base), [], 'and nothing is left');
});

t.test('with strict reads it has nothing but what it was given', async (t) => {
  const { base, workspace, out, secrets } = makeProject(t);
  const args = ['--allow-read', MODULES, '--allow-read', workspace, '--allow-write', workspace, '--', 'node', FILESYSTEM, base, workspace];
  const { call, close } = await connect(t, args, { cwd: workspace });
  t.match(await call('read_text_file', { path: path.join(workspace, 'README') }), /^read me\n/);
  t.match(await call('write_file', { path: path.join(workspace, 'new'), content: 'new' }), /^Successfully wrote/);
  for (const file of [path.join(out, 'note'), path.join(secrets, 'key')]) t.notMatch(await call('read_text_file', { path: file }), new RegExp(`a note|${SECRET}`), file);
  t.match(await call('list_directory', { path: base }), /EACCES/);
  t.same(await close(), [0, null]);
  t.equal(fs.readFileSync(path.join(workspace, 'new'), 'utf8'), 'new');
});

t.test('a server that fetches reaches what is allowed, and no more', async (t) => {
  const web = http.createServer((request, response) => response.end('hello')).listen(0, '127.0.0.1');
  await new Promise((resolve) => web.once('listening', resolve));
  t.teardown(() => web.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (web.address());
  const server = ['node', path.join(__dirname, 'fixtures', 'mcp-fetch-server.js')];
  const { call, close, said } = await connect(t, ['--network-allowlist', `localhost:${port}`, '--', ...server], { cwd: scratchFolder(t) });
  t.equal(await call('fetch', { url: `http://localhost:${port}/` }), '200 hello');
  t.match(await call('fetch', { url: 'http://denied.example.com/' }), /ENOTFOUND|EAI_AGAIN/);
  t.match(await call('fetch', { url: 'http://192.0.2.7/' }), /ECONNREFUSED|ECONNRESET|closed/);
  t.equal(await call('fetch', { url: `http://localhost:${port}/` }), '200 hello', 'and goes on after a refusal');
  t.match(said(), /deny network-outbound denied\.example\.com/);
  t.match(said(), /deny network-outbound 192\.0\.2\.7:80/);
  t.same(await close(), [0, null]);
});

t.test('when the client or os-sandbox is killed nothing is left', async (t) => {
  const { base, workspace } = makeProject(t);
  const program = `
    const { connect } = require(${JSON.stringify(path.join(__dirname, 'helpers', 'mcp'))});
    const { call } = await connect({ teardown() {} }, ['--', 'node', ...process.argv.slice(1)], { cwd: process.argv[2] });
    say(await call('list_allowed_directories', {}));
    setInterval(() => {}, 1000);`;
  const { child, next, ended } = startProgram(t, program, { args: [FILESYSTEM, base] });
  t.match(await next(), base);
  t.not(processesWith(base).length, 0);
  child.kill('SIGKILL');
  await ended;
  t.ok(await eventually(() => processesWith(base).length === 0), 'the client');

  const { pid } = await connect(t, ['--', 'node', FILESYSTEM, base], { cwd: workspace });
  process.kill(pid, 'SIGKILL');
  t.ok(await eventually(() => processesWith(base).length === 0), 'os-sandbox');
});

/** The registry that npm asks: one package, which may be kept for a while, as real ones say. @param {any} t */
async function startRegistry(t) {
  const folder = scratchFolder(t);
  const { file, integrity } = packFolder(path.join(__dirname, 'fixtures', 'mcp-plain-server'), folder);
  const registry = http.createServer((request, response) => {
    response.setHeader('cache-control', 'public, max-age=300');
    if (request.method !== 'GET') return response.writeHead(404).end();
    if (request.url?.endsWith('.tgz')) return response.end(fs.readFileSync(file));
    const dist = { tarball: `http://${request.headers.host}/mcp-plain-server.tgz`, integrity };
    const version = { ...require('./fixtures/mcp-plain-server/package.json'), dist };
    return response.end(JSON.stringify({ name: version.name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
  });
  registry.listen(0, '127.0.0.1');
  await new Promise((resolve) => registry.once('listening', resolve));
  t.teardown(() => registry.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (registry.address());
  return { port, stop: () => (registry.close(), registry.closeAllConnections()) };
}

t.test('npx runs a server by a package cache of its own', async (t) => {
  const { base, workspace, out } = makeProject(t);
  const home = path.join(base, 'home');
  fs.mkdirSync(home);
  const { port, stop } = await startRegistry(t);
  const env = { HOME: home, npm_config_registry: `http://localhost:${port}/`, npm_config_fetch_retries: '0' };
  const npx = ['npx', '-y', '--prefer-offline', 'mcp-plain-server@1.0.0'];
  const allowed = ['--package-cache', '--network-allowlist', `localhost:${port}`];
  /** Talks to the server once. @param {string[]} args */
  const attempt = async (args) => {
    const server = await connect(t, [...args, '--', ...npx], { cwd: workspace, env });
    t.equal(await server.call('write', { path: path.join(workspace, 'new') }), 'written', args.join(' '));
    t.match(await server.call('write', { path: path.join(out, 'new') }), /EROFS|EACCES/);
    t.same(await server.close(), [0, null]);
  };

  await attempt(allowed);
  t.same(fs.readdirSync(home), [], 'what was downloaded is gone, where the host has no cache');

  await connect(t, ['--allow-write', home, '--allow-domain', `localhost:${port}`, '--', ...npx], { cwd: workspace, env }).then(({ close }) => close());
  stop();
  const before = snapshot(home);
  await attempt(['--package-cache', '--allow-read', workspace, '--allow-write', workspace]);
  t.same(snapshot(home), before, 'from the host\'s cache it needs no network, and leaves that as it was');

  await t.rejects(connect(t, ['--', ...npx], { cwd: workspace, env }), /deny file-write-create .*\.npm\/.*--package-cache/, 'without the option the refusal names it');
  t.same(processesWith(workspace), []);
});
