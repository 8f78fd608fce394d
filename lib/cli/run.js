'use strict';
// One command in the foreground.

const { startSandbox } = require('../start');
const { bytesOf, commandOf, cwdOf, envOf } = require('./command');
const { UsageError } = require('./errors');
const { STDERR, namingTheFlag } = require('./layers');

const DEFAULT_ASK_SECONDS = 60;

/** @typedef {{ exitCode: number | undefined, signal: number | undefined }} Ended */

/** @typedef {import('./teller').Teller} Teller */

/** Tells each warning once. @param {Teller} teller */
function warnerOf(teller) {
  const told = new Set();
  /** @param {readonly string[]} texts */
  return (texts) => {
    for (const text of texts) {
      if (!told.has(text)) teller.tell(`warning: ${text}`);
      told.add(text);
    }
  };
}

/** Passwords of a proxy are nobody's business. @param {unknown} value */
function debugText(value) {
  return JSON.stringify(value, (key, member) => (key === 'upstreamProxy' ? String(member).replace(/[^/]*@/, '…@') : member));
}

/** Who is asked on the terminal. @param {any} flags @param {string} program @param {Teller} teller */
function makeAsker({ ask, askTimeout = DEFAULT_ASK_SECONDS }, program, teller) {
  if (!ask) return undefined;
  const { Asker } = require('./ask');
  return new Asker({ program, timeoutMs: askTimeout * 1000, terminal: require('../native').loadNative().addon, teller });
}

/**
 * Tells of refused attempts as they happen; what it gives tells the rest, when all have ended.
 * @param {import('../violations').Violations} violations
 * @param {Teller} teller
 */
function tellOf(violations, teller) {
  /** @param {any} violation */
  const violationLine = (violation) => require('./printable').violationLine(violation);
  violations.listeners.add((event) => teller.tell(violationLine(event)), false);
  return () => {
    const view = violations.view();
    for (const violation of view.list()) {
      if (violation.count > 1) teller.tell(`${violationLine(violation)} (×${violation.count})`);
    }
    if (view.counts.dropped > 0) teller.tell(`${view.counts.dropped} more refused attempts, of which no line tells`);
  };
}

/**
 * Where nothing can be sandboxed.
 * @param {{ flags: any, words: string[], exact?: Buffer[] }} parsed
 * @param {string} reason
 * @returns {Promise<Ended>}
 */
async function refuse({ flags, words, exact }, reason) {
  const { say } = require('./stdio');
  if (!flags.allowUnsandboxed) {
    say(`cannot sandbox: ${reason}`);
    say('nothing was run; os-sandbox doctor tells more, --allow-unsandboxed runs the command all the same');
    return { exitCode: require('./exit-codes').SANDBOX, signal: undefined };
  }
  if (exact) throw new UsageError('--allow-unsandboxed: the command has words that may not be UTF-8');
  const request = { argv: commandOf(flags, words), cwd: cwdOf(flags), env: envOf(flags, process.env) };
  say(`warning: running without a sandbox: ${reason}`);
  return require('./unsandboxed').runUnsandboxed(request);
}

/**
 * Started for one command. Throws a UsageError or a SettingsError where something the user gave cannot be used.
 * @param {any} flags
 * @param {any} options
 */
async function start(flags, options) {
  try {
    return await startSandbox(options, { foreground: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const byFlag = flags.violations !== undefined && error.message.startsWith('violationLog');
    throw byFlag ? new UsageError(namingTheFlag(error)) : Object.assign(error, { name: 'SettingsError' });
  }
}

/**
 * @param {any} session
 * @param {{ argv: string[], argvBytes?: Buffer, cwd: string, env: Record<string, string | undefined> }} request
 * @returns {Promise<Ended & { failure?: { text: string, off: boolean } }>} off: nothing can be sandboxed here
 */
async function runIn(session, request) {
  try {
    return await require('../foreground').runForeground(session, { ...request, machineCwd: request.cwd });
  } catch (error) {
    if (error.code !== 'ERR_OS_SANDBOX') throw error;
    const failure = { text: error.message.replace(/^os-sandbox: /, ''), off: error.off === true };
    return { exitCode: require('./exit-codes').SANDBOX, signal: undefined, failure };
  }
}

/**
 * @param {{ flags: any, words: string[], exact?: Buffer[], options: any, warnings: string[], cwd: string }} invocation
 * @returns {Promise<Ended>}
 */
async function run({ flags, words, exact, options, warnings, cwd }) {
  const argv = commandOf(flags, words);
  const request = { argv, argvBytes: exact && bytesOf(argv, exact), cwd, env: envOf(flags, process.env) };
  /** @type {any} made below, before anything is asked */
  let asker;
  const asked = flags.ask ? { ...options, network: { ...options.network, onAskHost: (question) => asker.ask(question) } } : options;
  const starting = start(flags, asked);
  // Loaded while the sandbox starts.
  const { Teller } = require('./teller');
  const teller = new Teller();
  const warn = warnerOf(teller);
  const debug = flags.debug ? (what, value) => teller.tell(`debug: ${what} ${debugText(value)}`) : () => {};
  warn(warnings);
  debug('options', options);
  asker = makeAsker(flags, argv[0], teller);
  require('../foreground');
  const { session, status } = /** @type {{ session: any, status: () => any }} */ (await starting);
  if (!session) return refuse({ flags, words, exact }, status().reason);
  warn(status().warnings);
  const tellRest = (flags.violations ?? STDERR) === STDERR ? tellOf(session.violations, teller) : () => {};
  let ended;
  try {
    ended = await runIn(session, request);
  } finally {
    asker?.close();
    await session.dispose();
  }
  tellRest();
  debug('guarantees', status().guarantees);
  warn(status().warnings);
  if (ended.failure && !ended.failure.off) teller.tell(ended.failure.text);
  await teller.flush();
  return ended.failure?.off ? refuse({ flags, words, exact }, ended.failure.text) : ended;
}

module.exports = { refuse, run, start };
