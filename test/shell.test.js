'use strict';

const { execFileSync } = require('node:child_process');
const t = require('tap');
const { shellQuoteArg, toSrtInvocation } = require('../lib/shell');

t.test('a word of harmless characters stays bare', async (t) => {
  const bare = 'azAZ09_/@%+=:,.-';
  t.equal(shellQuoteArg(bare), bare);
});

t.test('every other word is put in single quotes', async (t) => {
  const cases = [
    ['', "''"],
    ['two words', "'two words'"],
    ["it's", "'it'\\''s'"],
    ["'", "''\\'''"],
    ['~', "'~'"],
    ['a\nb', "'a\nb'"],
    ['é', "'é'"],
    ['safe\n', "'safe\n'"],
  ];
  for (const [word, quoted] of cases) t.equal(shellQuoteArg(word), quoted);
});

t.test('a shell reads every quoted word as it was', async (t) => {
  const words = ['', ' ', "a'b''c", '"$HOME"', '`id`', '$(id)', '!!', '*', '\\', '\\n', 'a\nb', '--', '😀', ';|&<>'];
  const { command, binShell } = toSrtInvocation(['printf', '%s\\0', ...words], '/bin/sh');
  const output = execFileSync(binShell, ['-c', command], { encoding: 'utf8' });
  t.same(output.split('\0').slice(0, -1), words);
});

t.test('a shell with its script is run as it is, by that shell', async (t) => {
  for (const shell of ['bash', '/bin/zsh', '/usr/bin/sh', 'dash', '/opt/ksh']) {
    t.same(toSrtInvocation([shell, '-c', "echo '!' $X"], '/bin/bash'), { command: "echo '!' $X", binShell: shell });
  }
});

t.test('all else is quoted for the fallback shell', async (t) => {
  const cases = [
    [['bash', '-c'], 'bash -c'],
    [['bash', '-c', 'a b', 'c'], "bash -c 'a b' c"],
    [['bash', '-lc', 'a b'], "bash -lc 'a b'"],
    [['fish', '-c', 'a b'], "fish -c 'a b'"],
    [['rg', '*.js'], "rg '*.js'"],
    [[''], "''"],
  ];
  for (const [argv, command] of cases) {
    t.same(toSrtInvocation(argv, '/bin/bash'), { command, binShell: '/bin/bash' });
  }
});
