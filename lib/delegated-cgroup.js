'use strict';

/** The cgroup that this process may divide, if any. */

const fs = require('node:fs');
const path = require('node:path');

/** @param {string} file */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {string} folder */
function isWritable(folder) {
  try {
    fs.accessSync(path.join(folder, 'cgroup.procs'), fs.constants.W_OK);
    fs.accessSync(folder, fs.constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Of cgroup v2: the folder of this process's group, and the controllers that it has; none where others may write it alone.
 * @returns {{ folder: string | undefined, controllers: string[] }}
 */
function delegatedControllers() {
  const mount = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(read('/proc/self/mountinfo'));
  const own = /^0::(.*)$/m.exec(read('/proc/self/cgroup'));
  if (!mount || !own) return { folder: undefined, controllers: [] };
  const folder = path.join(mount[2], path.relative(mount[1], own[1]));
  const controllers = read(path.join(folder, 'cgroup.controllers')).trim().split(' ').filter(Boolean);
  return { folder, controllers: isWritable(folder) ? controllers : [] };
}

module.exports = { delegatedControllers };
