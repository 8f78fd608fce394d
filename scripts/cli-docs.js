'use strict';
// What is generated from the command line's table of options: man/os-sandbox.1, and with --markdown the README's table.

const fs = require('node:fs');
const path = require('node:path');

const { manualPage, markdownTable } = require('../lib/cli/manual');
const { version } = require('../package.json');

const PAGE = path.join(__dirname, '..', 'man', 'os-sandbox.1');

if (process.argv.includes('--markdown')) {
  process.stdout.write(markdownTable());
} else {
  fs.mkdirSync(path.dirname(PAGE), { recursive: true });
  fs.writeFileSync(PAGE, manualPage(version));
}
