'use strict';

const { loadNative } = require('./native');
const { buildOptionsDocument, withFilesystemOf } = require('./options');
const { unsupportedRuntime } = require('./runtime');

/**
 * Options that the addon found right.
 * @typedef {{ document: string, handle: any, notices: string[] }} MadePolicy
 */

/** The policy of a machine, which holds it and cannot look into it. */
class Policy {
  #made;
  /** What the addon has of it, for the sandboxes that it was used in. @type {WeakMap<object, any>} */
  #handles = new WeakMap();

  /**
   * @param {MadePolicy | undefined} made undefined where no command can be sandboxed here anyway
   * @param {import('./session').Session} [session] the one it was made for; absent: the oldest that is alive when a command is run
   */
  constructor(made, session) {
    this.#made = made;
    this.session = session;
  }

  /**
   * For a machine that is constructed directly. Where the addon cannot be had nothing is validated, and no sandbox is
   * alive: its commands reject.
   * @param {unknown} options file rules alone
   */
  static of(options) {
    return new Policy(canLoad() ? makePolicy(options) : undefined);
  }

  /**
   * What the addon takes. A machine that was constructed directly brings its own file rules; all else is the sandbox's.
   * @param {import('./session').Session} session
   */
  handleFor(session) {
    if (this.session === session) return this.#made?.handle;
    let handle = this.#handles.get(session);
    if (handle === undefined && this.#made) {
      handle = loadNative().addon.makePolicy(withFilesystemOf(session.document, this.#made.document)).handle;
      this.#handles.set(session, handle);
    }
    return handle;
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
 * @returns {MadePolicy}
 */
function makePolicy(options) {
  const { addon } = loadNative();
  const { json } = buildOptionsDocument(options, addon.optionSchema());
  return { document: json, ...addon.makePolicy(json) };
}

module.exports = { Policy, makePolicy };
