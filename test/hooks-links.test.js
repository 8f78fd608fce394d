'use strict';
// A symlink on the way to what a repository's configuration names leads where it did: nobody turns it elsewhere.

const t = require('tap');
const fs = require('node:fs');
const path = require('node:path');
const { makePlace, startSandbox } = require('./helpers/attack');
const { PRELUDE } = require('./helpers/detours');
const { git, makeRepository } = require('./helpers/protected');

/** What is named, how the host has it, and how commands would turn it. */
const TURNED = {
  'a folder in the place of a link': ['core.hooksPath', 'link/h', 'rm link; mkdir -p link/h; hook link/h/post-commit'],
  'another link': ['core.hooksPath', 'link/h', 'mkdir -p evil/h; hook evil/h/post-commit; ln -sfn evil link'],
  'another link moved over it': ['core.hooksPath', 'link/h', 'mkdir -p evil/h; hook evil/h/post-commit; ln -s evil x; mv -T x link'],
  'a chain of links': ['core.hooksPath', 'chain/h', 'rm link; mkdir -p link/h; hook link/h/post-commit'],
  'a link that comes last': ['core.hooksPath', 'link', 'mkdir evil; hook evil/post-commit; ln -sfn evil link'],
  'a link to nothing': ['core.hooksPath', 'nowhere', 'rm nowhere; mkdir nowhere; hook nowhere/post-commit'],
  'a link to what is included': ['include.path', '../included', 'rm included; config included'],
};

t.test('symlinks on the way to hooks and included files', async (t) => {
  const sandbox = await startSandbox(t);
  for (const [what, [key, value, script]] of Object.entries(TURNED)) {
    const { workspace } = makePlace(t);
    const project = makeRepository(path.join(workspace, 'deep/project'));
    fs.mkdirSync(path.join(project, 'real/h'), { recursive: true });
    fs.writeFileSync(path.join(project, 'real/file'), '[user]\n\tname = original\n');
    const links = { link: 'real', chain: 'link', nowhere: 'missing', included: 'real/file' };
    for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(project, name));
    git(project, 'config', key, value);
    const machine = sandbox.machine(workspace);
    // Deep ones are found by the session's own look, which a first command sets going.
    await machine.run(['sleep', '1']);
    const turned = await machine.run(['bash', '-c', `${PRELUDE}cd deep/project; ${script}; touch reached`]);
    t.ok(fs.existsSync(path.join(project, 'reached')), `${what}: the command came to its end`);
    for (const [name, target] of Object.entries(links)) t.equal(fs.readlinkSync(path.join(project, name)), target, `${what}: ${name}`);
    t.match(turned.stderr, /protected: git hooks \(core\.hooksPath\)/, `${what}: is told`);
    const other = await machine.run(['bash', '-c', 'cd deep/project; ln -s real other; ln -sfn deep other; rm other; cat link/file']);
    t.match(other, { exitCode: 0, stdout: /original/ }, `${what}: other links can be changed`);
  }
});
