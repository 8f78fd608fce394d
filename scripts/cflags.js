'use strict';
// Prints the compiler flags that addon, helper, unit tests and fuzz targets share; binding.gyp and the scripts call it.

const fs = require('node:fs');
const path = require('node:path');

const LANGUAGE = ['-std=gnu17', '-D_GNU_SOURCE', '-Icsrc'];

const HARDENING = ['-fvisibility=hidden', '-fstack-protector-strong', '-U_FORTIFY_SOURCE', '-D_FORTIFY_SOURCE=2'];

const WARNINGS = [
  '-Wall',
  '-Wextra',
  '-Wshadow',
  '-Wmissing-prototypes',
  '-Wstrict-prototypes',
  '-Wmissing-declarations',
  '-Wimplicit-fallthrough',
  '-Wformat=2',
  '-Wswitch-enum',
  '-Wundef',
  '-Wpointer-arith',
  '-Wcast-align',
  '-Wwrite-strings',
  '-Wvla',
  '-Wnull-dereference',
  '-Wold-style-definition',
  '-Wint-conversion',
];

// A user's newer compiler may warn of more than ours: warnings are errors in a checkout, not in an installed package.
const STRICT = fs.existsSync(path.join(__dirname, '..', 'test')) ? ['-Werror'] : [];

const GROUPS = {
  language: LANGUAGE,
  warnings: [...WARNINGS, ...STRICT],
  hardening: HARDENING,
};

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(GROUPS);
console.log(wanted.flatMap((name) => GROUPS[name]).join(' '));
