'use strict';

const { AsyncResource } = require('node:async_hooks');

const { guarded } = require('./guarded');

/**
 * @typedef {'stdout' | 'stderr'} StreamName
 * @typedef {(chunk: { stream: StreamName, data: string }) => unknown} OnOutput
 */

/**
 * Makes a caller's onOutput safe to call from any event: it runs in the async context of this call, and its failures
 * become one process warning.
 * @param {OnOutput | undefined} onOutput undefined gives a function that does nothing
 * @returns {(stream: StreamName, data: string) => void}
 */
function wrapOutputCallback(onOutput) {
  if (!onOutput) return () => {};
  const resource = new AsyncResource('OsSandboxOutput');
  return guarded('onOutput', (stream, data) => resource.runInAsyncScope(onOutput, undefined, { stream, data }));
}

module.exports = { wrapOutputCallback };
