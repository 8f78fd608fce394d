'use strict';

const fs = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { helperProcesses } = require('../memory');
const { allow, startServer } = require('../network-server');
const { openSubject } = require('../subjects');

const POLL_MS = 20;
const SETTLE_MS = 500;
const WATCH_MS = 2000;
const PERIODS = 3;

/** Milliseconds of processor time that the helper's processes have had. */
function helpersTime() {
  const nanoseconds = helperProcesses().map((pid) => Number(fs.readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]));
  return nanoseconds.reduce((sum, time) => sum + time, 0) / 1e6;
}

/** Processor milliseconds of this process and of the helpers in one period. */
async function timeOfPeriod() {
  const helpers = helpersTime();
  const before = process.cpuUsage();
  await delay(WATCH_MS);
  const { user, system } = process.cpuUsage(before);
  return { host: (user + system) / 1000, helpers: helpersTime() - helpers };
}

/** The same while nothing happens: the least of some periods, because V8 collects what was left in one of them. */
async function idleTime() {
  await delay(SETTLE_MS);
  const periods = [];
  for (let i = 0; i < PERIODS; i++) periods.push(await timeOfPeriod());
  return periods.reduce((least, period) => (period.host < least.host ? period : least));
}

/**
 * An idle process, an idle session in it, and one with many tunnels that carry nothing: what it holds and what it costs.
 * @param {{ programs: { server: string, client: string }, subject: any, tunnels: number }} args
 */
module.exports = async ({ programs, subject, tunnels }) => {
  const bare = await idleTime();
  const server = await startServer(programs.server);
  const { run, close } = await openSubject(allow(subject, server));
  const client = (/** @type {any[]} */ ...action) => run([programs.client, 'connect', server.address, server.port, ...action].map(String));

  await client('requests', 100, 16);
  const without = await idleTime();
  const before = process.memoryUsage.rss();
  const idle = client('idle', tunnels);
  const tooEarly = idle.then(() => Promise.reject(new Error('the tunnels did not stay')));
  tooEarly.catch(() => {});
  while (server.kept() < tunnels) await Promise.race([tooEarly, delay(POLL_MS)]);
  await delay(SETTLE_MS);
  const grown = process.memoryUsage.rss() - before;
  const withTunnels = await idleTime();
  server.stop();
  await idle;
  await close();
  return { bare, without, withTunnels, grown };
};
