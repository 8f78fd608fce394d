'use strict';

const { explain, explainUnsandboxed, placeOf } = require('./explain');
const { Policy, canLoad, makePolicy, withNetwork } = require('./policy');
const { disabledStatus, startSandbox } = require('./start');
const { Violations } = require('./violations');

const PRIVATE = Symbol('OsSandbox');
const VIOLATION = 'violation';

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
    #listeners;
    #violations;

    /** @param {symbol} key @param {import('./start').Started['status']} status @param {import('./session').Session} [session] */
    constructor(key, status, session) {
      if (key !== PRIVATE) throw new TypeError('OsSandbox is made by OsSandbox.start() or OsSandbox.disabled()');
      this.#status = status;
      this.#session = session;
      this.#policy = session && Policy.ofSession(session);
      const violations = session?.violations ?? new Violations();
      this.#listeners = violations.listeners;
      this.#violations = violations.view();
    }

    /**
     * Rejects for options that make no sense (TypeError), never for reasons of the host: see `status`.
     * @param {any} [options]
     */
    static async start(options) {
      const { session, status } = await startSandbox(options);
      return new OsSandbox(PRIVATE, status, session);
    }

    /** @param {string} [reason] */
    static disabled(reason = 'disabled by host') {
      const status = disabledStatus(reason);
      return new OsSandbox(PRIVATE, () => status);
    }

    /** As of now: runs can add warnings. */
    get status() {
      const status = this.#status();
      if (!status.enabled) return status;
      return Object.freeze({ ...status, warnings: Object.freeze([...classes.warnings, ...status.warnings]) });
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

    /**
     * Replaces the network options, for connections and commands from now on; at once, and all of them. Rejects with a
     * TypeError for what start() would not take.
     * @param {unknown} [network]
     */
    async updateNetwork(network) {
      if (!this.#session) {
        if (canLoad()) makePolicy({ network });
        return;
      }
      this.#session.updateNetwork(withNetwork(this.#session.made, network));
    }

    /**
     * Whether commands of a machine may read, write or reach it, and which rule says so, as things are now.
     * @param {unknown} targets a path or a host, or several
     * @param {any} [where] as a machine's
     */
    async explain(targets, where) {
      const place = placeOf(where);
      if (!this.#session) return explainUnsandboxed(targets, place);
      const { made, features } = this.#session;
      return explain(targets, { ...place, made, supervised: features.supervised, network: features.capture !== 'none' });
    }

    /** What commands were refused. */
    get violations() {
      return this.#violations;
    }

    /**
     * As an EventEmitter's; the only event is "violation".
     * @param {string} event
     * @param {(violation: Readonly<import('./violations').Violation>) => unknown} listener
     */
    on(event, listener) {
      if (event === VIOLATION) this.#listeners.add(listener, false);
      return this;
    }

    /** @type {OsSandbox['on']} */
    once(event, listener) {
      if (event === VIOLATION) this.#listeners.add(listener, true);
      return this;
    }

    /** @type {OsSandbox['on']} */
    off(event, listener) {
      if (event === VIOLATION) this.#listeners.remove(listener);
      return this;
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
