'use strict';
// The types of the packed package, compiled as consumers do, with every declaration file checked too.

const t = require('tap');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { install, packCore, packThis, root, scratchFolder } = require('./helpers/projects.js');

const sources = path.join(root, 'test', 'types');
const scratch = scratchFolder();
const tarball = packThis(scratch);

const STRICT = ['--noEmit', '--strict', '--target', 'es2022', '--skipLibCheck', 'false'];
/** A source is compiled as what its extension says: with node16 and nodenext that decides between the two entries. */
const MODULES = [
  { module: 'node16', moduleResolution: 'node16', extensions: ['mts', 'cts', 'ts'] },
  { module: 'nodenext', moduleResolution: 'nodenext', extensions: ['mts', 'cts', 'ts'] },
  { module: 'esnext', moduleResolution: 'bundler', extensions: ['ts'] },
];

function compile(project, files, ...flags) {
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  return spawnSync(process.execPath, [tsc, ...STRICT, ...flags, ...files], { cwd: project, encoding: 'utf8' }).stdout;
}

/** Copies the sources under each extension and gives the copies' names. */
function addSources(project, names, extensions) {
  const copies = names.flatMap((name) => extensions.map((extension) => [`${name}.ts`, `${name}.${extension}`]));
  for (const [source, copy] of copies) fs.copyFileSync(path.join(sources, source), path.join(project, copy));
  return copies.map(([, copy]) => copy);
}

const PROJECTS = [
  { core: 'none', packages: [tarball] },
  { core: 'g1', packages: [tarball, packCore(scratch, 'g1')] },
  { core: 'g2', packages: [tarball, packCore(scratch, 'g2')] },
];

for (const { core, packages } of PROJECTS) {
  t.test(`the types hold with this core: ${core}`, async (t) => {
    const project = install(path.join(scratch, core), packages);
    for (const { module, moduleResolution, extensions } of MODULES) {
      const files = addSources(project, ['contract', 'consumer', core], extensions);
      t.equal(compile(project, files, '--lib', 'es2022', '--module', module, '--moduleResolution', moduleResolution), '', moduleResolution);
    }
  });
}

t.test("the types go together with Node's own", async (t) => {
  const project = path.join(scratch, 'none');
  const files = addSources(project, ['consumer', 'node'], ['mts']);
  const nodesTypes = ['--typeRoots', path.join(root, 'node_modules', '@types'), '--types', 'node'];
  t.equal(compile(project, files, '--lib', 'es2022', '--module', 'nodenext', ...nodesTypes), '');
});
