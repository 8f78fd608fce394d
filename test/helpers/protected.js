'use strict';
// Names that no command may write, repositories, and what of both a host would act on.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { snapshot } = require('./attack');

const FILES = [
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.profile', '.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout'],
  ...['.envrc', '.gitconfig', '.gitmodules', '.ripgreprc', '.mcp.json', '.srt-settings.json'],
  ...['.claude/settings.json', '.claude/settings.local.json'],
];
const FOLDERS = [
  ...['.config/os-sandbox', '.vscode', '.idea', '.cursor', '.codex', '.devcontainer', '.husky'],
  ...['commands', 'agents', 'skills', 'hooks'].map((name) => `.claude/${name}`),
];
const NAMES = [...FILES, ...FOLDERS];

/** A protected folder as a host has it, with something to change in it. @param {string} folder */
function fillFolder(folder) {
  fs.mkdirSync(path.join(folder, 'empty'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'inner'), 'original');
}

/** Every name, below a folder. @param {string} folder */
function makeNames(folder) {
  for (const name of FOLDERS) fillFolder(path.join(folder, name));
  for (const name of FILES) fs.writeFileSync(path.join(folder, name), 'original');
}

/** What has to be there for every name to be made. @param {string} folder */
function makeParents(folder) {
  for (const name of NAMES) fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
}

/** git as a host has it, whatever this host's own configuration. @param {string} cwd @param {...string} args */
function git(cwd, ...args) {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
  const who = ['-c', 'user.name=n', '-c', 'user.email=e@example.com', '-c', 'protocol.file.allow=always'];
  return execFileSync('git', [...who, ...args], { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A repository of the host's with a commit, a hook of its own, and the samples. @param {string} folder */
function makeRepository(folder, ...args) {
  fs.mkdirSync(folder, { recursive: true });
  git(folder, 'init', '-q', '--template=', ...args);
  const directory = args.includes('--bare') ? folder : path.join(folder, '.git');
  fs.mkdirSync(path.join(directory, 'hooks'), { recursive: true });
  fs.writeFileSync(path.join(directory, 'hooks/pre-push'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  if (args.includes('--bare')) return folder;
  fs.writeFileSync(path.join(folder, 'tracked'), 'text\n');
  git(folder, 'add', 'tracked');
  git(folder, 'commit', '-q', '-m', 'one');
  return folder;
}

/** Follows links, as the programs do that read such files. */
function describe(file, depth = 0) {
  let facts;
  try {
    facts = fs.statSync(file);
  } catch {
    try {
      return `dangling ${fs.readlinkSync(file)}`;
    } catch {
      return undefined;
    }
  }
  const mode = facts.mode.toString(8);
  if (facts.isFile()) return `${mode} ${fs.readFileSync(file, 'latin1')}`;
  if (!facts.isDirectory() || depth > 8) return mode;
  return { mode, entries: Object.fromEntries(fs.readdirSync(file).map((name) => [name, describe(path.join(file, name), depth + 1)])) };
}

/** The folders below one, itself too; links are not followed. @param {string} folder @returns {string[]} */
function foldersIn(folder) {
  const below = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [folder, ...below.flatMap(({ name }) => foldersIn(path.join(folder, name)))];
}

const GIT_PARTS = ['config', 'config.worktree', 'commondir', 'gitdir'];

/** Whether git takes a folder for a git directory, links followed. @param {string} folder */
function isGitDirectory(folder) {
  const has = (name) => fs.existsSync(path.join(folder, name));
  return has('HEAD') && ((has('objects') && has('refs')) || has('commondir'));
}

/**
 * What a host's programs would read and act on, below a folder, by path: protected names, and of git directories what
 * git runs or is led by. Links are followed.
 * @param {string} folder
 * @returns {Record<string, unknown>}
 */
function actedOn(folder) {
  const found = {};
  const look = (file) => {
    const what = describe(file);
    if (what !== undefined) found[path.relative(folder, file)] = what;
  };
  for (const at of foldersIn(folder)) {
    for (const name of NAMES) look(path.join(at, name));
    for (const directory of [path.join(at, '.git'), at].filter(isGitDirectory)) {
      for (const part of GIT_PARTS) look(path.join(directory, part));
      const hooks = path.join(directory, 'hooks');
      const active = fs.existsSync(hooks) ? fs.readdirSync(hooks).filter((name) => !/\.(sample|os-sandbox-disabled)$/.test(name)) : [];
      for (const name of active) look(path.join(hooks, name));
    }
    const dotGit = path.join(at, '.git');
    if (fs.existsSync(dotGit) && fs.statSync(dotGit).isFile()) look(dotGit);
  }
  return found;
}

/**
 * A snapshot without what lies in some folders at its top.
 * @param {string} folder
 * @param {...string} without
 */
function snapshotWithout(folder, ...without) {
  const { mode, uid, gid, mtimeMs } = fs.lstatSync(folder);
  const seen = { '': [mode.toString(8), uid, gid, mtimeMs].join(' ') };
  for (const name of fs.readdirSync(folder).filter((name) => !without.includes(name))) {
    const at = path.join(folder, name);
    const facts = fs.lstatSync(at).isSymbolicLink() ? { '': `link ${fs.readlinkSync(at)}` } : snapshot(at);
    for (const [below, what] of Object.entries(facts)) seen[path.join(name, below)] = what;
  }
  return seen;
}

/** The lines of a block that speak of protected names, taken apart. @param {string[]} lines */
function protections(lines) {
  return lines.map((line) => {
    const match = /^deny (file-[a-z-]+|network-bind) (.*) \((protected: [^()]+)\)( \(×\d+\))?$/.exec(line);
    return match ? { operation: match[1], path: match[2], why: match[3] } : { unexpected: line };
  });
}

module.exports = { FILES, FOLDERS, NAMES, actedOn, fillFolder, foldersIn, git, isGitDirectory, makeNames, makeParents, makeRepository, protections, snapshotWithout };
