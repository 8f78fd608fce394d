'use strict';

const { allow, startServer } = require('../network-server');
const { StallWatch } = require('../stall-watch');
const { openSubject } = require('../subjects');

/**
 * Downloads at the same time, by every way in turn: gives for each how long the loop did not turn at most, and the
 * most processor time of one turn.
 * @param {{ programs: { server: string, client: string }, subject: any, ways: readonly string[], downloads: number, bytes: number }} args
 */
module.exports = async ({ programs, subject, ways, downloads, bytes }) => {
  const server = await startServer(programs.server);
  const { run, close } = await openSubject(allow(subject, server));
  const client = (/** @type {any[]} */ ...words) => run([programs.client, ...words].map(String));
  const stalls = [];
  for (const way of ways) {
    await client(way, server.address, server.port, 'requests', 100, 16);
    const watch = new StallWatch();
    await client(way, server.address, server.port, 'download', bytes, downloads);
    watch.stop();
    stalls.push({ longest: watch.longest, busy: watch.longestBusy });
  }
  await close();
  server.stop();
  return stalls;
};
