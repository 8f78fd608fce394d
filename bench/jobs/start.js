'use strict';

const fs = require('node:fs');
const { summary, timed } = require('../measure');

/** VmRSS of this process's agents, by the children of its threads. */
function agentMemory() {
  const pids = fs
    .readdirSync('/proc/self/task')
    .flatMap((task) => fs.readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '))
    .filter((pid) => pid !== '');
  const pages = pids.map((pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0));
  return Math.max(0, ...pages) * 1024;
}

/** @param {{ counts: any }} args */
module.exports = async ({ counts }) => {
  const bare = process.memoryUsage().rss;
  const { OsSandbox } = require('../..');
  const starts = [];
  const disposals = [];
  let memory;
  for (let i = 0; i < counts.runs; i++) {
    const before = performance.now();
    const sandbox = await OsSandbox.start();
    starts.push(performance.now() - before);
    if (!sandbox.status.enabled) throw new Error(sandbox.status.reason);
    memory ??= { bare, started: process.memoryUsage().rss, agent: agentMemory() };
    disposals.push(await timed(() => sandbox.dispose()));
  }
  return { first: starts[0], start: summary(starts), dispose: summary(disposals), memory };
};
