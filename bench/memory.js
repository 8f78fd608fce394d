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

/** Bytes of this process and of the helper's processes below it: agent, supervisors, stages. */
function memoryOfHost() {
  let bytes = process.memoryUsage.rss();
  const waiting = childrenOf('self');
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    waiting.push(...childrenOf(pid));
    const [, name, resident] = /^Name:\s+(\S+)[^]*^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? [];
    if (name?.startsWith('os-sandbox')) bytes += Number(resident) * 1024;
  }
  return bytes;
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

module.exports = { memoryOfHost, watchMemory };
