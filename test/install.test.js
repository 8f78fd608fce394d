'use strict';
// Installing the packed tarball into an empty project, with what a user's machine has or lacks.

const t = require('tap');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { root, stageThis } = require('./helpers/projects.js');

const scratch = fs.mkdtempSync('/var/tmp/os-sandbox-install-');
t.teardown(() => fs.rmSync(scratch, { recursive: true, force: true }));

/** An environment without what `npm test` itself put there, and without a user's settings. */
const cleanEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  npm_config_userconfig: '/dev/null',
  npm_config_cache: path.join(scratch, 'cache'),
  npm_config_update_notifier: 'false',
};

const npmCli = fs.realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());

function npm(args, cwd, env = cleanEnv) {
  return spawnSync(process.execPath, [npmCli, ...args], { cwd, env, encoding: 'utf8' });
}

const [packed] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', scratch], stageThis(scratch)).stdout);
const tarball = path.join(scratch, packed.filename);

/** A new empty project with the package installed; the folder and npm's result. */
function install(name, { args = [], env = cleanEnv } = {}) {
  const project = path.join(scratch, name);
  fs.mkdirSync(project);
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
  const result = npm(['install', '--offline', '--no-audit', '--no-fund', ...args, tarball], project, env);
  return { project, installed: path.join(project, 'node_modules', 'operon-os-sandbox'), result };
}

/** status of OsSandbox.start() in a node of its own inside the project. */
function startIn(project, env = cleanEnv) {
  const script = `
    const { OsSandbox } = require('operon-os-sandbox');
    OsSandbox.start().then(async (sandbox) => {
      const { exitCode } = await sandbox.machine().run(['sh', '-c', 'exit 7']);
      console.log(JSON.stringify({ status: sandbox.status, exitCode }));
      await sandbox.dispose();
    });`;
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: project, env, encoding: 'utf8' }));
}

/** What loadNative() of that copy gives, or its error's message. */
function loadNativeOf(packageFolder) {
  const script = `
    try { console.log(require(${JSON.stringify(path.join(packageFolder, 'lib/native.js'))}).loadNative().helper); }
    catch (error) { console.log('error: ' + error.message); }`;
  return execFileSync(process.execPath, ['-e', script], { cwd: scratch, encoding: 'utf8' }).trim();
}

t.test('the tarball holds what building needs, and no tests or settings of ours', async (t) => {
  const files = packed.files.map((file) => file.path);
  t.ok(files.includes('binding.gyp'));
  t.ok(files.includes('csrc.json.br'));
  t.notOk(files.some((file) => /^(test|bench|build|node_modules|\.ci)\//.test(file)));
});

t.test('with a compiler it builds without a network, and the sandbox starts', async (t) => {
  const { project, result } = install('builds');
  t.equal(result.status, 0, result.stderr);
  const { status, exitCode } = startIn(project);
  t.equal(status.enabled, true, status.reason);
  t.equal(exitCode, 7);
});

t.test('with no compiler the install succeeds and start() says why nothing is sandboxed', async (t) => {
  const bin = path.join(scratch, 'bin');
  fs.mkdirSync(bin);
  fs.symlinkSync(process.execPath, path.join(bin, 'node'));
  fs.symlinkSync('/bin/sh', path.join(bin, 'sh'));
  const env = { ...cleanEnv, PATH: bin };

  const { project, result } = install('no-compiler', { env, args: ['--foreground-scripts'] });
  t.equal(result.status, 0, result.stderr);
  t.match(result.stderr, /to build it, install: cc, make, python3/);

  const { status, exitCode } = startIn(project, env);
  t.equal(status.enabled, false);
  t.match(status.reason, /^native addon not loaded: no build of it for /);
  t.equal(exitCode, 7, 'commands run all the same');
});

t.test('a prebuilt binary needs no install script', async (t) => {
  const { project, installed, result } = install('prebuilt', { args: ['--ignore-scripts'] });
  t.equal(result.status, 0, result.stderr);
  const prebuilt = path.join(installed, 'prebuilds', `${process.platform}-${process.arch}`);
  fs.mkdirSync(prebuilt, { recursive: true });
  for (const name of ['os_sandbox.node', 'os-sandbox-exec']) {
    fs.copyFileSync(path.join(root, 'build', 'Release', name), path.join(prebuilt, name));
  }
  t.equal(startIn(project).status.enabled, true);

  fs.writeFileSync(path.join(prebuilt, 'os_sandbox.node'), 'not a shared object');
  t.match(startIn(project).status, { enabled: false, reason: /^native addon not loaded: .*os_sandbox\.node/ });
});

t.test('inside an Electron archive the helper is the one beside the archive', async (t) => {
  const folder = path.join(scratch, 'app.asar');
  for (const name of [folder, `${folder}.unpacked`]) {
    fs.cpSync(path.join(root, 'lib'), path.join(name, 'lib'), { recursive: true });
    fs.cpSync(path.join(root, 'build', 'Release'), path.join(name, 'build', 'Release'), { recursive: true });
  }
  fs.rmSync(path.join(folder, 'build', 'Release', 'os-sandbox-exec'));
  t.equal(loadNativeOf(folder), path.join(`${folder}.unpacked`, 'build', 'Release', 'os-sandbox-exec'));
});

t.test('a missing helper is named', async (t) => {
  const folder = path.join(scratch, 'no-helper');
  fs.cpSync(path.join(root, 'lib'), path.join(folder, 'lib'), { recursive: true });
  fs.cpSync(path.join(root, 'build', 'Release'), path.join(folder, 'build', 'Release'), { recursive: true });
  fs.rmSync(path.join(folder, 'build', 'Release', 'os-sandbox-exec'));
  t.match(loadNativeOf(folder), /^error: .*os-sandbox-exec/);
});
