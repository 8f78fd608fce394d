'use strict';

/** What was thrown, whatever that is: not everything can be made a string. @param {any} error */
function wordsOf(error) {
  try {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    return { message: `${message}`, detail: `${stack}` };
  } catch {
    return { message: 'with what cannot be printed', detail: '' };
  }
}

/**
 * Says once, as a process warning, that a caller's function failed.
 * @param {string} name what the warning calls it
 * @returns {(error: unknown) => void}
 */
function warnerOf(name) {
  let warned = false;
  return (error) => {
    if (warned) return;
    warned = true;
    const { message, detail } = wordsOf(error);
    process.emitWarning(`${name} failed: ${message}`, { type: 'OsSandboxWarning', detail });
  };
}

/**
 * Makes a caller's function safe to call from any event: what it throws, or rejects with, becomes one process warning.
 * @template {any[]} Args
 * @param {string} name what the warning calls it
 * @param {(...args: Args) => unknown} callback
 * @returns {(...args: Args) => void}
 */
function guarded(name, callback) {
  const warn = warnerOf(name);
  return (...args) => {
    try {
      const returned = callback(...args);
      // An async callback's rejection would otherwise end the process as unhandled.
      if (typeof (/** @type {any} */ (returned)?.then) === 'function') Promise.resolve(returned).catch(warn);
    } catch (error) {
      warn(error);
    }
  };
}

module.exports = { guarded, warnerOf };
