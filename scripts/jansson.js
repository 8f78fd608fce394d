'use strict';
// Prints how to link jansson: the archive where the system has it, so that the addon needs nothing at run time.

const { execFileSync } = require('node:child_process');
const path = require('node:path');

function archive() {
  const found = execFileSync(process.env.CC || 'cc', ['-print-file-name=libjansson.a'], { encoding: 'utf8' }).trim();
  return path.isAbsolute(found) ? found : null;
}

console.log(archive() ?? '-ljansson');
