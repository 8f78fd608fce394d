'use strict';

/** Finds and loads the optional framework core, which is an ES module only. */

const fs = require('node:fs');
const { fileURLToPath, pathToFileURL } = require('node:url');

const { packageEntry } = require('./package-entry.js');

const CORE = 'operon-agents-core';

/**
 * @typedef {{ core: object | null, warnings: string[] }} FoundCore
 *   core: the module namespace, null where there is none or it cannot be had; warnings say which of the two
 */

const TOP_LEVEL_AWAIT = 'it uses top-level await, which require() cannot wait for';
const STILL_LOADING = 'it was still loading when this package was required';
/** How Nodes refuse to require() a core that is there; any other error is the core's own and is thrown. */
const REFUSALS = [
  { code: 'ERR_REQUIRE_ASYNC_MODULE', why: TOP_LEVEL_AWAIT },
  { code: 'ERR_REQUIRE_CYCLE_MODULE', why: STILL_LOADING },
  { code: 'ERR_REQUIRE_ESM_RACE_CONDITION', why: STILL_LOADING }, // 24
  { code: 'ERR_INTERNAL_ASSERTION', text: 'not yet fully loaded', why: STILL_LOADING }, // 20.20, 22.13
  { code: undefined, text: "(reading 'async')\n    at ModuleLoader.importSyncForRequire", why: STILL_LOADING }, // 20.19, 22.12
];
const NO_REQUIRE_ESM = `Node.js ${process.version} does not require() ES modules here (20.19, 22.12 and later do, unless told not to)`;

/** What the ES module entry found, which the other one then need not look for. @type {FoundCore | undefined} */
let imported;

/**
 * The core for the CommonJS entry.
 * @returns {FoundCore}
 */
function requireCore() {
  if (imported) return imported;
  const url = locate();
  if (!url) return { core: null, warnings: [] };
  if (!isPlainFile(url)) return unusable('a loader serves it from an address that require() cannot load');
  if (!process.features.require_module) return unusable(NO_REQUIRE_ESM);
  try {
    return { core: quietly(() => require(fileURLToPath(url))), warnings: [] };
  } catch (error) {
    const refusal = REFUSALS.find(({ code, text = '' }) => error?.code === code && String(error?.stack).includes(text));
    if (!refusal) throw error;
    const core = linkedCore();
    return core ? { core, warnings: [] } : unusable(refusal.why);
  }
}

/**
 * The core for the ES module entry.
 * @returns {Promise<FoundCore>}
 */
async function importCore() {
  // First in one step, so that a require() of this package during the import below cannot meet a half-loaded core.
  requireCore();
  imported = { core: await importNamespace(), warnings: [] };
  return imported;
}

async function importNamespace() {
  try {
    return await import(CORE);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const url = locateFromMain();
  return url ? import(url) : null;
}

function unusable(why) {
  const text = `${CORE} is installed, but machines are not instances of its classes: ${why}. Load this package by import, before any require() of it.`;
  return { core: null, warnings: [text] };
}

function linkedCore() {
  try {
    return quietly(() => require('./core-bridge.mjs'));
  } catch {
    return undefined;
  }
}

/** The core's URL, as this package sees it, else (a linked install) as the program does. */
function locate() {
  return (process.features.require_module ? locateFromHere() : urlOf(packageEntry(CORE, __dirname))) ?? locateFromMain();
}

function locateFromHere() {
  try {
    return quietly(() => require('./core-locate.mjs')).locate(CORE);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Never looks in the cwd: what lies there may have been written by a command. */
function locateFromMain() {
  const main = process.argv[1];
  if (!main) return undefined;
  let real = main;
  try {
    real = fs.realpathSync(main);
  } catch {
    // `node script` may name the file without its extension; the path as given still tells the folder.
  }
  return urlOf(packageEntry(CORE, real) ?? packageEntry(CORE, main));
}

const urlOf = (file) => (file === undefined ? undefined : pathToFileURL(file).href);

function isPlainFile(url) {
  const { protocol, search, hash } = new URL(url);
  return protocol === 'file:' && !search && !hash;
}

/** Said of this very package (Deno words it differently, without a code); one that the core itself misses is an error. */
function isMissing(error) {
  return /^(?:Cannot find package|Could not find package|Import) ['"]operon-agents-core['"]/.test(error?.message);
}

/** Some Nodes warn on stderr of every process that requires an ES module; the warning is about us, not about the caller. */
function quietly(action) {
  const { emitWarning } = process;
  process.emitWarning = (warning, ...rest) => {
    if (rest[0] !== 'ExperimentalWarning') Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return action();
  } finally {
    process.emitWarning = emitWarning;
  }
}

module.exports = { requireCore, importCore };
