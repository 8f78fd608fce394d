'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const LANGUAGE = ['-std=gnu17', '-D_GNU_SOURCE', '-O2', '-pthread'];

/**
 * Compiles one of the programs that are measured, or measure.
 * @param {any} scratch
 * @param {'monitor' | 'network-client' | 'network-server'} name of a C file in this folder
 * @returns {string} its path
 */
function compileProgram(scratch, name) {
  const program = path.join(scratch.folder('programs'), name);
  execFileSync('cc', [...LANGUAGE, '-o', program, path.join(__dirname, `${name}.c`)]);
  return program;
}

module.exports = { compileProgram };
