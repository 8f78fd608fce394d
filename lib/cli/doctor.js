'use strict';
// os-sandbox doctor: what works on this machine and what does not, and what to do about it.

const { examine } = require('../doctor');

const EXIT = { ok: 0, degraded: 1, impossible: 2 };

/** @param {import('../doctor').Finding} finding @param {number} width */
function linesOf({ part, state, text, remedy }, width) {
  const indent = ' '.repeat(10 + width + 2);
  const line = `${state.padEnd(10)}${part.padEnd(width)}  ${text}\n`;
  return remedy ? `${line}${indent}→ ${remedy}\n` : line;
}

/**
 * @param {{ flags: Record<string, any>, words: string[], stdout: { write(text: string): unknown } }} call
 * @returns {Promise<number>} 0: all is well; 1: something is degraded; 2: nothing can be sandboxed
 */
async function main({ flags, words, stdout }) {
  if (words.length > 0) {
    const { UsageError } = require('./errors');
    throw new UsageError('doctor takes no words');
  }
  const { enabled, findings } = await examine();
  if (flags.json) {
    stdout.write(`${JSON.stringify({ enabled, findings }, null, 2)}\n`);
  } else {
    const width = Math.max(...findings.map(({ part }) => part.length));
    stdout.write(findings.map((finding) => linesOf(finding, width)).join(''));
  }
  if (!enabled) return EXIT.impossible;
  return findings.every(({ state }) => state === 'ok') ? EXIT.ok : EXIT.degraded;
}

module.exports = { main };
