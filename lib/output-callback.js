'use strict';

const { AsyncResource } = require('node:async_hooks');

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
  let warned = false;

  /** @param {unknown} error */
  const warnOnce = (error) => {
    if (warned) return;
    warned = true;
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    process.emitWarning(`onOutput failed: ${message}`, { type: 'OsSandboxWarning', detail: stack });
  };

  return (stream, data) => {
    try {
      const returned = resource.runInAsyncScope(onOutput, undefined, { stream, data });
      // An async callback's rejection would otherwise end the process as unhandled.
      if (typeof (/** @type {any} */ (returned)?.then) === 'function') Promise.resolve(returned).catch(warnOnce);
    } catch (error) {
      warnOnce(error);
    }
  };
}

module.exports = { wrapOutputCallback };
