'use strict';

const fs = require('node:fs');
const path = require('node:path');

const { UsageError } = require('./errors');

/** By their usual places, not by PATH: a shell that lies in the project would be the command's own. */
const SHELLS = ['/bin/bash', '/usr/bin/bash', '/bin/sh'];

/** What is run: the words, or a shell with a line, as `sh -c LINE [name args…]`. @param {{ command?: string }} flags @param {string[]} words */
function commandOf({ command }, words) {
  if (command === undefined) return words;
  const shell = SHELLS.find((file) => fs.existsSync(file)) ?? 'sh';
  // A shell would take such a line for options of its own, and the word behind it for the line.
  const end = /^[-+]/.test(command) ? ['--'] : [];
  return [shell, '-c', ...end, command, ...words];
}

/**
 * The same as bytes, as a Session takes them.
 * @param {string[]} argv of commandOf
 * @param {Buffer[]} exact its last words as they were given
 */
function bytesOf(argv, exact) {
  const ours = argv.slice(0, argv.length - exact.length).map((word) => Buffer.from(word));
  return Buffer.concat([...ours, ...exact].flatMap((word) => [word, Buffer.of(0)]));
}

/**
 * The variables that `--env` sets, or passes as they are.
 * @param {{ env?: string[] }} flags
 * @param {NodeJS.ProcessEnv} ambient
 */
function envOf({ env = [] }, ambient) {
  /** @type {Record<string, string | undefined>} */
  const own = Object.create(null);
  for (const item of env) {
    const equals = item.indexOf('=');
    const name = equals === -1 ? item : item.slice(0, equals);
    if (name === '') throw new UsageError(`--env: expected NAME or NAME=VALUE, found ${JSON.stringify(item)}`);
    if (equals !== -1) own[name] = item.slice(equals + 1);
    else if (ambient[name] !== undefined) own[name] = ambient[name];
  }
  return own;
}

/** What is there, or undefined where nothing is, or nothing that can be looked at. @param {string} file */
function statOf(file) {
  try {
    return fs.statSync(file);
  } catch {
    return undefined;
  }
}

/** A name of other bytes than UTF-8 may come as that of another directory. @param {string} folder */
function isHere(folder) {
  const [named, real] = [folder, '.'].map(statOf);
  return real === undefined || (named?.ino === real.ino && named?.dev === real.dev);
}

/** The directory to run in, absolute. @param {{ cwd?: string }} flags */
function cwdOf({ cwd }) {
  let here;
  try {
    here = process.cwd();
  } catch {
    throw new UsageError('the current directory is gone');
  }
  if (here.includes('\ufffd') && !isHere(here)) throw new UsageError(`the current directory's name is not UTF-8: ${JSON.stringify(here)}`);
  if (cwd === undefined) return here;
  const folder = path.resolve(here, cwd);
  if (!statOf(folder)?.isDirectory()) throw new UsageError(`--cwd: expected a directory, found ${JSON.stringify(cwd)}`);
  return folder;
}

module.exports = { bytesOf, commandOf, cwdOf, envOf };
