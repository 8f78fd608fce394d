'use strict';
// What a command left behind in a folder, as far as anybody could tell the difference.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

/** @typedef {{ volatile?: RegExp, times?: boolean }} Aspects volatile: paths whose content is no two times the same */

/** @param {fs.BigIntStats} facts */
function kindOf(facts) {
  if (facts.isFile()) return 'file';
  if (facts.isDirectory()) return 'folder';
  if (facts.isSymbolicLink()) return 'link';
  if (facts.isFIFO()) return 'fifo';
  return facts.isSocket() ? 'socket' : 'device';
}

/** @param {string} file @param {fs.BigIntStats} facts */
function contentOf(file, facts) {
  if (facts.isSymbolicLink()) return `-> ${fs.readlinkSync(file)}`;
  if (!facts.isFile()) return '';
  const digest = crypto.createHash('sha1').update(fs.readFileSync(file)).digest('hex');
  return `${facts.size} bytes ${digest.slice(0, 12)}`;
}

/** Extended attributes, ACLs among them, by the path of what has some. @param {string} folder */
function attributesIn(folder) {
  const args = ['--recursive', '--physical', '--no-dereference', '--dump', '--encoding=hex', '--match=-', '--', '.'];
  const blocks = execFileSync('getfattr', args, { cwd: folder, encoding: 'utf8' }).split('\n\n');
  const lines = blocks.map((block) => block.trim().split('\n')).filter(({ length }) => length > 1);
  return new Map(lines.map(([head, ...pairs]) => [path.normalize(head.replace('# file: ', '')), pairs.sort().join(' ')]));
}

/**
 * Everything in a folder by its path there: kind, mode, owner, content, target, attributes, times where asked, and of
 * a file with several names the first one.
 * @param {string} folder
 * @param {Aspects} [aspects]
 * @returns {Record<string, string>}
 */
function describeFiles(folder, { volatile, times = false } = {}) {
  const attributes = attributesIn(folder);
  /** @type {Map<bigint, string>} */
  const firstNames = new Map();
  const seen = {};
  const look = (/** @type {string} */ name) => {
    const file = path.join(folder, name);
    const facts = fs.lstatSync(file, { bigint: true });
    const words = [kindOf(facts), (facts.mode & 0o7777n).toString(8), `${facts.uid}:${facts.gid}`];
    if (!volatile?.test(name)) words.push(contentOf(file, facts));
    if (times) words.push(`of ${facts.mtimeNs}`);
    if (!facts.isDirectory() && facts.nlink > 1n) {
      if (!firstNames.has(facts.ino)) firstNames.set(facts.ino, name);
      words.push(`${facts.nlink} names, like ${firstNames.get(facts.ino)}`);
    }
    words.push(attributes.get(name) ?? '');
    seen[name] = words.filter((word) => word !== '').join(' ');
    if (facts.isDirectory()) for (const entry of fs.readdirSync(file).sort()) look(path.join(name, entry));
  };
  look('.');
  return seen;
}

module.exports = { describeFiles };
