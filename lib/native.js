'use strict';
// Finds and loads the addon and the exec helper that lies beside it: a local build first, then a prebuilt one.

const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const ADDON = 'os_sandbox.node';
const HELPER = 'os-sandbox-exec';

/** @typedef {{ addon: any, helper: string }} Native */

/** @type {Native | Error | undefined} */
let loaded;

/** The folders that may hold a build, best first. */
function buildFolders() {
  return [
    path.join(ROOT, 'build', 'Release'),
    path.join(ROOT, 'prebuilds', `${process.platform}-${process.arch}`),
  ];
}

/** Electron cannot execute a file inside its archive; packagers put such files beside it. */
function unpacked(file) {
  return file.replace(/([\\/])app\.asar(?=[\\/])/, '$1app.asar.unpacked');
}

/**
 * @param {string} folder
 * @returns {Native}
 */
function loadFrom(folder) {
  const helper = unpacked(path.join(folder, HELPER));
  const addon = require(path.join(folder, ADDON));
  if (process.platform === 'linux') fs.accessSync(helper, fs.constants.X_OK);
  return { addon, helper };
}

/** A package has prebuilt binaries, unless it was packed without the script that makes them; a checkout has its tests. */
function withoutPrebuilds() {
  const has = ['prebuilds', 'test'].some((name) => fs.existsSync(path.join(ROOT, name)));
  return has ? '' : 'this package was packed without its prebuilt binaries; ';
}

/** @returns {Native | Error} */
function load() {
  const failures = [];
  for (const folder of buildFolders()) {
    if (!fs.existsSync(path.join(folder, ADDON))) continue;
    try {
      return loadFrom(folder);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  if (failures.length > 0) return new Error(failures.join('; '));
  const hint =
    process.platform === 'linux'
      ? `${withoutPrebuilds()}npm rebuild operon-os-sandbox builds one where a C compiler, make, python3 and jansson are installed`
      : 'this version is for Linux';
  return new Error(`no build of it for ${process.platform}-${process.arch} (${hint})`);
}

/**
 * The addon and the absolute path of its helper; the same ones, or the same error, for the life of the process.
 * @returns {Native}
 */
function loadNative() {
  loaded ??= load();
  if (loaded instanceof Error) throw loaded;
  return loaded;
}

module.exports = { loadNative };
