'use strict';

const { megabytes, time, valueRow } = require('../table');

/** What a sandbox costs before its first command. */
async function measure({ counts, scratch, runJob }) {
  const { first, start, dispose, memory } = await runJob('start', { counts }, { home: scratch.emptyHome() });
  return [
    valueRow('OsSandbox.start()', `${time(start.median)} (${time(start.min)})`, '≤ 15 ms', `the first: ${time(first)}`),
    valueRow('dispose()', `${time(dispose.median)} (${time(dispose.min)})`),
    valueRow('host process, package loaded and started', megabytes(memory.started), '', `${megabytes(memory.bare)} bare`),
    valueRow('agent', megabytes(memory.agent)),
  ];
}

module.exports = { measure };
