'use strict';

const fs = require('node:fs/promises');
const path = require('node:path');
const util = require('node:util');

const { O_APPEND, O_CREAT, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = require('node:fs').constants;

/** Neither follows a link nor waits for the other end of a FIFO: a command may have put either there. */
const OPEN_FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
/** Rotation may move the file to another folder between the open and the look at where it lies. */
const OPEN_ATTEMPTS = 5;
/** What may wait for a slow disk, in characters. */
const QUEUE_MAX = 16 * 2 ** 20;
const NEWLINE = 10;

/** @param {any} error */
function reasonOf(error) {
  if (error.code === 'ELOOP') return 'it is a symbolic link';
  return util.getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
}

/** @param {Buffer} bytes */
function countLines(bytes) {
  let lines = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}

/**
 * Lines of JSON, appended to a file that others may rotate: it is opened anew for every batch. Nothing waits for it,
 * and a line that could not be written is counted: `{"type":"dropped"}` stands where lines are missing.
 */
class ViolationLog {
  #file;
  #warnings;
  /** A number stands for so many lines that are missing there. @type {Array<string | number>} */
  #queue = [];
  #queued = 0;
  /** @type {Promise<void> | undefined} */
  #writing;
  /** The last write ended within a line. */
  #torn = false;

  /** @param {string} file real path of its folder, and its name @param {Set<string>} warnings get what goes wrong */
  constructor(file, warnings) {
    this.#file = file;
    this.#warnings = warnings;
  }

  /**
   * Throws a TypeError where it cannot be appended to. Its folder is resolved once, here.
   * @param {string} option absolute, `~` or `~/x`
   * @param {string} home
   * @param {Set<string>} warnings
   */
  static async open(option, home, warnings) {
    const written = option.replace(/^~(?=\/|$)/, () => home);
    try {
      const folder = await fs.realpath(path.dirname(written));
      const log = new ViolationLog(path.join(folder, path.basename(written)), warnings);
      await log.#touch();
      return log;
    } catch (error) {
      const found = `found ${JSON.stringify(option)} (${reasonOf(error)})`;
      throw new TypeError(`violationLog: expected a file that can be appended to, ${found}`);
    }
  }

  /** Makes sure that the file is there: what is not cannot be closed to a command. */
  async prepare() {
    await this.#touch().catch((error) => this.#warn(error));
  }

  /** @param {object} record */
  append(record) {
    const line = `${JSON.stringify(record)}\n`;
    if (this.#queued + line.length > QUEUE_MAX) {
      this.#addMissing(1);
    } else {
      this.#queue.push(line);
      this.#queued += line.length;
    }
    this.#writing ??= this.#write();
  }

  /** When what was appended is written, or lost. */
  async flush() {
    await this.#writing;
    if (this.#queue.length > 0) await (this.#writing ??= this.#write());
  }

  /** @param {number} lines */
  #addMissing(lines) {
    const last = this.#queue.at(-1);
    if (typeof last === 'number') this.#queue.splice(-1, 1, last + lines);
    else this.#queue.push(lines);
  }

  async #write() {
    // Events of one turn of the loop go into one batch.
    await new Promise((resolve) => setImmediate(resolve));
    let writes = true;
    while (writes && this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      this.#queued = 0;
      const missing = await this.#writeBatch(batch);
      if (missing > 0) this.#queue.unshift(missing);
      writes = missing === 0;
    }
    this.#writing = undefined;
  }

  /** @param {Array<string | number>} batch @returns {Promise<number>} how many lines were lost, now and before */
  async #writeBatch(batch) {
    const timestamp = new Date().toISOString();
    const lines = batch.map((item) => (typeof item === 'string' ? item : `${JSON.stringify({ type: 'dropped', count: item, timestamp })}\n`));
    const bytes = Buffer.from(`${this.#torn ? '\n' : ''}${lines.join('')}`);
    let written = 0;
    let handle;
    try {
      handle = await this.#open();
      while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten;
      this.#torn = false;
      return 0;
    } catch (error) {
      this.#warn(error);
      const whole = Math.max(countLines(bytes.subarray(0, written)) - (this.#torn ? 1 : 0), 0);
      if (written > 0) this.#torn = bytes[written - 1] !== NEWLINE;
      return batch.slice(whole).reduce((/** @type {number} */ sum, item) => sum + (typeof item === 'string' ? 1 : item), 0);
    } finally {
      await handle?.close().catch((error) => this.#warn(error));
    }
  }

  async #touch() {
    await (await this.#open()).close();
  }

  /** The file that is there now. */
  async #open() {
    for (let attempt = 0; attempt < OPEN_ATTEMPTS; attempt += 1) {
      const handle = await fs.open(this.#file, OPEN_FLAGS, 0o600);
      try {
        if (!(await handle.stat()).isFile()) throw new Error('it is not a regular file');
        // A folder on the way may have been replaced by a link: the kernel tells where the file really lies.
        const place = await fs.readlink(`/proc/self/fd/${handle.fd}`);
        if (path.dirname(place) === path.dirname(this.#file)) return handle;
      } catch (error) {
        await handle.close();
        throw error;
      }
      await handle.close();
    }
    throw new Error('its folder was replaced, or it is moved all the time');
  }

  /** @param {unknown} error */
  #warn(error) {
    this.#warnings.add(`violationLog: nothing can be appended to ${this.#file}, and lines are lost: ${reasonOf(error)}`);
  }
}

module.exports = { ViolationLog };
