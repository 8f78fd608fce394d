'use strict';

/**
 * Makes a caller's function safe to call from any event: what it throws, or rejects with, becomes one process warning.
 * @template {any[]} Args
 * @param {string} name what the warning calls it
 * @param {(...args: Args) => unknown} callback
 * @returns {(...args: Args) => void}
 */
function guarded(name, callback) {
  let warned = false;

  /** @param {unknown} error */
  const warnOnce = (error) => {
    if (warned) return;
    warned = true;
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    process.emitWarning(`${name} failed: ${message}`, { type: 'OsSandboxWarning', detail: stack });
  };

  return (...args) => {
    try {
      const returned = callback(...args);
      // An async callback's rejection would otherwise end the process as unhandled.
      if (typeof (/** @type {any} */ (returned)?.then) === 'function') Promise.resolve(returned).catch(warnOnce);
    } catch (error) {
      warnOnce(error);
    }
  };
}

module.exports = { guarded };
