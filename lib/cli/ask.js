'use strict';
// Questions about connections, on the terminal of the command.

const fs = require('node:fs');
const path = require('node:path');
const tty = require('node:tty');

const { printable, printableHost } = require('./printable');

const { O_NOCTTY, O_RDWR } = fs.constants;
const YES = /^\s*y(es)?\s*$/i;
/** An answer is shorter. */
const LINE_MAX = 1024;

/** Asks one question at a time. */
class Asker {
  #program;
  #timeoutMs;
  #terminal;
  #teller;
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();
  #closed = false;
  #saidNoTerminal = false;
  /** Ends the open question. @type {(answer: string) => void} */
  #settle = () => {};

  /**
   * @param {{ program: string, timeoutMs: number, terminal: { terminalTake(fd: number): any, terminalGive(token: any): void },
   *   teller: { tell(text: string): void } }} parts
   */
  constructor({ program, timeoutMs, terminal, teller }) {
    this.#program = printable(path.basename(program));
    this.#timeoutMs = timeoutMs;
    this.#terminal = terminal;
    this.#teller = teller;
  }

  /** @param {{ host: string, port?: number }} question @returns {Promise<boolean>} */
  ask({ host, port }) {
    const answer = this.#last.then(() => this.#askNow(printableHost(host, port)));
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** No question is open any more, and the terminal is as it was. */
  close() {
    this.#closed = true;
    this.#settle('');
  }

  /** @param {string} target */
  async #askNow(target) {
    if (this.#closed) return false;
    const terminal = this.#open();
    if (!terminal) {
      if (!this.#saidNoTerminal) this.#teller.tell(`there is no terminal to ask on: ${target} is refused, and so is what would be asked later`);
      this.#saidNoTerminal = true;
      return false;
    }
    try {
      fs.writeSync(terminal.fd, `\r\nos-sandbox: ${this.#program} wants to reach ${target}. Allow? [y/N] `);
      return YES.test(await this.#readLine(terminal));
    } catch {
      return false;
    } finally {
      this.#terminal.terminalGive(terminal.token);
      terminal.input.destroy();
    }
  }

  /** The terminal, with this process in its foreground and lines to be typed. */
  #open() {
    let fd;
    try {
      fd = fs.openSync('/dev/tty', O_RDWR | O_NOCTTY);
    } catch {
      return undefined;
    }
    const token = this.#terminal.terminalTake(fd);
    if (token === undefined) {
      fs.closeSync(fd);
      return undefined;
    }
    return { fd, token, input: new tty.ReadStream(fd) };
  }

  /**
   * What is typed, up to the end of the line; empty for no answer.
   * @param {{ fd: number, input: tty.ReadStream }} terminal
   * @returns {Promise<string>}
   */
  #readLine({ fd, input }) {
    return new Promise((resolve) => {
      let text = '';
      const settle = (answer, note = '') => {
        clearTimeout(timer);
        process.off('SIGINT', interrupt);
        this.#settle = () => {};
        if (note) fs.writeSync(fd, note);
        resolve(answer);
      };
      const interrupt = () => settle('', '\r\n');
      const timer = setTimeout(() => settle('', `\r\nos-sandbox: no answer in ${this.#timeoutMs / 1000} s: refused\r\n`), this.#timeoutMs);
      this.#settle = (answer) => settle(answer, '\r\n');
      process.on('SIGINT', interrupt);
      input.setEncoding('utf8');
      input.on('error', () => settle(''));
      input.on('end', () => settle(''));
      input.on('data', (chunk) => {
        text += chunk;
        const end = text.search(/[\r\n]/);
        if (end !== -1) settle(text.slice(0, end));
        else if (text.length > LINE_MAX) settle('');
      });
    });
  }
}

module.exports = { Asker };
