'use strict';

const fs = require('node:fs');

const PERIOD_MS = 50;

/** @param {string} file */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return ''; // it ended meanwhile
  }
}

/** The children of all threads of a process. @param {string} pid */
function childrenOf(pid) {
  let tasks;
  try {
    tasks = fs.readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
  return tasks.flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean));
}

/** The helper's processes below this one: agent, gateway, supervisors, stages. */
function helperProcesses() {
  const found = [];
  const waiting = childrenOf('self');
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    waiting.push(...childrenOf(pid));
    if (read(`/proc/${pid}/comm`).startsWith('os-sandbox')) found.push(pid);
  }
  return found;
}

/** @param {string} pid */
const residentBytes = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;

/** Bytes of this process and of the helper's processes below it. */
function memoryOfHost() {
  return helperProcesses().reduce((bytes, pid) => bytes + residentBytes(pid), process.memoryUsage.rss());
}

/** Looks again and again; `stop` gives the most it saw. */
function watchMemory() {
  let most = 0;
  const look = () => (most = Math.max(most, memoryOfHost()));
  const timer = setInterval(look, PERIOD_MS);
  return {
    stop: () => {
      look();
      clearInterval(timer);
      return most;
    },
  };
}

module.exports = { helperProcesses, memoryOfHost, watchMemory };
