'use strict';
// Builds the addon and the exec helper into build/Release, only what changed.

const { runNodeGyp } = require('./node-gyp');

const failure = runNodeGyp(['configure', 'build', '--jobs=max']);
if (failure) {
  console.error(`operon-os-sandbox: build failed: ${failure}`);
  process.exitCode = 1;
}
