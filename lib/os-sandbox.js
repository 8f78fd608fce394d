'use strict';

const { loadNative } = require('./native');
const { Policy, makePolicy } = require('./policy');
const { unsupportedRuntime } = require('./runtime');
const { Session } = require('./session');

const PRIVATE = Symbol('OsSandbox');
const REASONS = { dependency: 'missing sandbox dependencies', host: 'sandbox initialization failed' };

/** What each thing that this host refuses means for commands. @type {ReadonlyArray<[string, string]>} */
const DEGRADATIONS = [
  ['sessionNetwork', 'this host makes no network namespace for a whole sandbox: each command has its own, and commands do not share localhost'],
  ['mountedBefore', 'this kernel or host does not let mounts be made by descriptor (Linux 5.12): bwrap mounts by name, and a path that is swapped meanwhile ends the run with an error'],
  ['disableUserns', 'commands can make user namespaces inside the sandbox: this bwrap (before 0.8) or this host cannot forbid it'],
  ['freshProc', 'no fresh /proc can be mounted here (in a container: --security-opt systempaths=unconfined): commands see the outer one, read-only'],
];

/** @param {Session['features']} features */
function guaranteesOf(features) {
  return Object.freeze({
    filesystem: 'enforced',
    network: features.sessionNetwork ? 'session' : 'per-command',
    backend: 'bwrap',
    unixSockets: 'not-enforced',
    violations: 'none',
    userNamespaces: features.disableUserns ? 'disabled' : 'nested-allowed',
    proc: features.freshProc ? 'private' : 'host-read-only',
  });
}

/** @param {string} reason */
function disabledStatus(reason) {
  return Object.freeze({ enabled: false, reason });
}

/**
 * The OsSandbox class over one set of machine classes.
 * @param {{ LocalMachine: any, SandboxedLocalMachine: any, LocalEnvironment: any, SandboxedLocalEnvironment: any,
 *   warnings: readonly string[] }} classes
 */
function makeOsSandbox(classes) {
  class OsSandbox {
    #session;
    #policy;
    #status;

    /** @param {symbol} key @param {any} status @param {Session} [session] @param {any} [policy] */
    constructor(key, status, session, policy) {
      if (key !== PRIVATE) throw new TypeError('OsSandbox is made by OsSandbox.start() or OsSandbox.disabled()');
      this.#status = status;
      this.#session = session;
      this.#policy = policy;
    }

    /**
     * Rejects for options that make no sense (TypeError), never for reasons of the host: see `status`.
     * @param {any} [options]
     */
    static async start(options) {
      const unsupported = unsupportedRuntime();
      if (unsupported) return OsSandbox.disabled(unsupported);
      let native;
      try {
        native = loadNative();
      } catch (error) {
        return OsSandbox.disabled(`native addon not loaded: ${/** @type {Error} */ (error).message}`);
      }
      const { handle, notices } = makePolicy(options);
      const session = await Session.start(native);
      if (!(session instanceof Session)) return OsSandbox.disabled(`${REASONS[session.kind]}: ${session.text}`);
      const degraded = DEGRADATIONS.filter(([feature]) => !session.features[feature]).map(([, text]) => text);
      // The host's own words are about what it refused first.
      if (degraded.length > 0) degraded[0] += ` (${session.features.degradation})`;
      for (const text of degraded) session.warnings.add(text);
      for (const notice of notices) session.warnings.add(notice);
      const status = { enabled: true, platform: process.platform, guarantees: guaranteesOf(session.features) };
      return new OsSandbox(PRIVATE, status, session, new Policy(handle, session));
    }

    /** @param {string} [reason] */
    static disabled(reason = 'disabled by host') {
      return new OsSandbox(PRIVATE, disabledStatus(reason));
    }

    /** As of now: runs can add warnings. */
    get status() {
      if (!this.#session) return this.#status;
      const { guarantees, ...status } = this.#status;
      const warnings = Object.freeze([...classes.warnings, ...this.#session.warnings]);
      return Object.freeze({ ...status, warnings, guarantees });
    }

    /** @param {any} [where] a cwd, or `{ cwd, additionalDirs }` */
    machine(where) {
      const { LocalMachine, SandboxedLocalMachine } = classes;
      return this.#policy ? new SandboxedLocalMachine(this.#policy, where) : new LocalMachine(where);
    }

    /** @param {any} [where] */
    environment(where) {
      const { LocalEnvironment, SandboxedLocalEnvironment } = classes;
      return this.#policy ? new SandboxedLocalEnvironment(this.#policy, where) : new LocalEnvironment(where);
    }

    /** Ends every command, and what the sandbox keeps. */
    async dispose() {
      await this.#session?.dispose();
    }

    async [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
      await this.dispose();
    }
  }
  return OsSandbox;
}

module.exports = { makeOsSandbox };
