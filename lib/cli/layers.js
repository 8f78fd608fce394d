'use strict';
// The options of one invocation: settings files below, the flags above, and what a command line has of its own.

const path = require('node:path');

const { expandHome, homes } = require('../homes');
const { makePolicy } = require('../policy');
const { loadOptions } = require('../settings');
const { cwdOf } = require('./command');
const { UsageError } = require('./errors');
const { FLAGS, keyOf } = require('./flags');

/** Words of --violations that name no file. */
const STDERR = 'stderr';
const NONE = 'none';

/** @param {any} layer @param {string} option a path such as `network.allowedDomains` @param {unknown} value */
function put(layer, option, value) {
  const keys = option.split('.');
  const last = /** @type {string} */ (keys.pop());
  let group = layer;
  for (const key of keys) group = group[key] ??= {};
  group[last] = value;
}

/**
 * What the flags alone ask for, as options of the library.
 * @param {import('./parse').Flags} flags
 * @param {string} here what a file named on the command line is relative to
 */
function layerOf(flags, here) {
  /** @type {any} */
  const layer = {};
  for (const flag of FLAGS) {
    const value = flags[keyOf(flag)];
    if (flag.option && value !== undefined) put(layer, flag.option, value);
  }
  if (flags.allowRead && !flags.defaultRead) put(layer, 'filesystem.defaultRead', 'deny');
  if (flags.limit) layer.limits = require('./limits').limitsOf(flags.limit);
  if (flags.ignoreViolations) layer.ignoreViolations = { '*': flags.ignoreViolations };
  // Whoever asks for reports gets them, whatever a file says.
  if (flags.violations !== undefined || flags.monitorReads) layer.monitorViolations = flags.violations !== NONE;
  if (flags.violations !== undefined && ![STDERR, NONE].includes(flags.violations)) layer.violationLog = violationLogOf(flags.violations, here);
  return layer;
}

/** `~` is the home's, as in every path: no shell replaces it in `--x=~/y`, or where there is none. @param {string} file @param {string} here */
function violationLogOf(file, here) {
  return /^~(\/|$)/.test(file) ? file : path.resolve(here, file);
}

/** The flag that an option's path came from, as the user knows it. @param {string} optionPath without an index */
function flagNameOf(optionPath) {
  const [group, key] = optionPath.split('.');
  if (group === 'limits') return `--limit${key ? ` ${require('./limits').limitNameOf(key)}` : ''}`;
  if (group === 'violationLog') return '--violations';
  if (group === 'ignoreViolations') return '--ignore-violations';
  const flag = FLAGS.find(({ option }) => option === optionPath);
  return flag && `--${flag.name}`;
}

/**
 * The same complaint with the flag's name in the place of the option's path.
 * @param {Error} error the addon's
 */
function namingTheFlag({ message }) {
  const [, optionPath, rest] = /^([\w.]+)(?:\[[^\]]*\])*(: .*)$/s.exec(message) ?? [];
  const name = optionPath && flagNameOf(optionPath);
  return name ? `${name}${rest}` : message;
}

/** Throws a UsageError for values that the addon refuses. @param {any} layer */
function validate(layer) {
  try {
    makePolicy(layer);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(namingTheFlag(error));
  }
}

/** @param {string} cwd @param {readonly string[]} entries of allowRead */
function isListed(cwd, entries) {
  return entries.some((entry) => {
    const listed = path.resolve(cwd, expandHome(entry));
    return listed === cwd || cwd.startsWith(listed === '/' ? '/' : `${listed}/`);
  });
}

/** What holds for a command line and not for the library. @param {any} options @param {string} cwd */
function complete(options, cwd) {
  const filesystem = { ...options.filesystem, writableCwd: false };
  const strict = filesystem.defaultRead === 'deny';
  if (strict) filesystem.privateTmp = true;
  // Strict reads open what is listed, and a write root is readable.
  filesystem.allowWrite ??= strict && !isListed(cwd, filesystem.allowRead ?? []) ? [] : [cwd];
  return { ...options, filesystem };
}

/**
 * All layers, merged. Throws a UsageError for flags, a SettingsError for files.
 * @param {import('./parse').Flags} flags
 * @returns {{ options: any, warnings: string[], cwd: string }}
 */
function optionsOf(flags) {
  const cwd = cwdOf(flags);
  const here = cwdOf({});
  const layer = layerOf(flags, here);
  validate(layer);
  const { home } = homes();
  const { options, warnings } = loadOptions({ home, settings: flags.settings, noHome: flags.noHomeSettings, flags: layer, cwd: here, asks: flags.ask === true });
  return { options: complete(options, cwd), warnings, cwd };
}

module.exports = { STDERR, complete, namingTheFlag, optionsOf };
