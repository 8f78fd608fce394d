'use strict';

const os = require('node:os');
const { isMainThread } = require('node:worker_threads');

const { onAbort } = require('./abort');
const { homes } = require('./homes');
const { hostProxy } = require('./host-proxy');
const { abortedBeforeStart } = require('./local-run');
const { wrapOutputCallback } = require('./output-callback');
const { Questions } = require('./questions');
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

/** @param {unknown} port */
function isPort(port) {
  return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65536;
}

/**
 * What one sandbox is, besides the addon's session.
 * @typedef {object} SandboxParts
 * @property {import('./policy').MadePolicy} made its options
 * @property {Set<string>} warnings what users should know, found out by now; `status.warnings` shows it
 * @property {import('./violation-log').ViolationLog} [log]
 *
 * What this host can do, and what it said where that is not all.
 * @typedef {{ sessionNetwork: boolean, disableUserns: boolean, freshProc: boolean, mountedBefore: boolean,
 *   supervised: boolean, filtered: boolean, countsProcesses: boolean, limits: 'none' | 'rlimits' | 'cgroup', limitsGap: string, capture: 'transparent' | 'proxy' | 'none', degradation: string,
 *   supervisionGap: string, networkGap: string, upstreamGap: string }} Features
 */

/** The addon's session: what stands behind one enabled OsSandbox. */
class Session {
  #addon;
  #handle;
  #log;
  #questions;
  #unattributed;
  /** @type {Promise<void> | undefined} */
  #disposing;

  /** @param {any} addon @param {any} handle @param {Questions} questions @param {Features} features @param {SandboxParts} parts */
  constructor(addon, handle, questions, features, { made, warnings, log }) {
    this.#addon = addon;
    this.#handle = handle;
    this.#log = log;
    this.#questions = questions;
    this.features = features;
    /** The options that hold now. */
    this.made = made;
    this.warnings = warnings;
    this.violations = new Violations(log);
    this.#unattributed = this.violations.startUnattributed();
    live.add(this);
  }

  /**
   * @param {import('./native').Native} native
   * @param {SandboxParts} parts
   * @returns {Promise<Session | { kind: 'dependency' | 'host', text: string }>}
   */
  static start({ addon, helper }, parts) {
    const { variable, ...proxy } = hostProxy();
    return new Promise((resolve) => {
      const questions = new Questions(parts.made.onAskHost, (question, allowed) => addon.answerAsk(handle, question, allowed));
      /** @type {Session} there is one before there is a command to tell of */
      let session;
      const place = {
        helper,
        ...homes(),
        ...proxy,
        tmpdir: os.tmpdir(),
        searchPath: process.env.PATH ?? '',
        policy: parts.made.handle,
        onViolation: (id, told) => session.#unattributed.report(id, told),
        onAsk: (question, host, port) => questions.open(question, host, port),
        onWithdraw: (question) => questions.withdraw(question),
      };
      const handle = addon.startSession(place, (kind, text, features) => {
        if (kind !== undefined) {
          addon.disposeSession(handle, () => resolve({ kind, text }));
          return;
        }
        session = new Session(addon, handle, questions, features, parts);
        if (features.upstreamGap) session.warnings.add(`${variable}: this proxy of the environment cannot be used, connections go out directly (${features.upstreamGap})`);
        resolve(session);
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
      this.#addon.disposeSession(this.#handle, (counts, dropped) => {
        this.#unattributed.end(counts, dropped);
        resolve(undefined);
      });
    });
    await this.#log?.flush();
  }

  /**
   * Has other network options hold, for connections and commands from now on.
   * @param {import('./policy').MadePolicy} made
   */
  updateNetwork(made) {
    if (this.disposed) throw sandboxError('the sandbox was disposed');
    this.#addon.updateNetwork(this.#handle, made.handle);
    this.#questions.askAnother(made.onAskHost);
    this.made = made;
  }

  /**
   * Where a port that a command listens on is reached from the host.
   * @param {unknown} port
   * @returns {Promise<string | undefined>} undefined where there is no way
   */
  async exposedPortUrl(port) {
    if (!isPort(port) || this.disposed) return undefined;
    const hostPort = await new Promise((resolve) => {
      if (!this.#addon.exposePort(this.#handle, port, resolve)) resolve(0);
    });
    return hostPort === 0 || this.disposed ? undefined : `http://127.0.0.1:${hostPort}`;
  }
}

module.exports = { Session, sandboxError };
