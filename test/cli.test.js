'use strict';
// The command line: what runs, what is refused, and what it ends with.

const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const t = require('tap');
const { MAIN, makePlace, saidBy } = require('./helpers/cli');
const { withBwrap } = require('./helpers/namespace');
const { childrenOf, uniqueDuration, processesWith } = require('./helpers/sandbox');
const { eventually } = require('./helpers/processes');

const place = makePlace(t);
const { cli, sh, quiet, workspace, outside, home, env } = place;

/** A server of this host. @param {any} t */
async function startServer(t) {
  const server = http.createServer((request, response) => response.end(`reached ${request.url}`)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port;
}

t.test('a command\'s exit code is that of the command line', async (t) => {
  const codes = [0, 126, 255];
  const results = await Promise.all(codes.map((code) => sh(`exit ${code}`)));
  t.same(results.map(({ code, signal, stdout, stderr }) => [code, signal, stdout, stderr]), codes.map((code) => [code, null, '', '']));
});

t.test('it dies of what its command died of, where others look at that', async (t) => {
  const signals = ['INT', 'TERM', 'HUP', 'QUIT'];
  const results = await Promise.all([...signals, 'KILL', 'USR1'].map((name) => sh(`kill -${name} $$`)));
  t.same(results.map(({ code, signal }) => code ?? signal), [...signals.map((name) => `SIG${name}`), 137, 138]);
});

t.test('stdin, stdout, stderr and words pass as they are', async (t) => {
  const { code, stdout, stderr } = await cli(['--', 'sh', '-c', 'cat; printf "[%s]" "$@" >&2', 'sh', '', 'a b', '--help', '*'], { input: 'text\n' });
  t.same([code, stdout, stderr], [0, 'text\n', '[][a b][--help][*]']);
});

t.test('-c runs a line of shell, with its words', async (t) => {
  const { stdout } = await cli(['-c', 'echo "$0|$1|$#|${BASH_VERSION:+bash}"', 'name', 'one', '-x']);
  t.equal(stdout, `name|one|2|${fs.existsSync('/bin/bash') ? 'bash' : ''}\n`);
});

t.test('a subcommand\'s name is a program\'s behind --', async (t) => {
  const bin = path.join(workspace, 'bin');
  fs.mkdirSync(bin);
  fs.writeFileSync(path.join(bin, 'log'), '#!/bin/sh\necho "program $1"\n', { mode: 0o755 });
  const withBin = { env: { ...env, PATH: `${bin}:${env.PATH}` } };
  t.match(await cli(['--', 'log', 'x'], withBin), { code: 0, stdout: 'program x\n' });
  t.match(await cli(['log', 'x'], withBin), { code: 1, stderr: /^os-sandbox: log: x: no such file/ });
});

t.test('--env sets a variable, and passes one that is else taken out', async (t) => {
  const own = { env: { ...env, SSH_AUTH_SOCK: '/gone', HTTPS_PROXY: 'http://proxy.example.com:1', OTHER: 'kept' } };
  const script = 'echo "$A|$SSH_AUTH_SOCK|$HTTPS_PROXY|$OTHER|${MISSING-none}"';
  const direct = ['--upstream-proxy', 'direct'];
  const [plain, passed, wrong] = await Promise.all([
    sh(script, direct, own),
    sh(script, [...direct, '--env', 'A=b=c', '--env=SSH_AUTH_SOCK', '--env', 'HTTPS_PROXY', '--env', 'MISSING'], own),
    cli(['--env', '=x', 'true']),
  ]);
  t.match(plain.stdout, /^\|\|http:\/\/[^|]*\|kept\|none\n$/);
  t.notMatch(plain.stdout, 'proxy.example.com');
  t.equal(passed.stdout, 'b=c|/gone|http://proxy.example.com:1|kept|none\n');
  t.match(wrong, { code: 64, stderr: /--env: expected NAME or NAME=VALUE/ });
});

t.test('writes end at the working directory, or at --allow-write', async (t) => {
  const script = `echo x > made; echo x > ${outside}/made; echo x > ${home}/made`;
  await quiet(script);
  t.ok(fs.existsSync(path.join(workspace, 'made')));
  t.same([fs.readdirSync(outside), fs.readdirSync(home)], [[], []]);
  fs.rmSync(path.join(workspace, 'made'));
  await quiet(script, ['--allow-write', outside, `--allow-write=${home}`]);
  t.notOk(fs.existsSync(path.join(workspace, 'made')), 'no longer the working directory');
  t.same([fs.readdirSync(outside), fs.readdirSync(home)], [['made'], ['made']]);
  for (const folder of [outside, home]) fs.rmSync(path.join(folder, 'made'));
});

t.test('--cwd is where the command runs, and what paths are relative to', async (t) => {
  fs.mkdirSync(path.join(workspace, 'sub/out'), { recursive: true });
  const { stdout } = await quiet('pwd; echo x > out/f; echo x > f; echo x > ../g', ['--cwd', 'sub', '--allow-write', 'out']);
  t.equal(stdout, `${workspace}/sub\n`);
  t.same(fs.readdirSync(path.join(workspace, 'sub'), { recursive: true }).sort(), ['out', 'out/f']);
  t.notOk(fs.existsSync(path.join(workspace, 'g')));
  t.match(await cli(['--cwd', 'missing', 'true']), { code: 64, stderr: /--cwd: expected a directory, found "missing"/ });
});

t.test('strict reads: it reads, writes and reaches what is listed, and nothing else', async (t) => {
  const [port, other] = [await startServer(t), await startServer(t)];
  fs.mkdirSync(path.join(outside, 'data/output'), { recursive: true });
  fs.writeFileSync(path.join(outside, 'data/in'), 'readable');
  fs.writeFileSync(path.join(outside, 'secret'), 'secret');
  fs.writeFileSync(path.join(workspace, 'near'), 'secret');
  const data = path.join(outside, 'data');
  const args = ['--allow-read', data, '--allow-write', `${data}/output`, '--network-allowlist', `localhost:${port}`];
  const script = `cat ${data}/in; cat ${outside}/secret ${workspace}/near 2>/dev/null
    echo x > ${data}/output/f; echo x > ${data}/g 2>/dev/null; echo x > ${workspace}/h 2>/dev/null
    echo x > /tmp/${path.basename(place.base)} && cat /tmp/${path.basename(place.base)}
    curl -s --max-time 20 http://localhost:${port}/a; curl -s --max-time 20 http://localhost:${other}/b; curl -s -o /dev/null http://denied.example.com/`;
  const result = await sh(script, args);
  t.equal(result.stdout, `readablex\nreached /a`);
  t.same([fs.readdirSync(data).sort(), fs.readdirSync(`${data}/output`)], [['in', 'output'], ['f']]);
  t.notOk(fs.existsSync(path.join(workspace, 'h')));
  t.notOk(fs.existsSync(`/tmp/${path.basename(place.base)}`), 'temporary files are the invocation\'s own');
  t.ok(saidBy(result).includes('deny network-outbound denied.example.com:80 (not in network.allowedDomains)'), result.stderr);
  fs.rmSync(path.join(outside, 'data'), { recursive: true });
  fs.rmSync(path.join(outside, 'secret'));
});

t.test('--default-read allow re-opens one credential, and closes nothing', async (t) => {
  fs.mkdirSync(path.join(home, '.ssh'));
  for (const name of ['known_hosts', 'id']) fs.writeFileSync(path.join(home, '.ssh', name), name);
  fs.writeFileSync(path.join(outside, 'open'), 'open');
  const script = `cat ~/.ssh/known_hosts; cat ~/.ssh/id; cat ${outside}/open`;
  const args = [[], ['--allow-read', '~/.ssh/known_hosts', '--default-read', 'allow'], ['--default-read', 'deny']];
  t.same((await Promise.all(args.map((each) => quiet(script, each)))).map(({ stdout }) => stdout), ['open', 'known_hostsopen', '']);
  fs.rmSync(path.join(home, '.ssh'), { recursive: true });
  fs.rmSync(path.join(outside, 'open'));
});

t.test('a command line or settings that make no sense run nothing', async (t) => {
  const file = path.join(outside, 'settings.json');
  fs.writeFileSync(file, '{ "network": ');
  const args = [['--bogus'], ['--allow-read', ''], ['--settings', '../outside/settings.json']];
  const [unknown, empty, settings] = await Promise.all(args.map((each) => cli([...each, 'touch', 'ran'])));
  t.match(unknown, { code: 64, stdout: '', stderr: /^os-sandbox: "--bogus": unknown option\nusage: os-sandbox \[options\] .*\n$/ });
  t.match(empty, { code: 64, stdout: '', stderr: /^os-sandbox: --allow-read: expected a path, found "".*\nusage: os-sandbox \[options\] .*\n$/ });
  t.match(settings, { code: 78, stdout: '', stderr: new RegExp(`^os-sandbox: ${file}:\\d+:\\d+: .*\n$`) });
  t.notOk(fs.existsSync(path.join(workspace, 'ran')));
  fs.rmSync(file);
});

t.test('a command that is not there is 127, one that cannot be executed 126', async (t) => {
  fs.writeFileSync(path.join(workspace, 'plain'), '');
  const [missing, plain] = await Promise.all([cli(['no-such-program']), cli(['./plain'])]);
  t.match(missing, { code: 127, stderr: /no-such-program: command not found/ });
  t.match(plain, { code: 126, stderr: /\.\/plain: permission denied/i });
});

t.test('where nothing can be sandboxed', async (t) => {
  const start = (args) => cli(args, { env: { ...env, NODE_OPTIONS: '--no-addons' } });
  t.test('nothing is run, and the reason is told', async (t) => {
    const result = await start(['touch', 'ran']);
    t.equal(result.code, 125);
    t.match(result.stderr, /^os-sandbox: cannot sandbox: native addon not loaded: .*\nos-sandbox: nothing was run; .*--allow-unsandboxed.*\n$/);
    t.notOk(fs.existsSync(path.join(workspace, 'ran')));
  });
  t.test('--allow-unsandboxed runs it with a warning, and by the same rules', async (t) => {
    const unsandboxed = (args) => start(['--allow-unsandboxed', '--env', 'A=b', ...args]);
    const result = await unsandboxed(['sh', '-c', `echo "$A"; echo x > ${outside}/made; exit 7`]);
    t.same([result.code, result.stdout], [7, 'b\n']);
    t.match(result.stderr, /^os-sandbox: warning: running without a sandbox: native addon not loaded: .*\n$/);
    t.same(fs.readdirSync(outside), ['made']);
    fs.rmSync(path.join(outside, 'made'));
    const [term, kill, missing, plain] = await Promise.all([['sh', '-c', 'kill -TERM $$'], ['sh', '-c', 'kill -KILL $$'], ['no-such-program'], ['./plain']].map(unsandboxed));
    t.same([term.signal, kill.code, missing.code, plain.code], ['SIGTERM', 137, 127, 126]);
    t.match(missing.stderr, /no-such-program: command not found/);
  });
  t.test('it is the same where that shows when the command is to start', async (t) => {
    const launcher = withBwrap(place.base, 'echo "no permission" >&2; exit 1');
    const refused = await cli(['touch', 'ran'], { launcher });
    t.equal(refused.code, 125);
    t.match(refused.stderr, /^os-sandbox: cannot sandbox: .*no permission.*\nos-sandbox: nothing was run; /s);
    t.notOk(fs.existsSync(path.join(workspace, 'ran')));
    const { code, stdout, stderr } = await cli(['--allow-unsandboxed', 'sh', '-c', 'echo ran; exit 7'], { launcher });
    t.same([code, stdout], [7, 'ran\n']);
    t.match(stderr, /os-sandbox: warning: running without a sandbox: .*no permission/);
  });
  t.test('as in a sandbox, where there is no other', async (t) => {
    // Without the module that the test runner has every Node load, which writes where the outer one lets nobody.
    const launcher = [process.execPath, MAIN, '--env', 'NODE_OPTIONS=', '--'];
    t.match(await cli(['touch', 'ran'], { launcher }), { code: 125, stderr: /^os-sandbox: nothing was run; /m });
    t.notOk(fs.existsSync(path.join(workspace, 'ran')));
    t.match(await cli(['--allow-unsandboxed', 'sh', '-c', 'echo ran; exit 7'], { launcher }), { code: 7, stdout: 'ran\n' });
  });
});

t.test('nothing is left when the command has ended, or the command line was killed', async (t) => {
  const [left, killed] = [uniqueDuration(), uniqueDuration()];
  t.match(await sh(`sleep ${left} >/dev/null 2>&1 </dev/null & echo started`), { code: 0, stdout: 'started\n' });
  t.same(processesWith(left), []);
  const child = place.start(['sleep', killed]);
  t.ok(await eventually(() => processesWith(killed).length > 0));
  const children = childrenOf(/** @type {number} */ (child.pid));
  child.kill('SIGKILL');
  t.ok(await eventually(() => processesWith(killed).length === 0));
  t.ok(await eventually(() => children.every((pid) => !fs.existsSync(`/proc/${pid}`))));
});

t.test('help, version and subcommands', async (t) => {
  const { version } = require('../package.json');
  const [told, help, none, ...answers] = await Promise.all([['--version'], ['log', '--help'], [], ['explain', '/etc/passwd'], ['doctor']].map((args) => cli(args)));
  t.match(told, { code: 0, stdout: `${version}\n`, stderr: '' });
  t.match(help, { code: 0, stdout: /^usage: os-sandbox log \[options\] FILE…\n/ });
  t.match(none, { code: 64, stdout: '', stderr: /^os-sandbox: there is no command to run\nusage: / });
  for (const { stdout } of answers) t.not(stdout, '');
});
