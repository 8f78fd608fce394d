'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

/** Compiles the program whose calls are measured. @param {any} scratch */
function compileMonitorProgram(scratch) {
  const program = path.join(scratch.folder('programs'), 'monitor');
  execFileSync('cc', ['-std=gnu17', '-D_GNU_SOURCE', '-O2', '-o', program, path.join(__dirname, 'monitor.c')]);
  return program;
}

module.exports = { compileMonitorProgram };
