'use strict';

/** @typedef {string | { cwd?: string, additionalDirs?: readonly string[] }} Where */

/** @param {unknown} value @param {string} name */
function checkPath(value, name) {
  if (typeof value !== 'string' || value === '' || value.includes('\0')) {
    throw new TypeError(`${name}: must be a non-empty string without NUL`);
  }
}

/**
 * Where a machine works, checked: a grant must never come of a mistake, such as a string where a list is meant.
 * @param {Where} [where]
 * @returns {{ cwd: string, additionalDirs: readonly string[] }}
 */
function machinePlace(where) {
  const options = typeof where === 'string' ? { cwd: where } : where ?? {};
  if (typeof options !== 'object') throw new TypeError('machine: expected a cwd, or { cwd, additionalDirs }');
  const { cwd = process.cwd(), additionalDirs = [] } = options;
  checkPath(cwd, 'cwd');
  if (!Array.isArray(additionalDirs)) throw new TypeError('additionalDirs: must be an array of strings');
  const dirs = Array.from(additionalDirs);
  dirs.forEach((dir, i) => checkPath(dir, `additionalDirs[${i}]`));
  return { cwd, additionalDirs: Object.freeze(dirs) };
}

module.exports = { machinePlace };
