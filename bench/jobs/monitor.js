'use strict';

const { summary, timed } = require('../measure');
const { openSubject } = require('../subjects');
const { memoryOfHost, watchMemory } = require('../memory');

/**
 * One command in every subject in turn; its time is what it prints, in milliseconds, or how long it took. And the
 * memory of this process and of the helpers, before the first of them and at most.
 * @param {{ subjects: any[], argv: string[], printed: boolean, counts: any }} args
 */
module.exports = async ({ subjects, argv, printed, counts }) => {
  const opened = [];
  for (const subject of subjects) opened.push(await openSubject(subject));
  const times = opened.map(() => /** @type {number[]} */ ([]));
  const memory = { before: memoryOfHost(), most: 0 };
  const end = performance.now() + counts.capMs;
  for (let round = -counts.warmup; round < counts.runs; round++) {
    for (const [i, subject] of opened.entries()) {
      const watch = watchMemory();
      let result;
      const ms = await timed(async () => (result = await subject.run(argv)));
      memory.most = Math.max(memory.most, watch.stop());
      if (round >= 0) times[i].push(printed ? Number(result.stdout) : ms);
    }
    if (performance.now() > end && times[0].length >= 3) break;
  }
  for (const { close } of opened) await close();
  return { times: times.map(summary), memory };
};
