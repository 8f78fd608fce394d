'use strict';

const { performance } = require('node:perf_hooks');
const { summary } = require('../measure');
const { openSubject } = require('../subjects');

const RUNS_PER_BLOCK = 25;

/** Milliseconds per run in which the loop was not idle. @param {import('../subjects').Subject} subject */
async function activePerRun(subject) {
  const before = performance.eventLoopUtilization();
  for (let i = 0; i < RUNS_PER_BLOCK; i++) await subject.run(['true']);
  return performance.eventLoopUtilization(before).active / RUNS_PER_BLOCK;
}

/**
 * Blocks of runs, one after the other, in every subject in turn.
 * @param {{ subjects: any[], blocks: number }} args
 */
module.exports = async ({ subjects, blocks }) => {
  const opened = [];
  for (const subject of subjects) opened.push(await openSubject(subject));
  const active = opened.map(() => /** @type {number[]} */ ([]));
  for (let block = -1; block < blocks; block++) {
    for (const [i, subject] of opened.entries()) {
      const ms = await activePerRun(subject);
      if (block >= 0) active[i].push(ms);
    }
  }
  for (const { close } of opened) await close();
  return active.map(summary);
};
