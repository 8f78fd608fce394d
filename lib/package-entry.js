'use strict';

const fs = require('node:fs');
const path = require('node:path');

const CONDITIONS = new Set(['node', 'import', 'module-sync', 'default']);

/**
 * The file that `import name` means in a module below `from`: node_modules folders upwards, the package's
 * "exports" under the import conditions, else "main". `import.meta.resolve` cannot be asked about another folder.
 * @param {string} name a package name without a subpath
 * @param {string} from where to begin, a folder or a file
 * @returns {string | undefined} a real path; undefined where no such package is installed
 */
function packageEntry(name, from) {
  for (let folder = path.resolve(from), up; ; folder = up) {
    const root = path.join(folder, 'node_modules', name);
    const manifest = readManifest(root);
    if (manifest) return realFile(path.join(root, target(manifest)));
    up = path.dirname(folder);
    if (up === folder) return undefined;
  }
}

function readManifest(root) {
  try {
    return JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

function realFile(file) {
  try {
    return fs.realpathSync(file);
  } catch {
    return undefined;
  }
}

function target({ exports, main }) {
  if (exports === undefined || exports === null) return main || 'index.js';
  const isSubpathMap = typeof exports === 'object' && Object.keys(exports).some((key) => key.startsWith('.'));
  return pick(isSubpathMap ? exports['.'] : exports) ?? '';
}

/** The first target that holds, in the order the package wrote them. */
function pick(value) {
  if (typeof value === 'string') return value;
  if (value === null || typeof value !== 'object') return undefined;
  const choices = Array.isArray(value) ? value : Object.keys(value).filter((key) => CONDITIONS.has(key)).map((key) => value[key]);
  for (const choice of choices) {
    const picked = pick(choice);
    if (picked !== undefined) return picked;
  }
  return undefined;
}

module.exports = { packageEntry };
