'use strict';
// What the attacks share: a place outside every write root, sandboxes that end with their test, programs, and looking
// from the outside at what an attack left behind.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { LocalMachine, OsSandbox } = require('../..');

/**
 * A folder outside every write root with a workspace, a place where nothing may appear (`out`) and a folder of secrets.
 * @param {any} t
 */
function makePlace(t) {
  const base = fs.mkdtempSync('/var/tmp/os-sandbox-attack-');
  t.teardown(() => fs.rmSync(base, { recursive: true, force: true }));
  const [workspace, out, secrets] = ['workspace', 'out', 'secrets'].map((name) => path.join(base, name));
  for (const folder of [workspace, out, secrets]) fs.mkdirSync(folder);
  return { base, workspace, out, secrets };
}

/**
 * An enabled sandbox that ends with the test. Without one nothing is attacked: the attacks would hit the host.
 * @param {any} t
 * @param {any} [options]
 */
async function startSandbox(t, options) {
  const sandbox = await OsSandbox.start(options);
  if (!sandbox.status.enabled) throw new Error(sandbox.status.reason);
  t.teardown(() => sandbox.dispose());
  return sandbox;
}

/** A script in bash. @param {any} machine @param {string} script @param {any} [options] */
function bash(machine, script, options) {
  return machine.run(['bash', '-c', script], options);
}

/** The same attack without a sandbox: what it can do. @param {string} cwd */
function withoutSandbox(cwd) {
  return new LocalMachine(cwd);
}

/** Compiles test/escapes/<name>.c into a folder, and gives the program's path. @param {string} folder @param {string} name */
function compile(folder, name) {
  const program = path.join(folder, name);
  const source = path.join(__dirname, '..', 'escapes', `${name}.c`);
  execFileSync('cc', ['-std=gnu17', '-D_GNU_SOURCE', '-O1', '-Wall', '-Wextra', '-Werror', '-o', program, source]);
  return program;
}

/** The lines of an attack program, `<attack>: <result>`, as an object. @param {string} stdout */
function resultsOf(stdout) {
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split(/: (.*)/s).slice(0, 2)),
  );
}

/** What stderr is when a program said nothing itself: nothing, or what the sandbox says it refused. */
const NOTHING_BUT_DENIALS = /^(\n<sandbox_violations>\n(deny .*\n)+<\/sandbox_violations>)?$/;

/** Names of the attacks that worked. @param {{ stdout: string }} result of an attack program */
function successes({ stdout }) {
  return Object.entries(resultsOf(stdout))
    .filter(([, result]) => result === 'DONE')
    .map(([name]) => name);
}

/**
 * Everything below a folder that an attack could change: kind, mode, owner, links, size, times, content.
 * @param {string} folder
 * @returns {Record<string, string>}
 */
function snapshot(folder) {
  const seen = {};
  const look = (file) => {
    const facts = fs.lstatSync(file);
    const { mode, uid, gid, nlink, size, mtimeMs } = facts;
    let content = '';
    if (facts.isSymbolicLink()) content = fs.readlinkSync(file);
    else if (facts.isFile()) content = fs.readFileSync(file, 'latin1');
    seen[path.relative(folder, file)] = [mode.toString(8), uid, gid, nlink, size, mtimeMs, content].join(' ');
    if (facts.isDirectory()) for (const name of fs.readdirSync(file)) look(path.join(file, name));
  };
  look(folder);
  return seen;
}

/** A word for a shell. @param {string} word */
function quote(word) {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

module.exports = { NOTHING_BUT_DENIALS, bash, compile, makePlace, quote, resultsOf, snapshot, startSandbox, successes, withoutSandbox };
