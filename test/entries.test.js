'use strict';
// Both entries and the optional core, as an installed package has them: no resolve hook, no loader.

const t = require('tap');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { addBuild, install, packCore, packThis, root, scratchFolder } = require('./helpers/projects.js');

const programs = path.join(root, 'test', 'fixtures', 'entries');
const scratch = scratchFolder();
const tarball = packThis(scratch);
const cores = { g1: packCore(scratch, 'g1'), g2: packCore(scratch, 'g2') };

const NAMES = [
  'FileExistsError',
  'LocalEnvironment',
  'LocalMachine',
  'OsSandbox',
  'SandboxedLocalEnvironment',
  'SandboxedLocalMachine',
  'StaleFileError',
  'shellQuoteArg',
  'toSrtInvocation',
];
const ORDERS = ['import-first.mjs', 'require-first.cjs', 'together.mjs'];
/** More Nodes to run the programs on, colon separated paths. */
const nodes = [process.execPath, ...(process.env.NODE_BINARIES ?? '').split(':').filter(Boolean)];

function project(name, packages) {
  const folder = install(path.join(scratch, name), packages);
  fs.cpSync(programs, path.join(folder, 'programs'), { recursive: true });
  addBuild(path.join(folder, 'node_modules', 'operon-os-sandbox'));
  return folder;
}

function spawn(node, folder, program, { cwd = '/', flags = [] } = {}) {
  return spawnSync(node, [...flags, path.join(folder, 'programs', program)], { cwd, encoding: 'utf8' });
}

/** Runs a program of the project and gives what it reported; it may say nothing else. */
function run(t, node, folder, program, options) {
  const { status, stdout, stderr } = spawn(node, folder, program, options);
  t.equal(stderr, '');
  t.equal(status, 0);
  return JSON.parse(stdout || '{}');
}

const SANDBOXED = {
  names: NAMES,
  same: true,
  sameNames: true,
  ownMachine: true,
  exportedError: true,
  plainMachineIsPlain: true,
  status: { enabled: true },
  inside: { exitCode: 0, stdout: 'ran\n' },
  outside: { failed: true, escaped: false },
};
const WITH_CORE = { ...SANDBOXED, coresMachine: true, exportsCoresClass: true, coresError: true };
const WITHOUT_CORE = { ...SANDBOXED, coresMachine: false, exportsCoresClass: false };

function saysNothingOfTheCore(t, { status }) {
  t.notOk(status.warnings.some((text) => text.includes('operon-agents-core')), 'no warning about the core');
}

for (const node of nodes) {
  const version = spawnSync(node, ['-v'], { encoding: 'utf8' }).stdout.trim();

  for (const generation of ['g1', 'g2']) {
    t.test(`${version}: beside a core of generation ${generation} the machines are the core's, through both entries`, async (t) => {
      const folder = project(`${generation}-${version}`, [tarball, cores[generation]]);
      for (const program of ORDERS) {
        const report = run(t, node, folder, program);
        t.match(report, WITH_CORE, program);
        saysNothingOfTheCore(t, report);
      }
    });
  }

  t.test(`${version}: without a core the machines are the package's own, and none is picked up from the cwd`, async (t) => {
    const folder = project(`none-${version}`, [tarball]);
    const elsewhere = install(path.join(scratch, `cwd-${version}`), [cores.g1]);
    for (const program of ORDERS) {
      const report = run(t, node, folder, program, { cwd: elsewhere });
      t.match(report, WITHOUT_CORE, program);
      saysNothingOfTheCore(t, report);
    }
  });

  t.test(`${version}: a linked package finds the core of the program that runs`, async (t) => {
    const source = path.join(install(path.join(scratch, `source-${version}`), [tarball]), 'node_modules', 'operon-os-sandbox');
    const checkout = path.join(scratch, `checkout-${version}`);
    fs.renameSync(source, checkout);
    const folder = project(`linked-${version}`, [checkout, cores.g1]);
    t.ok(fs.lstatSync(path.join(folder, 'node_modules', 'operon-os-sandbox')).isSymbolicLink());
    for (const program of ORDERS) {
      const report = run(t, node, folder, program);
      t.match(report, WITH_CORE, program);
      saysNothingOfTheCore(t, report);
    }

    const linkedProgram = path.join(scratch, `bin-${version}.mjs`);
    fs.symlinkSync(path.join(folder, 'programs', 'import-first.mjs'), linkedProgram);
    const { stdout } = spawnSync(node, [linkedProgram], { cwd: '/', encoding: 'utf8' });
    t.match(JSON.parse(stdout), WITH_CORE, 'also where the program was started through a link');
  });

  t.test(`${version}: a require() at any moment of an import gives the same classes`, async (t) => {
    const folder = project(`crossing-${version}`, [tarball, cores.g1]);
    const { same } = run(t, node, folder, 'crossing.cjs');
    t.strictSame(same, Array(40).fill(true));
  });

  t.test(`${version}: a require() in the middle of the core's own import is right, or says why not`, async (t) => {
    const folder = path.join(scratch, `g1-${version}`);
    const { same, coresMachine, ownMachine, status } = run(t, node, folder, 'with-core.mjs');
    t.equal(ownMachine, true);
    t.equal(same, coresMachine);
    t.equal(status.warnings.some((text) => /not instances of its classes: it was still loading/.test(text)), !coresMachine);
  });

  t.test(`${version}: where require() loads no ES modules the import alone has the core, and shares it afterwards`, async (t) => {
    const folder = path.join(scratch, `g1-${version}`);
    const flags = ['--no-experimental-require-module'];
    t.match(run(t, node, folder, 'import-first.mjs', { flags }), WITH_CORE);
    const report = run(t, node, folder, 'require-first.cjs', { flags });
    t.match(report, { same: false, coresMachine: false, exportsCoresClass: true, ownMachine: true });
    t.match(report.status.warnings.join(), /operon-agents-core is installed, but .*does not require\(\) ES modules.* by import/);
  });

  t.test(`${version}: a core with a default export, which require() wraps, still has one set of classes`, async (t) => {
    const folder = project(`default-${version}`, [tarball, cores.g1]);
    fs.appendFileSync(path.join(folder, 'node_modules', 'operon-agents-core', 'dist', 'index.js'), 'export default {};\n');
    for (const program of ORDERS) t.match(run(t, node, folder, program), WITH_CORE, program);
  });

  t.test(`${version}: a core with both classes has each of them sandboxed`, async (t) => {
    const folder = project(`both-${version}`, [tarball, cores.g1]);
    const entry = path.join(folder, 'node_modules', 'operon-agents-core', 'dist', 'index.js');
    fs.appendFileSync(entry, 'export class LocalEnvironment extends LocalMachine {}\n');
    for (const program of ORDERS) t.match(run(t, node, folder, program), { ...WITH_CORE, oneClass: false }, program);
  });

  t.test(`${version}: a core that require() cannot load is a warning there, and used by the import`, async (t) => {
    const folder = project(`await-${version}`, [tarball, cores.g2]);
    fs.appendFileSync(path.join(folder, 'node_modules', 'operon-agents-core', 'dist', 'index.js'), 'await null;\n');
    t.match(run(t, node, folder, 'import-first.mjs'), WITH_CORE);
    const report = run(t, node, folder, 'require-first.cjs');
    t.match(report, { same: false, coresMachine: false, exportsCoresClass: true, ownMachine: true });
    t.match(report.status.warnings.join(), /operon-agents-core is installed, but .*top-level await.* by import/);
  });

  t.test(`${version}: a core that breaks breaks the program, with its own error`, async (t) => {
    const folder = project(`broken-${version}`, [tarball, cores.g1]);
    const entry = path.join(folder, 'node_modules', 'operon-agents-core', 'dist', 'index.js');
    const sound = fs.readFileSync(entry, 'utf8');
    const breaks = { 'throw new Error("core broke");': /core broke/, 'import "not-installed";': /Cannot find package 'not-installed'/ };
    for (const [line, message] of Object.entries(breaks)) {
      fs.writeFileSync(entry, `${sound}\n${line}\n`);
      for (const program of ORDERS) {
        const { status, stderr } = spawn(node, folder, program);
        t.equal(status, 1, program);
        t.match(stderr, message, program);
      }
    }
  });

  t.test(`${version}: a core with neither class is said to be unusable`, async (t) => {
    const folder = project(`unknown-${version}`, [tarball, cores.g1]);
    fs.writeFileSync(path.join(folder, 'node_modules', 'operon-agents-core', 'dist', 'index.js'), 'export const other = 1;\n');
    const report = run(t, node, folder, 'import-first.mjs');
    t.match(report, { same: true, ownMachine: true, coresMachine: false });
    t.match(report.status.warnings.join(), /operon-agents-core is installed, but has neither/);
  });
}
