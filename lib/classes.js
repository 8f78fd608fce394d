'use strict';

/** The public classes, made once per framework core, so that every entry and every caller shares them. */

const ownErrors = require('./errors.js');
const { LocalMachine: OwnMachine } = require('./local-machine.js');
const { makeOsSandbox } = require('./os-sandbox.js');
const { makeSandboxedMachine } = require('./sandboxed-machine.js');

/** By base class and not by namespace: require() and import() may wrap one module in two namespace objects. */
const made = new WeakMap();

const UNKNOWN_CORE = 'operon-agents-core is installed, but has neither LocalMachine nor LocalEnvironment: machines are this package\'s own';

/**
 * @param {Record<string, any> | null} core the module namespace of operon-agents-core; null: none
 * @param {readonly string[]} [warnings] what `status.warnings` must say about the choice of the core
 */
function classesFor(core, warnings = []) {
  const bases = basesOf(core ?? {});
  const key = bases.LocalMachine;
  if (!made.has(key)) made.set(key, { warnings: [], classes: undefined });
  const entry = made.get(key);
  const news = core && key === OwnMachine ? [...warnings, UNKNOWN_CORE] : warnings;
  entry.warnings.push(...news.filter((text) => !entry.warnings.includes(text)));
  entry.classes ??= make(bases, entry.warnings);
  return entry.classes;
}

/** Both generations' names, whichever of them the core has. */
function basesOf(core) {
  return {
    LocalMachine: core.LocalMachine ?? core.LocalEnvironment ?? OwnMachine,
    LocalEnvironment: core.LocalEnvironment ?? core.LocalMachine ?? OwnMachine,
    FileExistsError: core.FileExistsError ?? ownErrors.FileExistsError,
    StaleFileError: core.StaleFileError ?? ownErrors.StaleFileError,
  };
}

function make(bases, warnings) {
  const { LocalMachine, LocalEnvironment, FileExistsError, StaleFileError } = bases;
  const errors = { FileExistsError, StaleFileError };
  const SandboxedLocalMachine = named('SandboxedLocalMachine', makeSandboxedMachine(LocalMachine));
  const SandboxedLocalEnvironment =
    LocalEnvironment === LocalMachine ? SandboxedLocalMachine : named('SandboxedLocalEnvironment', makeSandboxedMachine(LocalEnvironment));
  const machines = { LocalMachine, SandboxedLocalMachine, LocalEnvironment, SandboxedLocalEnvironment };
  return Object.freeze({ OsSandbox: makeOsSandbox({ ...machines, warnings }), ...machines, ...errors });
}

function named(name, given) {
  return Object.defineProperty(given, 'name', { value: name });
}

module.exports = { classesFor };
