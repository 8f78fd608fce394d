'use strict';
// The same work in three places, at the same path, one after the other: outside, in a sandbox, and in a sandbox that
// monitors nothing. What it prints, how it ends and what it leaves behind has to be the same.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { LocalMachine } = require('../..');
const { describeFiles } = require('./honest-files');
const { scratchFolder, startSandbox } = require('./sandbox');

/**
 * Outside, root gives up what no command has in a sandbox, its capabilities, or they would be a difference
 * everywhere; that commands have none is tested elsewhere.
 */
const WITHOUT_RIGHTS = ['setpriv', '--no-new-privs'];
if (process.getuid() === 0) WITHOUT_RIGHTS.push('--bounding-set=-all', '--inh-caps=-all');

const ROOT = path.join(__dirname, '..', '..');
const MINUTE = 60_000;

/** No variable but these: what runs the tests adds some of its own, which make every node write files. */
function cleanEnvironment(/** @type {string} */ home) {
  const none = Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]));
  return { ...none, PATH: process.env.PATH, HOME: home, LC_ALL: 'C.UTF-8' };
}

/**
 * @typedef {object} Work
 * @property {string | string[]} command a script for bash, or words
 * @property {(folder: string) => void} [prepare] fills the workspace, from outside
 * @property {Record<string, string>} [env]
 * @property {(text: string) => string} [normalize] takes out of an output what is no two times the same
 * @property {RegExp} [volatile] the files of which only kind, mode and owner are compared
 * @property {boolean} [times] whether times are compared too
 * @property {number} [exitCode] else 0
 * @property {number} [timeoutMs]
 */

/** @typedef {{ name: string, run: (argv: string[], options?: any) => Promise<any> }} Place */

/** A workspace, and the three places that work in it. */
class Places {
  /** @param {string} folder @param {Place[]} places outside is the first */
  constructor(folder, places) {
    this.folder = folder;
    this.places = places;
  }

  /** @param {any} t */
  static async open(t) {
    const folder = path.join(scratchFolder(t), 'work');
    fs.mkdirSync(folder);
    const local = new LocalMachine(folder);
    const sandbox = await startSandbox(t);
    if (sandbox.status.guarantees.violations !== 'reported') throw new Error('no supervisor on this host: nothing to compare');
    const monitored = sandbox.machine(folder);
    const unmonitored = (await startSandbox(t, { monitorViolations: false })).machine(folder);
    return new Places(folder, [
      { name: 'outside', run: (argv, options) => local.run([...WITHOUT_RIGHTS, ...argv], options) },
      { name: 'monitored', run: (argv, options) => monitored.run(argv, options) },
      { name: 'not monitored', run: (argv, options) => unmonitored.run(argv, options) },
    ]);
  }

  /**
   * Does some work in one place, in a new workspace with nothing in it but what `prepare` puts there.
   * @param {Place} place
   * @param {Work} work
   */
  async #workIn(place, { command, prepare, env, normalize = (text) => text, timeoutMs = MINUTE, ...aspects }) {
    fs.rmSync(this.folder, { recursive: true });
    fs.mkdirSync(this.folder);
    prepare?.(this.folder);
    const argv = typeof command === 'string' ? ['bash', '-c', command] : command;
    const result = await place.run(argv, { env: { ...cleanEnvironment(this.folder), ...env }, timeoutMs });
    return {
      exitCode: result.exitCode,
      stdout: normalize(result.stdout),
      stderr: normalize(result.stderr),
      files: describeFiles(this.folder, aspects),
    };
  }

  /**
   * Does the work in every place, outside first.
   * @param {Work} work
   */
  async everywhere(work) {
    const results = [];
    for (const place of this.places) results.push({ name: place.name, ...(await this.#workIn(place, work)) });
    return results;
  }

  /**
   * Compares the work in the sandboxes with the work outside, which has to succeed.
   * @param {any} t
   * @param {Work} work
   */
  async compare(t, work) {
    const [outside, ...sandboxes] = await this.everywhere(work);
    t.equal(outside.exitCode, work.exitCode ?? 0, outside.name, { output: (outside.stdout + outside.stderr).slice(-2000) });
    for (const sandbox of sandboxes) t.same(sandbox, { ...outside, name: sandbox.name }, sandbox.name);
  }
}

/** Puts a C program of test/honest into a workspace. @param {string} name */
function compile(name) {
  const program = path.join(ROOT, 'build', 'honest', name);
  const flags = ['-std=gnu17', '-D_GNU_SOURCE', '-O1', '-g', '-Wall', '-Wextra', '-Werror', '-pthread'];
  fs.mkdirSync(path.dirname(program), { recursive: true });
  execFileSync('cc', [...flags, '-o', program, path.join(ROOT, 'test', 'honest', `${name}.c`)]);
  return (/** @type {string} */ folder) => fs.copyFileSync(program, path.join(folder, name));
}

/** A script that has a program of the workspace work in a folder of its own on a tmpfs. @param {string} command */
const onTmpfs = (command) =>
  `folder=/dev/shm/os-sandbox-honest-${process.pid}; tool=$PWD; mkdir $folder && cd $folder && "$tool"/${command}; rmdir $folder`;

module.exports = { compile, onTmpfs, Places };
