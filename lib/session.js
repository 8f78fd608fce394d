'use strict';

const os = require('node:os');
const { isMainThread } = require('node:worker_threads');

const { onAbort } = require('./abort');
const { wrapOutputCallback } = require('./output-callback');

const STREAMS = /** @type {const} */ (['stdout', 'stderr']);

/** Live sessions, oldest first: a machine that was constructed directly uses the first. @type {Set<Session>} */
const live = new Set();

/** @param {string} text */
function sandboxError(text) {
  return Object.assign(new Error(`os-sandbox: ${text}`), { code: 'ERR_OS_SANDBOX' });
}

/** A list as the addon takes it: NUL behind every item. @param {readonly string[]} items */
function encodeList(items) {
  return items.length === 0 ? '' : `${items.join('\0')}\0`;
}

/** A name alone takes the variable away. @param {Record<string, string | undefined>} env */
function encodeEnv(env) {
  let text = '';
  for (const name in env) text += env[name] === undefined ? `${name}\0` : `${name}=${env[name]}\0`;
  return text;
}

/** A worker has an environment of its own, which only JS can see; the main thread's is the process's, which C reads. */
function ambientEnv() {
  return isMainThread ? undefined : encodeEnv(process.env);
}

/** The answer, or undefined where an account, a HOME or a line of passwd is missing, as in many containers. */
function attempt(question) {
  try {
    return question();
  } catch {
    return undefined;
  }
}

/** Credentials lie in the account's home also where HOME names another, as under sudo. */
function homes() {
  const home = attempt(os.homedir) ?? '/';
  const accountHome = attempt(() => os.userInfo().homedir);
  return { home, accountHome: accountHome === home ? undefined : accountHome };
}

/** The addon's session: what stands behind one enabled OsSandbox. */
class Session {
  #addon;
  #handle;
  /** @type {Promise<void> | undefined} */
  #disposing;
  /** What users should know, found out by now; `status.warnings` shows it. @type {Set<string>} */
  warnings = new Set();
  /**
   * What this host can do, and what it said where that is not all.
   * @type {{ sessionNetwork: boolean, disableUserns: boolean, freshProc: boolean, mountedBefore: boolean, degradation: string }}
   */
  features;

  /** @param {any} addon @param {any} handle @param {any} features */
  constructor(addon, handle, features) {
    this.#addon = addon;
    this.#handle = handle;
    this.features = features;
    live.add(this);
  }

  /**
   * @param {import('./native').Native} native
   * @returns {Promise<Session | { kind: 'dependency' | 'host', text: string }>}
   */
  static start({ addon, helper }) {
    return new Promise((resolve) => {
      const place = { helper, ...homes(), tmpdir: os.tmpdir(), searchPath: process.env.PATH ?? '' };
      const handle = addon.startSession(place, (kind, text, features) => {
        if (kind === undefined) resolve(new Session(addon, handle, features));
        else addon.disposeSession(handle, () => resolve({ kind, text }));
      });
    }).catch((error) => ({ kind: /** @type {const} */ ('host'), text: error.message }));
  }

  get disposed() {
    return this.#disposing !== undefined;
  }

  /** The oldest that is alive. */
  static oldest() {
    return live.values().next().value;
  }

  /**
   * @param {any} policy the addon's
   * @param {import('./local-run').RunRequest} request
   * @param {{ cwd: string, additionalDirs: readonly string[], sigtermGraceMs: number }} machine
   * @returns {Promise<import('./local-run').RunResult>}
   */
  run(policy, request, machine) {
    return new Promise((resolve, reject) => {
      if (this.disposed) {
        reject(sandboxError('the sandbox was disposed'));
        return;
      }
      const deliver = request.onOutput && wrapOutputCallback(request.onOutput);
      let stopListening = () => {};
      const done = (error, exitCode, timedOut, truncated, terminated, stdout, stderr, warnings) => {
        stopListening();
        for (const warning of warnings ?? []) this.warnings.add(warning);
        if (error !== undefined) reject(sandboxError(error));
        else resolve({ stdout, stderr, exitCode, timedOut, truncated, terminated });
      };
      let run;
      try {
        run = this.#addon.startRun(this.#handle, {
          policy,
          argv: encodeList(request.argv),
          ambientEnv: ambientEnv(),
          env: encodeEnv(request.env),
          machineCwd: machine.cwd,
          cwd: request.cwd,
          additionalDirs: encodeList(machine.additionalDirs),
          stdin: request.stdin === '' ? undefined : request.stdin,
          timeoutMs: request.timeoutMs,
          maxOutputBytes: request.maxOutputBytes,
          graceMs: machine.sigtermGraceMs,
          onOutput: deliver && ((stream, text) => deliver(STREAMS[stream], text)),
          done,
        });
      } catch (error) {
        reject(sandboxError(/** @type {Error} */ (error).message));
        return;
      }
      if (request.signal) stopListening = onAbort(request.signal, () => this.#addon.stopRun(this.#handle, run));
    });
  }

  /** @returns {Promise<void>} when the agent, every run and every handle is gone */
  dispose() {
    live.delete(this);
    this.#disposing ??= new Promise((resolve) => {
      this.#addon.disposeSession(this.#handle, resolve);
    });
    return this.#disposing;
  }
}

module.exports = { Session, sandboxError };
