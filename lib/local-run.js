'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const util = require('node:util');
const { abortedBeforeStart, onAbort } = require('./abort');
const { wrapOutputCallback } = require('./output-callback');
const { Utf8Stream } = require('./utf8-stream');

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {Readonly<Record<string, string | undefined>>} [env]
 * @property {string} [stdin]
 * @property {number} [timeoutMs]
 * @property {number} [maxOutputBytes]
 * @property {AbortSignal} [signal]
 * @property {import('./output-callback').OnOutput} [onOutput]
 *
 * @typedef {object} RunResult
 * @property {string} stdout
 * @property {string} stderr
 * @property {number | undefined} exitCode
 * @property {boolean} timedOut
 * @property {boolean} truncated
 * @property {boolean} terminated
 *
 * @typedef {object} RunRequest options of a run, checked and completed
 * @property {readonly string[]} argv
 * @property {string} cwd
 * @property {Record<string, string | undefined>} env what is different from the ambient environment
 * @property {string} stdin
 * @property {number} timeoutMs Infinity for none
 * @property {number} maxOutputBytes Infinity for none
 * @property {AbortSignal | undefined} signal
 * @property {import('./output-callback').OnOutput | undefined} onOutput
 */

const WINDOWS = process.platform === 'win32';
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
/** What a search for a program ends with when an entry of PATH is closed to us, or is no directory. */
const UNUSABLE_PATH_ENTRY = new Set(['EACCES', 'ENOTDIR']);
/** A longer delay makes setTimeout fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** How long SIGKILL may take before the process is given up as not confirmed dead. */
const KILL_CONFIRM_MS = 2000;
/** Loop turns without output after which the pipes of a dead command count as empty. */
const QUIET_TURNS = 3;
/** More than any pipe holds: what comes after it is written by a process that outlived the command. */
const MAX_DRAIN_BYTES = 16 * 2 ** 20;

/** @type {(value: unknown) => boolean} */
const isText = (value) => typeof value === 'string' && !value.includes('\0');
/** @type {(value: unknown) => boolean} */
const isAmount = (value) => typeof value === 'number' && value >= 0;

/** @type {ReadonlyArray<[keyof RunOptions, (value: any) => boolean, string]>} */
const OPTION_CHECKS = [
  ['cwd', isText, 'a string without NUL'],
  ['env', (value) => typeof value === 'object', 'an object'],
  ['stdin', (value) => typeof value === 'string', 'a string'],
  ['timeoutMs', isAmount, 'a number, 0 or more'],
  ['maxOutputBytes', isAmount, 'a number, 0 or more'],
  ['signal', (value) => typeof value.addEventListener === 'function', 'an AbortSignal'],
  ['onOutput', (value) => typeof value === 'function', 'a function'],
];

/**
 * A run's own variables, checked.
 * @param {RunOptions['env']} own
 * @returns {Record<string, string | undefined>}
 */
function checkEnv(own) {
  /** @type {Record<string, string | undefined>} */
  const env = Object.create(null);
  for (const [name, value] of Object.entries(own ?? {})) {
    if (name === '' || name.includes('=') || !isText(name)) {
      throw new TypeError(`env: ${JSON.stringify(name)} cannot be the name of a variable`);
    }
    if (value !== undefined && !isText(value)) throw new TypeError(`env.${name}: must be a string without NUL`);
    env[name] = value;
  }
  return env;
}

/**
 * The ambient environment with a run's own on top; a value of undefined takes the variable away.
 * @param {Record<string, string | undefined>} own
 * @returns {NodeJS.ProcessEnv}
 */
function completeEnv(own) {
  const env = { ...process.env };
  for (const name in own) {
    if (own[name] === undefined) delete env[name];
    else env[name] = own[name];
  }
  return env;
}

/**
 * Checks what a caller passed to run() and fills in what it left out; throws a TypeError.
 * @param {readonly string[]} argv
 * @param {RunOptions | undefined} given
 * @param {string} machineCwd
 * @returns {RunRequest}
 */
function completeRequest(argv, given, machineCwd) {
  if (!Array.isArray(argv) || argv.length === 0 || !Array.from(argv).every(isText)) {
    throw new TypeError('argv: must be a non-empty array of strings without NUL');
  }
  const options = given ?? {};
  for (const [key, check, wanted] of OPTION_CHECKS) {
    const value = options[key];
    if (value !== undefined && value !== null && !check(value)) throw new TypeError(`${key}: must be ${wanted}`);
  }
  return {
    argv: [...argv],
    cwd: path.resolve(machineCwd, options.cwd ?? ''),
    env: checkEnv(options.env),
    stdin: options.stdin ?? '',
    timeoutMs: options.timeoutMs ?? Infinity,
    maxOutputBytes: Math.floor(options.maxOutputBytes ?? Infinity),
    signal: options.signal ?? undefined,
    onOutput: options.onOutput ?? undefined,
  };
}

/**
 * Why no process came to be, in the exit code and words of a shell.
 * @param {Pick<RunRequest, 'argv' | 'cwd' | 'env'>} request
 * @param {NodeJS.ErrnoException} error
 */
function startFailure({ argv, cwd, env }, error) {
  try {
    // A missing directory and a missing program give the same errno.
    if (!fs.statSync(cwd).isDirectory()) throw Object.assign(new Error(), { errno: -os.constants.errno.ENOTDIR });
    fs.accessSync(cwd, fs.constants.X_OK);
  } catch (cwdError) {
    return { exitCode: NOT_FOUND, message: `os-sandbox: cannot enter ${cwd}: ${reasonOf(cwdError)}\n` };
  }
  if (error.code === 'ENOENT' || (UNUSABLE_PATH_ENTRY.has(error.code ?? '') && !isFound(argv[0], cwd, env.PATH))) {
    return { exitCode: NOT_FOUND, message: `os-sandbox: ${argv[0]}: command not found\n` };
  }
  return { exitCode: NOT_EXECUTABLE, message: `os-sandbox: ${argv[0]}: ${reasonOf(error)}\n` };
}

/**
 * @param {string} program
 * @param {string} cwd
 * @param {string} [searchPath]
 */
function isFound(program, cwd, searchPath = '') {
  if (program.includes('/')) return true;
  return searchPath.split(path.delimiter).some((dir) => fs.existsSync(path.resolve(cwd, dir, program)));
}

/** @param {any} error */
function reasonOf(error) {
  return util.getSystemErrorMap().get(error.errno)?.[1] ?? error.message;
}

/** One command, from its start to its result. */
class LocalRun {
  #request;
  #graceMs;
  #resolve;
  #stdout;
  #stderr;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #received = 0;
  #exited = false;
  /** @type {number | undefined} */
  #exitCode;
  #settled = false;
  /** @type {'timeout' | 'abort' | undefined} */
  #stopReason;
  #stopListening = () => {};

  /**
   * @param {RunRequest} request
   * @param {number} graceMs
   * @param {(result: RunResult) => void} resolve
   */
  constructor(request, graceMs, resolve) {
    const deliver = wrapOutputCallback(request.onOutput);
    this.#request = request;
    this.#graceMs = graceMs;
    this.#resolve = resolve;
    this.#stdout = new Utf8Stream(request.maxOutputBytes, (data) => deliver('stdout', data));
    this.#stderr = new Utf8Stream(request.maxOutputBytes, (data) => deliver('stderr', data));
  }

  start() {
    const { argv, cwd, env, stdin, signal } = this.#request;
    let child;
    try {
      // spawn() refuses an empty program name as a mistake of the caller; to a command it is one that does not exist.
      if (argv[0] === '') throw Object.assign(new Error(), { code: 'ENOENT', syscall: 'spawn' });
      child = spawn(argv[0], argv.slice(1), {
        cwd,
        env: completeEnv(env),
        detached: !WINDOWS,
        windowsHide: true,
        stdio: [stdin === '' ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      });
    } catch (thrown) {
      const error = /** @type {NodeJS.ErrnoException} */ (thrown);
      if (error.syscall !== 'spawn') throw error;
      this.#failToStart(error);
      return;
    }
    this.#child = child;
    child.on('error', (error) => this.#failToStart(error));
    child.on('exit', (code, signalName) => this.#onExit(code, signalName));
    child.on('close', () => this.#exited && this.#settle(true));
    this.#capture(child.stdout, this.#stdout);
    this.#capture(child.stderr, this.#stderr);
    // The command may end, or close its stdin, without having read it.
    child.stdin?.on('error', () => {}).end(stdin);
    if (child.pid === undefined) return;
    if (signal) this.#stopListening = onAbort(signal, () => this.#stop('abort'));
    this.#armTimeout();
  }

  /**
   * @param {import('node:stream').Readable | null} source null when there is no process
   * @param {Utf8Stream} target
   */
  #capture(source, target) {
    source?.on('error', () => {}).on('data', (chunk) => {
      if (this.#settled) return;
      this.#received += chunk.length;
      target.push(chunk);
    });
  }

  #armTimeout() {
    const { timeoutMs } = this.#request;
    if (timeoutMs === 0) this.#stop('timeout');
    else if (timeoutMs <= MAX_TIMER_MS) {
      // After a blocked loop timers fire before the news of an exit is read: let that be seen first.
      this.#timer = setTimeout(() => setImmediate(() => this.#stop('timeout')), timeoutMs);
    }
  }

  /** @param {NodeJS.ErrnoException} error */
  #failToStart(error) {
    if (this.#child?.pid !== undefined) return;
    const { exitCode, message } = startFailure(this.#request, error);
    this.#stderr.push(Buffer.from(message));
    this.#exitCode = exitCode;
    this.#settle(true);
  }

  /** @param {'timeout' | 'abort'} reason */
  #stop(reason) {
    if (this.#stopReason || this.#exited || this.#settled) return;
    this.#stopReason = reason;
    clearTimeout(this.#timer);
    this.#signalGroup('SIGTERM');
    this.#timer = setTimeout(() => this.#kill(), this.#graceMs);
  }

  #kill() {
    this.#signalGroup('SIGKILL');
    this.#timer = setTimeout(() => setImmediate(() => this.#giveUp()), KILL_CONFIRM_MS);
  }

  #giveUp() {
    if (!this.#exited) this.#settle(false);
  }

  /** @param {NodeJS.Signals} name */
  #signalGroup(name) {
    if (!this.#child?.pid) return;
    try {
      if (WINDOWS) this.#child.kill(name);
      else process.kill(-this.#child.pid, name);
    } catch {
      // Nobody is left in the group, or nobody who may be signalled: the exit, or its absence, tells.
    }
  }

  /**
   * @param {number | null} code
   * @param {NodeJS.Signals | null} signalName
   */
  #onExit(code, signalName) {
    this.#exited = true;
    this.#exitCode = signalName === null ? code ?? undefined : 128 + os.constants.signals[signalName];
    clearTimeout(this.#timer);
    this.#signalGroup('SIGKILL');
    this.#drain();
  }

  /** Takes what still lies in the pipes; does not wait for their end, which a process of another group may hold off. */
  #drain() {
    const limit = this.#received + MAX_DRAIN_BYTES;
    let seen = this.#received;
    let quiet = 0;
    const turn = () => {
      quiet = this.#received === seen ? quiet + 1 : 0;
      seen = this.#received;
      if (quiet === QUIET_TURNS || seen > limit) this.#settle(true);
      else if (!this.#settled) setImmediate(turn);
    };
    setImmediate(turn);
  }

  /** @param {boolean} terminated */
  #settle(terminated) {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#stopListening();
    this.#release();
    this.#stdout.end();
    this.#stderr.end();
    const timedOut = this.#stopReason === 'timeout';
    this.#resolve({
      stdout: this.#stdout.text,
      stderr: this.#stderr.text,
      exitCode: timedOut ? undefined : this.#exitCode,
      timedOut,
      truncated: this.#stdout.truncated || this.#stderr.truncated,
      terminated,
    });
  }

  /** Lets go of pipes, and of a process that would not die, so that neither keeps the loop alive. */
  #release() {
    for (const stream of [this.#child?.stdin, this.#child?.stdout, this.#child?.stderr]) stream?.destroy();
    this.#child?.unref();
  }
}

/**
 * Runs a command unsandboxed. Rejects only for a mistake of the caller.
 * @param {readonly string[]} argv
 * @param {RunOptions | undefined} options
 * @param {{ cwd: string, sigtermGraceMs: number }} machine
 * @returns {Promise<RunResult>}
 */
async function runLocally(argv, options, machine) {
  const request = completeRequest(argv, options, machine.cwd);
  if (request.signal?.aborted) return abortedBeforeStart();
  return new Promise((resolve) => new LocalRun(request, machine.sigtermGraceMs, resolve).start());
}

module.exports = { completeRequest, runLocally, startFailure };
