'use strict';
// Ways to a protected name that no look at the text of one call would find. Each is one script for bash, or several that
// run one after the other, in a workspace of `furnishDetours`; what is evil has that word in it.

const fs = require('node:fs');
const path = require('node:path');
const { fillFolder, foldersIn, git, isGitDirectory, makeRepository } = require('./protected');

/** Functions that the scripts have. */
const PRELUDE = `
exchange() { /usr/bin/python3 -c 'import ctypes, os, sys
sys.exit(ctypes.CDLL(None).renameat2(-100, os.fsencode(sys.argv[1]), -100, os.fsencode(sys.argv[2]), 2) != 0)' "$1" "$2"; }
hook() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\\ntouch evil\\n' > "$1"; chmod 755 "$1"; }
config() { printf '[core]\\n\\tfsmonitor = "touch evil"\\n' >> "$1"; }
parts() { mkdir -p "$1"; cp -r host/.git/HEAD host/.git/objects host/.git/refs "$1"; }
`;

/** @type {Record<string, string | string[]>} */
const DETOURS = {
  'a link to a name that does not exist': 'ln -s .mcp.json link; echo evil > link',
  'a link to one that exists': 'ln -s there/.mcp.json link; echo evil > link',
  'a chain of links': 'ln -s there one; ln -s one/.mcp.json two; ln -s two three; echo evil >> three',
  'a link to a folder': 'ln -s there/.vscode link; echo evil > link/tasks.json',
  'a link to hooks': 'ln -s host/.git/hooks link; hook link/post-commit',
  'a link to a git directory': 'ln -s host/.git link; hook link/hooks/post-commit; config link/config',
  'slashes and dots': 'echo evil > .//there/./../there//.mcp.json; mkdir own/../.vscode; echo evil > own/.././.mcp.json',
  'a folder that is moved to .git, then filled': 'hook stage/hooks/post-commit; mv stage .git; parts .git',
  'a folder that is filled, then moved to .git': 'hook stage/hooks/post-commit; parts stage; mv stage .git',
  'one that is moved into a .git that was made': 'git init -q made; rm -rf made/.git/hooks; hook stage/post-commit; mv stage made/.git/hooks',
  'its hooks that are moved away, and back': 'git init -q made; mv made/.git/hooks away; hook away/post-commit; mv away made/.git/hooks',
  'its hooks that are exchanged': 'git init -q made; mkdir -p made/.git/hooks; hook away/post-commit; exchange away made/.git/hooks',
  'its hooks as a link': 'git init -q made; rm -rf made/.git/hooks; hook away/post-commit; ln -s ../../away made/.git/hooks',
  'its hooks as a link that is filled later': 'git init -q made; rm -rf made/.git/hooks; mkdir away; ln -s ../../away made/.git/hooks; hook away/post-commit',
  'a sample that becomes active': 'git init -q made; hook made/.git/hooks/post-commit.sample; mv made/.git/hooks/post-commit.sample made/.git/hooks/post-commit; ln made/.git/hooks/post-commit.sample made/.git/hooks/pre-commit; ln -s post-commit.sample made/.git/hooks/post-checkout',
  'hooks that cannot be listed': 'hook stage/hooks/post-commit; parts stage; chmod 111 stage/hooks; mv stage .git; chmod 755 .git/hooks',
  'hooks that are locked': 'hook stage/hooks/post-commit; chmod 0 stage/hooks; mv stage .git; chmod 755 .git/hooks; parts .git',
  'a locked folder': 'hook stage/hooks/post-commit; parts stage; chmod 300 stage; mv stage .git; chmod 755 .git',
  'an exchange with .git': 'hook stage/hooks/post-commit; parts stage; git init -q made; exchange stage made/.git',
  'an exchange with the host\'s .git': 'hook stage/hooks/post-commit; parts stage; exchange stage host/.git',
  'a moved .git': 'mv host/.git host/git; config host/git/config; mv host/git host/.git',
  'hooks of the host that are moved': 'mv host/.git/hooks host/.git/h; hook host/.git/h/post-commit; mv host/.git/h host/.git/hooks',
  'a bare repository without its refs for a moment': 'mv bare.git/refs bare.git/r; hook bare.git/hooks/post-commit; config bare.git/config; mv bare.git/r bare.git/refs',
  'a bare repository without its objects for a moment': 'mv bare.git/objects own/; hook bare.git/hooks/post-commit; config bare.git/config; mv own/objects bare.git/',
  'a bare repository without its HEAD for a moment': 'mv bare.git/HEAD bare.git/H; hook bare.git/hooks/post-commit; config bare.git/config; mv bare.git/H bare.git/HEAD',
  'a bare repository that is put together': 'hook new/hooks/post-commit; config new/config; parts new',
  'one with a name as of what was deleted': 'mkdir new "new (deleted)"; cd "new (deleted)"; hook hooks/post-commit; config config; cp -r ../host/.git/HEAD ../host/.git/objects ../host/.git/refs .',
  'one whose parts are links to come': ['mkdir new; cp host/.git/HEAD new/; hook new/hooks/post-commit; config new/config; ln -s ../own/objects ../own/refs new/', 'mkdir own/objects own/refs'],
  'one that is put together over two runs': ['hook new/hooks/post-commit; config new/config; mkdir new/objects', 'mkdir new/refs; cp host/.git/HEAD new/'],
  'a folder that another run prepared': ['hook stage/hooks/post-commit; config stage/config', 'mv stage .git; parts .git'],
  'a module of a repository that is moved to its place': 'git init -q made; hook stage/m/hooks/post-commit; parts stage/m; config stage/m/config; mkdir -p made/.git; mv stage made/.git/modules',
  'modules that another run prepared': ['hook stage/m/hooks/post-commit; config stage/m/config', 'mv stage host/.git/modules2; mkdir -p host/.git/modules/n; mv host/.git/modules2/m host/.git/modules/n/m; parts host/.git/modules/n/m'],
  'a .git that is a link': 'hook stage/hooks/post-commit; parts stage; config stage/config; mkdir made; ln -s ../stage made/.git',
  'a .git that is a link, filled later': 'mkdir stage made; ln -s ../stage made/.git; hook stage/hooks/post-commit; config stage/config; parts stage',
  'a .git file that is written': 'git init -q made; echo "gitdir: ../made/.git" > sub/.git',
  'a .git file that is moved over': 'git init -q made; echo "gitdir: ../made/.git" > new; mv -f new sub/.git',
  'a .git file that is exchanged': 'git init -q made; echo "gitdir: ../made/.git" > new; exchange new sub/.git',
  'a new common directory': 'git init -q made; echo ../../made/.git > host/.git/commondir',
  'settings by a detour of their folder': 'mv there/.claude other; echo evil > other/settings.json; mv other there/.claude',
  'a folder that is moved to .claude': 'mkdir -p x/commands; echo evil > x/commands/a.md; mv x .claude',
  'a folder that is moved into .claude': 'mkdir -p .claude x; echo evil > x/a.md; mv x .claude/commands',
  'a folder that is exchanged with .claude': 'mkdir -p x/commands; echo evil > x/commands/a.md; mkdir .claude; exchange x .claude; exchange .claude x; exchange .claude x',
  'a link named .claude': 'mkdir -p x/commands; echo evil > x/commands/a.md; ln -s x .claude',
  'a link named .claude, filled later': 'mkdir x; ln -s x .claude; mkdir x/commands; echo evil > x/commands/a.md',
  'a link named .claude, filled in a later run': ['mkdir x; ln -s x .claude', 'mkdir x/commands; echo evil > x/commands/a.md'],
  'a link that is moved to .claude': 'mkdir -p x/commands; echo evil > x/commands/a.md; ln -s x y; mv -T y .claude',
  'a link named .config': 'mkdir -p x/os-sandbox; echo evil > x/os-sandbox/a; ln -s x .config',
  'a parent that is moved': 'mv there other; echo evil > other/.mcp.json; mv other there',
  'a parent that is moved, and a new one': 'mv there/.vscode other; mkdir there/.vscode; echo evil > there/.vscode/tasks.json',
  'an exchange with a parent': 'mkdir -p x/.claude2/commands; exchange x/.claude2 there/.claude',
  'the root of the process': 'echo evil > /proc/self/root$PWD/.mcp.json; echo evil > /proc/self/root$PWD/there/.mcp.json',
  'the cwd of the process': 'echo evil > /proc/self/cwd/.mcp.json; echo evil > /proc/thread-self/cwd/there/.mcp.json; mkdir /proc/self/cwd/.vscode',
  'a descriptor of the process': 'exec 5< .; echo evil > /proc/self/fd/5/.mcp.json; echo evil > /dev/fd/5/there/.mcp.json; mkdir /proc/self/fd/5/.vscode',
  'the cwd of another process': 'sleep 60 & sleep 0.1; echo evil > /proc/$!/cwd/.mcp.json; mkdir /proc/$!/cwd/.vscode; echo evil > /proc/$!/root$PWD/there/.mcp.json; kill $!',
  'a descriptor of another process': 'sleep 60 5< . & sleep 0.1; echo evil > /proc/$!/fd/5/.mcp.json; echo evil > /proc/$!/fd/5/there/.mcp.json; kill $!',
  'from below': 'mkdir -p own/a; cd own/a; echo evil > ../../.mcp.json; mkdir ../../.vscode',
  'an alias of a file that is moved': 'echo evil > plain; ln plain other; mv other there/.mcp.json',
};

/** @param {string} workspace */
function furnishDetours(workspace) {
  const inside = (name) => path.join(workspace, name);
  makeRepository(inside('host'));
  makeRepository(inside('bare.git'), '--bare');
  // A submodule, by relative names: the workspace is copied.
  const module = inside('host/.git/modules/sub');
  fs.mkdirSync(inside('sub'));
  git(inside('sub'), 'init', '-q');
  fs.mkdirSync(path.dirname(module));
  fs.renameSync(inside('sub/.git'), module);
  fs.writeFileSync(inside('sub/.git'), 'gitdir: ../host/.git/modules/sub\n');
  for (const folder of ['there/.vscode', 'there/.claude/commands']) fillFolder(inside(folder));
  for (const name of ['there/.mcp.json', 'there/.claude/settings.json']) fs.writeFileSync(inside(name), 'original');
  fs.mkdirSync(inside('own'));
}

/** @param {any} machine @param {string | string[]} scripts */
async function runDetour(machine, scripts) {
  const results = [];
  for (const script of [scripts].flat()) results.push(await machine.run(['bash', '-c', `${PRELUDE}\n${script}`]));
  return results;
}

/** Whether git would act on a text, as far as these attacks go. @param {unknown} what */
const isEvil = (what) => /^[^#;]*evil/m.test(JSON.stringify(what).replaceAll('\\n', '\n'));

/** A repository that was made may have its own configuration, and a file that names its directory. */
const mayBeNew = ([name, what]) => /(^|\/)(config|\.git)$/.test(name) && !isEvil(what);

/**
 * What an attack did that it may not: the paths of what was changed, is gone, or is new.
 * @param {Record<string, unknown>} before
 * @param {Record<string, unknown>} after
 */
function harm(before, after) {
  const same = (name) => JSON.stringify(before[name]) === JSON.stringify(after[name]);
  const known = Object.keys(before).filter((name) => !same(name));
  const made = Object.entries(after).filter(([name]) => !(name in before));
  return [...known, ...made.filter((entry) => !mayBeNew(entry)).map(([name]) => name)];
}

/** Lets the host's git look at everything; gives the traces of what it ran. @param {string} workspace */
function runHostGit(workspace) {
  const folders = foldersIn(workspace).filter((folder) => fs.existsSync(path.join(folder, '.git')) || isGitDirectory(folder));
  for (const folder of folders) {
    for (const args of [['status'], ['commit', '-q', '--allow-empty', '-m', 'x']]) {
      try {
        git(folder, '-C', folder, ...args);
      } catch {}
    }
  }
  return foldersIn(workspace).filter((folder) => fs.existsSync(path.join(folder, 'evil')));
}

module.exports = { DETOURS, PRELUDE, furnishDetours, harm, isEvil, runDetour, runHostGit };
