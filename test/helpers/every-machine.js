'use strict';
// Behaviour of run() that holds for every machine, sandboxed or not: the test files of both register it.

const { AsyncLocalStorage } = require('node:async_hooks');
const { getEventListeners } = require('node:events');

/** The warnings of this process from now until the test's end. @param {any} t @returns {Error[]} */
function collectWarnings(t) {
  /** @type {Error[]} */
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  return warnings;
}

/** @param {any} t @param {any} machine */
function testOutputCallback(t, machine) {
  const sh = (script, options) => machine.run(['sh', '-c', script], options);
  t.test('keeps its async context', async (t) => {
    const storage = new AsyncLocalStorage();
    const seen = [];
    const onOutput = () => seen.push(storage.getStore());
    await Promise.all(['one', 'two'].map((name) => storage.run(name, () => sh('sleep 0.1; echo', { onOutput }))));
    t.same(seen.sort(), ['one', 'two']);
  });
  t.test('that fails is reported once, and output goes on', async (t) => {
    const warnings = collectWarnings(t);
    const fail = (what) => {
      throw what;
    };
    const failures = [() => fail(new Error('sync')), async () => fail(new Error('async')), () => fail('text')];
    for (const onOutput of failures) {
      t.equal((await sh('echo 1; sleep 0.1; echo 2', { onOutput })).stdout, '1\n2\n');
    }
    const messages = warnings.map(({ name, message }) => `${name}: ${message}`);
    t.same(messages, ['sync', 'async', 'text'].map((text) => `OsSandboxWarning: onOutput failed: ${text}`));
  });
}

/** @param {any} t @param {any} machine */
function testAbortAfterTheEnd(t, machine) {
  t.test('after the end changes nothing and finds no listener', async (t) => {
    const controller = new AbortController();
    t.match(await machine.run(['sh', '-c', 'exit 3'], { signal: controller.signal }), { exitCode: 3 });
    t.same(getEventListeners(controller.signal, 'abort'), []);
    controller.abort();
  });
}

module.exports = { collectWarnings, testAbortAfterTheEnd, testOutputCallback };
