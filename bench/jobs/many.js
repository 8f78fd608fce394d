'use strict';

const { alternate } = require('../measure');
const { StallWatch } = require('../stall-watch');
const { openSubject } = require('../subjects');

/** @param {import('../subjects').Subject} subject @param {number} count */
async function allAtOnce(subject, count) {
  const watch = new StallWatch();
  await Promise.all(Array.from({ length: count }, () => subject.run(['true'])));
  watch.stop();
  return watch.longest;
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
      stalls[i] = Math.max(stalls[i], await allAtOnce(subject, count));
    }),
    counts
  );
  for (const { close } of opened) await close();
  return { times, stalls, grown };
};
