'use strict';
// The command line as users start it.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { scratchFolder } = require('./sandbox');

const MAIN = path.join(__dirname, '..', '..', 'lib', 'cli', 'main.js');

/** @param {import('node:stream').Readable} stream */
async function textOf(stream) {
  let text = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) text += chunk;
  return text;
}

/**
 * Starts it with a home of its own, in a workspace of its own.
 * @param {any} t
 */
function makePlace(t) {
  const base = scratchFolder(t);
  const [home, workspace, outside] = ['home', 'workspace', 'outside'].map((name) => path.join(base, name));
  for (const folder of [home, workspace, outside]) fs.mkdirSync(folder);
  const env = { ...process.env, HOME: home };

  /**
   * @param {string[]} args
   * @param {import('node:child_process').SpawnOptions & { launcher?: string[] }} [options] launcher: words before it
   */
  const start = (args, { launcher = [], ...options } = {}) => {
    const [program, ...words] = [...launcher, process.execPath, MAIN, ...args];
    return spawn(program, words, { cwd: workspace, env, stdio: ['pipe', 'pipe', 'pipe'], ...options });
  };

  /**
   * Runs it to its end.
   * @param {string[]} args
   * @param {import('node:child_process').SpawnOptions & { launcher?: string[], input?: string }} [options]
   */
  const cli = async (args, { input = '', ...options } = {}) => {
    const child = start(args, options);
    child.stdin?.on('error', () => {}).end(input);
    const [stdout, stderr, [code, signal]] = await Promise.all([textOf(/** @type {any} */ (child.stdout)), textOf(/** @type {any} */ (child.stderr)), once(child, 'close')]);
    return { code, signal, stdout, stderr };
  };
  const sh = (script, args = [], options = undefined) => cli([...args, 'sh', '-c', script], options);
  /** @param {string} script @param {string[]} [args] */
  const quiet = (script, args = []) => sh(script, ['--violations', 'none', ...args]);
  return { base, home, workspace, outside, env, start, cli, sh, quiet };
}

/** Lines that the command line itself said. @param {{ stderr: string }} result */
const saidBy = ({ stderr }) => stderr.split('\n').filter((line) => line.startsWith('os-sandbox: ')).map((line) => line.slice('os-sandbox: '.length));

module.exports = { MAIN, makePlace, saidBy, textOf };
