'use strict';

const { AsyncResource } = require('node:async_hooks');
// Kept from now: a test of the caller's may put fake ones in their place.
const { setImmediate } = require('node:timers');

const { warnerOf } = require('./guarded');

/** @typedef {import('./options').AskHost} AskHost */

/**
 * Makes a caller's onAskHost safe to call from any event: it runs in the async context of this call. Exactly `true`
 * allows; what throws, rejects or gives anything else does not.
 * @param {AskHost | undefined} onAskHost
 * @returns {(request: { host: string, port?: number }) => Promise<boolean>}
 */
function wrapAskHost(onAskHost) {
  if (!onAskHost) return async () => false;
  const resource = new AsyncResource('OsSandboxAsk');
  const warn = warnerOf('onAskHost');
  return async (request) => {
    try {
      return (await resource.runInAsyncScope(onAskHost, undefined, request)) === true;
    } catch (error) {
      warn(error);
      return false;
    }
  };
}

/** Questions of a session's network, from when they are asked until they are answered or nobody waits any more. */
class Questions {
  #answer;
  #ask;
  /** @type {Set<bigint>} */
  #open = new Set();

  /** @param {AskHost | undefined} onAskHost @param {(question: bigint, allowed: boolean) => void} answer */
  constructor(onAskHost, answer) {
    this.#ask = wrapAskHost(onAskHost);
    this.#answer = answer;
  }

  /** Who is asked from now on. @param {AskHost | undefined} onAskHost */
  askAnother(onAskHost) {
    this.#ask = wrapAskHost(onAskHost);
  }

  /** @param {bigint} question @param {string} host @param {number} port 0: not known */
  async open(question, host, port) {
    this.#open.add(question);
    const allowed = await this.#ask(port === 0 ? { host } : { host, port });
    // Not from inside the asking call, which a callback that answers at once has not left yet.
    setImmediate(() => this.#open.delete(question) && this.#answer(question, allowed));
  }

  /** @param {bigint} question */
  withdraw(question) {
    this.#open.delete(question);
  }
}

module.exports = { Questions };
