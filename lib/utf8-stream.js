'use strict';

const { StringDecoder } = require('node:string_decoder');

/** V8's longest string; one byte never decodes to more than one character. */
const MAX_CAPTURE_BYTES = 2 ** 29 - 24;

/** One captured stream: decodes UTF-8 as it arrives, up to a number of bytes; what is delivered adds up to `text`. */
class Utf8Stream {
  text = '';
  truncated = false;
  #decoder = new StringDecoder('utf8');
  #room;
  #deliver;
  #ended = false;

  /**
   * @param {number} maxBytes
   * @param {(data: string) => void} deliver gets whole characters, never an empty string
   */
  constructor(maxBytes, deliver) {
    this.#room = Math.min(maxBytes, MAX_CAPTURE_BYTES);
    this.#deliver = deliver;
  }

  /** @param {Buffer} chunk dropped where it lies beyond the cap */
  push(chunk) {
    if (this.#ended || chunk.length === 0) return;
    if (chunk.length <= this.#room) {
      this.#room -= chunk.length;
      this.#emit(this.#decoder.write(chunk));
      return;
    }
    this.truncated = true;
    this.#finish(chunk.subarray(0, this.#room));
  }

  /** Flushes a character that was cut short; nothing is taken afterwards. */
  end() {
    if (!this.#ended) this.#finish(Buffer.alloc(0));
  }

  /** @param {Buffer} last */
  #finish(last) {
    this.#ended = true;
    this.#emit(this.#decoder.write(last) + this.#decoder.end());
  }

  /** @param {string} data */
  #emit(data) {
    if (data === '') return;
    this.text += data;
    this.#deliver(data);
  }
}

module.exports = { MAX_CAPTURE_BYTES, Utf8Stream };
