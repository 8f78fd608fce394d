'use strict';

/** What works on this host, and what does not: a sandbox is started, and what it says is sorted by the parts of the host. */

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { classesFor } = require('./classes');
const { delegatedControllers } = require('./delegated-cgroup');
const { partOf } = require('./guarantees');
const { loadNative } = require('./native');
const { remedyFor } = require('./remedies');
const { unsupportedRuntime } = require('./runtime');

const OLDEST_NODE = 20;
const REPORTING_KERNEL = [5, 19];

/**
 * @typedef {'ok' | 'degraded' | 'missing'} State missing: without it nothing is sandboxed
 * @typedef {{ part: string, state: State, text: string, remedy?: string }} Finding
 * @typedef {{ enabled: true, warnings: readonly string[] } | { enabled: false, reason: string }} Status
 */

/** The part of the host that keeps a sandbox from starting. @type {ReadonlyArray<[part: string, of: RegExp]>} */
const CAUSES = [
  ['platform', /^unsupported platform/],
  ['Node.js', /^unsupported runtime/],
  ['addon', /^native addon not loaded/],
  ['bubblewrap', /^missing sandbox dependencies: bubblewrap/],
  ['kernel', /or newer is needed/],
  ['AppArmor', /AppArmor restricts/],
  ['system calls', /seccomp filter around/],
  ['user namespaces', /user namespaces|CAP_SETFCAP/],
];

/** @param {string} file @returns {string | undefined} */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** @returns {Promise<Status>} */
async function tryToStart() {
  const { OsSandbox } = classesFor(null);
  const sandbox = await OsSandbox.start();
  const { status } = sandbox;
  await sandbox.dispose();
  return status;
}

function loadedNative() {
  try {
    return unsupportedRuntime() ? undefined : loadNative();
  } catch {
    return undefined;
  }
}

/** @param {string} program */
function versionOf(program) {
  try {
    return execFileSync(program, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 }).trim();
  } catch {
    return 'its version cannot be told';
  }
}

/** Every bwrap that a shell could find, and those of the system. */
function bwrapsThere() {
  const inPath = (process.env.PATH ?? '').split(':').map((folder) => (folder === '' ? './bwrap' : `${folder}/bwrap`));
  return [...new Set(['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap', ...inPath])].filter((file) => fs.existsSync(file));
}

/** Which bwrap is used, and why others are not. @returns {{ used: string | undefined, text: string }} */
function lookForBwrap() {
  const there = bwrapsThere();
  const native = loadedNative();
  // Without the addon nobody can tell which one may be trusted.
  const used = native ? native.addon.findBwrap(process.env.PATH ?? '') : there[0];
  const refused = native ? there.map((file) => [file, native.addon.bwrapFault(file)]).filter(([, why]) => why) : [];
  const notUsed = refused.map(([file, why]) => `; ${file} is not used: ${why}`).join('');
  return { used, text: `${used ? `${versionOf(used)}, ${used}` : 'no bwrap in a folder that only root may write'}${notUsed}` };
}

function namespacesText() {
  const most = read('/proc/sys/user/max_user_namespaces');
  const unprivileged = read('/proc/sys/kernel/unprivileged_userns_clone');
  const texts = [most && `user.max_user_namespaces is ${most}`, unprivileged && `kernel.unprivileged_userns_clone is ${unprivileged}`];
  return texts.filter(Boolean).join(', ') || 'this kernel has no switch for them';
}

function appArmorText() {
  const restricted = read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns');
  if (restricted !== '1') return 'does not restrict user namespaces';
  const profile = ['bwrap-userns-restrict', 'bwrap'].map((name) => `/etc/apparmor.d/${name}`).find((file) => fs.existsSync(file));
  return `restricts user namespaces; ${profile ? `the profile ${profile} is there` : 'there is no profile for bubblewrap in /etc/apparmor.d'}`;
}

function cgroupsText() {
  const { folder, controllers } = delegatedControllers();
  const useful = controllers.filter((name) => CONTROLLERS.includes(name));
  if (useful.length > 0) return `${useful.join(', ')} in ${folder}`;
  return 'no cgroup v2 with controllers is delegated to this user: limits hold for each process, not for their sum';
}

/** What to say of each part where nothing is wrong. @type {ReadonlyArray<[part: string, text: () => string]>} */
const PARTS = [
  ['platform', () => `${process.platform}-${process.arch}`],
  ['Node.js', () => process.version],
  ['addon', () => path.dirname(loadedNative()?.helper ?? '')],
  ['kernel', () => os.release()],
  ['user namespaces', namespacesText],
  ['AppArmor', appArmorText],
  ['bubblewrap', () => lookForBwrap().text],
  ['mounts', () => 'by descriptor; a fresh /proc'],
  ['system calls', () => 'filtered, and their notifications are had: what is refused is reported'],
  ['network', () => 'one for a whole sandbox, with a gateway for every client'],
  ['cgroups', cgroupsText],
  ['sandbox', () => 'starts'],
];

/** What cannot be known where nothing starts. */
const SEEN_BY_STARTING = ['mounts', 'system calls', 'network'];
/** What limits are made of. */
const CONTROLLERS = ['memory', 'pids', 'cpu'];

/** @param {string} part of a host on which no sandbox starts */
function cannotBeKnown(part) {
  return SEEN_BY_STARTING.includes(part) || (part === 'addon' && !loadedNative());
}

/** @param {string} release */
function reportsRefusals(release) {
  const [major, minor] = release.split('.').map((part) => parseInt(part, 10));
  return major > REPORTING_KERNEL[0] || (major === REPORTING_KERNEL[0] && minor >= REPORTING_KERNEL[1]);
}

/** What is wrong, by part. @param {Status} status @returns {Map<string, { state: State, texts: string[] }>} */
function faultsOf(status) {
  const faults = new Map();
  const add = (part, state, text) => {
    if (!faults.has(part)) faults.set(part, { state, texts: [] });
    faults.get(part).texts.push(text);
  };
  if (status.enabled) {
    for (const warning of status.warnings) add(partOf(warning) ?? 'sandbox', 'degraded', warning);
    if (!reportsRefusals(os.release())) add('kernel', 'degraded', `${os.release()}: refusals are reported from Linux 5.19 on`);
    if (parseInt(process.versions.node, 10) < OLDEST_NODE) add('Node.js', 'degraded', `Node.js ${process.versions.node} is too old`);
    return faults;
  }
  const cause = CAUSES.find(([, of]) => of.test(status.reason));
  const { used, text } = lookForBwrap();
  if (!used) add('bubblewrap', 'missing', text);
  if (cause && !faults.has(cause[0])) add(cause[0], 'missing', status.reason);
  add('sandbox', 'missing', status.reason);
  return faults;
}

/**
 * Every part of the host that a sandbox needs. Starts one, and ends it.
 * @returns {Promise<{ enabled: boolean, findings: Finding[] }>}
 */
async function examine() {
  const status = await tryToStart();
  const faults = faultsOf(status);
  const findings = PARTS.filter(([part]) => status.enabled || faults.has(part) || !cannotBeKnown(part)).map(([part, text]) => {
    const { state, texts } = faults.get(part) ?? { state: /** @type {State} */ ('ok'), texts: [text()] };
    const remedies = new Set(texts.map((each) => remedyFor(each)).filter((remedy) => remedy !== undefined));
    return { part, state, text: texts.join('; '), ...(remedies.size > 0 && { remedy: [...remedies].join('; ') }) };
  });
  return { enabled: status.enabled, findings };
}

module.exports = { examine };
