'use strict';
// Prints the C sources directly inside the given folders (of the repository), so that a new file needs no list.

const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');

for (const folder of process.argv.slice(2)) {
  const absolute = path.join(root, folder);
  if (!fs.existsSync(absolute)) continue;
  for (const name of fs.readdirSync(absolute).sort()) {
    if (name.endsWith('.c')) console.log(`${folder}/${name}`);
  }
}
