'use strict';

const { setTimeout: delay } = require('node:timers/promises');
const { summary } = require('../measure');
const { allow, startServer } = require('../network-server');
const { openSubject } = require('../subjects');

/** What one way leaves behind is not to be waited for in the next one's time. */
const SETTLE_MS = 100;

/**
 * The client does the same by every way in turn: gives for each way what it printed, number by number.
 * @param {{ programs: { server: string, client: string }, ways: Array<{ subject: any, way: string }>, action: readonly string[], counts: any }} args
 *   subject: of one kind there is one in a process, and its ways share it
 */
module.exports = async ({ programs, ways, action, counts }) => {
  const server = await startServer(programs.server);
  const opened = new Map();
  for (const { subject } of ways) {
    if (!opened.has(subject.kind)) opened.set(subject.kind, await openSubject(allow(subject, server)));
  }
  const printed = ways.map(() => /** @type {number[][]} */ ([]));
  const end = performance.now() + counts.capMs;
  for (let round = -counts.warmup; round < counts.runs; round++) {
    for (const [i, { subject, way }] of ways.entries()) {
      const argv = [programs.client, way, server.address, String(server.port), ...action];
      await delay(SETTLE_MS);
      const { stdout } = await opened.get(subject.kind).run(argv);
      if (round >= 0) printed[i].push(stdout.trim().split(' ').map(Number));
    }
    if (performance.now() > end && printed[0].length >= 3) break;
  }
  for (const { close } of opened.values()) await close();
  server.stop();
  return printed.map((lines) => lines[0].map((_, k) => summary(lines.map((line) => line[k]))));
};
