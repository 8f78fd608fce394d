'use strict';
// A person at a terminal: types, reads, and sees what state the terminal is in.

const { spawn } = require('node:child_process');
const path = require('node:path');
const readline = require('node:readline');

/** The limit is of a test that fails; what is waited for comes at once. */
const PATIENCE_MS = 15_000;

class Terminal {
  #child;
  #output = '';
  /** Up to where the output was read. */
  #read = 0;
  /** @type {Set<() => void>} */
  #waiting = new Set();
  /** @type {any[]} */
  #answers = [];
  /** @type {number | undefined} as os.waitstatus_to_exitcode() */
  ended;

  /** @param {string[]} command @param {{ env?: NodeJS.ProcessEnv, cwd?: string }} options */
  constructor(command, options) {
    this.#child = spawn('python3', [path.join(__dirname, 'person.py'), ...command], { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
    readline.createInterface({ input: this.#child.stdout }).on('line', (line) => this.#hear(JSON.parse(line)));
  }

  /** @param {any} message */
  #hear(message) {
    if (message.pid !== undefined) this.pid = message.pid;
    if (message.output !== undefined) this.#output += Buffer.from(message.output, 'base64').toString('latin1');
    if (message.modes !== undefined) this.#answers.push(message);
    if (message.ended !== undefined) this.ended = message.ended;
    for (const check of [...this.#waiting]) check();
  }

  /** @template T @param {() => T | undefined} condition @param {string} what @returns {Promise<T>} */
  #until(condition, what) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no ${what} in: ${JSON.stringify(this.#output.slice(this.#read))}`)), PATIENCE_MS);
      const check = () => {
        const value = condition();
        if (value === undefined) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(value);
      };
      this.#waiting.add(check);
      check();
    });
  }

  /** @param {object} request */
  #ask(request) {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
  }

  /** @param {string} text */
  type(text) {
    this.#ask({ send: text });
  }

  /** Types a line that begins no sooner than it is asked for. @param {string} line */
  enter(line) {
    this.type(`${line}\r`);
  }

  /** @param {number} rows @param {number} columns */
  resize(rows, columns) {
    this.#ask({ size: [rows, columns] });
  }

  /** Waits for output behind what was read before, and reads up to its end. @param {RegExp} pattern */
  read(pattern) {
    return this.#until(() => {
      const match = pattern.exec(this.#output.slice(this.#read));
      if (!match) return undefined;
      this.#read += match.index + match[0].length;
      return match;
    }, String(pattern));
  }

  /** @returns {Promise<{ modes: any[], foreground: number }>} */
  async state() {
    this.#ask({ ask: true });
    await this.#until(() => this.#answers[0], 'answer');
    return this.#answers.shift();
  }

  end() {
    return this.#until(() => this.ended, 'end');
  }

  close() {
    this.#child.kill('SIGKILL');
  }
}

/** A shell's, as a person has it. */
const BASH = ['bash', '--norc', '--noprofile', '-i'];

/**
 * @param {any} t
 * @param {{ command?: string[], env?: NodeJS.ProcessEnv, cwd?: string }} [options]
 */
function openTerminal(t, { command = BASH, env, cwd } = {}) {
  const plain = { ...process.env, PS1: 'prompt> ', TERM: 'xterm', HISTFILE: '/dev/null', BASH_SILENCE_DEPRECATION_WARNING: '1', ...env };
  delete plain.INPUTRC;
  const terminal = new Terminal(command, { env: plain, cwd });
  t.teardown(() => terminal.close());
  return terminal;
}

module.exports = { openTerminal };
