'use strict';
// The C sources as one compressed file, without their comments: in a package, where few need them, they take a third of
// the room that way.

const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');

const NAME = 'csrc.json.br';

const LITERAL_OR_COMMENT = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\*[^]*?\*\/|\/\/[^\n]*/g;

/** @param {string} source C */
function withoutComments(source) {
  const code = source.replace(LITERAL_OR_COMMENT, (found) => (found.startsWith('/') ? ' ' : found));
  return code.replace(/[ \t]+$/gm, '').replace(/\n{2,}/g, '\n');
}

/** @param {string} root a checkout, or an installed package @returns {Record<string, string>} text by path, sorted */
function readSources(root) {
  const folder = path.join(root, 'csrc');
  if (!fs.existsSync(folder)) return JSON.parse(zlib.brotliDecompressSync(fs.readFileSync(path.join(root, NAME))).toString());
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = entries.map((entry) => path.relative(root, path.join(entry.parentPath ?? entry.path, entry.name))).sort();
  return Object.fromEntries(names.map((name) => [name, withoutComments(fs.readFileSync(path.join(root, name), 'utf8'))]));
}

/** @param {string} root @param {string} [target] the folder for the file @param {number} [effort] */
function packSources(root, target = root, effort = zlib.constants.BROTLI_MAX_QUALITY) {
  const text = Buffer.from(JSON.stringify(readSources(root)));
  const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: effort, [zlib.constants.BROTLI_PARAM_LGWIN]: zlib.constants.BROTLI_MAX_WINDOW_BITS };
  fs.writeFileSync(path.join(target, NAME), zlib.brotliCompressSync(text, { params }));
}

/** Makes the sources where there is only the file. @param {string} root @returns {boolean} whether they are there then */
function unpackSources(root) {
  if (fs.existsSync(path.join(root, 'csrc'))) return true;
  if (!fs.existsSync(path.join(root, NAME))) return false;
  for (const [name, text] of Object.entries(readSources(root))) {
    const file = path.join(root, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  return true;
}

module.exports = { packSources, readSources, unpackSources };
