'use strict';
// sandbox.explain(): what it says is what a command finds, for many paths and hosts by many policies.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

// Before any sandbox starts: the home of this file's commands, with credentials of no worth.
const home = fs.mkdtempSync('/var/tmp/os-sandbox-home-');
process.env.HOME = home;
// The test runner's own: a module in a folder that strict reads hide, and another npm configuration.
delete process.env.NODE_OPTIONS;
for (const name of Object.keys(process.env)) if (/^npm_config_/i.test(name)) delete process.env[name];
t.teardown(() => fs.rmSync(home, { recursive: true, force: true }));

const { OsSandbox } = require('..');
const { planOf } = require('../lib/explain');
const { makePolicy } = require('../lib/policy');
const { scratchFolder, startSandbox } = require('./helpers/sandbox');
const { PROBE } = require('./helpers/probe');

/** @param {string} folder @param {Record<string, string>} files */
function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

/** A workspace with what rules are about, a folder beside it, and a home. @param {any} t */
function makePlaces(t) {
  const scratch = scratchFolder(t);
  const workspace = path.join(scratch, 'workspace');
  const beside = path.join(scratch, 'beside');
  const git = (...words) => execFileSync('git', ['-c', 'init.defaultBranch=main', ...words], { stdio: 'ignore', env: { PATH: process.env.PATH, HOME: home } });
  write(workspace, {
    'file': '', 'folder/file': '', 'folder/deep/er/file': '', '.bashrc': '', 'folder/.bashrc': '', '.vscode/tasks.json': '',
    'folder/.vscode/tasks.json': '', '.claude/settings.json': '', '.claude/notes.md': '', '.claude/commands/a.md': '', '.husky/pre-commit': '',
    '.env': '', 'folder/.env': '', 'folder/prod.pem': '', 'closed/file': '', 'closed/open/file': '', 'closed/open/again/file': '',
    'fixed/file': '', 'fixed/deep/file': '', 'own/hooks/run': '', 'secrets.d/a': '', '.mcp.json': '', 'package.json': '',
  });
  write(beside, { 'file': '', 'granted/file': '', 'granted/.bashrc': '', 'granted/sub/file': '', 'private/file': '', 'shown/file': '' });
  write(home, { '.ssh/id_rsa': '', '.ssh/known_hosts': '', '.aws/credentials': '', '.netrc': '', '.npmrc': '', '.gitconfig': '', 'notes': '' });
  git('init', workspace);
  git('init', path.join(workspace, 'nested/repo'));
  git('init', '--bare', path.join(workspace, 'bare.git'));
  git('-C', path.join(workspace, 'nested/repo'), 'config', 'core.hooksPath', path.join(workspace, 'own/hooks'));
  fs.chmodSync(path.join(workspace, 'folder/prod.pem'), 0o400);
  write(workspace, { 'folder/unreadable': '' });
  fs.chmodSync(path.join(workspace, 'folder/unreadable'), 0o000);
  const links = { 'in': 'folder/file', 'out': '../beside/file', 'etc': '/etc/passwd', 'dangling': 'nothing/there', 'fresh': 'to-be-made', 'key': path.join(home, '.ssh/id_rsa'), 'round': 'round', 'dir': 'folder', 'granted': '../beside/granted' };
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(workspace, `link-${name}`));
  execFileSync('mkfifo', [path.join(workspace, 'fifo'), path.join(beside, 'fifo')]);
  return { workspace, beside };
}

/** Every path that is asked about. @param {{ workspace: string, beside: string }} places */
function targets({ workspace, beside }) {
  const inside = [
    '.', 'file', 'new', 'new/deep/file', 'folder', 'folder/file', 'folder/new', 'folder/deep/er/file', 'file/below',
    '.bashrc', 'folder/.bashrc', 'new/.bashrc', '.profile', '.BASHRC', '.vscode', '.vscode/tasks.json', '.vscode/new', 'folder/.vscode/tasks.json', 'new/.vscode/x',
    '.claude', '.claude/settings.json', '.claude/notes.md', '.claude/new', '.claude/commands', '.claude/commands/a.md', '.claude/commands/new', '.claude/hooks/x',
    '.husky/pre-commit', '.mcp.json', 'package.json', '.env', 'folder/.env', 'new/.env', '.env.local', 'folder/prod.pem', 'new/x.pem', 'folder/unreadable',
    'closed', 'closed/file', 'closed/new', 'closed/open', 'closed/open/file', 'closed/open/new', 'closed/open/again/file', 'closed/open/.bashrc',
    'fixed', 'fixed/file', 'fixed/new', 'fixed/deep', 'fixed/deep/file', 'secrets.d/a', 'secrets.d/new', 'later', 'later/x', 'own/hooks', 'own/hooks/run', 'own/hooks/new', 'own/new',
    '.git', '.git/config', '.git/config.worktree', '.git/HEAD', '.git/new', '.git/hooks', '.git/hooks/pre-commit', '.git/hooks/new.sample', '.git/objects/aa/x', '.git/commondir', '.git/index',
    'nested/repo', 'nested/repo/file', 'nested/repo/.git/config', 'nested/repo/.git/hooks/x', 'nested/repo/.git/index', 'nested/repo/.gitmodules',
    'bare.git/config', 'bare.git/hooks', 'bare.git/hooks/new', 'bare.git/new', 'made/.git', 'made/.git/config', 'made/.git/HEAD', 'made/.git/hooks/pre-commit', 'made/.git/hooks/x.sample',
    'link-in', 'link-out', 'link-etc', 'link-dangling', 'link-fresh', 'link-key', 'link-round', 'link-dir/file', 'link-dir/new', 'link-granted/file', 'link-granted/new', 'fifo',
  ];
  const near = ['.', 'file', 'new', 'granted', 'granted/file', 'granted/new', 'granted/.bashrc', 'granted/.zshrc', 'granted/sub/file', 'private', 'private/file', 'private/new', 'shown/file', 'shown/new', 'fifo'];
  const own = ['~', '~/notes', '~/new', '~/.ssh', '~/.ssh/id_rsa', '~/.ssh/known_hosts', '~/.ssh/new', '~/.aws/credentials', '~/.aws/new', '~/.netrc', '~/.kube/config', '~/.npmrc', '~/.gitconfig'];
  const system = [
    '/', '/etc', '/etc/passwd', '/etc/shadow', '/etc/new', '/usr/bin/env', '/usr/new', '/bin/sh', '/root', '/var/log', '/var/tmp/new-of-a-test', '/opt',
    '/tmp', '/tmp/new-of-a-test', '/tmp/new-of-a-test-too/deep', '/dev', '/dev/null', '/dev/zero', '/dev/new', '/dev/shm', '/dev/shm/new', '/dev/kmsg', '/proc', '/proc/version', '/proc/new', '/proc/sys/kernel/core_pattern',
    '/sys', '/sys/kernel', '/sys/new', '/nowhere', '/nowhere/below', '/etc/passwd/below', '/tmp/../etc/passwd',
  ];
  return [...inside.map((name) => `${workspace}/${name}`), ...near.map((name) => `${beside}/${name}`), ...own, ...system];
}

/** @param {{ workspace: string, beside: string }} places @returns {Record<string, any>} filesystem options */
const policies = ({ workspace, beside }) => ({
  'no options': {},
  'read denials with what is open in them': { denyRead: ['closed', `${beside}/private`, 'later', '~/notes', '/etc/shadow'], allowRead: ['closed/open', '~/.ssh/known_hosts'] },
  'patterns': { denyRead: ['**/.env', `${workspace}/**/*.pem`], denyWrite: ['fixed/**', '**/package.json', 'secrets.*'] },
  'write denials and grants': { allowWrite: [`${beside}/granted`, `${beside}/nowhere`, '/var/log'], denyWrite: ['fixed', `${beside}/granted/sub`, 'later', 'folder/deep/er/file'] },
  'what is freed': { allowGitConfig: true, allowProtected: ['.vscode/', '.bashrc', '.claude/commands/'] },
  'the home granted': { allowWrite: ['~'], denyRead: ['~/notes'] },
  'strict reads': { defaultRead: 'deny', allowRead: [`${beside}/shown`, '/etc/passwd', '~/.gitconfig'], allowWrite: [`${beside}/granted`] },
  'a temporary folder of its own': { privateTmp: true, writableCwd: false, allowWrite: [`${beside}/granted`, '/tmp/../tmp'], denyWrite: ['fixed'] },
  'strict reads and a temporary folder of its own': { defaultRead: 'deny', allowRead: [workspace], privateTmp: true, writableCwd: false, packageCache: true },
  'strict reads with denials inside': { defaultRead: 'deny', denyRead: ['closed', '**/.env'], allowRead: ['closed/open', '/var/log'], denyWrite: ['fixed'] },
});

/** What a command finds that tries each. @param {any} machine @param {string[]} paths */
async function experience(machine, paths) {
  const { stdout, stderr, exitCode } = await machine.run(['python3', '-c', PROBE], { stdin: JSON.stringify(paths.map((each) => each.replace(/^~/, home))) });
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const WRITABLE_MOUNTS = ['writable', 'pinned', 'own temporary', 'own copy', 'own, empty'];
const NO_MOUNTS = ['link', 'empty folder'];

/** Where the plan of the options and the mounts of a run differ. @param {any} machine @param {any} filesystem @param {string} cwd */
async function mountDifferences(machine, filesystem, cwd) {
  const { mounts } = await planOf({ made: makePolicy({ filesystem }), cwd });
  const { stdout } = await machine.run(['cat', '/proc/self/mountinfo']);
  const modes = new Map(stdout.trim().split('\n').map((line) => line.split(' ')).map((words) => [words[4], words[5].slice(0, 2)]));
  const wanted = ({ kind }) => (NO_MOUNTS.includes(kind) ? undefined : WRITABLE_MOUNTS.includes(kind) ? 'rw' : 'ro');
  const own = new Set(mounts.map(({ path: at }) => at));
  return [
    ...mounts.filter((mount) => modes.get(mount.path) !== wanted(mount)).map((mount) => ({ ...mount, is: modes.get(mount.path) })),
    ...[...modes].filter(([at, mode]) => mode === 'rw' && !own.has(at) && !/^\/dev(\/|$)/.test(at)),
  ];
}

t.test('explain says of every path what a command finds, and the plan what is mounted for it', async (t) => {
  let compared = 0;
  for (const name of Object.keys(policies({ workspace: '', beside: '' }))) {
    const places = makePlaces(t);
    const filesystem = policies(places)[name];
    const sandbox = await startSandbox(t, { filesystem, monitorReads: true });
    const asked = targets(places);
    const said = await sandbox.explain(asked, places.workspace);
    const found = await experience(sandbox.machine(places.workspace), asked);
    const violations = sandbox.violations.list();
    const wrong = [];
    asked.forEach((target, i) => {
      const { read, write, resolved, exists, path: own } = said[i];
      const { read: reading, write: writing } = found[i];
      if (exists && read.allowed !== reading.works) wrong.push({ target, read, reading });
      if (write.allowed !== writing.works) wrong.push({ target, write, writing });
      compared += exists ? 2 : 1;
      const told = violations.filter(({ operation, path: at }) => operation.startsWith('file-write-') && (at === (resolved ?? own) || at === `${resolved}/any-name-of-a-test`));
      for (const { why } of told) if (!write.allowed && why !== write.why) wrong.push({ target, write, why });
    });
    t.strictSame(wrong, [], name);
    t.strictSame(await mountDifferences(sandbox.machine(places.workspace), filesystem, places.workspace), [], `${name}: mounts`);
    await sandbox.dispose();
  }
  t.ok(compared > 1500, `${compared} answers compared`);
});

t.test('the rule is told by its option, its place and what is written there', async (t) => {
  const places = makePlaces(t);
  const { workspace, beside } = places;
  const sandbox = await startSandbox(t, {
    filesystem: { denyRead: ['~/nothing', '~/notes', '**/.env'], allowRead: ['~/.ssh/known_hosts'], allowWrite: [`${beside}/granted`], denyWrite: ['fixed'] },
    network: { allowedDomains: ['a.example.com', '*.example.com:443'], deniedDomains: ['no.example.com'], allowedIPs: ['192.0.2.0/24'], allowUnixSockets: ['/run/x.sock'] },
    violationLog: `${workspace}/violations.jsonl`,
  });
  const rules = async (target, what) => (await sandbox.explain(target, workspace))[0][what].rule;
  const rule = (option, index, entry) => ({ option, index, entry });
  t.strictSame(await rules('~/notes', 'read'), rule('filesystem.denyRead', 1, '~/notes'));
  t.strictSame(await rules('./folder/.env', 'read'), rule('filesystem.denyRead', 2, '**/.env'));
  t.strictSame(await rules('./new/.env', 'write'), rule('filesystem.denyRead', 2, '**/.env'), 'what is not there yet');
  t.strictSame(await rules('~/.ssh/known_hosts', 'read'), rule('filesystem.allowRead', 0, '~/.ssh/known_hosts'));
  t.strictSame(await rules('~/.ssh/id_rsa', 'read'), undefined, 'a default');
  t.strictSame(await rules('./fixed/file', 'write'), rule('filesystem.denyWrite', 0, 'fixed'));
  t.strictSame(await rules(`${beside}/granted/new`, 'write'), rule('filesystem.allowWrite', 0, `${beside}/granted`));
  t.strictSame(await rules('./violations.jsonl', 'write'), { option: 'violationLog', index: 0, entry: `${workspace}/violations.jsonl` });
  t.strictSame(await rules('b.example.com', 'reach'), rule('network.allowedDomains', 1, '*.example.com:443'));
  t.strictSame(await rules('no.example.com', 'reach'), rule('network.deniedDomains', 0, 'no.example.com'));
  t.strictSame(await rules('192.0.2.9', 'reach'), rule('network.allowedIPs', 0, '192.0.2.0/24'));
  t.strictSame(await rules('/run/x.sock', 'connect'), rule('network.allowUnixSockets', 0, '/run/x.sock'));
  const [{ why, at }] = (await sandbox.explain('~/.ssh/id_rsa')).map(({ read }) => read);
  t.strictSame({ why, at }, { why: 'credentials, denied by default', at: path.join(home, '.ssh') });
  t.equal((await sandbox.explain('./.vscode/new', workspace))[0].write.at, '.vscode/', 'as allowProtected takes it');
});

t.test('a path is told from a host by its look, and ports from the rules', async (t) => {
  const sandbox = await startSandbox(t, { network: { allowedDomains: ['a.example.com:443', 'b.example.com', '*.c.example.com'], deniedDomains: ['b.example.com:25'] } });
  const said = await sandbox.explain(['README', './README', '~', '.', 'https://a.example.com/x', 'a.example.com', 'b.example.com', 'x.c.example.com', '[2001:db8::1]:80', '2001:db8::1']);
  t.strictSame(said.map(({ kind }) => kind), ['host', 'path', 'path', 'path', 'host', 'host', 'host', 'host', 'host', 'host']);
  t.match(said[4], { target: 'https://a.example.com/x', host: 'a.example.com', port: 443, reach: { allowed: true } });
  t.match(said[5], { reach: { allowed: true, ports: [443] } });
  t.match(said[6], { reach: { allowed: true, exceptPorts: [25] } });
  t.notOk('ports' in said[7].reach || 'exceptPorts' in said[7].reach, 'at every port');
  t.match(said[8], { host: '2001:db8::1', port: 80 });
  const ports = Array.from({ length: 100 }, (_, i) => i + 1);
  await sandbox.updateNetwork({ allowedDomains: ports.map((port) => `a.example.com:${port}`) });
  t.strictSame((await sandbox.explain('a.example.com'))[0].reach.ports, ports, 'every port');
  t.match((await sandbox.explain('/tmp/../etc/hosts'))[0], { kind: 'path', path: '/etc/hosts' }, 'one target');
  await sandbox.updateNetwork({});
  t.equal((await sandbox.explain('b.example.com'))[0].reach.allowed, false, 'as the rules are now');
  for (const wrong of ['', 'a b', 'file:///etc/passwd', 'host:99999', 'x\0', 7, undefined, ['ok', '']]) await t.rejects(sandbox.explain(wrong), TypeError, JSON.stringify(wrong));
  await t.rejects(sandbox.explain('x.example.com', { cwd: '' }), TypeError);
  const closed = await startSandbox(t, { filesystem: { denyRead: ['/'] } });
  await t.rejects(closed.explain('./x'), { code: 'ERR_OS_SANDBOX', message: /filesystem\.denyRead\[0\]/ }, 'as a run');
});

t.test('where nothing is sandboxed everything is allowed, and that is said', async (t) => {
  const off = OsSandbox.disabled();
  const [file, host] = await off.explain(['/etc/passwd', 'a.example.com']);
  const free = { allowed: true, why: 'nothing is sandboxed' };
  t.strictSame(file, { target: '/etc/passwd', kind: 'path', path: '/etc/passwd', exists: true, read: free, write: free });
  t.strictSame(host, { target: 'a.example.com', kind: 'host', host: 'a.example.com', reach: free });
});

t.test('a question changes nothing, and does not hold the event loop', async (t) => {
  const { workspace } = makePlaces(t);
  const sandbox = await startSandbox(t, { filesystem: { denyWrite: ['**/x'] } });
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  const before = execFileSync('find', [workspace, '-newermt', '1 hour ago', '-printf', '%p %C@ %m\\n'], { encoding: 'utf8' });
  const many = Array.from({ length: 300 }, (_, i) => `${workspace}/folder/${i}/x`);
  const said = await Promise.all([sandbox.explain(many), sandbox.explain(many)]);
  clearInterval(timer);
  t.ok(turns > 0);
  t.ok(said.flat().every(({ write }) => write.allowed === false));
  t.equal(execFileSync('find', [workspace, '-newermt', '1 hour ago', '-printf', '%p %C@ %m\\n'], { encoding: 'utf8' }), before);
  t.strictSame(sandbox.violations.list(), []);
});

t.test('the command line prints a block for each target, or JSON, and the plan of the options', async (t) => {
  const { workspace } = makePlaces(t);
  const options = { filesystem: { denyRead: ['closed'] }, network: { allowedDomains: ['*.example.com:443'] } };
  const run = async (flags, words, given = options, warnings = []) => {
    const said = { code: 0, text: '', errors: '' };
    const stdout = { write: (more) => (said.text += more) };
    const stderr = { write: (more) => (said.errors += more) };
    said.code = await require('../lib/cli/explain').main({ flags: { cwd: workspace, ...flags }, words, options: given, warnings, stdout, stderr });
    return said;
  };
  const { code, text } = await run({}, ['./closed/file', 'a.example.com', './new\u001b[2J']);
  t.equal(code, 0, 'answered, though something is denied');
  t.match(text, `./closed/file → ${workspace}/closed/file\n  read    no   denied by denyRead, filesystem.denyRead[0] "closed"\n`);
  t.match(text, /^a\.example\.com\n {2}reach {3}yes {2}at 443 only: .*network\.allowedDomains\[0\] "\*\.example\.com:443"$/m);
  t.notOk(text.includes('\u001b'), 'nothing moves the cursor');
  t.match(JSON.parse((await run({ json: true }, ['./closed'])).text), [{ kind: 'path', read: { allowed: false } }]);
  t.match((await run({ ask: true }, ['b.example.net'])).text, /reach {3}asks/);

  const { text: plan } = await run({ profile: 'linux' }, []);
  t.match(plan, new RegExp(`^hidden folder +${workspace}/closed$`, 'm'));
  t.match(plan, new RegExp(`^writable +${workspace}$`, 'm'));
  t.match(plan, new RegExp(`^bwrap .*--unshare-user.* --bind ${workspace} ${workspace} `, 'm'));
  t.match(await run({}, ['file']), { text: /^file \(as a host; the file is \.\/file\)$/m }, 'a careless name');

  const cache = { filesystem: { packageCache: true } };
  fs.mkdirSync(path.join(home, '.npm'), { recursive: true });
  const { text: profile } = await run({ profile: 'darwin' }, [], cache);
  t.match(profile, /^;.*\n\(version 1\)\n\(deny default\)$/m);
  t.match(profile, /^\(allow network-outbound \(remote ip "localhost:\d+"\)\)$/m, 'with the network that a run has');
  t.match(profile, `(subpath "${home}/.npm")`, 'and the cache that the environment names');

  t.match(await run({}, ['x.example.com'], options, ['a key without effect\u001b']), { errors: 'os-sandbox: warning: a key without effect\\u001b\n' });
  const nothing = { filesystem: { denyRead: ['/'] } };
  for (const [flags, words] of [[{}, ['./x']], [{ profile: 'linux' }, []], [{ profile: 'darwin' }, []]]) {
    t.strictSame(await run(flags, words, nothing), { code: 125, text: '', errors: 'os-sandbox: filesystem.denyRead[0]: / cannot be read-denied, nothing could run\n' });
  }
  for (const [flags, words] of [[{ profile: 'linux' }, ['x']], [{}, ['a b']]]) {
    const error = await run(flags, words).catch((reason) => reason);
    t.ok(error instanceof require('../lib/cli/errors').UsageError, JSON.stringify([flags, words]));
  }
});
