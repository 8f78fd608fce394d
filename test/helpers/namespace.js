'use strict';
// Another host for a test's program: its own mount namespace, in which files of this one are covered by others.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const AS_ROOT = process.getuid() === 0;

/** Where the host's own bwrap lies, by its real path. */
const REAL_BWRAP = fs.realpathSync(execFileSync('sh', ['-c', 'command -v bwrap'], { encoding: 'utf8' }).trim());

/** The words that start a command in a mount namespace of its own, as root there. */
const OWN_MOUNTS = AS_ROOT ? ['unshare', '-m'] : ['unshare', '-Urm'];

/**
 * The words before a program that make it see something else at a path.
 * @param {Array<[source: string, target: string]>} binds
 * @returns {string[]}
 */
function withBinds(binds) {
  const script = binds.map((_, i) => `mount --bind "$${2 * i + 1}" "$${2 * i + 2}" || exit 96`).join('\n');
  const count = 2 * binds.length;
  return [...OWN_MOUNTS, 'sh', '-c', `${script}\nshift ${count}; exec "$@"`, 'sh', ...binds.flat()];
}

/**
 * The words before a program that make it see a shell script in bwrap's place. `$BWRAP` is a copy of the real one.
 * @param {string} folder for the script
 * @param {string} script
 * @returns {string[]}
 */
function withBwrap(folder, script) {
  const fake = path.join(folder, 'fake-bwrap');
  const real = path.join(folder, 'real-bwrap');
  fs.copyFileSync(REAL_BWRAP, real);
  fs.chmodSync(real, 0o755);
  fs.writeFileSync(fake, `#!/bin/sh\nBWRAP=${real}\n${script}\n`, { mode: 0o755 });
  return withBinds([[fake, REAL_BWRAP]]);
}

module.exports = { AS_ROOT, OWN_MOUNTS, REAL_BWRAP, withBinds, withBwrap };
