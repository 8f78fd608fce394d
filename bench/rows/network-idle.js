'use strict';

const { chooseWays, compilePrograms, isShort } = require('../network-rows');
const { megabytes, time, valueRow } = require('../table');

const TUNNELS = 1000;
const DOWNLOADS = 16;
const BYTES = 2 ** 28;
const FEW_BYTES = 2 ** 26;

/** @param {number} bytes */
const perTunnel = (bytes) => `${(bytes / TUNNELS / 1024).toFixed(1)} KiB`;

/** @param {{ host: number }} time */
const hostTime = ({ host }) => `${host.toFixed(1)} ms`;
/** @param {{ host: number, helpers: number }} time */
const processorTime = ({ host, helpers }) => `${host.toFixed(1)} ms, of its helpers ${helpers.toFixed(1)} ms`;

/** What the session holds and costs while nothing happens, and what it does to the loop while much happens. */
async function measure(bench) {
  const { counts, scratch, runJob } = bench;
  const { ways, node, missing } = chooseWays(bench, { CONNECT: 'connect' }, { CONNECT: 'connect' });
  const programs = compilePrograms(scratch);
  const job = { programs, tunnels: TUNNELS, ways: ['connect'], downloads: DOWNLOADS, bytes: isShort(counts) ? FEW_BYTES : BYTES };
  const idle = [];
  const stalls = [];
  for (const { subject } of ways.slice(1)) {
    idle.push(await runJob('network-idle', { ...job, subject }, { home: scratch.emptyHome(), node }));
    stalls.push(...(await runJob('network-stall', { ...job, subject }, { home: scratch.emptyHome(), node })));
  }
  const [ours, srt] = idle;
  const beside = (/** @type {(from: any) => string} */ text) => (srt ? `srt: ${text(srt)}` : '');
  const rows = [
    valueRow('memory of the host process per idle tunnel', perTunnel(ours.grown), '≤ 32 KiB', beside(({ grown }) => perTunnel(grown))),
    valueRow(`… ${TUNNELS} of them`, `+${megabytes(ours.grown)}`, '', beside(({ grown }) => `+${megabytes(grown)}`)),
    valueRow('processor time of the host process in 2 s, without a session', hostTime(ours.bare)),
    valueRow('… with an idle session', processorTime(ours.without), '0', beside(({ without }) => hostTime(without))),
    valueRow(`… with ${TUNNELS} idle tunnels`, processorTime(ours.withTunnels), '0', beside(({ withTunnels }) => hostTime(withTunnels))),
    valueRow(`longest stall of the loop in ${DOWNLOADS} downloads at once`, time(stalls[0].longest), '', srt ? `srt: ${time(stalls[1].longest)}` : ''),
    valueRow('… most processor time of one turn', time(stalls[0].busy), '', srt ? `srt: ${time(stalls[1].busy)}` : ''),
  ];
  return missing ? [...rows, { what: 'srt: idle tunnels', missing }] : rows;
}

module.exports = { measure };
