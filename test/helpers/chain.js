'use strict';
// The processes of a run.

const fs = require('node:fs');
const { childrenOf, parentOf } = require('./sandbox');

const nameOf = (/** @type {number} */ pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();

/**
 * From a process of a command outwards: its stage (pid 1 inside), bwrap, the agent, Node; and beside them the
 * supervisor.
 * @param {number} command
 */
function chainOf(command) {
  let stage = command;
  while (!(nameOf(parentOf(stage)) === 'bwrap' && nameOf(stage) !== 'bwrap')) {
    stage = parentOf(stage);
    if (stage <= 1) throw new Error(`${command} is no command of a sandbox`);
  }
  const bwrap = parentOf(stage);
  const agent = parentOf(bwrap);
  const supervisor = childrenOf(agent).filter((pid) => pid > bwrap && nameOf(pid) === 'os-sandbox-exec').sort((a, b) => a - b)[0];
  return { stage, bwrap, supervisor, agent, node: parentOf(agent) };
}

module.exports = { chainOf };
