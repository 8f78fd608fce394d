'use strict';
// A real tree of npm packages without a registry: the packages that are installed here, packed again, as a project
// whose lock file names the tarballs.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

/** The installed packages: place below ROOT → its lock entry. @returns {Record<string, any>} */
function installedPackages() {
  return JSON.parse(fs.readFileSync(path.join(ROOT, 'node_modules/.package-lock.json'), 'utf8')).packages;
}

/** Where a package that is required at a place lies: in it, or beside one of those around it. */
function findPackage(packages, place, name) {
  for (let around = place; ; around = around.slice(0, Math.max(0, around.lastIndexOf('/node_modules/')))) {
    const candidate = path.posix.join(around, 'node_modules', name);
    if (packages[candidate]) return candidate;
    if (around === '') throw new Error(`${name}, which ${place} needs, is not installed`);
  }
}

/** A package and all that it needs. @param {Record<string, any>} packages @param {string} name @returns {string[]} places */
function closureOf(packages, name) {
  const places = new Set([findPackage(packages, '', name)]);
  for (const place of places) {
    const { dependencies, optionalDependencies } = packages[place];
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) places.add(findPackage(packages, place, needed));
  }
  return [...places].sort();
}

/** Packs an installed package, without those inside it. @param {string} place @param {string} tarball */
function pack(place, tarball) {
  const args = ['--create', '--gzip', '--file', tarball, '--exclude=./node_modules', '--transform=s,^[.],package,', '.'];
  execFileSync('tar', args, { cwd: path.join(ROOT, place) });
  return `sha512-${crypto.createHash('sha512').update(fs.readFileSync(tarball)).digest('base64')}`;
}

/**
 * Makes a folder with a project (`package.json`, `package-lock.json`) and the tarballs of all its packages.
 * `npm ci` there needs no network.
 * @param {string} folder
 * @param {string} name of an installed package
 */
function makePackageTree(folder, name) {
  const packages = installedPackages();
  const project = { name: 'tree', version: '1.0.0', dependencies: { [name]: packages[`node_modules/${name}`].version } };
  /** @type {Record<string, any>} */
  const locked = { '': project };
  fs.mkdirSync(path.join(folder, 'tarballs'), { recursive: true });
  for (const [i, place] of closureOf(packages, name).entries()) {
    const tarball = `tarballs/${i}.tgz`;
    const integrity = pack(place, path.join(folder, tarball));
    locked[place] = { ...packages[place], resolved: `file:${tarball}`, integrity, dev: undefined, hasInstallScript: undefined };
  }
  const write = (file, value) => fs.writeFileSync(path.join(folder, file), JSON.stringify(value, null, 2));
  write('package.json', project);
  write('package-lock.json', { ...project, dependencies: undefined, lockfileVersion: 3, requires: true, packages: locked });
}

module.exports = { makePackageTree };
