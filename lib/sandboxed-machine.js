'use strict';

const path = require('node:path');

const { completeRequest } = require('./local-run');
const { machinePlace } = require('./machine-place');
const { Policy } = require('./policy');
const { Session, sandboxError } = require('./session');

const NOBODY_ALIVE = 'no sandbox is alive in this process: await OsSandbox.start() first, and see its status';

/**
 * The sandboxed machine over a framework's machine class, or over our own: everything but `run` is the base's.
 * @param {new (...args: any[]) => any} Base
 */
function makeSandboxedMachine(Base) {
  return class SandboxedLocalMachine extends Base {
    #policy;
    #additionalDirs;
    /** Milliseconds between SIGTERM and SIGKILL when a command is stopped. @protected */
    sigtermGraceMs = 5000;

    /**
     * Throws a TypeError for a policy or a place that makes no sense.
     * @param {any} policy `{ denyRead, denyWrite, allowWrite }`, each optional
     * @param {string | { cwd?: string, additionalDirs?: readonly string[] }} [where]
     */
    constructor(policy, where) {
      const place = machinePlace(where);
      super(where);
      this.#policy = policy instanceof Policy ? policy : Policy.of({ filesystem: policy });
      this.#additionalDirs = place.additionalDirs;
    }

    /** @param {string} p */
    withCwd(p) {
      const resolve = (/** @type {string} */ dir) => path.resolve(this.getcwd(), dir);
      const Own = /** @type {any} */ (this.constructor);
      const sibling = new Own(this.#policy, { cwd: resolve(p), additionalDirs: this.#additionalDirs.map(resolve) });
      sibling.sigtermGraceMs = this.sigtermGraceMs;
      return sibling;
    }

    /**
     * @param {readonly string[]} argv
     * @param {import('./local-run').RunOptions} [options]
     * @returns {Promise<import('./local-run').RunResult>}
     */
    async run(argv, options) {
      const request = completeRequest(argv, options, this.getcwd());
      const session = this.#policy.session ?? Session.oldest();
      if (!session) throw sandboxError(NOBODY_ALIVE);
      const cwd = path.resolve(this.getcwd());
      const additionalDirs = this.#additionalDirs.map((dir) => path.resolve(cwd, dir));
      return session.run(this.#policy, request, { cwd, additionalDirs, sigtermGraceMs: this.sigtermGraceMs });
    }

    /**
     * Where a port that a command listens on is reached from the host.
     * @param {number} port
     * @returns {Promise<string | undefined>} undefined where it cannot be
     */
    async exposedPortUrl(port) {
      return (this.#policy.session ?? Session.oldest())?.exposedPortUrl(port);
    }
  };
}

module.exports = { makeSandboxedMachine };
