'use strict';

const { loadNative } = require('./native');
const { buildOptionsDocument } = require('./options');

/** The addon's policy with the session it belongs to; a machine holds one and cannot look into it. */
class Policy {
  /**
   * @param {any} handle the addon's
   * @param {import('./session').Session} [session] absent: the oldest that is alive when a command is run
   */
  constructor(handle, session) {
    this.handle = handle;
    this.session = session;
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
