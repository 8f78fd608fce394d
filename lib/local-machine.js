'use strict';

const os = require('node:os');
const path = require('node:path');
const files = require('./machine-files');
const { runLocally } = require('./local-run');
const { machinePlace } = require('./machine-place');

/**
 * @typedef {object} MachineOptions
 * @property {string} [cwd] default: the process's
 * @property {readonly string[]} [additionalDirs]
 *
 * @typedef {object} OsEnv
 * @property {string} osKind
 * @property {string} osArch
 * @property {string} osVersion
 * @property {string} shellName
 * @property {string} shellPath
 */

/** @type {Readonly<Record<string, string>>} */
const OS_KINDS = { linux: 'Linux', darwin: 'Darwin', win32: 'Windows' };

/** @returns {Readonly<OsEnv>} */
function detectOsEnv() {
  const shellPath = process.env.SHELL || '/bin/bash';
  return Object.freeze({
    osKind: OS_KINDS[process.platform] ?? os.type(),
    osArch: os.arch(),
    osVersion: os.release(),
    shellName: path.basename(shellPath),
    shellPath,
  });
}

/** This computer, without a sandbox: its files, and commands started as children of this process. */
class LocalMachine {
  name = 'local';
  osEnv = detectOsEnv();
  /** Milliseconds between SIGTERM and SIGKILL when a command is stopped. @protected */
  sigtermGraceMs = 5000;
  #cwd;
  #additionalDirs;

  /** @param {string | MachineOptions} [cwdOrOptions] */
  constructor(cwdOrOptions) {
    const { cwd, additionalDirs } = machinePlace(cwdOrOptions);
    this.#cwd = cwd;
    this.#additionalDirs = additionalDirs;
  }

  /** The same facts under their newer name. */
  get osInfo() {
    return this.osEnv;
  }

  pathClass() {
    return process.platform === 'win32' ? 'win32' : 'posix';
  }

  /** @param {string} p */
  normpath(p) {
    return path.normalize(p);
  }

  gethome() {
    return os.homedir();
  }

  getcwd() {
    return this.#cwd;
  }

  /** @returns {readonly string[]} */
  additionalDirs() {
    return this.#additionalDirs;
  }

  /**
   * The same machine in another directory.
   * @param {string} p
   * @returns {this}
   */
  withCwd(p) {
    const sibling = this.sibling(this.#resolve(p));
    sibling.sigtermGraceMs = this.sigtermGraceMs;
    return sibling;
  }

  /**
   * Makes the machine that withCwd() returns; a subclass whose constructor takes other arguments overrides it.
   * @protected
   * @param {string} cwd absolute
   * @returns {this}
   */
  sibling(cwd) {
    const Own = /** @type {any} */ (this.constructor);
    return new Own({ cwd, additionalDirs: this.#additionalDirs.map((dir) => this.#resolve(dir)) });
  }

  /**
   * @param {string} p
   * @param {{ followSymlinks?: boolean }} [options]
   */
  async fileInfo(p, options) {
    return files.fileInfo(this.#resolve(p), options);
  }

  /** @param {string} p */
  async listDir(p) {
    return files.listDir(this.#resolve(p));
  }

  /** @param {string} p */
  async realpath(p) {
    return files.realpath(this.#resolve(p));
  }

  /**
   * @param {string} p
   * @param {{ parents?: boolean, existOk?: boolean }} [options]
   */
  async mkdir(p, options) {
    return files.mkdir(this.#resolve(p), options);
  }

  /**
   * @param {string} p
   * @param {{ offset?: number, length?: number }} [window]
   */
  async readBytes(p, window) {
    return files.readBytes(this.#resolve(p), window);
  }

  /**
   * @param {string} p
   * @param {Uint8Array} data
   */
  async writeBytes(p, data) {
    return files.writeBytes(this.#resolve(p), data);
  }

  /**
   * @param {string} p
   * @param {string} text
   * @param {import('./machine-files').TextOptions} [options]
   */
  async writeText(p, text, options) {
    return files.writeText(this.#resolve(p), text, options);
  }

  /**
   * @param {string} p
   * @param {string} text
   * @param {import('./machine-files').IfUnchangedOptions} options
   */
  async writeTextIfUnchanged(p, text, options) {
    return files.writeTextIfUnchanged(this.#resolve(p), text, options);
  }

  /**
   * Where a port that a command listens on is reached: on this computer itself.
   * @param {number} port
   * @returns {Promise<string | undefined>} undefined for what is no port
   */
  async exposedPortUrl(port) {
    return Number.isInteger(port) && port > 0 && port < 65536 ? `http://127.0.0.1:${port}` : undefined;
  }

  /**
   * @param {readonly string[]} argv
   * @param {import('./local-run').RunOptions} [options]
   */
  async run(argv, options) {
    return runLocally(argv, options, { cwd: this.#cwd, sigtermGraceMs: this.sigtermGraceMs });
  }

  /** @param {string} p */
  #resolve(p) {
    return path.resolve(this.#cwd, p);
  }
}

module.exports = { LocalEnvironment: LocalMachine, LocalMachine };
