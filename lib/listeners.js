'use strict';

const { guarded } = require('./guarded');

/**
 * Who listens to one kind of event, by the rules of Node's EventEmitter: in the order they came, one that came twice is
 * called twice, and whoever comes or goes during an event changes only the next one.
 * @template Event
 */
class Listeners {
  #name;
  /** @type {ReadonlyArray<{ listener: (event: Event) => unknown, once: boolean, call: (event: Event) => void }>} */
  #entries = [];

  /** @param {string} name what a warning calls a listener that fails */
  constructor(name) {
    this.#name = name;
  }

  /** @param {(event: Event) => unknown} listener @param {boolean} once */
  add(listener, once) {
    if (typeof listener !== 'function') throw new TypeError(`${this.#name}: must be a function`);
    this.#entries = [...this.#entries, { listener, once, call: guarded(this.#name, listener) }];
  }

  /** @param {unknown} listener taken away once: as it came last */
  remove(listener) {
    const index = this.#entries.findLastIndex((entry) => entry.listener === listener);
    this.#entries = this.#entries.filter((_, i) => i !== index);
  }

  /** @param {Event} event */
  emit(event) {
    for (const entry of this.#entries) {
      if (entry.once && !this.#take(entry)) continue;
      entry.call(event);
    }
  }

  /** False where it was taken before, by an event that another listener caused. */
  #take(entry) {
    const before = this.#entries.length;
    this.#entries = this.#entries.filter((other) => other !== entry);
    return this.#entries.length < before;
  }
}

module.exports = { Listeners };
