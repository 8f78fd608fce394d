'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { fileURLToPath } = require('node:url');
const { alternate } = require('../measure');
const { provideSrt } = require('../srt-install');
const { ratioRow } = require('../table');

const CLI = path.join(__dirname, '..', '..', 'lib', 'cli', 'main.js');

/** One process from its start to its end. @param {string} node @param {string[]} args @param {any} options */
function runToEnd(node, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (data) => (stderr += data));
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve(undefined) : reject(new Error(`exit code ${code}: ${stderr.trim()}`))));
  });
}

/**
 * A command line that does nothing in the sandbox, beside a Node that does nothing, and beside srt's.
 * @param {any} bench
 */
async function measure({ counts, scratch }) {
  const options = { cwd: scratch.folder('empty'), env: { ...process.env, HOME: scratch.emptyHome() } };
  const bare = (/** @type {string} */ node) => () => runToEnd(node, ['-e', '0'], options);
  const ours = (/** @type {string} */ node) => () => runToEnd(node, [CLI, 'true'], options);
  const [oursTime, bareTime] = await alternate([ours(process.execPath), bare(process.execPath)], counts);
  const rows = [ratioRow('`os-sandbox true` ÷ `node -e 0`', oursTime, bareTime, '≤ 1.3')];
  const { node, entry } = provideSrt();
  const srtCli = path.join(path.dirname(fileURLToPath(entry)), 'cli.js');
  const srt = () => runToEnd(node, [srtCli, 'true'], options);
  const [oursBeside, srtTime] = await alternate([ours(node), srt], counts);
  rows.push(ratioRow('… ÷ `srt true` (0.0.83, Node 22)', oursBeside, srtTime, '≤ 1/3'));
  return rows;
}

module.exports = { measure };
