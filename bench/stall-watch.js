'use strict';

const fs = require('node:fs');

const TICK_MS = 1;

/** Milliseconds that this thread has had a processor (sched-stats.rst: the first number, in nanoseconds). */
const busyTime = () => Number(fs.readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

/**
 * The longest time in which the loop did not turn, and the most processor time between two turns: what else wants a
 * processor makes the first longer, not the second. Node's own monitor misses the first turn, often the longest one.
 */
class StallWatch {
  longest = 0;
  longestBusy = 0;
  #last = performance.now();
  #lastBusy = busyTime();
  #timer = setInterval(() => this.#tick(), TICK_MS);

  #tick() {
    const now = performance.now();
    const busy = busyTime();
    this.longest = Math.max(this.longest, now - this.#last - TICK_MS);
    this.longestBusy = Math.max(this.longestBusy, busy - this.#lastBusy);
    this.#last = now;
    this.#lastBusy = busy;
  }

  stop() {
    this.#tick();
    clearInterval(this.#timer);
  }
}

module.exports = { StallWatch };
