'use strict';
// Profiles for macOS, judged without a Mac: what the generator wrote is read and evaluated here, and compared with policy.md's
// rules and with what commands in the sandbox of this host may do.

const t = require('tap');
const fs = require('node:fs');
const path = require('node:path');
const { loadNative } = require('../lib/native.js');
const { makePolicy } = require('../lib/policy.js');
const { Profile } = require('./helpers/sbpl.js');
const { scratchFolder, startSandbox } = require('./helpers/sandbox.js');

const HOME = '/Users/someone';

function textOf(options, place) {
  const { handle } = makePolicy(options);
  return loadNative().addon.profileDarwin(handle, { home: HOME, tmpdir: '/tmp', ...place });
}

const profileOf = (options, place) => new Profile(textOf(options, place));

/** A workspace with what the rules are about. */
function workspace(t) {
  const root = scratchFolder(t);
  const cwd = path.join(root, 'work');
  for (const folder of ['.git/hooks', 'deny/open', 'locked', 'secrets', 'sub/a', 'run'])
    fs.mkdirSync(path.join(cwd, folder), { recursive: true });
  for (const file of ['.git/config', 'deny/a', 'deny/open/b', 'locked/c', 'secrets/key.pem', 'sub/x.key', 'readme'])
    fs.writeFileSync(path.join(cwd, file), '');
  fs.mkdirSync(path.join(root, 'outside'));
  return { root, cwd };
}

/** Rows of [path below the workspace, read, written]. */
function check(t, profile, cwd, rows) {
  for (const [name, read, written] of rows) {
    const file = path.resolve(cwd, name);
    t.equal(profile.reads(file), read, `${name} is ${read ? '' : 'not '}read`);
    t.equal(profile.writes(file), written, `${name} is ${written ? '' : 'not '}written`);
  }
}

t.test('files: what the policy says of a path, by each of its names', async (t) => {
  const { root, cwd } = workspace(t);
  const filesystem = {
    denyRead: ['deny', 'secrets/*.pem', 'later'],
    denyWrite: ['locked', '**/*.key'],
    allowRead: ['deny/open'],
  };
  const profile = profileOf({ filesystem }, { cwd, tag: 'run "7"\n' });
  const yes = true;
  const no = false;
  const rows = [
    ['readme', yes, yes],
    ['new/file', yes, yes],
    ['deny', no, no],
    ['deny/a', no, no],
    ['Deny/a', no, no],
    ['deny/open', yes, no],
    ['deny/open/b', yes, yes],
    ['denyx', yes, yes],
    ['later', no, no],
    ['later/on', no, no],
    ['LATER', no, no],
    ['locked/c', yes, no],
    ['LocKed/new', yes, no],
    ['secrets/key.pem', no, no],
    ['secrets/other.PEM', no, no],
    ['secrets/sub/other.pem', yes, yes],
    ['secrets/pem', yes, yes],
    ['sub/x.key', yes, no],
    ['sub/\u017fub/x.\u212aey', yes, no],
    ['sub/new/y.key', yes, no],
    ['sub/x.keys', yes, yes],
    ['../outside/x', yes, no],
    ['/usr/bin/true', yes, no],
    ['/tmp/x', yes, yes],
    ['/private/tmp/x', yes, yes],
    ['/private/etc/hosts', yes, no],
    [`${HOME}/.ssh/id`, no, no],
    [`/System/Volumes/Data${HOME}/.ssh/id`, no, no],
    [`${HOME}/Library/Keychains/login.keychain-db`, no, no],
    [`${HOME}/Library/Fonts/x`, yes, no],
    [`${HOME}/.npmrc`, yes, no],
    ['/dev/disk0', no, no],
  ];
  // The way to what is open shows itself, and no more; the folder that is opened is a root, which is not moved away.
  check(t, profile, cwd, rows.filter(([name]) => name !== 'deny/open'));
  t.ok(profile.reads(path.join(cwd, 'deny/open')));
  t.ok(profile.path(path.join(cwd, 'deny'), 'file-read-metadata', 'DIRECTORY'));
  t.notOk(profile.path(path.join(cwd, 'deny/open'), 'file-write-unlink', 'DIRECTORY'));

  t.comment('the same below /private, where macOS has /var, and on the data volume');
  for (const [name, read, written] of rows.filter(([name]) => !name.startsWith('/') && name !== 'deny/open')) {
    const file = path.resolve(cwd, name);
    t.equal(profile.reads(`/private${file}`), read, `/private: ${name} is ${read ? '' : 'not '}read`);
    t.equal(profile.writes(`/private${file}`), written, `/private: ${name} is ${written ? '' : 'not '}written`);
    if (!read) t.notOk(profile.reads(`/System/Volumes/Data/private${file}`), `data volume: ${name}`);
  }

  t.comment('what is denied cannot be moved away with the folders above it, nor linked to');
  for (const folder of [cwd, path.join(cwd, '.git'), path.join(cwd, 'sub'), '/tmp', '/private/tmp'])
    t.notOk(profile.path(folder, 'file-write-unlink', 'DIRECTORY'), `${folder} stays`);
  for (const folder of ['sub/a', 'new', 'run'])
    t.equal(profile.path(path.join(cwd, folder), 'file-write-unlink', 'DIRECTORY'), true, `${folder} may go`);
  t.notOk(profile.path(path.join(cwd, 'deny/a'), 'file-link'));
  t.notOk(profile.path(path.join(root, 'outside/x'), 'file-link'));
  t.ok(profile.path(path.join(cwd, 'readme'), 'file-link'));

  t.comment('devices: those that programs need');
  for (const [device, operation, allowed] of [
    ['/dev/null', 'file-write-data', yes],
    ['/dev/fd/1', 'file-write-data', yes],
    ['/dev/tty', 'file-ioctl', yes],
    ['/dev/null', 'file-write-unlink', no],
    ['/dev/ttys003', 'file-write-data', no],
    ['/dev/ttys003', 'file-ioctl', no],
  ])
    t.equal(profile.path(device, operation, 'CHARACTER-DEVICE'), allowed, `${operation} ${device}`);
  t.ok(profile.allows('file-ioctl', { path: '/dev/ttys003', extension: 'com.apple.sandbox.pty' }));

  const denials = profile.rules.filter(({ action, operations }) => action === 'deny' && /^(file|default)/.test(operations[0]));
  t.ok(denials.length > 5 && denials.every(({ message }) => message === 'run "7"\n'), 'each denial of a file bears the tag');

  t.comment('regions in regions: what is open in a closed one, and what is closed in there again');
  const home = path.join(root, 'home');
  for (const folder of ['.ssh/keys/old', '.aws/sso']) fs.mkdirSync(path.join(home, folder), { recursive: true });
  for (const file of ['.ssh/id', '.ssh/known_hosts', '.ssh/keys/old/id', '.aws/sso/token']) fs.writeFileSync(path.join(home, file), '');
  const nested = { allowRead: ['~/.ssh/known_hosts', '~/.ssh/keys', '~/.aws'], denyRead: ['~/.ssh/keys/old', '~/.aws/s*'], allowWrite: ['~'] };
  const inside = [
    ['.ssh/id', no, no],
    ['.ssh/new', no, no],
    ['.ssh/known_hosts', yes, no],
    ['.ssh/keys/x', yes, yes],
    ['.ssh/keys/old/id', no, no],
    ['.aws/x', yes, yes],
    ['.aws/sso/token', no, no],
    ['.aws/second', no, no],
    ['.netrc', no, no],
    ['notes', yes, yes],
  ];
  check(t, profileOf({ filesystem: nested }, { cwd, home }), home, inside.filter(([name]) => name !== '.ssh/known_hosts'));
  const unwritten = inside.map(([name, read]) => [name, read, no]);
  check(t, profileOf({ filesystem: { ...nested, allowWrite: [] } }, { cwd, home }), home, unwritten);

  const root_ = profileOf({ filesystem: { allowWrite: ['/'], denyWrite: ['/usr'] } }, { cwd });
  check(t, root_, '/', [['/opt/x', yes, yes], ['/usr/bin/x', yes, no], ['/dev/disk0', no, no], ['/opt/.bashrc', yes, no]]);
});

t.test('strict reads: the roots, what is named, and what programs need', async (t) => {
  const { root, cwd } = workspace(t);
  const filesystem = { defaultRead: 'deny', allowRead: ['../outside'], denyRead: ['deny', '/usr/lib/secret'] };
  const profile = profileOf({ filesystem }, { cwd });
  check(t, profile, cwd, [
    ['readme', true, true],
    ['deny/a', false, false],
    ['../outside/x', true, false],
    ['../other', false, false],
    ['/usr/bin/true', true, false],
    ['/usr/lib/secret', false, false],
    ['/System/Library/Frameworks/x', true, false],
    ['/private/var/select/sh', true, false],
    ['/var/select/sh', true, false],
    ['/private/var/db/other', false, false],
    ['/private/etc/master.passwd', false, false],
    ['/Users/other/x', false, false],
    ['/Volumes/disk/x', false, false],
    ['/opt/other/x', false, false],
  ]);
  t.ok(profile.reads('/'), 'dyld opens the root');
  for (const folder of [root, path.dirname(root), '/private/var', '/usr']) {
    t.ok(profile.path(folder, 'file-read-metadata', 'DIRECTORY'), `${folder} is passed through`);
    t.notOk(profile.reads(folder), `${folder} is not listed`);
  }
});

t.test('folders that the sandbox would replace by its own are closed', async (t) => {
  const { root, cwd } = workspace(t);
  const cache = path.join(root, 'cache');
  const shared = path.join(root, 'shared');
  for (const folder of [cache, path.join(shared, 'work')]) fs.mkdirSync(folder, { recursive: true });
  const filesystem = { privateTmp: true, packageCache: true, writableCwd: false, allowWrite: [`${shared}/work`] };
  const place = { cwd, tmpdir: shared, packageCache: cache };
  const outside = [
    ['/tmp/x', false, false],
    ['/private/tmp/x', false, false],
    [`${shared}/x`, false, false],
    [`${shared}/work/x`, true, true],
    ['readme', true, false],
  ];
  check(t, profileOf({ filesystem }, place), cwd, [...outside, [`${cache}/x`, true, false]]);
  const strict = profileOf({ filesystem: { ...filesystem, defaultRead: 'deny' } }, place);
  check(t, strict, cwd, [...outside.slice(0, -1), ['readme', false, false]]);
  t.notOk(strict.writes(`${cache}/x`));
});

t.test('protected names at any depth, in any case', async (t) => {
  const { cwd } = workspace(t);
  const refused = [
    '.bashrc', 'a/b/.BashRC', '.envrc', '.mcp.json', '.vscode', '.vscode/tasks.json', '.v\u017fcode/tasks.json',
    'x/.claude/commands/y', '.claude/settings.json', '.config/os-sandbox/settings.json', '.husky/pre-commit',
    '.git/hooks', '.git/hooks/pre-commit', '.GIT/Hooks/pre-commit', '.git/config', '.git/con\ufb01g', 'a/.git/config.worktree',
    'a/.git/commondir', '.git/worktrees/w/gitdir', '.git/modules/m/hooks/x', '.git/modules/m/n/config', 'bare.git/hooks/x',
    '.g\u200cit', '\u200c.git/x', '.git/ho\u2060\u206aoks/x',
  ];
  const free = [
    '.bashrcx', 'x.bashrc', 'bashrc', '.claude/notes', '.vscodes/x', '.git/index', '.git/refs/heads/config', 'hooks/x', 'config',
    '.git/modules/m/refs/heads/config', '.git/modules/m/objects/hooks/x', '.git/modules/m/index.lock', '.git/rebase-merge/config',
    '.github/workflows/ci.yml', 'git/hooks/x', 'emoji-\u{1f469}\u200d\u{1f469}',
  ];
  const profile = profileOf({}, { cwd });
  for (const name of refused) t.notOk(profile.writes(path.join(cwd, name)), `${name} is refused`);
  for (const name of free) t.ok(profile.writes(path.join(cwd, name)), `${name} is written`);
  for (const name of refused.filter((name) => !name.includes('\u206a'))) t.ok(profile.reads(path.join(cwd, name)), `${name} is read`);

  t.comment('the folders of those are neither moved away, nor others to their place');
  for (const [name, unlink, create] of [
    ['a/.claude', false, false], ['.config', false, false], ['a/.git', false, true], ['.git/modules/m', false, true],
    ['.git/worktrees/w', false, true], ['.git/worktrees', false, true], ['.git/modules/m/refs/heads', true, true], ['a', true, true],
  ]) {
    t.equal(profile.path(path.join(cwd, name), 'file-write-unlink', 'DIRECTORY'), unlink, `unlink ${name}`);
    t.equal(profile.path(path.join(cwd, name), 'file-write-create', 'DIRECTORY'), create, `create ${name}`);
  }
  t.notOk(profile.path(path.join(cwd, 'a/.git'), 'file-write-data'), 'a .git file is not re-pointed');

  const filesystem = { allowGitConfig: true, allowProtected: ['.vscode/', '.config/os-sandbox/', '.bashrc'] };
  const freed = profileOf({ filesystem }, { cwd });
  for (const name of ['.vscode/tasks.json', 'a/.bashrc', '.config/os-sandbox/x', '.config', 'a/.git/config', '.git/modules/m/config'])
    t.ok(freed.writes(path.join(cwd, name)), `${name} is freed`);
  for (const name of ['.git/hooks/x', '.git/commondir', '.zshrc', '.idea/x']) t.notOk(freed.writes(path.join(cwd, name)), `${name} is not`);

  const exact = profileOf({ filesystem: { denyWrite: ['locked'] } }, { cwd, caseSensitive: true });
  t.notOk(exact.writes(path.join(cwd, 'locked/x')));
  t.ok(exact.writes(path.join(cwd, 'LOCKED/x')), 'where disks tell names apart, so do the rules');
});

t.test('network: the proxy and named sockets alone', async (t) => {
  const { root, cwd } = workspace(t);
  const remote = (profile, host, port) => profile.allows('network-outbound', { side: 'remote', host, port });
  const connects = (profile, name) => profile.allows('network-outbound', { side: 'remote', path: name });
  const network = { allowUnixSockets: ['/opt/agent.sock', '/opt/dir{a,b}/*.sock', '../outside'] };
  const profile = profileOf({ network, filesystem: { denyRead: ['run'] } }, { cwd, proxyPort: 3128, additionalDirs: `${root}/outside\0` });
  t.ok(remote(profile, 'localhost', 3128));
  t.notOk(remote(profile, 'localhost', 3129));
  t.notOk(remote(profile, 'example.com', 3128));
  t.notOk(profile.allows('network-bind', { side: 'local', host: 'localhost', port: 3128 }));
  for (const [name, allowed] of [
    [`${cwd}/x.sock`, true], [`/private${cwd}/x.sock`, true], [`${cwd}/run/x.sock`, false], [`${root}/outside/x.sock`, true],
    [`${root}/x.sock`, false], ['/opt/agent.sock', true], ['/opt/agent.sock/x', false], ['/opt/agentxsock', false],
    ['/opt/AGENT.sock', false], ['/opt/dira/x.sock', true], ['/opt/dirb/c/x.sock', false], ['/tmp/x.sock', false],
    ['/private/tmp/com.apple.launchd.x/Listeners', false], ['/private/var/run/docker.sock', false],
    ['/private/var/run/mDNSResponder', false], [`${HOME}/.docker/run/docker.sock`, false],
  ])
    t.equal(connects(profile, name), allowed, `connect ${name}`);
  t.ok(profile.allows('network-bind', { side: 'local', path: `${cwd}/x.sock` }));
  t.notOk(profile.allows('network-bind', { side: 'local', path: '/opt/agent.sock' }));
  t.notOk(connects(profileOf({}, { cwd: '/tmp', home: HOME }), '/tmp/x.sock'), 'a shared folder as cwd has sockets of others');
  t.ok(connects(profileOf({}, { cwd, tmpdir: `${root}/outside`, privateTmpdir: true }), `${root}/outside/s`));
  t.notOk(connects(profileOf({}, { cwd, tmpdir: `${root}/outside` }), `${root}/outside/s`));
  t.notOk(remote(profileOf({}, { cwd }), 'localhost', 0), 'without a proxy there is no network');

  const local = profileOf({ network: { allowLocalBinding: true } }, { cwd, proxyPort: 3128 });
  t.ok(local.allows('network-bind', { side: 'local', host: '::', port: 3000 }));
  t.ok(local.allows('network-inbound', { side: 'local', host: 'localhost', port: 3000 }));
  t.ok(remote(local, 'localhost', 3000));
  t.notOk(remote(local, 'example.com', 3000));
});

t.test('what acts outside of the sandbox stays closed', async (t) => {
  const profile = profileOf({}, { cwd: '/usr', proxyPort: 3128 });
  for (const name of [
    'com.apple.coreservices.launchservicesd', 'com.apple.CoreServices.coreservicesd', 'com.apple.coreservices.appleevents',
    'com.apple.lsd.mapdb', 'com.apple.lsd.open', 'com.apple.trustd', 'com.apple.trustd.agent', 'com.apple.SecurityServer',
    'com.apple.securityd.xpc', 'com.apple.tccd', 'com.apple.pasteboard.1', 'com.apple.windowserver.active',
    'com.apple.xpc.launchd.domain.user.501', 'com.apple.ViewBridgeAuxiliary', 'com.apple.dnssd.service', 'com.apple.cfprefsd.agent',
  ])
    t.notOk(profile.allows('mach-lookup', { name }), name);
  t.ok(profile.allows('mach-lookup', { name: 'com.apple.system.opendirectoryd.libinfo' }));
  for (const operation of ['appleevent-send', 'lsopen', 'job-creation', 'mach-register', 'mach-priv-task-port', 'nvram-set',
    'system-privilege', 'iokit-open', 'user-preference-write', 'file-mount', 'process-info-pidinfo', 'signal', 'authorization-right-obtain'])
    t.notOk(profile.allows(operation, { target: 'others', name: '' }), operation);
  t.ok(profile.allows('signal', { target: 'same-sandbox' }));
  for (const [name, allowed] of [['hw.ncpu', true], ['kern.proc.pid.7', true], ['kern.procargs2', false], ['kern.proc.all', false], ['kern.hostnamex', false]])
    t.equal(profile.allows('sysctl-read', { name }), allowed, name);
  t.notOk(profile.allows('system-socket', { domain: 'AF_INET' }));
  t.notOk(profile.allows('ipc-posix-shm-read-data', { name: '/other' }));
});

t.test('200 denied paths, each in 12 folders of its own, are at most 256 KiB', async (t) => {
  const { cwd } = workspace(t);
  const levels = Array.from({ length: 11 }, (_, i) => `level${i}`);
  const paths = Array.from({ length: 200 }, (_, i) => path.join(cwd, ...levels.map((level) => `${level}-${i}`), `file-${i}`));
  for (const file of paths) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, '');
  }
  const text = textOf({ filesystem: { denyRead: paths.slice(0, 100), denyWrite: paths.slice(100) } }, { cwd, tag: 'x'.repeat(40) });
  const profile = new Profile(text);
  t.ok(profile.bytes <= 256 * 1024, `${profile.bytes} bytes`);
  t.ok(profile.rules.length < 80, `${profile.rules.length} rules`);
  paths.forEach((file, i) => {
    const said = [profile.reads(file), profile.writes(file), profile.writes(`${file}x`)];
    for (let folder = path.dirname(file); folder.length >= cwd.length; folder = path.dirname(folder))
      said.push(profile.path(folder, 'file-write-unlink', 'DIRECTORY'));
    said.push(!profile.path(`${path.dirname(file)}x`, 'file-write-unlink', 'DIRECTORY'));
    t.strictSame(said, [i >= 100, false, true, ...Array(13).fill(false)], `path ${i}`);
  });
});

t.test('any name means itself, and nothing else', async (t) => {
  const { cwd } = workspace(t);
  const pieces = ['a', 'K', 's', 'fi', '"', '\\', '\n', '\t', '\x01', '\x7f', '(', ')', '#', ';', "'", '.', '+', '^', '$', '|', '[', ']', '*', '?',
    '{', '}', ',', '-', ' ', '\u00e9', '\u20ac', '\u{1f600}', '\\x41', '\\n', '~', 'x"))(allow file-read*)(', '%', '..'];
  const names = new Set(pieces.map((piece) => `p${piece}`));
  for (let i = 0; i < 120; i++) {
    let state = i * 7919 + 1;
    const next = () => (state = (state * 48271) % 2147483647);
    names.add(Array.from({ length: 1 + (next() % 6) }, () => pieces[next() % pieces.length]).join('') + 'z');
  }
  const files = [...names].map((name) => path.join(cwd, 'deny', `${name}`));
  for (const file of files) fs.writeFileSync(file, '');
  const profile = profileOf({ filesystem: { denyRead: files } }, { cwd });
  const lower = new Set(files.map((file) => file.toLowerCase()));
  for (const file of files) {
    t.equal(profile.reads(file), false, JSON.stringify(file));
    const others = [`${file}x`, file.slice(0, -1), file.replace(/(.)$/su, 'q'), path.join(path.dirname(file), `w${path.basename(file)}`)];
    for (const other of others)
      if (!lower.has(other.toLowerCase()) && path.dirname(other) === path.dirname(file) && !path.basename(other).startsWith('..'))
        t.equal(profile.reads(other), true, `not ${JSON.stringify(other)}`);
  }
  t.ok(profile.reads(path.join(cwd, 'readme')));
  t.equal(profile.allows('network-outbound', { side: 'remote', host: 'localhost', port: 80 }), false);
});

t.test('what cannot be said is an error, never a hole', async (t) => {
  const { cwd } = workspace(t);
  const deny = (entry) => textOf({ filesystem: { denyWrite: [entry] } }, { cwd });
  t.throws(() => deny(`/${'x.'.repeat(600)}`), { name: 'TypeError', message: /too long for a rule/ });
  t.throws(() => textOf({ network: { allowUnixSockets: ['/opt/{**,a}/x'] } }, { cwd }), { name: 'TypeError', message: /allowUnixSockets.*beside a brace/ });
  t.throws(() => textOf({}, { cwd: 'relative' }), { name: 'TypeError' });
  t.throws(() => textOf({}, { cwd, proxyPort: 65536 }), { name: 'TypeError' });
  const long = path.join(cwd, ...Array.from({ length: 4 }, () => 'n'.repeat(100)));
  const profile = new Profile(deny(long));
  t.notOk(profile.writes(long), 'a long path keeps its rule');
});

t.test('commands of this host may do what the profile says', async (t) => {
  const { cwd, root } = workspace(t);
  const options = {
    filesystem: {
      denyRead: ['deny', '**/*.pem', 'later'],
      denyWrite: ['locked', 'sub/*.key'],
      allowRead: ['deny/open'],
      allowProtected: ['.idea/'],
    },
  };
  fs.symlinkSync('deny', path.join(cwd, 'way'));
  const sandbox = await startSandbox(t, options);
  const profile = profileOf(options, { cwd });
  // The second is what the first leads to: a profile is asked about that alone.
  const files = ['readme', 'deny/a', 'deny/open/b', 'locked/c', 'secrets/key.pem', 'sub/x.key', '.git/config', 'new/file', 'later',
    'locked/new', 'sub/new.key', 'sub/a/new.key', 'sub/new.pem', 'a/b/.bashrc', '.vscode/tasks.json', '.idea/x', '.git/hooks/pre-commit',
    '.git/index', 'q/.git/hooks/x', 'sub/.claude/settings.json', `${root}/outside/x`, '/usr/x', '/etc/x', '/var/tmp/x-of-nobody', '/tmp/x-of-nobody',
  ].map((name) => [path.resolve(cwd, name), path.resolve(cwd, name)]);
  files.push([path.join(cwd, 'way/a'), path.join(cwd, 'deny/a')]);
  const script = `
    const fs = require('fs'), path = require('path');
    const tried = (act) => { try { act(); return true; } catch (error) { return error.code === 'ENOENT' ? undefined : false; } };
    console.log(JSON.stringify(JSON.parse(process.argv[1]).map((file) => {
      const read = tried(() => fs.closeSync(fs.openSync(file, 'r')));
      const there = fs.existsSync(file);
      tried(() => fs.mkdirSync(path.dirname(file), { recursive: true }));
      const written = tried(() => { fs.closeSync(fs.openSync(file, 'a')); if (!there) fs.unlinkSync(file); });
      return [read, written];
    })));`;
  const { stdout, stderr } = await sandbox.machine(cwd).run([process.execPath, '-e', script, JSON.stringify(files.map(([file]) => file))]);
  const got = JSON.parse(stdout || `"${stderr}"`);
  t.equal(got.length, files.length);
  got.forEach(([read, written], i) => {
    const [file, real] = files[i];
    if (read !== undefined && read !== null) t.equal(profile.reads(real), read, `read ${file}`);
    t.equal(profile.writes(real), written ?? false, `write ${file}`);
  });
});
