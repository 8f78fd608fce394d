'use strict';
// Programs of Node in a process of their own, beside a sandbox of theirs.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

/** @param {string} root */
const prelude = (root) => `'use strict';
const { OsSandbox } = require(${JSON.stringify(root)});
const say = (value) => console.log(JSON.stringify(value));
`;

/**
 * Starts a program; what it gives to `say()` comes out of `next()`, one value each time.
 * @param {any} t ends it, should the test end first
 * @param {string} body an async function's, with `OsSandbox` and `say`
 * @param {{ launcher?: string[], nodeArgs?: string[], env?: NodeJS.ProcessEnv, cwd?: string, args?: string[], root?: string }} [options]
 *   root: where the package lies
 */
function startProgram(t, body, options = {}) {
  const { launcher = [], nodeArgs = [], env = process.env, cwd = '/', args = [], root = ROOT } = options;
  const script = `${prelude(root)}(async () => {${body}\n})();`;
  const [command, ...rest] = [...launcher, process.execPath, ...nodeArgs, '-e', script, '--', ...args];
  const child = spawn(command, rest, { stdio: ['pipe', 'pipe', 'pipe'], env, cwd });
  t.teardown(() => child.kill('SIGKILL'));
  child.stdin.on('error', () => {});
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (data) => (stderr += data));

  /** @type {any[]} */
  const said = [];
  /** @type {Array<() => void>} */
  const waiting = [];
  let partial = '';
  let over = false;
  const wake = () => waiting.splice(0).forEach((call) => call());
  child.stdout.setEncoding('utf8').on('data', (data) => {
    const lines = (partial + data).split('\n');
    partial = /** @type {string} */ (lines.pop());
    for (const line of lines) said.push(JSON.parse(line));
    wake();
  });
  const ended = once(child, 'close').then(([code, signal]) => {
    over = true;
    wake();
    return { code, signal, stderr, said };
  });

  /** The next value the program says. @returns {Promise<any>} */
  const next = async () => {
    while (said.length === 0) {
      if (over) throw new Error(`the program ended without a word: ${stderr}`);
      await new Promise((resolve) => waiting.push(() => resolve(undefined)));
    }
    return said.shift();
  };
  return { child, pid: /** @type {number} */ (child.pid), next, ended };
}

/**
 * Runs a program to its end.
 * @param {any} t
 * @param {string} body
 * @param {Parameters<typeof startProgram>[2]} [options]
 */
function runProgram(t, body, options) {
  const { child, ended } = startProgram(t, body, options);
  child.stdin.end();
  return ended;
}

module.exports = { runProgram, startProgram };
