'use strict';
// Makes prebuilds/, addon and helper for every target of a release, reproducibly, and the archive of the sources; npm
// runs it before it packs.
// Where it fails there is none of them, and npm packs nothing. --check [FOLDER] builds nothing: it fails where the
// prebuilds of a folder (this one, or an unpacked package) are incomplete or not of the sources beside them.

const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { addonSources } = require('./list-sources');
const { packSources, readSources } = require('./source-archive');
const { fetchToolchain } = require('./toolchain');

const ROOT = path.join(__dirname, '..');
const STAMP = 'sources.sha512';
const FILES = ['os_sandbox.node', 'os-sandbox-exec'];
/** The oldest glibc that Node 20 runs on is the oldest for the addon. */
const TARGETS = {
  'linux-x64': { addon: 'x86_64-linux-gnu.2.28', helper: 'x86_64-linux-musl' },
  'linux-arm64': { addon: 'aarch64-linux-gnu.2.28', helper: 'aarch64-linux-musl' },
};

/** Most of the time is the kernel's: a third less to load is worth more. */
const SMALL = [
  ...['-Os', '-g0', '-s', '-fno-asynchronous-unwind-tables', '-fno-unwind-tables'],
  ...['-ffunction-sections', '-fdata-sections', '-Wl,--gc-sections'],
];
/** As node-gyp defines them. */
const NODE = ['-DNODE_GYP_MODULE_NAME=os_sandbox', '-DBUILDING_NODE_EXTENSION', '-DUSING_UV_SHARED=1', '-D_FILE_OFFSET_BITS=64'];
/** What its configure would find on each target. */
const JANSSON = [
  ...['STDINT_H', 'SYS_TYPES_H', 'SYS_STAT_H', 'SYS_TIME_H', 'SYS_PARAM_H', 'ENDIAN_H', 'UNISTD_H', 'FCNTL_H', 'SCHED_H'],
  ...['SCHED_YIELD', 'GETTIMEOFDAY', 'GETPID', 'OPEN', 'CLOSE', 'READ', 'SYNC_BUILTINS', 'ATOMIC_BUILTINS'],
].map((name) => `-DHAVE_${name}`);
/** As binding.gyp has them, but for --exclude-libs, which this linker does not know: jansson is compiled with hidden names. */
const LINK = ['now', 'relro', 'nodelete'].map((word) => `-Wl,-z,${word}`);

/** Of the sources, and of what says how they are built. @param {string} root @returns {string} */
function digestOf(root) {
  const hash = crypto.createHash('sha512').update(JSON.stringify(readSources(root)));
  for (const name of ['build-helper.sh', 'list-sources.js', 'prebuild.js', 'toolchain.js']) hash.update(fs.readFileSync(path.join(__dirname, name)));
  return hash.update(cflags('language', 'hardening').join(' ')).digest('hex');
}

/** @param {string[]} groups @returns {string[]} */
function cflags(...groups) {
  return execFileSync(process.execPath, [path.join(__dirname, 'cflags.js'), ...groups], { encoding: 'utf8' }).trim().split(' ');
}

/** jansson's headers as its configure would write them. @param {string} jansson @param {string} folder */
function writeJanssonConfig(jansson, folder) {
  const values = { json_inline: 'inline', json_have_long_long: '1', json_have_localeconv: '1' };
  const template = fs.readFileSync(path.join(jansson, 'src', 'jansson_config.h.in'), 'utf8');
  const header = template.replace(/@(\w+)@/g, (_, name) => values[/** @type {keyof typeof values} */ (name)]);
  fs.writeFileSync(path.join(folder, 'jansson_config.h'), header);
  fs.writeFileSync(path.join(folder, 'jansson_private_config.h'), '#define INITIAL_HASHTABLE_ORDER 3\n#define USE_URANDOM 1\n');
}

/** @param {string} folder for the targets' folders */
function buildAll(folder) {
  const { zig, env, headers, jansson } = fetchToolchain();
  // The same path each time: the compiler's cache goes by it.
  const config = path.join(ROOT, 'build', 'jansson');
  fs.mkdirSync(config, { recursive: true });
  writeJanssonConfig(jansson, config);
  const library = fs.readdirSync(path.join(jansson, 'src')).filter((name) => name.endsWith('.c'));
  const sources = [...addonSources('linux'), 'csrc/release/stat_calls.c', ...library.sort().map((name) => path.join(jansson, 'src', name))];
  const includes = [headers, config, path.join(jansson, 'src')].flatMap((place) => ['-isystem', place]);
  const addonFlags = ['-shared', '-fPIC', ...SMALL, '-DNDEBUG', ...cflags('language', 'hardening'), ...NODE, ...JANSSON, ...includes, ...LINK, '-w'];
  const run = (command, args, more = {}) => execFileSync(command, args, { cwd: ROOT, env: { ...env, ...more }, stdio: ['ignore', 2, 2] });

  for (const [target, triple] of Object.entries(TARGETS)) {
    const [addon, helper] = FILES.map((name) => path.join(folder, target, name));
    fs.mkdirSync(path.join(folder, target));
    run(zig, ['cc', '-target', triple.addon, ...addonFlags, ...sources, '-o', addon]);
    const HELPER_CC = [zig, 'cc', '-target', triple.helper, '-static'].join(' ');
    run('sh', ['scripts/build-helper.sh', helper], { HELPER_CC, CFLAGS: `${SMALL.join(' ')} -w` });
    fs.chmodSync(helper, 0o755);
    fs.chmodSync(addon, 0o644);
  }
}

/** @param {string} root @returns {string | undefined} what is wrong with its prebuilds */
function faultOf(root) {
  const folder = path.join(root, 'prebuilds');
  const missing = Object.keys(TARGETS).flatMap((target) => FILES.map((name) => `${target}/${name}`)).find((name) => !fs.existsSync(path.join(folder, name)));
  if (missing) return `prebuilds/${missing} is missing`;
  const stamp = path.join(folder, STAMP);
  if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== digestOf(root)) return 'prebuilds/ is of other sources';
  return undefined;
}

function prebuild() {
  if (faultOf(ROOT) === undefined) return;
  const place = path.join(ROOT, 'prebuilds');
  fs.rmSync(place, { recursive: true, force: true });
  const temporary = fs.mkdtempSync(path.join(ROOT, 'prebuilds-'));
  try {
    const digest = digestOf(ROOT);
    buildAll(temporary);
    fs.writeFileSync(path.join(temporary, STAMP), digest);
    fs.chmodSync(temporary, 0o755);
    fs.renameSync(temporary, place);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

try {
  const [option, folder = ROOT] = process.argv.slice(2);
  if (option !== '--check') {
    prebuild();
    packSources(ROOT);
  }
  const fault = faultOf(path.resolve(folder));
  if (fault) throw new Error(fault);
} catch (error) {
  console.error(`operon-os-sandbox: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 1;
}
