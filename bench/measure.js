'use strict';

/** @param {readonly number[]} values */
function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], min: sorted[0], max: sorted[sorted.length - 1], count: sorted.length };
}

/** @param {() => Promise<any>} action */
async function timed(action) {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

/**
 * Times the actions in turn, A B A B …, so that what else the machine does hits all of them alike.
 * @param {ReadonlyArray<() => Promise<any>>} actions
 * @param {{ runs: number, warmup: number, capMs: number }} counts capMs: no new round after so much time
 * @returns {Promise<Array<{ median: number, min: number, max: number, count: number }>>} milliseconds
 */
async function alternate(actions, { runs, warmup, capMs }) {
  const times = actions.map(() => /** @type {number[]} */ ([]));
  const end = performance.now() + capMs;
  for (let round = -warmup; round < runs; round++) {
    const measuring = round >= 0 || performance.now() > end;
    for (const [i, action] of actions.entries()) {
      const ms = await timed(action);
      if (measuring) times[i].push(ms);
    }
    if (performance.now() > end && times[0].length >= 3) break;
  }
  return times.map(summary);
}

module.exports = { alternate, summary, timed };
