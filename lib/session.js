'use strict';

const os = require('node:os');

const { homes } = require('./homes');
const { hostProxy } = require('./host-proxy');

/** Loaded while the agent starts, which is as long as that takes: a command line waits for both. */
function loadRest() {
  const { degradationsOf } = require('./guarantees');
  const { Questions } = require('./questions');
  const { toSrtInvocation } = require('./shell');
  const { Violations } = require('./violations');
  return { degradationsOf, Questions, toSrtInvocation, Violations };
}

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
  // Not at the top: a command line, which is in the main thread, has no time for it.
  const { isMainThread } = require('node:worker_threads');
  return isMainThread ? undefined : encodeEnv(process.env);
}

/** @template T @param {() => T} start @returns {T} */
function startOrThrow(start) {
  try {
    return start();
  } catch (error) {
    throw sandboxError(/** @type {Error} */ (error).message);
  }
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
 * @property {boolean} [foreground] its commands run on this process's terminal, in its process group
 * @property {boolean} [unprobed] what this host can do is for the first command to show
 *
 * @typedef {object} ForegroundRequest
 * @property {string[]} argv
 * @property {Buffer} [argvBytes] the same words, each with NUL at its end, where they are not UTF-8
 * @property {string} [cwd] where it starts; else in machineCwd
 * @property {Record<string, string | undefined>} [env] on top of this process's
 * @property {string} machineCwd as a machine's cwd
 * @property {string[]} [additionalDirs]
 * @property {[number, number, number]} [descriptors] this process's, which become its stdin, stdout and stderr
 *
 * exitCode is undefined where it died of a signal.
 * @typedef {{ exitCode: number | undefined, signal: number | undefined, warnings: string[] }} ForegroundResult
 *
 * What this host can do, and what it said where that is not all.
 * @typedef {{ sessionNetwork: boolean, disableUserns: boolean, freshProc: boolean, mountedBefore: boolean,
 *   supervised: boolean, filtered: boolean, limits: 'none' | 'rlimits' | 'cgroup', limitsGap: string, capture: 'transparent' | 'proxy' | 'none', degradation: string,
 *   supervisionGap: string, networkGap: string, upstreamGap: string }} Features
 */

/** The addon's session: what stands behind one enabled OsSandbox. */
class Session {
  #addon;
  #handle;
  #log;
  #questions;
  #unattributed;
  #foreground;
  /** The run that signals are for. @type {number | undefined} */
  #signalled;
  /** Signals that came before there was one. @type {number[]} */
  #early = [];
  /** @type {Promise<void> | undefined} */
  #disposing;

  /** @param {any} addon @param {any} handle @param {import('./questions').Questions} questions @param {Features} features @param {SandboxParts} parts */
  constructor(addon, handle, questions, features, { made, warnings, log, foreground = false }) {
    this.#addon = addon;
    this.#handle = handle;
    this.#log = log;
    this.#questions = questions;
    this.#foreground = foreground;
    /** The options that hold now. */
    this.made = made;
    this.warnings = warnings;
    /** What this host can do; of a sandbox without a probe, what it is hoped to. */
    this.features = features;
    this.#learn(features);
    this.violations = new (loadRest().Violations)(log);
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
      /** @type {import('./questions').Questions} made below, before anything is asked */
      let questions;
      /** @type {Session} there is one before there is a command to tell of */
      let session;
      const place = {
        helper,
        ...homes(),
        ...proxy,
        tmpdir: os.tmpdir(),
        searchPath: process.env.PATH ?? '',
        policy: parts.made.handle,
        foreground: parts.foreground,
        unprobed: parts.unprobed,
        onViolation: (id, told) => session.#unattributed.report(id, told),
        onAsk: (question, host, port) => questions.open(question, host, port),
        onWithdraw: (question) => questions.withdraw(question),
      };
      const handle = addon.startSession(place, (kind, text, features) => {
        if (kind !== undefined) {
          addon.disposeSession(handle, () => resolve({ kind, text }));
          return;
        }
        if (features.upstreamGap) parts.warnings.add(`${variable}: this proxy of the environment cannot be used, connections go out directly (${features.upstreamGap})`);
        session = new Session(addon, handle, questions, features, parts);
        resolve(session);
      });
      const { Questions } = loadRest();
      questions = new Questions(parts.made.onAskHost, (question, allowed) => addon.answerAsk(handle, question, allowed));
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
    if (request.signal?.aborted) return require('./abort').abortedBeforeStart();
    return this.#start(policy, request, machine);
  }

  /** @type {Session['run']} */
  #start(policy, request, machine) {
    return new Promise((resolve, reject) => {
      const deliver = request.onOutput && require('./output-callback').wrapOutputCallback(request.onOutput);
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
      const run = startOrThrow(() =>
        this.#addon.startRun(this.#handle, {
          policy: policy.handleFor(this),
          command: loadRest().toSrtInvocation(request.argv, '').command,
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
        }),
      );
      if (request.signal) stopListening = require('./abort').onAbort(request.signal, () => this.#addon.stopRun(this.#handle, run));
    });
  }

  /**
   * One command with descriptors of this process as its stdio, in its process group and on its terminal; only in the
   * main thread, in a session that was started for that. Rejects where the sandbox itself failed. Signals of this process are to be
   * given to signal().
   * @param {ForegroundRequest} request
   * @returns {Promise<ForegroundResult>}
   */
  async runForeground(request) {
    if (!this.#foreground) throw new TypeError('runForeground: the session was not started for it');
    if (this.#log) await this.#log.prepare();
    try {
      return await this.#startForeground(request);
    } catch (error) {
      // Whatever failed, there was no command yet: it is not started twice.
      if (/** @type {any} */ (error).unstarted !== true || !(await this.#probe())) throw error;
      return this.#startForeground(request);
    }
  }

  /** @param {ForegroundRequest} request @returns {Promise<ForegroundResult>} */
  #startForeground({ argv, argvBytes, cwd, env = {}, machineCwd, additionalDirs = [], descriptors = [0, 1, 2] }) {
    return new Promise((resolve, reject) => {
      if (this.disposed) throw sandboxError('the sandbox was disposed');
      const { report, end } = this.violations.startRun();
      const done = (error, exitCode, timedOut, truncated, terminated, stdout, stderr, told, block, counts, dropped, signal, unstarted) => {
        this.#signalled = undefined;
        const warnings = told ?? [];
        for (const warning of warnings) this.warnings.add(warning);
        end(counts ?? [], dropped ?? 0);
        if (error === undefined) resolve({ exitCode: signal === undefined ? exitCode : undefined, signal, warnings });
        else reject(Object.assign(sandboxError(error), { unstarted }));
      };
      const command = loadRest().toSrtInvocation(argv, '').command;
      const given = { policy: this.made.handle, command, argv: argvBytes ?? encodeList(argv), env: encodeEnv(env), descriptors };
      const place = { machineCwd, cwd: cwd ?? machineCwd, additionalDirs: encodeList(additionalDirs) };
      const run = startOrThrow(() => this.#addon.startRun(this.#handle, { ...given, ...place, onViolation: report, done }));
      this.#signalled = run;
      for (const number of this.#early.splice(0)) this.signal(number);
    });
  }

  /** Finds out what this host can do, where that was left open. @returns {Promise<boolean>} whether it was */
  async #probe() {
    const found = await new Promise((resolve) => {
      const started = (kind, text, features) => resolve({ kind, text, features });
      if (this.disposed || !this.#addon.probeSession(this.#handle, started)) resolve(undefined);
    });
    if (found?.kind !== undefined) throw Object.assign(sandboxError(found.text), { off: true });
    if (found) this.#learn(found.features);
    return found !== undefined;
  }

  /** @param {Features} features */
  #learn(features) {
    this.features = features;
    const { limits } = JSON.parse(this.made.document);
    for (const text of loadRest().degradationsOf(features, limits)) this.warnings.add(text);
  }

  /**
   * This process got a signal: it is for the command in the foreground, unless that got it as well, as one of the
   * same process group.
   * @param {number} number
   */
  signal(number) {
    if (this.#signalled === undefined) this.#early.push(number);
    else if (!this.disposed) this.#addon.signalRun(this.#handle, this.#signalled, number);
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

module.exports = { Session, encodeList, sandboxError };
