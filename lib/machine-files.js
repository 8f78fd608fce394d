'use strict';

const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { FileExistsError, StaleFileError } = require('./errors');

const fsp = fs.promises;

/**
 * @typedef {'file' | 'dir' | 'symlink' | 'other'} Kind
 *
 * @typedef {object} TextOptions
 * @property {BufferEncoding} [encoding] default utf8
 * @property {'LF' | 'CRLF'} [lineEndings] CRLF turns every line ending to it
 *
 * @typedef {TextOptions & {
 *   expected: { mtimeMs?: number } | 'must-not-exist',
 *   expectedContent?: string,
 * }} IfUnchangedOptions
 *
 * @typedef {(target: string) => void} Guard throws when the target must not be written
 */

const READ_CHUNK = 256 * 1024;
/** A file this far ahead of the clock was dated on purpose; its successor need not be later still. */
const CLOCK_SLACK_MS = 1000;
/** What link(2) answers on filesystems that have none. */
const NO_HARD_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']);

/**
 * @param {fs.Stats | fs.Dirent} entry
 * @returns {Kind}
 */
function kindOf(entry) {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'dir';
  return entry.isSymbolicLink() ? 'symlink' : 'other';
}

/** @param {fs.Stats} stats */
const versionOf = ({ mtimeMs }) => (mtimeMs === 0 ? {} : { mtimeMs });

/** @param {string} text */
const normalized = (text) => text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');

/** @param {unknown} error @returns {string | undefined} */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code;

/**
 * @param {string} p
 * @param {{ followSymlinks?: boolean }} [options]
 * @returns {Promise<{ kind: Kind, size: number, mtimeMs?: number }>}
 */
async function fileInfo(p, { followSymlinks = true } = {}) {
  const stats = await (followSymlinks ? fsp.stat(p) : fsp.lstat(p));
  return { kind: kindOf(stats), size: stats.size, ...versionOf(stats) };
}

/**
 * @param {string} p
 * @returns {Promise<{ name: string, kind: Kind }[]>}
 */
async function listDir(p) {
  const entries = await fsp.readdir(p, { withFileTypes: true });
  return entries.map((entry) => ({ name: entry.name, kind: kindOf(entry) }));
}

/**
 * @param {string} p
 * @returns {Promise<string>}
 */
async function realpath(p) {
  return fsp.realpath(p);
}

/**
 * @param {string} p
 * @param {{ parents?: boolean, existOk?: boolean }} [options]
 * @returns {Promise<void>}
 */
async function mkdir(p, { parents = false, existOk = false } = {}) {
  try {
    await fsp.mkdir(p, { recursive: parents });
  } catch (error) {
    const forgiven = existOk && codeOf(error) === 'EEXIST' && (await statOrNull(p))?.isDirectory();
    if (!forgiven) throw error;
  }
}

/** @param {string} p */
async function statOrNull(p) {
  try {
    return await fsp.stat(p);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Reads a window of a file, or all of it; past the end it gives what exists.
 * @param {string} p
 * @param {{ offset?: number, length?: number }} [window]
 * @returns {Promise<Buffer>}
 */
async function readBytes(p, { offset = 0, length = Infinity } = {}) {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new RangeError(`offset: not a position: ${offset}`);
  if (length !== Infinity && (!Number.isSafeInteger(length) || length < 0)) {
    throw new RangeError(`length: not a length: ${length}`);
  }
  if (offset === 0 && length === Infinity) return fsp.readFile(p);

  const handle = await fsp.open(p);
  try {
    const chunks = [];
    for (let left = length, position = offset; left > 0; ) {
      const chunk = Buffer.allocUnsafe(Math.min(left, READ_CHUNK));
      // A pipe has no positions, but can be read from its start.
      const { bytesRead } = await handle.read(chunk, 0, chunk.length, offset === 0 ? null : position);
      if (bytesRead === 0) break;
      chunks.push(chunk.subarray(0, bytesRead));
      left -= bytesRead;
      position += bytesRead;
    }
    return Buffer.concat(chunks);
  } finally {
    await handle.close();
  }
}

/**
 * @param {string} p
 * @param {Uint8Array} data
 * @returns {Promise<void>}
 */
async function writeBytes(p, data) {
  if (!(data instanceof Uint8Array)) throw new TypeError('data: must be a Uint8Array');
  await replaceFile(p, data);
}

/**
 * @param {string} p
 * @param {string} text
 * @param {TextOptions} [options]
 * @returns {Promise<{ bytesWritten: number }>}
 */
async function writeText(p, text, options) {
  const data = encode(text, options);
  await replaceFile(p, data);
  return { bytesWritten: data.length };
}

/**
 * Writes only if the file is still the one that was read, or still missing.
 * @param {string} p
 * @param {string} text
 * @param {IfUnchangedOptions} options
 * @returns {Promise<{ bytesWritten: number, version: { mtimeMs?: number } }>}
 */
async function writeTextIfUnchanged(p, text, options) {
  const data = encode(text, options);
  const isNew = options.expected === 'must-not-exist';
  const guard = isNew ? mustNotExist(p) : mustBeUnchanged(p, options);
  const stats = await replaceFile(p, data, guard, isNew);
  return { bytesWritten: data.length, version: versionOf(stats) };
}

/**
 * @param {string} text
 * @param {TextOptions} [options]
 */
function encode(text, { encoding = 'utf8', lineEndings } = {}) {
  if (typeof text !== 'string') throw new TypeError('text: must be a string');
  if (!Buffer.isEncoding(encoding)) throw new TypeError(`encoding: unknown: ${encoding}`);
  return Buffer.from(lineEndings === 'CRLF' ? text.replace(/\r?\n/g, '\r\n') : text, encoding);
}

/**
 * @param {string} p
 * @returns {Guard}
 */
function mustNotExist(p) {
  return (target) => {
    if (fs.existsSync(target)) throw new FileExistsError(p);
  };
}

/**
 * @param {string} p
 * @param {IfUnchangedOptions} options
 * @returns {Guard}
 */
function mustBeUnchanged(p, { expected, expectedContent, encoding = 'utf8' }) {
  const { mtimeMs = 0 } = /** @type {{ mtimeMs?: number }} */ (expected);
  return (target) => {
    const stats = fs.statSync(target, { throwIfNoEntry: false });
    if (!stats) throw new StaleFileError(p);
    if (mtimeMs !== 0 && stats.mtimeMs === mtimeMs) return;
    const same =
      expectedContent !== undefined &&
      stats.isFile() &&
      normalized(fs.readFileSync(target, encoding)) === normalized(expectedContent);
    if (!same) throw new StaleFileError(p);
  };
}

/**
 * Writes a file whole or not at all: beside its place first, then guard and rename in one synchronous step.
 * @param {string} p
 * @param {Uint8Array} data
 * @param {Guard} [guard]
 * @param {boolean} [isNew] never replace a file that came up meanwhile
 * @returns {Promise<fs.Stats>} of the file as written
 */
async function replaceFile(p, data, guard = () => {}, isNew = false) {
  const target = await throughLinks(p);
  guard(target);
  const old = await statOrNull(target);
  if (old && !old.isFile()) {
    // A device or pipe is written to, not replaced; a directory gives its errno here.
    await fsp.writeFile(target, data);
    return old;
  }
  // rename() asks for no permission on the file that it replaces.
  if (old) await fsp.access(target, fs.constants.W_OK);

  const temp = path.join(path.dirname(target), `.${randomBytes(9).toString('hex')}.tmp`);
  try {
    await writeTemp(temp, data, old);
    return putInPlace(temp, target, guard, isNew ? p : undefined);
  } catch (error) {
    await fsp.rm(temp, { force: true }).catch(() => {});
    throw naming(error, temp, p);
  }
}

/**
 * Where a write to `p` ends up: symlinks are followed, also one that points to nothing yet.
 * @param {string} p
 * @returns {Promise<string>}
 */
async function throughLinks(p) {
  try {
    return await fsp.realpath(p);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  let link;
  try {
    link = await fsp.readlink(p);
  } catch {
    return p;
  }
  return throughLinks(path.resolve(await fsp.realpath(path.dirname(p)), link));
}

/**
 * @param {string} temp
 * @param {Uint8Array} data
 * @param {fs.Stats | null} old the file whose mode and owner are kept
 */
async function writeTemp(temp, data, old) {
  const handle = await fsp.open(temp, 'wx', old ? 0o600 : 0o666);
  try {
    await handle.writeFile(data);
    if (old) await keepOwnerAndMode(handle, old);
  } finally {
    await handle.close();
  }
}

/**
 * @param {fs.promises.FileHandle} handle
 * @param {fs.Stats} old
 */
async function keepOwnerAndMode(handle, old) {
  const { uid, gid } = await handle.stat();
  const tryOwner = (/** @type {number} */ owner) => handle.chown(owner, old.gid).then(() => true, () => false);
  const kept = (uid === old.uid && gid === old.gid) || (await tryOwner(old.uid));
  if (!kept) await tryOwner(uid);
  // Set-id bits lend the owner's rights: not to be passed on to another owner.
  await handle.chmod(old.mode & (kept ? 0o7777 : 0o777));
}

/**
 * The one synchronous step: nothing else of this process comes between the guard and the new file.
 * @param {string} temp
 * @param {string} target
 * @param {Guard} guard
 * @param {string | undefined} newPath the caller's name of a target that must not exist
 */
function putInPlace(temp, target, guard, newPath) {
  guard(target);
  const old = fs.statSync(target, { throwIfNoEntry: false });
  if (old) makeNewer(temp, old.mtimeMs);
  const stats = fs.statSync(temp);
  if (newPath === undefined || !linkNew(temp, target, newPath)) fs.renameSync(temp, target);
  return stats;
}

/**
 * The clock of files is coarse: a second write within one of its ticks must not look like the first.
 * @param {string} temp
 * @param {number} oldMs
 */
function makeNewer(temp, oldMs) {
  for (const step of [1, 2000]) {
    const behind = oldMs - fs.statSync(temp).mtimeMs;
    if (behind < 0 || behind > CLOCK_SLACK_MS) return;
    fs.utimesSync(temp, new Date(), (oldMs + step) / 1000);
  }
}

/**
 * Unlike rename(), link() also refuses a file that another process made meanwhile.
 * @returns {boolean} false where there are no hard links
 * @param {string} temp
 * @param {string} target
 * @param {string} p
 */
function linkNew(temp, target, p) {
  try {
    fs.linkSync(temp, target);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw new FileExistsError(p);
    if (NO_HARD_LINKS.has(codeOf(error) ?? '')) return false;
    throw error;
  }
  fs.unlinkSync(temp);
  return true;
}

/**
 * Gives an errno error the name that the caller knows.
 * @param {unknown} error
 * @param {string} temp
 * @param {string} p
 */
function naming(error, temp, p) {
  if (error instanceof Error && /** @type {NodeJS.ErrnoException} */ (error).path === temp) {
    error.message = error.message.replaceAll(temp, p);
    Object.assign(error, { path: p });
  }
  return error;
}

module.exports = {
  fileInfo,
  listDir,
  mkdir,
  readBytes,
  realpath,
  writeBytes,
  writeText,
  writeTextIfUnchanged,
};
