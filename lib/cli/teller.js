'use strict';

const { loadNative } = require('../native');
const { lineOf } = require('./stdio');

const STDERR = 2;
/** What may wait for a reader, in bytes; more is counted. */
const QUEUE_MAX = 2 ** 20;
const RETRY_MS = 50;
/** How often, when all else is over, before a reader that does not read is given up. */
const LAST_RETRIES = 40;

/**
 * Lines on stderr while a command runs. Nothing waits for their reader: some never read, and the command's connections
 * and signals go through this process.
 */
class Teller {
  #addon = loadNative().addon;
  /** @type {Buffer[]} */
  #queue = [];
  #queued = 0;
  #lost = 0;
  #gone = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {string} text */
  tell(text) {
    this.#push(text);
    this.#write();
  }

  /** When all is written, or nobody reads it. */
  async flush() {
    for (let i = 0; this.#queued > 0 && i < LAST_RETRIES; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      this.#write();
    }
    clearTimeout(this.#timer);
  }

  /** @param {string} text */
  #push(text) {
    const bytes = Buffer.from(lineOf(text));
    if (this.#gone) return;
    if (this.#queued + bytes.length > QUEUE_MAX) {
      this.#lost += 1;
      return;
    }
    this.#queue.push(bytes);
    this.#queued += bytes.length;
  }

  #write() {
    while (this.#queue.length > 0) {
      const written = this.#addon.writeReady(STDERR, this.#queue[0]);
      if (written < 0) this.#giveUp();
      if (written <= 0) break;
      this.#queued -= written;
      if (written === this.#queue[0].length) this.#queue.shift();
      else this.#queue[0] = this.#queue[0].subarray(written);
    }
    if (this.#queue.length > 0) {
      this.#timer ??= setTimeout(() => this.#retry(), RETRY_MS).unref();
    } else if (this.#lost > 0) {
      const lost = this.#lost;
      this.#lost = 0;
      this.tell(`${lost} more lines, for which nobody made room here`);
    }
  }

  #retry() {
    this.#timer = undefined;
    this.#write();
  }

  #giveUp() {
    this.#gone = true;
    this.#queue = [];
    this.#queued = 0;
    this.#lost = 0;
  }
}

module.exports = { Teller };
