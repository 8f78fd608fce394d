'use strict';

const { loadNative } = require('./native');
const { makePolicy } = require('./policy');
const { unsupportedRuntime } = require('./runtime');
const { Session } = require('./session');

const REASONS = { dependency: 'missing sandbox dependencies', host: 'sandbox initialization failed' };

/**
 * @typedef {{ enabled: false, reason: string }
 *   | { enabled: true, platform: NodeJS.Platform, warnings: readonly string[], guarantees: Readonly<Record<string, string>> }} Status
 *
 * A sandbox, or why there is none.
 * @typedef {{ session: Session | undefined, status: () => Readonly<Status> }} Started
 */

/** @param {string} reason @returns {Readonly<{ enabled: false, reason: string }>} */
function disabledStatus(reason) {
  return Object.freeze({ enabled: false, reason });
}

/** @param {string} reason @returns {Started} */
function notStarted(reason) {
  const status = disabledStatus(reason);
  return { session: undefined, status: () => status };
}

/** @param {any} violationLog @param {Set<string>} warnings */
function openLog(violationLog, warnings) {
  const { ViolationLog } = require('./violation-log');
  return ViolationLog.open(violationLog, require('./homes').homes().home, warnings);
}

/**
 * Rejects for options that make no sense (TypeError), never for reasons of the host: see `status`.
 * @param {unknown} options
 * @param {{ foreground?: boolean, probe?: boolean }} [how] foreground: for one command on this process's terminal and
 *   in its process group; probe false: without finding out what the host can do, which the command itself is to show
 * @returns {Promise<Started>}
 */
async function startSandbox(options, { foreground = false, probe = !foreground } = {}) {
  const unsupported = unsupportedRuntime();
  if (unsupported) return notStarted(unsupported);
  let native;
  try {
    native = loadNative();
  } catch (error) {
    return notStarted(`native addon not loaded: ${/** @type {Error} */ (error).message}`);
  }
  const made = makePolicy(options);
  const { monitorViolations = true, violationLog } = JSON.parse(made.document);
  /** @type {Set<string>} */
  const warnings = new Set();
  // The agent starts in this very call, unless there is a log to open first.
  const log = violationLog === undefined ? undefined : await openLog(violationLog, warnings);
  const session = await Session.start(native, { made, warnings, log, foreground, unprobed: !probe });
  if (!(session instanceof Session)) return notStarted(`${REASONS[session.kind]}: ${session.text}`);
  const status = () =>
    Object.freeze({
      enabled: /** @type {const} */ (true),
      platform: process.platform,
      warnings: Object.freeze([...warnings]),
      guarantees: require('./guarantees').guaranteesOf(session.features, monitorViolations),
    });
  return { session, status };
}

module.exports = { disabledStatus, startSandbox };
