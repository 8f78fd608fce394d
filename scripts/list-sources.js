'use strict';
// Prints the C sources directly inside the given folders (of the repository), so that a new file needs no list;
// --addon PLATFORM: all that the addon for it is made of.

const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');

const ADDON = ['binding', 'base', 'policy', 'plan', 'command', 'explain', 'violations', 'protocol', 'network', 'platform'];
/** @type {Record<string, string[]>} */
const ADDON_ON = {
  linux: [
    'csrc/platform/linux',
    // What the helper's side of the socket and of the payload is made of, too.
    'csrc/exec/payload.c',
    'csrc/exec/passfd.c',
    // And of the memory that it shares with the helper's processes.
    'csrc/exec/port_table.c',
    // And the rules by name, which csrc/explain asks.
    ...['git_check', 'git_check_config', 'git_check_file', 'hooks_path', 'index_walk', 'path_set', 'rules', 'rules_case', 'rules_git', 'rules_look', 'rules_made', 'rules_move', 'rules_pending', 'session_index'].map((name) => `csrc/exec/${name}.c`),
  ],
};

/** @param {string} place a folder, or a source itself */
function sourcesOf(place) {
  if (place.endsWith('.c')) return [place];
  const absolute = path.join(root, place);
  if (!fs.existsSync(absolute)) return [];
  const names = fs.readdirSync(absolute).sort();
  return names.filter((name) => name.endsWith('.c')).map((name) => `${place}/${name}`);
}

/** @param {string} platform */
function addonSources(platform) {
  return [...ADDON.map((name) => `csrc/${name}`), ...(ADDON_ON[platform] ?? [])].flatMap(sourcesOf);
}

if (require.main === module) {
  const places = process.argv.slice(2);
  for (const source of places[0] === '--addon' ? addonSources(places[1]) : places.flatMap(sourcesOf)) console.log(source);
}

module.exports = { addonSources };
