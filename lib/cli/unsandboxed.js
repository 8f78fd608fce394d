'use strict';
// The command without a sandbox, where that was asked for by name.

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const { completeRequest, startFailure } = require('../local-run');
const { say } = require('./stdio');

/** The terminal sends these to the command itself. */
const IGNORED = ['SIGINT', 'SIGQUIT'];
const FORWARDED = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];

/**
 * @param {{ argv: string[], cwd: string, env: Record<string, string | undefined> }} request
 * @returns {Promise<{ exitCode: number | undefined, signal: number | undefined }>}
 */
function runUnsandboxed(request) {
  const { argv, cwd, env } = completeRequest(request.argv, { env: request.env }, request.cwd);
  return new Promise((resolve) => {
    const fail = (error) => {
      const { exitCode, message } = startFailure({ argv, cwd, env }, error);
      say(message.replace(/^os-sandbox: |\n$/g, ''));
      resolve({ exitCode, signal: undefined });
    };
    if (argv[0] === '') {
      fail(Object.assign(new Error(), { code: 'ENOENT' }));
      return;
    }
    const child = spawn(argv[0], argv.slice(1), { cwd, env: { ...process.env, ...env }, stdio: 'inherit' });
    const handlers = [
      ...IGNORED.map((name) => [name, () => {}]),
      ...FORWARDED.map((name) => [name, () => child.kill(/** @type {NodeJS.Signals} */ (name))]),
    ];
    for (const [name, handler] of /** @type {any} */ (handlers)) process.on(name, handler);
    const stop = () => {
      for (const [name, handler] of /** @type {any} */ (handlers)) process.off(name, handler);
    };
    child.on('error', (error) => {
      if (child.pid !== undefined) return;
      stop();
      fail(error);
    });
    child.on('exit', (code, signal) => {
      stop();
      resolve({ exitCode: code ?? undefined, signal: signal === null ? undefined : constants.signals[signal] });
    });
  });
}

module.exports = { runUnsandboxed };
