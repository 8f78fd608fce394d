'use strict';
// A sandbox in a Node of its own, which may be started under another program.

const { startProgram } = require('./program');

/** A Node of its own with a sandbox, which runs what it is told, a line of JSON each. */
const RUNNER = `
  const sandbox = await OsSandbox.start();
  say(sandbox.status);
  for await (const line of require('node:readline').createInterface({ input: process.stdin })) {
    const { id, cwd, argv, options } = JSON.parse(line);
    sandbox.machine(cwd).run(argv, options).then((result) => say({ id, result }), ({ message }) => say({ id, error: message }));
  }
  await sandbox.dispose();`;

/**
 * @param {any} t
 * @param {string[]} [launcher] the words before the program
 */
async function startElsewhere(t, launcher) {
  const node = startProgram(t, RUNNER, { launcher });
  t.match(await node.next(), { enabled: true, guarantees: { filesystem: 'enforced', violations: 'reported' } });
  /** @type {Map<number, [(result: any) => void, (error: Error) => void]>} */
  const waiting = new Map();
  (async () => {
    for (;;) {
      const { id, result, error } = await node.next();
      const [resolve, reject] = waiting.get(id);
      error === undefined ? resolve(result) : reject(new Error(error));
    }
  })().catch((error) => waiting.forEach(([, reject]) => reject(error)));
  const run = (cwd, argv, options) =>
    new Promise((resolve, reject) => {
      const id = waiting.size;
      waiting.set(id, [resolve, reject]);
      node.child.stdin.write(`${JSON.stringify({ id, cwd, argv, options })}\n`);
    });
  return { pid: node.pid, machine: (/** @type {string} */ cwd) => ({ run: (argv, options) => run(cwd, argv, options) }) };
}

module.exports = { startElsewhere };
