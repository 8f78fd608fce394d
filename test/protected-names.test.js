'use strict';
// Names that programs of the host read and act on: no command makes, changes or removes one, wherever it lies.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, compile, makePlace, quote, resultsOf, snapshot, startSandbox, withoutSandbox } = require('./helpers/attack');
const { chainOf } = require('./helpers/chain');
const { eventually } = require('./helpers/processes');
const { FILES, FOLDERS, NAMES, actedOn, fillFolder, git, makeNames, makeParents, makeRepository, protections, snapshotWithout } = require('./helpers/protected');
const { processesWith, uniqueDuration } = require('./helpers/sandbox');
const { startElsewhere } = require('./helpers/sandbox-elsewhere');
const { blockOf } = require('./helpers/violations');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = compile(programs, 'protected_names');

const DEEP = 'a/b/c/d/e';
/** Errors that say "you may not"; without the attribute to remove, that there is none. */
const REFUSALS = new Set(['EACCES', 'EROFS', 'EPERM', 'EBUSY', 'EXDEV']);

/** Calls that this kernel does not have. @param {string} name @param {string} result */
const isMissing = (name, result) => result === 'ENOSYS' && / (fchmodat2|setxattrat|fchmodat2-empty)$/.test(name);

/** What is wrong about results that should all be refusals. @param {Record<string, string>} results */
function notRefused(results) {
  const fine = ([name, result]) =>
    REFUSALS.has(result) || isMissing(name, result) || (result === 'ENODATA' && name.endsWith('removexattr'));
  return Object.entries(results).filter((entry) => !fine(entry));
}

/** A workspace with a folder of the command's own, and whatever `fill` makes. */
function furnish(t, fill) {
  const { workspace } = makePlace(t);
  fs.mkdirSync(path.join(workspace, 'own'));
  fs.mkdirSync(path.join(workspace, DEEP), { recursive: true });
  fill(workspace);
  return workspace;
}

/**
 * Runs the program of attacks: without a sandbox, in a workspace of its own, every one of them works; in the sandbox
 * none does, nothing changed, and every target is told, by lines that say what protects it, and nothing else.
 */
async function attackNames(t, mode, targets, fill) {
  const attack = [program, mode, 'own', ...targets];
  const other = furnish(t, fill);
  const control = await withoutSandbox(other).run(attack);
  t.equal(control.exitCode, 0, control.stderr);
  const works = Object.entries(resultsOf(control.stdout)).filter(([name, result]) => result !== 'DONE' && !isMissing(name, result));
  t.same(works, [], 'without a sandbox every attack works');

  const workspace = furnish(t, fill);
  const sandbox = await startSandbox(t);
  const before = snapshotWithout(workspace, 'own');
  const result = await sandbox.machine(workspace).run(attack);
  t.equal(result.exitCode, 0, result.stderr.slice(0, 400));
  t.same(notRefused(resultsOf(result.stdout)), []);
  t.equal(Object.keys(resultsOf(result.stdout)).length, Object.keys(resultsOf(control.stdout)).length);
  t.same(snapshotWithout(workspace, 'own'), before, 'nothing changed');
  t.same(fs.readdirSync(path.join(workspace, 'own')).filter((name) => name.startsWith('evidence')), []);
  const block = blockOf(result.stderr);
  t.same(protections(block.filter((line) => !/^\(\d+ more\)$/.test(line))).filter((line) => 'unexpected' in line), []);
  const told = sandbox.violations.list();
  t.same(told.filter(({ operation, why }) => !/^(file-write-\w+|network-bind)$/.test(operation) || !/^protected: [^()]+$/.test(why)), []);
  const paths = new Set(told.map(({ path }) => path));
  t.same(targets.filter((target) => !paths.has(path.join(workspace, target))), [], 'every target is told');
  t.equal(new Set(told.map(({ operation, path }) => `${operation} ${path}`)).size, told.length, 'each once');
}

const atBoth = (names) => names.flatMap((name) => [name, `${DEEP}/${name}`]);

t.test('a name that does not exist is not made by any call, at the top or deep', async (t) => {
  await attackNames(t, 'create', atBoth(NAMES), (workspace) => {
    for (const folder of [workspace, path.join(workspace, DEEP)]) makeParents(folder);
  });
});

t.test('one that exists is not changed by any call, by path or by descriptor', async (t) => {
  await attackNames(t, 'change', atBoth(NAMES), (workspace) => {
    for (const folder of [workspace, path.join(workspace, DEEP)]) makeNames(folder);
  });
});

t.test('nor are the parts of git directories', async (t) => {
  const linkParts = ['config.worktree', 'commondir', 'gitdir', 'hooks/post-commit'];
  const directories = ['.git', `${DEEP}/.git`, 'sub/.git/modules/m', 'bare.git', `${DEEP}/bare`];
  const fill = (workspace) => {
    for (const folder of ['', DEEP, 'sub']) makeRepository(path.join(workspace, folder));
    fs.cpSync(path.join(workspace, '.git'), path.join(workspace, 'sub/.git/modules/m'), { recursive: true });
    for (const folder of ['bare.git', `${DEEP}/bare`]) makeRepository(path.join(workspace, folder), '--bare');
    for (const directory of directories) fillFolder(path.join(workspace, directory, 'hooks'));
  };
  t.test('that are missing', (t) => attackNames(t, 'create', directories.flatMap((at) => linkParts.map((part) => `${at}/${part}`)), fill));
  // Without a sandbox a folder that is moved away and back would be a repository no more: hooks come last.
  const existing = ['config', 'hooks/pre-push', 'hooks'];
  t.test('that are there', (t) => attackNames(t, 'change', directories.flatMap((at) => existing.map((part) => `${at}/${part}`)), fill));
});

/** Programs that write files, each with a list of paths relative to the cwd in "$@". */
const WRITERS = {
  'a shell': 'for f; do mkdir -p "$(dirname "$f")"; echo attack > "$f"; done',
  python: `/usr/bin/python3 -c '
import os, pathlib, sys
for f in sys.argv[1:]:
    try:
        os.makedirs(os.path.dirname(f) or ".", exist_ok=True); pathlib.Path(f).write_text("attack")
    except OSError: pass' "$@"`,
  perl: `perl -e 'use File::Path; use File::Basename; for (@ARGV) { eval { mkpath(dirname($_)) }; open(F, ">", $_) && print(F "attack"); close(F) }' "$@"`,
  node: `NODE_OPTIONS= "$NODE" -e 'const fs = require("fs"), path = require("path");
    for (const f of process.argv.slice(1)) { try { fs.mkdirSync(path.dirname(f), { recursive: true }); fs.writeFileSync(f, "attack") } catch {} }' "$@"`,
  'a tar archive': 'tar -xf own/archive.tar',
  'a zip archive': '/usr/bin/python3 -m zipfile -e own/archive.zip .',
  'cp -r': 'cp -r own/tree/. .',
  'mv of each': 'for f; do mkdir -p "$(dirname "$f")"; echo attack > own/plain; mv own/plain "$f"; done',
  'mv of the folders': 'for f; do mkdir -p own/new/x; echo attack > "own/new/x/$(basename "$f")"; mkdir -p "$(dirname "$(dirname "$f")")"; mv -T own/new/x "$(dirname "$f")" || rm -r own/new/x; done',
  'mv of whole trees': 'for f; do mkdir -p "own/new/$f"; rmdir "own/new/$f"; echo attack > "own/new/$f"; done; mv own/new/.[a-z]* .',
  ln: 'echo attack > own/plain; for f; do mkdir -p "$(dirname "$f")"; ln own/plain "$f"; done',
  'ln -s': 'echo attack > own/plain; for f; do mkdir -p "$(dirname "$f")"; ln -s "$PWD/own/plain" "$f"; done',
  install: 'for f; do install -D -m 755 "own/tree/$f" "$f"; done',
  dd: 'for f; do mkdir -p "$(dirname "$f")"; dd if=/dev/zero of="$f" count=1; done',
  patch: 'git apply own/patch',
};

/** A folder goes to the place of one; files of the workspace itself have none. */
const WITHOUT_FILES = new Set(['mv of the folders']);

/** The files that the writers are told to make: in the folders, one each. */
const WRITTEN = [...FILES, ...FOLDERS.map((name) => `${name}/attack`)];

t.test('no tool makes them', async (t) => {
  const fill = (workspace) => {
    // What is unpacked lies where nothing is protected: outside.
    const tree = path.join(path.dirname(workspace), 'tree');
    for (const name of [...WRITTEN, 'plain/file']) {
      fs.mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
      fs.writeFileSync(path.join(tree, name), 'attack\n');
    }
    const own = path.join(workspace, 'own');
    execFileSync('tar', ['-cf', path.join(own, 'archive.tar'), '-C', tree, '.']);
    execFileSync('/usr/bin/python3', ['-m', 'zipfile', '-c', path.join(own, 'archive.zip'), ...fs.readdirSync(tree)], { cwd: tree });
    const patch = WRITTEN.map((name) => `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+attack\n`);
    fs.writeFileSync(path.join(own, 'patch'), patch.join(''));
    fs.cpSync(tree, path.join(own, 'tree'), { recursive: true });
  };
  const below = (workspace) => Object.keys(actedOn(workspace)).filter((name) => !name.startsWith('own'));
  for (const [what, script] of Object.entries(WRITERS)) {
    const options = { env: { NODE: process.execPath } };
    const argv = ['bash', '-c', script, 'bash', ...WRITTEN];
    const free = furnish(t, fill);
    await withoutSandbox(free).run(argv, options);
    t.ok(below(free).length >= (WITHOUT_FILES.has(what) ? FOLDERS.length : NAMES.length), `${what} makes them without a sandbox: ${below(free).length}`);
    const workspace = furnish(t, fill);
    const machine = (await startSandbox(t)).machine(workspace);
    const before = actedOn(workspace);
    const { stderr } = await machine.run(argv, options);
    t.same(actedOn(workspace), before, what);
    const told = protections(blockOf(stderr));
    t.ok(told.length > 0, `${what} is told`);
    t.same(told.filter((line) => 'unexpected' in line), [], what);
  }
});

/** A repository that tracks names, and the command that clones it, which works without a sandbox. */
async function makeTracking(t, base, names) {
  const source = makeRepository(path.join(base, 'source'));
  makeNames(source);
  git(source, 'add', '-f', ...names);
  git(source, 'commit', '-q', '-m', 'names');
  const clone = `git clone -q ${source} clone`;
  t.match(await bash(withoutSandbox(base), clone), { exitCode: 0 });
  const there = actedOn(path.join(base, 'clone'));
  t.same(names.filter((name) => !(name in there)), [], 'without a sandbox they are checked out');
  return clone;
}

t.test('a repository that tracks them is cloned without them', async (t) => {
  for (const [what, names] of Object.entries({ files: FILES, folders: FOLDERS })) {
    const { base, workspace } = makePlace(t);
    const clone = await makeTracking(t, base, names);
    const { stderr } = await bash((await startSandbox(t)).machine(workspace), clone);
    t.same(Object.keys(actedOn(workspace)).filter((name) => !name.startsWith('clone/.git/')), [], what);
    // git goes on after a file, and gives up at the first folder that it may not make.
    if (what === 'files') t.equal(fs.readFileSync(path.join(workspace, 'clone/tracked'), 'utf8'), 'text\n', 'its other files are there');
    const told = protections(blockOf(stderr));
    t.ok(told.length > 0, what);
    t.same(told.filter((line) => 'unexpected' in line), [], what);
    const freed = (await startSandbox(t, { filesystem: { allowProtected: names } })).machine(workspace);
    t.match(await bash(freed, clone.replace(/clone$/, 'whole')), { exitCode: 0, stderr: '' }, `${what}: allowProtected`);
    const there = actedOn(path.join(workspace, 'whole'));
    t.same(names.filter((name) => !(name in there)), [], what);
  }
});

/** One command each, and the one line that it gives, with the path below the workspace. */
const LINES = {
  'echo x > .mcp.json': ['file-write-create', '.mcp.json'],
  'echo x > there/.mcp.json': ['file-write-data', 'there/.mcp.json'],
  'echo x > .gitconfig': ['file-write-create', '.gitconfig'],
  'mkdir .vscode': ['file-write-create', '.vscode'],
  'mkdir -p .vscode/a/b': ['file-write-create', '.vscode'],
  'mkdir deep/.claude/commands': ['file-write-create', 'deep/.claude/commands'],
  'ln -s x .bashrc': ['file-write-create', '.bashrc'],
  'mkfifo .envrc': ['file-write-create', '.envrc'],
  'mv plain .envrc': ['file-write-create', '.envrc'],
  'ln plain .envrc': ['file-write-create', '.envrc'],
  'mv there/.mcp.json elsewhere': ['file-write-unlink', 'there/.mcp.json'],
  'mv -f there/.mcp.json plain': ['file-write-unlink', 'there/.mcp.json'],
  'rm -f there/.mcp.json': ['file-write-unlink', 'there/.mcp.json'],
  'rm -f there/.vscode/inner': ['file-write-unlink', 'there/.vscode/inner'],
  'chmod 700 there/.vscode': ['file-write-mode', 'there/.vscode'],
  'touch -c there/.mcp.json': ['file-write-times', 'there/.mcp.json'],
  'setfattr -n user.x -v y there/.mcp.json': ['file-write-xattr', 'there/.mcp.json'],
  'truncate -s 0 there/.mcp.json': ['file-write-data', 'there/.mcp.json'],
};

t.test('a refusal is told by one line, which says why', async (t) => {
  const { workspace } = makePlace(t);
  for (const folder of ['deep/.claude', 'there']) fs.mkdirSync(path.join(workspace, folder), { recursive: true });
  fillFolder(path.join(workspace, 'there/.vscode'));
  for (const name of ['there/.mcp.json', 'plain']) fs.writeFileSync(path.join(workspace, name), 'original');
  const sandbox = await startSandbox(t);
  const machine = sandbox.machine(workspace);
  const before = snapshot(workspace);
  for (const [command, [operation, name]] of Object.entries(LINES)) {
    const { exitCode, stderr } = await bash(machine, command);
    t.not(exitCode, 0, command);
    const told = protections(blockOf(stderr)).map((line) => [line.operation, line.path && path.relative(workspace, line.path)]);
    t.same(told, [[operation, name]], `${command}: ${blockOf(stderr)}`);
  }
  t.same(snapshot(workspace), before);
  for (const event of sandbox.violations.list()) t.match(event.why, /^protected: /);
});

t.test('what changes nothing is not refused, and not told', async (t) => {
  const { workspace } = makePlace(t);
  makeNames(workspace);
  fs.mkdirSync(path.join(workspace, DEEP), { recursive: true });
  makeNames(path.join(workspace, DEEP));
  makeRepository(path.join(workspace, 'repository'));
  const machine = (await startSandbox(t)).machine(workspace);
  const names = atBoth(NAMES).map(quote).join(' ');
  const harmless = {
    'mkdir -p of folders that exist': `mkdir -p ${atBoth(FOLDERS).map(quote).join(' ')}`,
    reading: `for f in ${names}; do if [ -d $f ]; then ls -A $f && cat $f/inner; else cat $f; fi || exit 1; done`,
    'looking at them': `stat ${names}; find . -name .mcp.json; grep -r original . | wc -l`,
    'removing what is not there': 'rm -f .gitconfig-not .vscode-not no/.mcp.json; rm -rf none/.claude',
    'names that are like them': 'echo > x.mcp.json; echo > .mcp.jsonx; echo > .bashrc2; mkdir .vscodes vscode .config/other .claude/other; echo > .claude/settings; echo > mcp.json',
    'names in another case': 'echo > .MCP.json; mkdir .VSCode .Claude; echo > .Claude/settings.json',
    'git that reads': 'cd repository && git status && git log && git diff && git config --list',
    'git that writes': `cd repository && echo x > new && git add -A && git -c user.name=n -c user.email=e@x commit -qm new && git branch other && git stash list`,
  };
  for (const [what, script] of Object.entries(harmless)) t.match(await bash(machine, script), { exitCode: 0, stderr: '' }, what);
  const there = 'mkdir .vscode; mkdir a/b/c/d/e/.idea; set -o noclobber; ';
  const { stderr } = await bash(machine, there);
  t.match(stderr, /File exists\n.*File exists\n$/, 'a mkdir of what exists says so');
  t.same(blockOf(stderr), []);
  const gone = await bash(machine, 'rmdir x/.vscode; rm nothing/.mcp.json; rm .claude/commands/none');
  t.match(gone.stderr, /No such file/);
  t.same(blockOf(gone.stderr), []);
});

t.test('allowProtected frees what it names, and nothing else', async (t) => {
  const { workspace } = makePlace(t);
  for (const name of ['.mcp.json', '.idea/x']) {
    fs.mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
    fs.writeFileSync(path.join(workspace, name), 'original');
  }
  const machine = (await startSandbox(t, { filesystem: { allowProtected: ['.vscode/', '.mcp.json'] } })).machine(workspace);
  const free = 'mkdir -p .vscode/a deep/.vscode; echo mine | tee .vscode/a/x deep/.vscode/y .mcp.json; chmod 600 .mcp.json; mv .vscode moved; mv moved .vscode';
  t.match(await bash(machine, free), { exitCode: 0, stderr: '' });
  t.equal(fs.readFileSync(path.join(workspace, 'deep/.vscode/y'), 'utf8'), 'mine\n');
  t.equal(fs.readFileSync(path.join(workspace, '.mcp.json'), 'utf8'), 'mine\n');
  const others = NAMES.filter((name) => name !== '.vscode' && name !== '.mcp.json' && name !== '.idea');
  const attack = others.map((name) => `mkdir -p $(dirname ${name}); echo x > ${name}`).join('; ');
  const result = await bash(machine, `${attack}; echo x > .idea/x; mkdir .vscode/.codex; git init -q . && echo x > .git/hooks/pre-commit`);
  t.same(others.filter((name) => fs.existsSync(path.join(workspace, name))), []);
  t.equal(fs.readFileSync(path.join(workspace, '.idea/x'), 'utf8'), 'original');
  t.notOk(fs.existsSync(path.join(workspace, '.vscode/.codex')), 'one name in another is held');
  t.notOk(fs.existsSync(path.join(workspace, '.git/hooks/pre-commit')), 'hooks are never freed');
  t.equal(protections(blockOf(result.stderr)).filter((line) => 'unexpected' in line).length, 0);
  for (const entry of ['.git/hooks', 'hooks', '.git/config', '.unknown', '', '/etc']) {
    await t.rejects(startSandbox(t, { filesystem: { allowProtected: [entry] } }), { name: 'TypeError', message: /^filesystem\.allowProtected\[0\]/ }, entry);
  }
});

t.test('allowGitConfig frees the configuration of git, not hooks and links', async (t) => {
  const { workspace } = makePlace(t);
  makeRepository(workspace);
  const change = 'git config user.name other; git remote add other https://example.com/x';
  const held = (await startSandbox(t)).machine(workspace);
  const before = actedOn(workspace);
  const refused = await bash(held, change);
  t.same(actedOn(workspace), before);
  t.match(blockOf(refused.stderr).join('\n'), /^deny file-write-\S+ \S+\/\.git\/config \(protected: git configuration, see allowGitConfig\)/);
  const machine = (await startSandbox(t, { filesystem: { allowGitConfig: true } })).machine(workspace);
  t.match(await bash(machine, change), { exitCode: 0, stderr: '' });
  t.equal(git(workspace, 'config', '--local', 'user.name'), 'other\n');
  const state = actedOn(workspace);
  await bash(machine, 'for f in hooks/pre-commit hooks/pre-push commondir gitdir; do echo x > .git/$f; done; rm .git/hooks/pre-push; mv .git/hooks .git/h; mv .git old');
  t.same(actedOn(workspace), state);
});

/** A run that sleeps in a workspace, by a Node of its own; and the processes from its command outwards. */
async function startSleeper(t, workspace) {
  const duration = uniqueDuration();
  const elsewhere = await startElsewhere(t);
  elsewhere.machine(workspace).run(['sleep', duration]).catch(() => {});
  const command = await eventually(() => processesWith(duration).find((pid) => fs.readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n'));
  return { duration, chain: chainOf(command) };
}

t.test('nothing is put into a project: not inside, not visible outside, not after a crash', async (t) => {
  const fill = (workspace) => {
    makeRepository(workspace);
    fs.symlinkSync('nowhere', path.join(workspace, '.bashrc'));
    fs.symlinkSync('tracked', path.join(workspace, '.mcp.json'));
    git(workspace, 'add', '-A');
    git(workspace, 'commit', '-q', '-m', 'links');
  };
  const workspace = furnish(t, fill);
  const machine = (await startSandbox(t)).machine(workspace);
  t.same((await bash(machine, 'ls -A')).stdout.trim().split('\n').sort(), fs.readdirSync(workspace).sort());
  t.match(await bash(machine, 'git status --porcelain && ls -A .git .git/hooks > /dev/null && cat tracked'), { stdout: 'text\n', stderr: '' });
  for (const victim of ['bwrap', 'supervisor', 'agent', 'node']) {
    const workspace = furnish(t, fill);
    // Its own look writes the index.
    git(workspace, 'status', '--porcelain');
    const before = snapshot(workspace);
    const { duration, chain } = await startSleeper(t, workspace);
    t.same(snapshot(workspace), before, 'while a command runs');
    t.ok(chain[victim] > 1, victim);
    process.kill(chain[victim], 'SIGKILL');
    t.ok(await eventually(() => processesWith(duration).length === 0), `${victim} is killed, and the command ends`);
    t.same(snapshot(workspace), before, `after kill -9 of ${victim}`);
    t.equal(git(workspace, 'status', '--porcelain'), '');
  }
});

t.test('a protected name that is a symlink does not break commands, and what it leads to is protected', async (t) => {
  const fill = (workspace) => {
    fillFolder(path.join(workspace, 'conf/vscode'));
    fs.writeFileSync(path.join(workspace, 'conf/mcp.json'), 'original');
    fs.symlinkSync('conf/vscode', path.join(workspace, '.vscode'));
    fs.symlinkSync('conf/mcp.json', path.join(workspace, '.mcp.json'));
    fs.symlinkSync('conf/missing', path.join(workspace, '.envrc'));
    fs.symlinkSync('.idea', path.join(workspace, '.idea'));
    fs.symlinkSync('/etc/hostname', path.join(workspace, '.gitconfig'));
  };
  const attacks = [
    ...['.mcp.json', 'conf/mcp.json', '.vscode/inner', 'conf/vscode/inner', '.vscode/new', 'conf/vscode/new2'].map((name) => `echo x > ${name}`),
    ...['echo x > .envrc', 'echo x > conf/missing', 'rm .mcp.json', 'ln -sfn own .vscode', 'mv .envrc own/', 'mv conf own/'],
  ];
  for (const attack of attacks) {
    const free = furnish(t, fill);
    const state = actedOn(free);
    await bash(withoutSandbox(free), attack);
    t.notSame(actedOn(free), state, `without a sandbox it works: ${attack}`);
    const workspace = furnish(t, fill);
    const machine = (await startSandbox(t)).machine(workspace);
    const before = actedOn(workspace);
    t.not((await bash(machine, attack)).exitCode, 0, attack);
    t.same(actedOn(workspace), before, attack);
    t.match(await bash(machine, 'cat conf/mcp.json; echo x > free'), { stdout: 'original', exitCode: 0, stderr: '' });
  }
});

t.test('attributes that are set by ioctl on a descriptor for reading stay', async (t) => {
  const setFlags = `/usr/bin/python3 -c '
import array, errno, fcntl, os, sys
for f in sys.argv[1:]:
    fd = os.open(f, os.O_RDONLY)
    flags = array.array("i", [0])
    fcntl.ioctl(fd, 0x80086601, flags, True)
    flags[0] |= 0x40
    try: fcntl.ioctl(fd, 0x40086602, flags); print("DONE")
    except OSError as e: print(errno.errorcode[e.errno])' deep/.mcp.json deep/.git/config`;
  const flagsOf = (workspace) => execFileSync('lsattr', ['deep/.mcp.json', 'deep/.git/config'], { cwd: workspace, encoding: 'utf8' });
  const fill = (workspace) => {
    makeRepository(path.join(workspace, 'deep'));
    fs.writeFileSync(path.join(workspace, 'deep/.mcp.json'), 'original');
  };
  const free = furnish(t, fill);
  t.equal((await bash(withoutSandbox(free), setFlags)).stdout, 'DONE\nDONE\n');
  const workspace = furnish(t, fill);
  const before = flagsOf(workspace);
  t.not(flagsOf(free), before);
  const machine = (await startSandbox(t)).machine(workspace);
  t.match((await bash(machine, setFlags)).stdout, /^(E(PERM|ACCES|ROFS|NOTTY)\n){2}$/);
  t.equal(flagsOf(workspace), before);
});
