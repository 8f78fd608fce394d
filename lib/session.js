'use strict';

const os = require('node:os');
const { isMainThread } = require('node:worker_threads');

const { onAbort } = require('./abort');
const { homes } = require('./homes');
const { abortedBeforeStart } = require('./local-run');
const { wrapOutputCallback } = require('./output-callback');
const { toSrtInvocation } = require('./shell');
const { Violations } = require('./violations');

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

/**
 * What one sandbox is, besides the addon's session.
 * @typedef {object} SandboxParts
 * @property {string} document its options, as the addon takes them
 * @property {Set<string>} warnings what users should know, found out by now; `status.warnings` shows it
 * @property {import('./violation-log').ViolationLog} [log]
 */

/** The addon's session: what stands behind one enabled OsSandbox. */
class Session {
  #addon;
  #handle;
  #log;
  /** @type {Promise<void> | undefined} */
  #disposing;
  /**
   * What this host can do, and what it said where that is not all.
   * @type {{ sessionNetwork: boolean, disableUserns: boolean, freshProc: boolean, mountedBefore: boolean, supervised: boolean,
   *   filtered: boolean, degradation: string, supervisionGap: string }}
   */
  features;

  /** @param {any} addon @param {any} handle @param {any} features @param {SandboxParts} parts */
  constructor(addon, handle, features, { document, warnings, log }) {
    this.#addon = addon;
    this.#handle = handle;
    this.#log = log;
    this.features = features;
    this.document = document;
    this.warnings = warnings;
    this.violations = new Violations(log);
    live.add(this);
  }

  /**
   * @param {import('./native').Native} native
   * @param {SandboxParts} parts
   * @returns {Promise<Session | { kind: 'dependency' | 'host', text: string }>}
   */
  static start({ addon, helper }, parts) {
    return new Promise((resolve) => {
      const place = { helper, ...homes(), tmpdir: os.tmpdir(), searchPath: process.env.PATH ?? '' };
      const handle = addon.startSession(place, (kind, text, features) => {
        if (kind === undefined) resolve(new Session(addon, handle, features, parts));
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
   * @param {import('./policy').Policy} policy
   * @param {import('./local-run').RunRequest} request
   * @param {{ cwd: string, additionalDirs: readonly string[], sigtermGraceMs: number }} machine
   * @returns {Promise<import('./local-run').RunResult>}
   */
  async run(policy, request, machine) {
    if (this.#log) await this.#log.prepare();
    if (this.disposed) throw sandboxError('the sandbox was disposed');
    if (request.signal?.aborted) return abortedBeforeStart();
    return this.#start(policy, request, machine);
  }

  /** @type {Session['run']} */
  #start(policy, request, machine) {
    return new Promise((resolve, reject) => {
      const deliver = request.onOutput && wrapOutputCallback(request.onOutput);
      const { report, end } = this.violations.startRun();
      let stopListening = () => {};
      const done = (error, exitCode, timedOut, truncated, terminated, stdout, stderr, warnings, block, counts, dropped) => {
        stopListening();
        for (const warning of warnings ?? []) this.warnings.add(warning);
        end(counts ?? [], dropped ?? 0);
        if (error !== undefined) {
          reject(sandboxError(error));
          return;
        }
        const note = block === undefined ? '' : `${os.EOL}${block}`;
        if (note !== '') deliver?.('stderr', note);
        resolve({ stdout, stderr: stderr + note, exitCode, timedOut, truncated, terminated });
      };
      let run;
      try {
        run = this.#addon.startRun(this.#handle, {
          policy: policy.handleFor(this),
          command: toSrtInvocation(request.argv, '').command,
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
          onViolation: report,
          done,
        });
      } catch (error) {
        reject(sandboxError(/** @type {Error} */ (error).message));
        return;
      }
      if (request.signal) stopListening = onAbort(request.signal, () => this.#addon.stopRun(this.#handle, run));
    });
  }

  /** @returns {Promise<void>} when the agent, every run and every handle is gone, and the log is written */
  dispose() {
    live.delete(this);
    this.#disposing ??= this.#end();
    return this.#disposing;
  }

  async #end() {
    await new Promise((resolve) => {
      this.#addon.disposeSession(this.#handle, resolve);
    });
    await this.#log?.flush();
  }
}

module.exports = { Session, sandboxError };
