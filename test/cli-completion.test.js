'use strict';
// Completions, as the shells ask for them.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const t = require('tap');
const { FLAGS, SUBCOMMANDS, namesOf } = require('../lib/cli/flags');
const { MAIN } = require('./helpers/cli');

/** @param {string} shell */
const scriptFor = (shell) => execFileSync(process.execPath, [MAIN, 'completion', shell], { encoding: 'utf8' });

const BASH = scriptFor('bash');

/** What bash offers for the last of these words. @param {string[]} words @returns {string[]} */
function offers(...words) {
  const quoted = ['os-sandbox', ...words].map((word) => `'${word}'`).join(' ');
  const script = `${BASH}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _os_sandbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8', cwd: path.join(__dirname, 'fixtures') });
  return output.split('\n').filter((line) => line !== '');
}

t.test('bash offers options, values, subcommands and commands where they may stand', async (t) => {
  t.same(offers('--deny-').sort(), ['--deny-domain', '--deny-read', '--deny-write']);
  t.same(offers('--settings', 'x', '--network-'), ['--network-allowlist']);
  t.same(offers('--default-read', ''), ['allow', 'deny']);
  t.same(offers('--default-read', '=', 'd'), ['deny']);
  t.same(offers('--deny-read', 'given_s'), ['given_sockets.py']);
  t.same(offers('--cwd', 'cl'), ['clients']);
  t.ok(offers('doc').includes('doctor'));
  t.ok(offers('--debug', 'bas').includes('bash'));
  t.notOk(offers('--debug', 'doc').includes('doctor'), 'a subcommand is the very first word');
  t.same(offers('log', '--f'), ['--follow']);
  t.same(offers('log', 'given_s'), ['given_sockets.py']);
  t.same(offers('doctor', '--allow-'), []);
  t.same(offers('explain', '/etc', '--deny-r'), ['--deny-read']);
  t.same(offers('completion', ''), ['bash', 'zsh', 'fish']);
  t.same(offers('ls', '--deny-'), [], 'the command has its own options');
  t.same(offers('--', '--deny-'), []);
});

t.test('every shell\'s completions have every option and subcommand', async (t) => {
  const words = [...FLAGS.flatMap(namesOf), ...SUBCOMMANDS.map(({ name }) => name)];
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = scriptFor(shell);
    t.same(words.filter((word) => !script.includes(word)), [], shell);
  }
  t.throws(() => execFileSync(process.execPath, [MAIN, 'completion', 'tcsh'], { stdio: 'pipe' }), { status: 64 });
});
