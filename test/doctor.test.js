'use strict';
// What the doctor says of this host, and of hosts that lack something: each time the thing is really taken away.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { installCommand } = require('../lib/distribution');
const { degradationsOf } = require('../lib/guarantees');
const { remedyFor } = require('../lib/remedies');
const { REAL_BWRAP, withBinds } = require('./helpers/namespace');
const { scratchFolder } = require('./helpers/sandbox');

const ROOT = path.join(__dirname, '..');
/** Variables by which the sandbox tells a container, and one by which the network is another: this host may have them. */
const { container: _, KUBERNETES_SERVICE_HOST: __, HTTPS_PROXY: ___, HTTP_PROXY: ____, ...ambient } = process.env;

/** The subcommand as the command line calls it. */
function doctor(words, { launcher = [], nodeArgs = [], env = ambient, root = ROOT, cwd = '/' } = {}) {
  const script = `require(${JSON.stringify(path.join(root, 'lib/cli/doctor.js'))})
    .main({ flags: { json: ${words.includes('--json')} }, words: [], stdout: process.stdout, stderr: process.stderr })
    .then((code) => (process.exitCode = code));`;
  const [command, ...rest] = [...launcher, process.execPath, ...nodeArgs, '-e', script];
  const { status, stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', env, cwd });
  return { status, stdout, stderr };
}

/** The findings of a host, by part, with the exit code. */
function examine(t, options) {
  const { status, stdout, stderr } = doctor(['--json'], options);
  t.equal(stderr, '');
  const { enabled, findings } = JSON.parse(stdout);
  return { status, enabled, parts: Object.fromEntries(findings.map(({ part, ...finding }) => [part, finding])) };
}

/** Nothing starts there; the part that is to blame says so, and what to type. */
function isImpossible(t, options, part, text, remedy) {
  const { status, enabled, parts } = examine(t, options);
  t.equal(status, 2);
  t.equal(enabled, false);
  t.match(parts[part], { state: 'missing', text, remedy });
  t.match(parts.sandbox, { state: 'missing', remedy }, 'in the words of status.reason, with the same remedy');
  return parts;
}

/** The words that start a program where the folders of the system have no bwrap. */
function withoutBwrap(folder) {
  const bin = path.dirname(REAL_BWRAP);
  const [rest, all] = ['rest', 'all'].map((name) => path.join(folder, name));
  for (const made of [rest, all]) fs.mkdirSync(made);
  for (const name of fs.readdirSync(bin)) if (name !== 'bwrap') fs.symlinkSync(path.join(all, name), path.join(rest, name));
  return withBinds([[bin, all], [rest, bin]]);
}

t.test('a host that lacks nothing is well in every part', async (t) => {
  const { status, enabled, parts } = examine(t, {});
  t.strictSame([status, enabled], [0, true]);
  t.strictSame(Object.values(parts).filter(({ state }) => state !== 'ok'), []);
  t.match(parts, {
    platform: { text: `${process.platform}-${process.arch}` },
    'Node.js': { text: process.version },
    bubblewrap: { text: `, ${REAL_BWRAP}` },
  });
});

t.test('the lines for people say what the JSON says', async (t) => {
  const options = { nodeArgs: ['--no-addons'] };
  const { stdout, status } = doctor([], options);
  const { parts } = examine(t, options);
  t.equal(status, 2);
  for (const [part, { state, text, remedy }] of Object.entries(parts)) {
    const at = stdout.indexOf(`${state.padEnd(10)}${part} `);
    t.not(at, -1, part);
    t.ok(stdout.slice(at).split('\n')[0].endsWith(`  ${text}`), part);
    if (remedy) t.equal(stdout.slice(at).split('\n')[1].trim(), `→ ${remedy}`);
  }
});

t.test('without bwrap it says how this distribution installs one', async (t) => {
  const launcher = withoutBwrap(scratchFolder(t));
  isImpossible(t, { launcher }, 'bubblewrap', /^no bwrap in a folder that only root may write$/, /^apt install bubblewrap$/);
});

t.test('a bwrap that is passed over is named, with the reason', async (t) => {
  const folder = scratchFolder(t);
  const planted = path.join(folder, 'bin');
  fs.mkdirSync(planted);
  fs.chmodSync(planted, 0o777);
  fs.writeFileSync(`${planted}/bwrap`, '#!/bin/sh\n', { mode: 0o755 });
  const env = { ...ambient, PATH: `${planted}:${process.env.PATH}` };
  const refused = `${planted}/bwrap is not used: others than root may write it`;
  isImpossible(t, { launcher: withoutBwrap(folder), env }, 'bubblewrap', `; ${refused}`, 'apt install bubblewrap');
  const { status, parts } = examine(t, { env });
  t.equal(status, 0, 'where another one is used, nothing is wrong');
  t.match(parts.bubblewrap, { state: 'ok', text: `, ${REAL_BWRAP}; ${refused}` });
});

t.test('where user namespaces are off it says how to turn them on', async (t) => {
  const off = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const options = { launcher: ['unshare', '-Ur', 'sh', '-c', off, 'sh'] };
  isImpossible(t, options, 'user namespaces', /user namespaces are off/, /^sysctl -w user\.max_user_namespaces=15000$/);
});

t.test('an addon that is not loaded is named with what loads it', async (t) => {
  isImpossible(t, { nodeArgs: ['--no-addons'] }, 'addon', /^native addon not loaded: /, 'node without --no-addons');
  const root = path.join(scratchFolder(t), 'package');
  for (const entry of ['lib', 'package.json']) fs.cpSync(path.join(ROOT, entry), path.join(root, entry), { recursive: true });
  isImpossible(t, { root }, 'addon', /^native addon not loaded: no build of it/, 'npm rebuild operon-os-sandbox');
});

t.test('what a sandbox does without is degraded, and told by its warning', async (t) => {
  const { status, enabled, parts } = examine(t, { launcher: withBinds([['/dev/null', '/proc/version']]) });
  t.strictSame([status, enabled], [1, true]);
  t.match(parts.mounts, { state: 'degraded', text: /no fresh \/proc/, remedy: /--security-opt systempaths=unconfined/ });
  t.equal(parts.sandbox.state, 'ok');
});

t.test('every warning about a host has a remedy', async (t) => {
  const nothing = { sessionNetwork: false, disableUserns: false, freshProc: false, mountedBefore: false, supervised: false, filtered: false };
  const texts = ['none', 'proxy'].flatMap((capture) => degradationsOf({ ...nothing, capture, sessionNetwork: capture === 'proxy' }));
  for (const text of texts) t.ok(remedyFor(text), text);
});

t.test("the commands are README's, and the distribution's own", async (t) => {
  const readme = fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const reasons = ['bubblewrap (bwrap', 'user.max_user_namespaces is 0', 'container forbids', 'unprivileged user namespaces are off', 'native addon not loaded'];
  for (const reason of reasons) t.ok(readme.includes(remedyFor(reason, (name) => `apt install ${name}`) ?? '?'), reason);
  const file = path.join(scratchFolder(t), 'os-release');
  const said = (text) => {
    fs.writeFileSync(file, text);
    return installCommand('x', file);
  };
  t.equal(said('ID=ubuntu\nID_LIKE=debian\n'), 'apt install x');
  t.equal(said('ID="rocky"\nID_LIKE="rhel centos fedora"\n'), 'dnf install x');
  t.equal(said('ID=alpine\n'), 'apk add x');
  t.equal(said('ID=manjaro\nID_LIKE=arch\n'), 'pacman -S x');
  t.equal(said("ID='opensuse-leap'\nID_LIKE='suse opensuse'\n"), 'zypper install x');
  t.equal(said('ID=own\n'), 'install x with the package manager of this system');
});
