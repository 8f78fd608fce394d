'use strict';
// os-sandbox learn: the smallest additions that would have let a command pass, and what none can.

const t = require('tap');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { once } = require('node:events');

const { scratchFolder } = require('./helpers/sandbox');

const CLI = path.join(__dirname, '../lib/cli/main.js');

/** A workspace, a folder beside it, and a home with credentials of no worth. @param {any} t */
function makePlaces(t) {
  const scratch = fs.realpathSync(scratchFolder(t));
  const [workspace, beside, home] = ['workspace', 'beside', 'home'].map((name) => path.join(scratch, name));
  for (const folder of [workspace, beside, home]) fs.mkdirSync(folder);
  fs.writeFileSync(path.join(beside, 'file'), 'old');
  fs.writeFileSync(path.join(beside, 'other'), 'old');
  fs.writeFileSync(path.join(home, '.netrc'), 'machine api.example.com');
  fs.writeFileSync(path.join(home, 'notes'), 'private');
  execFileSync('git', ['init', '-q', workspace]);
  const env = { ...process.env, HOME: home };
  delete env.NODE_OPTIONS;
  for (const name of Object.keys(env)) if (/^npm_config_/i.test(name)) delete env[name];
  const cli = (...words) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...words], { cwd: workspace, env, encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  const learn = (...words) => {
    const result = cli('learn', ...words);
    return { ...result, settings: JSON.parse(result.stdout) };
  };
  const keep = (settings) => {
    const file = path.join(scratch, 'settings.json');
    fs.writeFileSync(file, JSON.stringify(settings));
    return file;
  };
  return { workspace, beside, home, env, cli, learn, keep };
}

t.test('with the additions the command passes, and without them it does not', async (t) => {
  const { workspace, beside, cli, learn, keep } = makePlaces(t);
  const server = net.createServer((socket) => socket.end('from a socket'));
  const socket = path.join(beside, 'socket');
  await once(server.listen(socket), 'listening');
  t.teardown(() => server.close());
  const connect = `python3 -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect('${socket}')"`;
  const steps = [`echo new > ${beside}/file`, 'cat ~/.netrc', 'echo x > .bashrc', 'git config user.name somebody', connect];
  const line = `failed=0; ${steps.map((step) => `${step} || failed=$((failed + 1))`).join('; ')}; exit $failed`;

  const before = learn('-c', line);
  t.equal(before.status, steps.length, before.stderr);
  t.strictSame(before.settings, {
    filesystem: {
      allowWrite: [workspace, path.join(beside, 'file')],
      allowRead: ['~/.netrc'],
      allowProtected: ['.bashrc'],
      allowGitConfig: true,
    },
    network: { allowUnixSockets: [socket] },
  });
  t.notMatch(before.stderr, /not granted/);
  t.equal(fs.readFileSync(path.join(beside, 'file'), 'utf8'), 'old', 'nothing was granted');

  const after = cli('--settings', keep(before.settings), '-c', line);
  t.equal(after.status, 0, after.stderr);
  t.equal(fs.readFileSync(path.join(beside, 'file'), 'utf8'), 'new\n');
  t.ok(fs.existsSync(path.join(workspace, '.bashrc')));
});

t.test('for npm’s cache the addition is the option of its own', async (t) => {
  const { home, learn, keep, cli } = makePlaces(t);
  fs.mkdirSync(path.join(home, '.npm'));
  const line = 'echo x > ~/.npm/new';
  const { settings } = learn('-c', line);
  t.strictSame(settings, { filesystem: { packageCache: true } });
  t.equal(cli('--settings', keep(settings), '-c', line).status, 0);
  t.strictSame(fs.readdirSync(path.join(home, '.npm')), []);
});

t.test('entries that are there stay in a list that is printed, and others are not touched', async (t) => {
  const { workspace, beside, learn, keep } = makePlaces(t);
  const settings = { network: { allowedDomains: ['a.example.com'] }, filesystem: { allowWrite: [workspace, '/srv'], denyRead: [`${beside}/other`] } };
  const { settings: learned, status } = learn('--settings', keep(settings), '-c', `curl -s http://b.example.com:8080/; echo x > ${beside}/new; echo x > ${beside}/file; exit 9`);
  t.equal(status, 9);
  t.strictSame(learned, { network: { allowedDomains: ['a.example.com', 'b.example.com:8080'] }, filesystem: { allowWrite: [workspace, '/srv', beside] } });
});

t.test('what no addition can allow is told on stderr with its rule', async (t) => {
  const { beside, learn } = makePlaces(t);
  const line = `cat ~/notes; echo x > ${beside}/other; echo x > .git/hooks/pre-commit; curl -s --noproxy '*' http://169.254.169.254/; curl -s http://no.example.com/; mkdir /new-of-a-test`;
  const { settings, stderr } = learn('--deny-read', '~/notes', '--deny-write', `${beside}/other`, '--deny-domain', 'no.example.com', '-c', line);
  t.strictSame(settings, {});
  const told = stderr.split('\n').filter((each) => each.includes('not granted'));
  for (const words of [/file-read-data \S+\/notes .*filesystem\.denyRead\[0\]/, /file-write-data \S+other .*filesystem\.denyWrite\[0\]/, /hooks\/pre-commit \(protected: git hooks\)/, /169\.254\.169\.254:80 \(a metadata service\)/, /no\.example\.com\S* \(in network\.deniedDomains: network\.deniedDomains\[0\] "no\.example\.com"\)/, /new-of-a-test \(outside the write roots\)/]) {
    t.ok(told.some((each) => words.test(each)), String(words));
  }
  t.equal(told.length, 6, told.join('\n'));
});

t.test('what a person is to think twice about is named, and credentials are not among what a folder around them has', async (t) => {
  const { workspace, home, learn, keep, cli } = makePlaces(t);
  const line = 'failed=0; ls ~ || failed=1; cat ~/.netrc || failed=1; cat ~/notes || failed=1; echo x > ~/new || failed=1; echo x > .envrc || failed=1; exit $failed';
  const before = learn('--allow-read', '.', '--', 'sh', '-c', line);
  t.equal(before.status, 1);
  t.strictSame(before.settings, { filesystem: { allowRead: ['.', '~/.netrc'], allowWrite: [workspace, '~'], allowProtected: ['.envrc'] } });
  const cautions = before.stderr.split('\n').filter((each) => each.includes('think twice'));
  t.equal(cautions.length, 3, cautions.join('\n'));
  for (const words of [/allowWrite "~": the home directory/, /allowRead "~\/\.netrc": credentials/, /allowProtected "\.envrc"/]) t.ok(cautions.some((each) => words.test(each)), String(words));
  const after = cli('--default-read', 'deny', '--settings', keep(before.settings), '--', 'sh', '-c', line);
  t.equal(after.status, 0, after.stderr);
  t.ok(fs.existsSync(path.join(home, 'new')));
  t.strictSame(learn('--allow-read', '.', '--', 'sh', '-c', 'echo x > ~/new').settings, { filesystem: { allowWrite: [workspace, '~'] } }, 'a write root is readable');
  const system = learn('-c', 'echo x > /etc/new-of-a-test; mkdir /usr/new-of-a-test; mkdir ~/.cache');
  t.strictSame(system.settings.filesystem.allowWrite, [workspace, '/etc', '/usr', '~']);
  t.equal(system.stderr.match(/think twice/g).length, 3);
});

t.test('a signal reaches the command, and what it was refused until then is printed', async (t) => {
  const { workspace, env, beside } = makePlaces(t);
  const child = spawn(process.execPath, [CLI, 'learn', '-c', `trap 'exit 7' TERM; echo x > ${beside}/file; echo ready; while :; do sleep 0.1; done`], { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (data) => (stdout += data));
  let stderr = '';
  child.stderr.on('data', (data) => {
    stderr += data;
    if (/^ready$/m.test(stderr)) child.kill('SIGTERM');
  });
  const [code] = await once(child, 'close');
  t.equal(code, 7);
  t.strictSame(JSON.parse(stdout), { filesystem: { allowWrite: [workspace, `${beside}/file`] } });
});

t.test('the output of the command goes to stderr, its exit code is learn’s', async (t) => {
  const { learn, cli } = makePlaces(t);
  const quiet = learn('-c', 'echo out; echo err >&2; exit 3');
  t.strictSame({ status: quiet.status, settings: quiet.settings }, { status: 3, settings: {} });
  t.match(quiet.stderr, /^out$/m);
  t.match(quiet.stderr, /^err$/m);
  t.equal(learn('-c', 'kill -TERM $$').status, 143);
  t.equal(cli('learn').status, 64, 'no command');
});
