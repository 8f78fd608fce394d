'use strict';

const fs = require('node:fs');
const os = require('node:os');

/** How many mounts this process sees: bwrap reads them all again for every bind. */
function countMounts() {
  return fs.readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n').length;
}

/** What a reader needs to place the figures. */
function describeHost() {
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' ') + ' UTC',
    cores: os.cpus().length,
    kernel: os.release(),
    node: process.version,
    user: process.getuid?.() === 0 ? 'root' : 'a plain user',
    mounts: countMounts(),
    load: os.loadavg()[0].toFixed(1),
  };
}

module.exports = { countMounts, describeHost };
