'use strict';
// The unit tests of the C core: each is a small program that prints TAP, built with ASan and UBSan. It takes longest, and
// files run in the order of their names.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const programs = path.join(root, 'build', 'unit');

execFileSync('make', ['-s', '-j2', '-f', 'scripts/unit.mk'], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });

const names = fs
  .readdirSync(path.join(__dirname, 'unit'))
  .filter((name) => name.endsWith('_test.c'))
  .map((name) => path.basename(name, '.c'));

t.ok(names.length > 0, 'there are unit tests');
for (const name of names) {
  t.spawn(path.join(programs, name), [], { name });
}
