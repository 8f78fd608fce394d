'use strict';
// A log's growth, by looking at it: nothing else sees every kind of rotation on every file system.

const fs = require('node:fs/promises');
const { setTimeout: sleep } = require('node:timers/promises');

const LOOK_MS = 200;
const CHUNK = 65536;

/**
 * Of the file that a name stands for now; undefined where there is none.
 * @template T
 * @param {Promise<T>} result
 * @returns {Promise<T | undefined>}
 */
async function orNone(result) {
  try {
    return await result;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @param {import('node:fs').Stats | undefined} a @param {import('node:fs').Stats} b */
const isSame = (a, b) => a !== undefined && a.ino === b.ino && a.dev === b.dev;

/** One name, followed through whatever files it stands for. */
class Follower {
  #file;
  #put;
  /** @type {import('node:fs/promises').FileHandle | undefined} */
  #handle;
  #offset = 0;

  /** @param {string} file @param {(chunk: Buffer | undefined) => void} put gets undefined where another file begins */
  constructor(file, put) {
    this.#file = file;
    this.#put = put;
  }

  /** Reads what is there, to the end of the file that the name stands for. */
  async look() {
    await this.#readOn();
    const now = await orNone(fs.stat(this.#file));
    if (!now || isSame(await this.#handle?.stat(), now)) return;
    // What was written between the last read and the rotation.
    await this.#readOn();
    await this.#handle?.close();
    this.#handle = await orNone(fs.open(this.#file, 'r'));
    this.#offset = 0;
    this.#put(undefined);
    await this.#readOn();
  }

  async #readOn() {
    if (!this.#handle) return;
    if ((await this.#handle.stat()).size < this.#offset) {
      this.#offset = 0;
      this.#put(undefined);
    }
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const { bytesRead } = await this.#handle.read(buffer, 0, CHUNK, this.#offset);
      if (bytesRead === 0) return;
      this.#offset += bytesRead;
      this.#put(buffer.subarray(0, bytesRead));
    }
  }

  get isThere() {
    return this.#handle !== undefined;
  }

  /** Never ends but by an error. @returns {Promise<never>} */
  async go() {
    for (;;) {
      await this.look();
      await sleep(LOOK_MS);
    }
  }
}

module.exports = { Follower };
