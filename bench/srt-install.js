'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const SRT = '@anthropic-ai/sandbox-runtime';
const VERSION = '0.0.83';
const NODE_MAJOR = '22';
/** What it needs besides, by program and by Debian package. */
const PROGRAMS = { rg: 'ripgrep', socat: 'socat' };

/** @param {string} file @param {string[]} args */
function call(file, args, options = {}) {
  return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });
}

/** @param {string} program */
function isOnPath(program) {
  return (process.env.PATH ?? '').split(':').some((folder) => fs.existsSync(path.join(folder, program)));
}

function provideAptPackages() {
  const missing = Object.entries(PROGRAMS).filter(([program]) => !isOnPath(program));
  if (missing.length === 0) return;
  const packages = missing.map(([, name]) => name);
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) throw new Error(`srt needs ${packages.join(' and ')}`);
  call('apt-get', ['install', '-y', '-q', ...packages]);
}

/** Kept between benches. Only a folder of our own: what lies in it is executed. */
function cacheFolder() {
  const folder = `/var/tmp/os-sandbox-bench-cache-${process.getuid?.()}`;
  fs.mkdirSync(folder, { mode: 0o700, recursive: true });
  const facts = fs.lstatSync(folder);
  if (!facts.isDirectory() || facts.uid !== process.getuid?.() || facts.mode & 0o022) {
    throw new Error(`${folder} belongs to somebody else`);
  }
  return folder;
}

/** The Node to run it on, by the package `node`, and the file to import. */
function installed(folder) {
  const modules = path.join(folder, 'node_modules');
  const node = path.join(modules, 'node/bin/node');
  const manifest = path.join(modules, SRT, 'package.json');
  if (!fs.existsSync(node) || !fs.existsSync(manifest)) return undefined;
  const { version, main } = JSON.parse(fs.readFileSync(manifest, 'utf8'));
  if (version !== VERSION || !call(node, ['--version']).startsWith(`v${NODE_MAJOR}.`)) return undefined;
  return { node, entry: pathToFileURL(path.join(modules, SRT, main)).href };
}

/**
 * Installs srt and the Node that it needs, once.
 * @returns {{ node: string, entry: string }} or throws with what is missing
 */
function provideSrt() {
  provideAptPackages();
  const folder = cacheFolder();
  const there = installed(folder);
  if (there) return there;
  fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}\n');
  call('npm', ['install', '--no-audit', '--no-fund', `${SRT}@${VERSION}`, `node@${NODE_MAJOR}`], { cwd: folder });
  const made = installed(folder);
  if (!made) throw new Error(`npm install of srt ${VERSION} left no usable copy of it`);
  return made;
}

module.exports = { provideSrt };
