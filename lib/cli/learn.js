'use strict';

const { learnFrom } = require('../learn');
const { envOf } = require('./command');
const { UsageError } = require('./errors');
const { SANDBOX } = require('./exit-codes');
const { targetOf, printable } = require('./printable');
const { start } = require('./run');

/** What the JSON is printed on is not the command's: its output goes to stderr. */
const DESCRIPTORS = /** @type {[number, number, number]} */ ([0, 2, 2]);
/** More kinds of refusals than a person would review. */
const KINDS_MAX = 10_000;

/** Everything that is refused is to be seen. @param {any} options */
function watched({ ignoreViolations, ...options }) {
  return { ...options, monitorViolations: true, monitorReads: true };
}

/** Each kind of refusal once. @param {any} session */
function collectFrom(session) {
  /** @type {Map<string, import('../violations').Violation>} */
  const kinds = new Map();
  session.violations.listeners.add((event) => {
    const key = JSON.stringify([event.operation, event.path, event.host, event.port, event.why]);
    if (!kinds.has(key) && kinds.size < KINDS_MAX) kinds.set(key, event);
  }, false);
  return kinds;
}

/** @param {{ exitCode: number | undefined, signal: number | undefined }} ended */
function codeOf({ exitCode, signal }) {
  return signal === undefined ? exitCode ?? SANDBOX : 128 + signal;
}

/**
 * learn [options] [--] COMMAND…: runs it as ever, and prints the settings that would have let it pass.
 * @param {{ flags: any, words: string[], options: any, warnings: string[], cwd?: string, stdout: { write(text: string): unknown }, stderr: { write(text: string): unknown } }} request
 * @returns {Promise<number>} the command's exit code
 */
async function main({ flags, words, options, warnings, cwd = process.cwd(), stdout, stderr }) {
  if (words.length === 0) throw new UsageError('learn: expected a command');
  const say = (/** @type {string} */ text) => stderr.write(`os-sandbox: ${text}\n`);
  const { session, status } = await start(flags, watched(options));
  const { enabled, reason } = /** @type {any} */ (status());
  if (!enabled || !session) {
    say(`cannot sandbox: ${reason}`);
    return SANDBOX;
  }
  const kinds = collectFrom(session);
  let code;
  try {
    code = codeOf(await require('../foreground').runForeground(session, { argv: words, cwd, env: envOf(flags, process.env), machineCwd: cwd, descriptors: DESCRIPTORS }));
  } catch (error) {
    if (error.code !== 'ERR_OS_SANDBOX') throw error;
    say(error.message.replace(/^os-sandbox: /, ''));
    return SANDBOX;
  } finally {
    await session.dispose();
  }
  for (const warning of new Set([...warnings, ...session.warnings])) say(`warning: ${warning}`);
  if (kinds.size === KINDS_MAX || session.violations.view().counts.dropped > 0) say('warning: there were more refusals than are looked at');
  if (!session.features.supervised) say('warning: files and sockets that were refused are not seen on this host');
  const { settings, cautions, ungranted } = await learnFrom([...kinds.values()], options, { cwd });
  for (const { violation, why } of ungranted) say(`not granted by any addition: ${printable(violation.operation)} ${targetOf(violation)} (${printable(why)})`);
  for (const caution of cautions) say(`think twice about ${printable(caution)}`);
  stdout.write(`${JSON.stringify(settings, undefined, 2)}\n`);
  return code;
}

module.exports = { main };
