'use strict';
// Settings files and flags as one options document. Which layer wins is the addon's business (option_table).

const fs = require('node:fs');
const path = require('node:path');

const { loadNative } = require('./native');
const { buildOptionsDocument } = require('./options');

/** Below a home directory. */
const HOME_FILE = ['.config', 'os-sandbox', 'settings.json'];

/** What the addon takes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Nothing is sandboxed by a file that says something else than what was meant. */
class SettingsError extends Error {
  name = 'SettingsError';
  code = 'ERR_OS_SANDBOX_SETTINGS';

  /**
   * @param {string} file
   * @param {string} reason
   * @param {{ line?: number, column?: number }} [position] both from 1; a column is a character
   */
  constructor(file, reason, { line, column } = {}) {
    super(`${shown(file)}:${line === undefined ? '' : `${line}:${column}:`} ${reason}`);
    this.file = file;
    this.line = line;
    this.column = column;
  }
}

/** A name harmless to a terminal. @param {string} file */
function shown(file) {
  const escape = (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`;
  return file.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escape);
}

/** @param {string} file @param {NodeJS.ErrnoException} error */
function unreadable(file, error) {
  return new SettingsError(file, `cannot be read: ${error.code ?? error.message}`);
}

/** Never waits, as the opening of a FIFO would. @param {string} file */
function openFile(file) {
  const { O_RDONLY, O_NONBLOCK = 0, O_NOCTTY = 0 } = fs.constants;
  return fs.openSync(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/** Its bytes, one more than MAX_BYTES at most. @param {number} fd */
function readAll(fd) {
  const chunks = [];
  let left = MAX_BYTES + 1;
  while (left > 0) {
    const chunk = Buffer.allocUnsafe(Math.min(left, 65536));
    const size = fs.readSync(fd, chunk, 0, chunk.length, null);
    if (size === 0) break;
    chunks.push(chunk.subarray(0, size));
    left -= size;
  }
  return Buffer.concat(chunks);
}

/** Whether anybody on this machine may change it, or put another in its place. @param {string} file @param {fs.Stats} stats */
function isOpenToOthers(file, stats) {
  if (stats.mode & 0o002) return true;
  const folder = fs.statSync(path.dirname(fs.realpathSync(file)));
  return (folder.mode & 0o1002) === 0o002;
}

/**
 * @param {string} file
 * @returns {{ bytes: Buffer, open: boolean }}
 */
function readSettingsFile(file) {
  let fd;
  try {
    // A device may do something when it is opened.
    if (!fs.statSync(file).isFile()) throw new SettingsError(file, 'expected a file, found something else');
    fd = openFile(file);
    const stats = fs.fstatSync(fd);
    if (!stats.isFile()) throw new SettingsError(file, 'expected a file, found something else');
    return { bytes: readAll(fd), open: isOpenToOthers(file, stats) };
  } catch (error) {
    throw error instanceof SettingsError ? error : unreadable(file, error);
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

/** Whether nothing is there, not even a symlink that leads nowhere. @param {string} home */
function hasNoHomeFile(home) {
  let file = home;
  for (const name of HOME_FILE) {
    file = path.join(file, name);
    try {
      const stats = fs.lstatSync(file);
      if (name !== HOME_FILE.at(-1) && !stats.isDirectory() && !stats.isSymbolicLink()) return true;
    } catch (error) {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return true;
      throw unreadable(file, error);
    }
    // One that leads nowhere was meant to lead somewhere.
    try {
      fs.statSync(file);
    } catch (error) {
      throw unreadable(file, error);
    }
  }
  return false;
}

/**
 * One file as a layer.
 * @param {string} file
 * @param {boolean} asks
 */
function fileLayer(file, asks) {
  const { bytes, open } = readSettingsFile(file);
  let parsed;
  try {
    parsed = loadNative().addon.parseSettings(bytes, asks);
  } catch (error) {
    if (error.line === undefined) throw error;
    throw new SettingsError(file, error.message, error);
  }
  const warnings = parsed.warnings.map((warning) => `${shown(file)}:${warning}`);
  if (open) warnings.push(`${shown(file)}: others may change it: it, or its folder, is writable by everybody`);
  return { document: parsed.document, warnings };
}

/** "~" and "~/x" are the home's, as in every path here. @param {string} file @param {string} home @param {string} cwd */
function absolute(file, home, cwd) {
  if (file === '~' || file.startsWith('~/')) return path.join(home, file.slice(1));
  return path.resolve(cwd, file);
}

/**
 * The settings below the home directory, a file, and flags, the later ones stronger: denials of all add up, an allow
 * list replaces an earlier one. Throws a SettingsError for a file that cannot be honoured, a TypeError that names the
 * option for flags.
 * @param {{
 *   home: string,
 *   settings?: string,
 *   noHome?: boolean,
 *   flags: import('..').OsSandboxOptions,
 *   cwd: string,
 *   asks?: boolean,
 * }} layers settings: a path, relative to cwd; asks: whether a person may be asked, which a file can forbid
 * @returns {{ options: any, warnings: string[] }}
 */
function loadOptions({ home, settings, noHome = false, flags, cwd, asks = true }) {
  const { addon } = loadNative();
  const homeFile = path.join(home, ...HOME_FILE);
  const files = noHome || hasNoHomeFile(home) ? [] : [homeFile];
  if (settings !== undefined) files.push(absolute(settings, home, cwd));
  const layers = files.map((file) => fileLayer(file, asks));
  const { json } = buildOptionsDocument(flags, addon.optionSchema());
  addon.makePolicy(json);
  // No command may write what the next one runs under, nor make it, by whatever way its name leads.
  const closed = JSON.stringify({ filesystem: { denyWrite: [...new Set([homeFile, ...files])] } });
  const documents = [...layers.map((layer) => layer.document), json, closed];
  return {
    options: JSON.parse(addon.mergeOptions(documents)),
    warnings: layers.flatMap((layer) => layer.warnings),
  };
}

module.exports = { SettingsError, loadOptions };
