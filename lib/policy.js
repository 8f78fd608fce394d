'use strict';

const { loadNative } = require('./native');
const { buildOptionsDocument } = require('./options');
const { unsupportedRuntime } = require('./runtime');

/** The addon's policy with the session it belongs to; a machine holds one and cannot look into it. */
class Policy {
  /**
   * @param {any} handle the addon's; undefined where no command can be sandboxed here anyway
   * @param {import('./session').Session} [session] absent: the oldest that is alive when a command is run
   */
  constructor(handle, session) {
    this.handle = handle;
    this.session = session;
  }

  /**
   * For a machine that is constructed directly. Where the addon cannot be had nothing is validated, and no sandbox is
   * alive: its commands reject.
   * @param {unknown} options
   */
  static of(options) {
    return new Policy(canLoad() ? makePolicy(options).handle : undefined);
  }
}

function canLoad() {
  if (unsupportedRuntime()) return false;
  try {
    return Boolean(loadNative());
  } catch {
    return false;
  }
}

/**
 * Has the options validated by the addon; throws its TypeError.
 * @param {unknown} options
 * @returns {{ handle: any, notices: string[] }}
 */
function makePolicy(options) {
  const { addon } = loadNative();
  const { json } = buildOptionsDocument(options, addon.optionSchema());
  return addon.makePolicy(json);
}

module.exports = { Policy, makePolicy };
