'use strict';
// Projects as a user has them: packages packed and installed by npm, side by side, without a registry.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { packSources } = require('../../scripts/source-archive');

const root = path.join(__dirname, '..', '..');

/** A folder outside every write root, removed however this process ends. */
function scratchFolder() {
  const folder = fs.mkdtempSync('/var/tmp/os-sandbox-projects-');
  process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const npmCli = fs.realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim());

/** npm, without what `npm test` itself put into the environment and without a user's settings. */
function npm(cwd, ...args) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  const cache = path.join(cwd, '.npm-cache');
  Object.assign(env, { npm_config_userconfig: '/dev/null', npm_config_cache: cache, npm_config_update_notifier: 'false' });
  return execFileSync(process.execPath, [npmCli, ...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The tarball that publishing `source` would make, and its digest. */
function packFolder(source, folder) {
  const [{ filename, integrity }] = JSON.parse(npm(folder, 'pack', source, '--json', '--ignore-scripts', '--pack-destination', folder));
  return { file: path.join(folder, filename), integrity };
}

/** What would be published, but for the prebuilt binaries, of which this checkout may have some. */
function stageThis(folder) {
  const staged = path.join(folder, 'staged');
  const { files } = require('../../package.json');
  for (const entry of [...files, 'package.json', 'README.md', 'LICENSE']) {
    if (entry === 'prebuilds' || entry === 'csrc.json.br') continue;
    fs.cpSync(path.join(root, entry), path.join(staged, entry), { recursive: true });
  }
  packSources(root, staged, 1);
  return staged;
}

const pack = (source, folder) => packFolder(source, folder).file;

const packThis = (folder) => pack(stageThis(folder), folder);
const packCore = (folder, generation) => pack(path.join(root, 'test', 'fixtures', `operon-agents-core-${generation}`), folder);

/** A new project with these tarballs or folders installed; a folder becomes a link. */
function install(project, packages) {
  fs.mkdirSync(project, { recursive: true });
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
  npm(project, 'install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...packages);
  return project;
}

/** Puts this checkout's build where the install script would have put its own, which takes longer. */
function addBuild(packageFolder) {
  fs.cpSync(path.join(root, 'build', 'Release'), path.join(packageFolder, 'build', 'Release'), { recursive: true });
}

module.exports = { addBuild, install, packCore, packFolder, packThis, root, scratchFolder, stageThis };
