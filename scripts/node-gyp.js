'use strict';
// Runs node-gyp on this repository: finds the copy that npm ships, and Node's headers where they lie beside node.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const prefix = path.dirname(path.dirname(process.execPath));

/** @returns {string | null} the path of a node-gyp.js, or null where there is none */
function findNodeGyp() {
  const npmCli = process.env.npm_execpath ? path.dirname(path.dirname(process.env.npm_execpath)) : null;
  const candidates = [
    process.env.npm_config_node_gyp,
    npmCli && path.join(npmCli, 'node_modules/node-gyp/bin/node-gyp.js'),
    path.join(prefix, 'lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js'),
    '/usr/share/nodejs/node-gyp/bin/node-gyp.js',
  ];
  return candidates.find((file) => file && fs.existsSync(file)) ?? null;
}

/** The arguments that spare a download of headers, where this node brings its own. */
function headerArguments() {
  const include = path.join(prefix, 'include/node');
  const complete = ['node_api.h', 'uv.h', 'common.gypi'].every((name) => fs.existsSync(path.join(include, name)));
  return complete ? [`--nodedir=${prefix}`] : [];
}

/**
 * @param {string[]} commands node-gyp commands, such as "configure", "build"
 * @returns {string | null} what failed, or null
 */
function runNodeGyp(commands) {
  const nodeGyp = findNodeGyp();
  if (!nodeGyp) return 'node-gyp was not found (it comes with npm)';
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}` };
  // gyp links with the C++ compiler, which a machine with only a C compiler lacks.
  env.CXX ??= env.CC ?? 'cc';
  const result = spawnSync(process.execPath, [nodeGyp, ...commands, '--loglevel=warn', ...headerArguments()], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  if (result.error) return result.error.message;
  return result.status === 0 ? null : `node-gyp ended with ${result.status ?? result.signal}`;
}

module.exports = { runNodeGyp };
