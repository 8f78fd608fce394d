'use strict';

const { monitorEventLoopDelay } = require('node:perf_hooks');
const { alternate } = require('../measure');
const { openSubject } = require('../subjects');

const RESOLUTION_MS = 1;

/** @param {import('../subjects').Subject} subject @param {number} count */
async function allAtOnce(subject, count) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const start = performance.now();
  delay.enable();
  await Promise.all(Array.from({ length: count }, () => subject.run(['true'])));
  // The monitor looks when the loop turns.
  await new Promise((resolve) => setTimeout(resolve, 2 * RESOLUTION_MS));
  delay.disable();
  const stall = delay.max / 1e6 - RESOLUTION_MS;
  return { stall: Math.max(0, Math.min(stall, performance.now() - start)) };
}

/**
 * Many runs at once, in every subject in turn; the first subject is also asked what its first batch does to the memory.
 * @param {{ subjects: any[], count: number, counts: any }} args
 */
module.exports = async ({ subjects, count, counts }) => {
  const opened = [];
  for (const subject of subjects) opened.push(await openSubject(subject));
  for (const { run } of opened) await run(['true']);
  const before = process.memoryUsage().rss;
  await allAtOnce(opened[0], count);
  const grown = process.memoryUsage().rss - before;
  const stalls = opened.map(() => 0);
  const times = await alternate(
    opened.map((subject, i) => async () => {
      stalls[i] = Math.max(stalls[i], (await allAtOnce(subject, count)).stall);
    }),
    counts
  );
  for (const { close } of opened) await close();
  return { times, stalls, grown };
};
