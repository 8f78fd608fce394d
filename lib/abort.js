'use strict';

/** @type {WeakMap<AbortSignal, { callbacks: Set<() => void>, fire: () => void }>} */
const watched = new WeakMap();

/**
 * Calls back once when a signal is aborted. However many runs share a signal, it has one listener of ours: Node warns
 * of a leak at the eleventh.
 * @param {AbortSignal} signal one that is not aborted yet
 * @param {() => void} callback a function of the caller's own, not passed for this signal before
 * @returns {() => void} stops listening
 */
function onAbort(signal, callback) {
  const { callbacks, fire } = watched.get(signal) ?? watch(signal);
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    signal.removeEventListener('abort', fire);
    watched.delete(signal);
  };
}

/** @param {AbortSignal} signal */
function watch(signal) {
  /** @type {Set<() => void>} */
  const callbacks = new Set();
  const fire = () => [...callbacks].forEach((callback) => callback());
  const entry = { callbacks, fire };
  watched.set(signal, entry);
  signal.addEventListener('abort', fire, { once: true });
  return entry;
}

/** @returns {import('./local-run').RunResult} what a run gives whose signal was aborted before it */
const abortedBeforeStart = () => ({
  stdout: '',
  stderr: '',
  exitCode: undefined,
  timedOut: false,
  truncated: false,
  terminated: true,
});

module.exports = { abortedBeforeStart, onAbort };
