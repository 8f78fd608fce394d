'use strict';
// Reading what a sandbox says of refused attempts.

const fs = require('node:fs');
const path = require('node:path');

/** The lines of the block that ends a stderr; none where there is no block. @param {string} stderr @returns {string[]} */
function blockOf(stderr) {
  const open = '\n<sandbox_violations>\n';
  const close = '\n</sandbox_violations>';
  const start = stderr.lastIndexOf(open);
  if (start === -1 || !stderr.endsWith(close)) return [];
  return stderr.slice(start + open.length, -close.length).split('\n');
}

/** What stands before the block. @param {string} stderr */
function beforeBlock(stderr) {
  return stderr.slice(0, stderr.lastIndexOf('\n<sandbox_violations>\n'));
}

/**
 * A folder beside a workspace, where commands may not write.
 * @param {string} workspace
 */
function outsideOf(workspace) {
  const outside = path.join(path.dirname(workspace), 'outside');
  fs.mkdirSync(outside, { recursive: true });
  return outside;
}

/** Every violation that a sandbox tells from now on. @param {any} sandbox @returns {any[]} */
function collectViolations(sandbox) {
  /** @type {any[]} */
  const told = [];
  sandbox.on('violation', (violation) => told.push(violation));
  return told;
}

module.exports = { beforeBlock, blockOf, collectViolations, outsideOf };
