'use strict';
// npm's install step: a binary that loads is kept, else one is built. Where neither is possible the install succeeds
// all the same: the library then says why it is not sandboxing, and runs commands plainly.

const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { unpackSources } = require('./source-archive');

const BUILDABLE = ['linux'];

/** A load in a process of its own: a foreign binary must not take the install down with it. */
function loads() {
  const script = `require(${JSON.stringify(path.join(__dirname, '..', 'lib', 'native.js'))}).loadNative()`;
  return spawnSync(process.execPath, ['-e', script], { stdio: 'ignore' }).status === 0;
}

function isMissing(tool) {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', tool], { stdio: 'ignore' }).status !== 0;
}

function lacksJansson(compiler) {
  const input = '#include <jansson.h>\n';
  return spawnSync(compiler, ['-E', '-x', 'c', '-'], { input, stdio: ['pipe', 'ignore', 'ignore'] }).status !== 0;
}

function missingTools() {
  const compiler = process.env.CC ?? 'cc';
  const missing = [compiler, 'make', 'python3'].filter(isMissing);
  if (!isMissing(compiler) && lacksJansson(compiler)) missing.push('jansson (libjansson-dev, jansson-devel)');
  return missing;
}

/** @returns {string | null} why there is no binary, or null where there is one */
function install() {
  if (loads()) return null;
  if (!BUILDABLE.includes(process.platform)) return `nothing to build on ${process.platform} yet`;
  if (!unpackSources(path.join(__dirname, '..'))) return 'this package was packed without its prepack script, and has neither binaries nor sources';
  const missing = missingTools();
  if (missing.length > 0) return `to build it, install: ${missing.join(', ')}`;
  const failure = require('./node-gyp').runNodeGyp(['rebuild']);
  if (failure) return failure;
  return loads() ? null : 'the binary was built and does not load';
}

const reason = install();
if (reason) {
  console.warn(`operon-os-sandbox: the native addon is not available: ${reason}`);
  console.warn('operon-os-sandbox: commands will NOT be sandboxed until it is (see status.reason of OsSandbox.start()).');
}
