'use strict';
// What a sandbox says and does where the host lacks something: each time the thing is really taken away.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { runProgram } = require('./helpers/program');
const { scratchFolder } = require('./helpers/sandbox');
const { AS_ROOT, OWN_MOUNTS, REAL_BWRAP, withBinds, withBwrap } = require('./helpers/namespace');

const ROOT = path.join(__dirname, '..');
/** Variables by which the sandbox tells a container: this host may be one. */
const { container: _, KUBERNETES_SERVICE_HOST: __, ...ambient } = process.env;

/** What a sandbox there is like, and what its commands can do. */
const REPORT = `
  const { createServer } = require('node:net');
  const [workspace, outside] = process.argv.slice(1);
  const filesystem = {
    denyWrite: ['deep/down/kept'],
    denyRead: ['deep/hidden', 'deep/hidden.txt', outside + '/hidden'],
    allowRead: ['deep/hidden/way/open', '~/.ssh/known_hosts'],
  };
  const sandbox = await OsSandbox.start({ filesystem, network: { allowedDomains: ['allowed.example.com'] } });
  const machine = sandbox.machine(workspace);
  const write = (target) => machine.run(['sh', '-c', 'echo x > "$0"', target]);
  const server = "require('net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port); })";
  const connect = (port) => machine.run(['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/$0', port]);
  const controller = new AbortController();
  const port = await new Promise((resolve) => {
    const onOutput = ({ data }) => resolve(data.trim());
    machine.run([process.execPath, '-e', server], { onOutput, signal: controller.signal });
  });
  const shared = await connect(port);
  controller.abort();
  const own = server.replace('console.log(this.address().port)', "require('net').connect(this.address().port).on('connect', () => process.exit(0))");
  say({
    status: sandbox.status,
    kind: machine.constructor.name,
    opened: (await machine.run(['sh', '-c', 'cat deep/hidden/way/open ~/.ssh/known_hosts'])).stdout,
    inside: await write(workspace + '/inside'),
    outside: await write(outside + '/file'),
    denied: (await machine.run(['bash', '-c', process.env.ATTEMPTS])).stdout.trim(),
    sharesLocalhost: shared.exitCode === 0,
    hasLocalhost: (await machine.run([process.execPath, '-e', own])).exitCode === 0,
    refusal: (await machine.run(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', 'http://denied.example.com/'])).stdout,
    address: (await machine.run(['getent', 'ahostsv4', 'allowed.example.com'])).stdout,
    userns: (await machine.run(['unshare', '-U', 'true'])).exitCode === 0,
    procIsWritable: (await machine.run(['test', '-w', '/proc/sys/kernel/domainname'])).exitCode === 0,
  });
  await sandbox.dispose();`;

/** What no command may do, whichever way the files are mounted; each that works prints its number. */
const ATTEMPTS = [
  'cat deep/hidden/secret',
  'ls deep/hidden',
  'ls deep/hidden/way',
  'cat deep/hidden/way/secret',
  'ls ~/.ssh',
  'echo x > ~/.ssh/known_hosts',
  'cat deep/hidden.txt',
  'cat ../outside/hidden',
  'cat ~/.ssh/id',
  'cat ~/.netrc',
  'echo x > deep/hidden/new',
  'echo x > deep/hidden.txt',
  'echo x >> deep/down/kept/file',
  'chmod 700 deep/hidden',
  'mv deep/down/kept deep/down/other',
  'mv deep/down deep/other',
  'mv deep other',
  'rm -rf deep/hidden.txt',
]
  .map((attempt, i) => `(${attempt}) >/dev/null 2>&1 && echo ${i}`)
  .join('\n');

/** Reports from a program that was started so, beside a home and a workspace with something to deny. */
async function report(t, { env = ambient, ...options } = {}) {
  const base = scratchFolder(t);
  const [workspace, outside, home] = ['workspace', 'outside', 'home'].map((name) => path.join(base, name));
  for (const folder of [outside, path.join(workspace, 'deep/hidden/way'), path.join(workspace, 'deep/down/kept'), path.join(home, '.ssh')]) {
    fs.mkdirSync(folder, { recursive: true });
  }
  const inWorkspace = ['hidden/secret', 'hidden/way/secret', 'hidden/way/open', 'hidden.txt', 'down/kept/file'];
  const files = inWorkspace.map((name) => `workspace/deep/${name}`);
  files.push('outside/hidden', 'home/.ssh/id', 'home/.ssh/known_hosts', 'home/.netrc');
  for (const file of files) fs.writeFileSync(path.join(base, file), 'secret');
  const args = [workspace, outside];
  const { said, ...rest } = await runProgram(t, REPORT, { args, env: { ...env, HOME: home, ATTEMPTS }, ...options });
  t.match(rest, { code: 0, signal: null }, rest.stderr);
  return said[0];
}

/** Nothing is sandboxed, and the reason says why. */
async function isDisabled(t, reason, options) {
  const { status, kind, inside, outside, denied } = await report(t, options);
  t.equal(denied.split('\n').length, ATTEMPTS.split('\n').length, 'each attempt works there');
  t.strictSame(Object.keys(status), ['enabled', 'reason']);
  t.equal(status.enabled, false);
  t.match(status.reason, reason);
  t.equal(kind, 'LocalMachine');
  t.match([inside, outside], [{ exitCode: 0 }, { exitCode: 0 }]);
}

const EVERYTHING = {
  filesystem: 'enforced',
  network: 'session',
  capture: 'transparent',
  protectedNames: 'enforced',
  unixSockets: 'enforced',
  violations: 'reported',
  systemCalls: 'filtered',
  userNamespaces: 'disabled',
  proc: 'private',
};
const UNSUPERVISED = { protectedNames: 'existing-only', unixSockets: 'not-enforced', violations: 'none' };

const mountedByName = /mounts by name/;
const unsupervised = /^refused attempts are not reported, connections to unix sockets .* protected or denied names/;

/** Files are held to the policy, this much else holds, and warnings say what does not. */
async function isEnabled(t, guarantees, warnings, options) {
  const { status, kind, inside, outside, ...seen } = await report(t, options);
  if (!t.equal(status.enabled, true, status.reason)) return;
  t.equal(kind, 'SandboxedLocalMachine');
  t.match([inside.exitCode, outside.exitCode === 0, outside.stderr], [0, false, /Read-only file system/]);
  t.equal(seen.denied, '', 'every denial holds');
  t.equal(seen.opened, 'secretsecret', 'and what is opened in a denied folder is open');
  const all = { ...EVERYTHING, ...guarantees };
  t.match(status.guarantees, all);
  t.equal(status.warnings.length, warnings.length, status.warnings.join('\n'));
  for (const warning of warnings) t.ok(status.warnings.some((text) => warning.test(text)), String(warning));
  t.equal(seen.sharesLocalhost, all.network === 'session', 'localhost is shared as told');
  t.equal(seen.hasLocalhost, true);
  t.equal(seen.refusal, '403', 'clients that know of the proxy hear from it');
  t.equal(/^198\.1[89]\./.test(seen.address), all.capture === 'transparent', 'others reach what is allowed, as told');
  t.equal(seen.userns, all.userNamespaces !== 'disabled', 'user namespaces are as told');
  t.equal(seen.procIsWritable, false);
}



t.test('a host that lacks nothing gives every guarantee and no warning', async (t) => {
  await isEnabled(t, {}, []);
});

t.test('without the addon', async (t) => {
  const reason = /^native addon not loaded: ./;
  t.test('because Node may load none', async (t) => {
    await isDisabled(t, reason, { nodeArgs: ['--no-addons'] });
    const permission = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
    const nodeArgs = [permission, '--allow-fs-read=*', '--allow-fs-write=*', '--allow-child-process', '--no-warnings'];
    // What a test runner makes every Node load does not go with permissions.
    await isDisabled(t, reason, { nodeArgs, launcher: ['env', '-u', 'NODE_OPTIONS'] });
  });

  /** A copy of the package, with its build changed. */
  const changed = (t, change) => {
    const copy = path.join(scratchFolder(t), 'package');
    for (const entry of ['lib', 'package.json', 'build/Release/os_sandbox.node', 'build/Release/os-sandbox-exec']) {
      fs.cpSync(path.join(ROOT, entry), path.join(copy, entry), { recursive: true });
    }
    change(path.join(copy, 'build', 'Release'));
    return { root: copy };
  };
  t.test('because it is of a foreign kind', async (t) => {
    await isDisabled(t, reason, changed(t, (build) => fs.writeFileSync(`${build}/os_sandbox.node`, 'MZ of another system')));
  });
  t.test('because there is none', async (t) => {
    await isDisabled(t, reason, changed(t, (build) => fs.rmSync(build, { recursive: true })));
  });
  t.test('because its helper is missing or cannot be executed', async (t) => {
    await isDisabled(t, reason, changed(t, (build) => fs.rmSync(`${build}/os-sandbox-exec`)));
    await isDisabled(t, reason, changed(t, (build) => fs.chmodSync(`${build}/os-sandbox-exec`, 0o644)));
  });
  t.test('and with all of it, a copy works', async (t) => {
    await isEnabled(t, {}, [], changed(t, () => {}));
  });
});

t.test('without bwrap', async (t) => {
  const reason = /^missing sandbox dependencies: bubblewrap .*apt install bubblewrap/;
  const bin = path.dirname(REAL_BWRAP);

  /** The words that start a program where the folder of bwrap has everything but it. */
  const withoutBwrap = (t, ...andThen) => {
    const folder = scratchFolder(t);
    const [rest, all] = ['rest', 'all'].map((name) => path.join(folder, name));
    for (const made of [rest, all]) fs.mkdirSync(made);
    for (const name of fs.readdirSync(bin)) if (name !== 'bwrap') fs.symlinkSync(path.join(all, name), path.join(rest, name));
    return [...withBinds([[bin, all], [rest, bin]]), ...andThen];
  };
  /** A folder with a bwrap that would leave a trace. */
  const withDecoy = (folder) => {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'bwrap'), `#!/bin/sh\n: > ${folder}/used\nexit 1\n`, { mode: 0o755 });
    return folder;
  };

  t.test('start() says what to install', async (t) => {
    await isDisabled(t, reason, { launcher: withoutBwrap(t) });
  });
  t.test('one that is no program is none', async (t) => {
    const file = path.join(scratchFolder(t), 'file');
    fs.writeFileSync(file, '', { mode: 0o644 });
    await isDisabled(t, reason, { launcher: withBinds([[file, REAL_BWRAP]]) });
  });
  t.test('one in a folder that others may write is not used', async (t) => {
    const base = scratchFolder(t);
    const decoys = [withDecoy(`${base}/bin`), withDecoy(`${base}/project/node_modules/.bin`)];
    const PATH = [...decoys, process.env.PATH].join(':');
    const options = { launcher: withoutBwrap(t), env: { ...ambient, PATH }, cwd: `${base}/project` };
    await isDisabled(t, reason, options);
    for (const folder of ['.', 'node_modules/.bin', '']) {
      await isDisabled(t, reason, { ...options, env: { ...ambient, PATH: `${folder}:${process.env.PATH}` }, cwd: decoys[0] });
    }
    for (const folder of decoys) t.notOk(fs.existsSync(`${folder}/used`));
  });
  t.test('one earlier in PATH is not preferred to the system\'s', async (t) => {
    const decoy = withDecoy(`${scratchFolder(t)}/bin`);
    await isEnabled(t, {}, [], { env: { ...ambient, PATH: `${decoy}:${process.env.PATH}` } });
    t.notOk(fs.existsSync(`${decoy}/used`));
  });
  t.test('one in a folder of PATH that only root may write is used, when PATH names it in full', async (t) => {
    const copy = path.join(scratchFolder(t), 'bwrap');
    fs.copyFileSync(REAL_BWRAP, copy);
    const place = 'mount -t tmpfs -o mode=755 none /mnt && mkdir /mnt/bin && install -m 755 "$0" /mnt/bin/bwrap && cd /mnt && exec "$@"';
    const launcher = withoutBwrap(t, 'sh', '-c', place, copy);
    const searching = (folder) => ({ launcher, env: { ...ambient, PATH: `${folder}:${process.env.PATH}` } });
    await isEnabled(t, {}, [], searching('/mnt/bin'));
    await isDisabled(t, reason, searching('bin'));
    await isDisabled(t, reason, searching('../mnt/bin'));
  });
});

t.test('where user namespaces are off, start() says so and how to turn them on', async (t) => {
  const off = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const launcher = ['unshare', '-Ur', 'sh', '-c', off, 'sh'];
  await isDisabled(t, /^sandbox initialization failed: user namespaces are off .*sysctl -w/, { launcher });
});

/** A program that refuses system calls to what it starts. */
function refuse(t) {
  const program = path.join(scratchFolder(t), 'refuse');
  execFileSync('cc', ['-D_GNU_SOURCE', '-o', program, path.join(__dirname, 'helpers', 'refuse.c')]);
  return program;
}

t.test('under a seccomp filter', async (t) => {
  const program = refuse(t);
  const refusing = (...names) => [program, ...names, '--'];
  const container = ['unshare', 'setns', 'mount', 'umount2', 'pivot_root', 'open_tree', 'move_mount', 'fsopen', 'mount_setattr', 'clone', 'clone3'];

  t.test('as a container runtime\'s, start() says so', async (t) => {
    const launcher = refusing(...container);
    t.not(spawnSync(launcher[0], [...launcher.slice(1), 'unshare', '-Ur', 'true']).status, 0);
    await isDisabled(t, /^sandbox initialization failed: .*seccomp/, { launcher });
  });
  t.test('in a container, start() names the options that lift it', async (t) => {
    const options = { launcher: refusing(...container), env: { ...ambient, container: 'docker' } };
    await isDisabled(t, /--security-opt seccomp=.*--security-opt systempaths=unconfined/, options);
  });
  const perCommand = /no network namespace for a whole sandbox/;
  t.test('that refuses setns, each command has a network of its own', async (t) => {
    await isEnabled(t, { network: 'per-command', capture: 'proxy' }, [perCommand, mountedByName], { launcher: refusing('setns') });
  });
  t.test('that refuses setns to a process without new privileges, likewise', async (t) => {
    const launcher = ['setpriv', '--no-new-privs', ...refusing('setns')];
    await isEnabled(t, { network: 'per-command', capture: 'proxy' }, [perCommand, mountedByName], { launcher });
  });
  t.test('that refuses unshare, each command has a network of its own and no supervisor, or nothing is sandboxed', async (t) => {
    const launcher = refusing('unshare');
    // For others than root bwrap itself needs it.
    if (!AS_ROOT) return isDisabled(t, /^sandbox initialization failed: .*seccomp/, { launcher });
    await isEnabled(t, { ...UNSUPERVISED, network: 'per-command', capture: 'proxy' }, [perCommand, mountedByName, unsupervised], { launcher });
  });
  t.test('that refuses openat2, by which mounts are checked, nothing is sandboxed', async (t) => {
    await isDisabled(t, /^sandbox initialization failed: .*seccomp/, { launcher: refusing('openat2') });
  });
  for (const name of ['open_tree', 'move_mount', 'fsopen', 'mount_setattr', 'clone3']) {
    t.test(`that refuses ${name}, nothing is lost`, async (t) => {
      await isEnabled(t, {}, name === 'clone3' ? [] : [mountedByName], { launcher: refusing(name) });
    });
  }
});

t.test('where nobody can supervise, commands are filtered all the same', async (t) => {
  const program = refuse(t);
  for (const name of ['pidfd_getfd', 'process_vm_readv', '--listen']) {
    t.test(name === '--listen' ? 'since another has the notifications' : `since ${name} is refused`, async (t) => {
      await isEnabled(t, UNSUPERVISED, [unsupervised], { launcher: [program, name, '--'] });
    });
  }
});

t.test('where system calls cannot be filtered, that is said', async (t) => {
  const guarantees = { ...UNSUPERVISED, systemCalls: 'unfiltered' };
  await isEnabled(t, guarantees, [unsupervised, /no filter of system calls/], { launcher: [refuse(t), 'seccomp', '--'] });
});

t.test('where parts of /proc are masked, commands see the outer one, read-only', async (t) => {
  const launcher = withBinds([['/dev/null', '/proc/version']]);
  t.not(spawnSync(launcher[0], [...launcher.slice(1), 'unshare', '-Urpmf', 'mount', '-t', 'proc', 'proc', '/proc']).status, 0);
  await isEnabled(t, { proc: 'host-read-only' }, [/no fresh \/proc/], { launcher });
});

t.test('with a bwrap before 0.8, which cannot forbid user namespaces inside, the filter does', async (t) => {
  const script = `
    if grep -qa -e --disable-userns /proc/self/fd/3; then
      echo "bwrap: Unknown option --disable-userns" >&2
      exit 1
    fi
    exec $BWRAP "$@"`;
  const launcher = withBwrap(scratchFolder(t), script);
  await isEnabled(t, {}, [], { launcher });
  const unfiltered = { launcher: [refuse(t), 'seccomp', '--', ...launcher] };
  const guarantees = { ...UNSUPERVISED, systemCalls: 'unfiltered', userNamespaces: 'nested-allowed' };
  await isEnabled(t, guarantees, [/user namespaces inside/, unsupervised, /no filter of system calls/], unfiltered);
});

t.test('in namespaces of its own, or without new privileges, nothing is lost', async (t) => {
  await isEnabled(t, {}, [], { launcher: OWN_MOUNTS });
  await isEnabled(t, {}, [], { launcher: ['unshare', '-Urpf', '--mount-proc'] });
  await isEnabled(t, {}, [], { launcher: ['setpriv', '--no-new-privs'] });
});
