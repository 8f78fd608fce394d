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
  return [shell, '-c', command, ...words];
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

/** The directory to run in, absolute. @param {{ cwd?: string }} flags */
function cwdOf({ cwd }) {
  let here;
  try {
    here = process.cwd();
  } catch {
    throw new UsageError('the current directory is gone');
  }
  if (cwd === undefined) return here;
  const folder = path.resolve(here, cwd);
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`--cwd: expected a directory, found ${JSON.stringify(cwd)}`);
  }
  return folder;
}

module.exports = { commandOf, cwdOf, envOf };
