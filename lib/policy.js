'use strict';

const { loadNative } = require('./native');
const { buildOptionsDocument, withFilesystemOf, withNetworkOf } = require('./options');
const { unsupportedRuntime } = require('./runtime');

/**
 * Options that the addon found right.
 * @typedef {{ document: string, handle: any, onAskHost: import('./options').AskHost | undefined }} MadePolicy
 */

/** The policy of a machine, which holds it and cannot look into it. */
class Policy {
  #made;
  /** What the addon has of it, by the options of the sandbox that it was used in. @type {WeakMap<MadePolicy, any>} */
  #handles = new WeakMap();

  /**
   * @param {MadePolicy | undefined} made its own file rules; undefined where no command can be sandboxed here anyway
   * @param {import('./session').Session} [session] the one whose rules it has; absent: its own, in the oldest that is alive when a command is run
   */
  constructor(made, session) {
    this.#made = made;
    this.session = session;
  }

  /** All of a sandbox's rules, as they are then. @param {import('./session').Session} session */
  static ofSession(session) {
    return new Policy(undefined, session);
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
    if (this.session === session) return session.made.handle;
    let handle = this.#handles.get(session.made);
    if (handle === undefined && this.#made) {
      handle = loadNative().addon.makePolicy(withFilesystemOf(session.made.document, this.#made.document)).handle;
      this.#handles.set(session.made, handle);
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
  const { json, onAskHost } = buildOptionsDocument(options, addon.optionSchema());
  return { document: json, onAskHost, ...addon.makePolicy(json) };
}

/**
 * A sandbox's policy with other network options; throws a TypeError where those make no sense.
 * @param {MadePolicy} made
 * @param {unknown} network
 * @returns {MadePolicy}
 */
function withNetwork(made, network) {
  const given = makePolicy({ network });
  const document = withNetworkOf(made.document, given.document);
  return { ...given, document, handle: loadNative().addon.makePolicy(document).handle };
}

module.exports = { Policy, canLoad, makePolicy, withNetwork };
