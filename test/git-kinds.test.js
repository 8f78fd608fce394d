'use strict';
// Repositories of every kind, made by the host's git: commands work in them as they do outside, hooks and configuration
// stay what they are; and what a command leaves behind runs nothing when the host's git comes to it.

const t = require('tap');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, makePlace, quote, startSandbox } = require('./helpers/attack');
const { eventually } = require('./helpers/processes');
const { startProgram } = require('./helpers/program');
const { childrenOf, processesWith, uniqueDuration } = require('./helpers/sandbox');

const ENV = {
  PATH: process.env.PATH,
  HOME: '/nonexistent',
  LANG: 'C.UTF-8',
  EDITOR: 'true',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

/** The host's git, which must work. @param {string} cwd @param {string} script */
function host(cwd, script) {
  return execFileSync('bash', ['-ec', script], { cwd, env: ENV, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A script of a command. @param {any} machine @param {string} script @param {any} [options] */
function inside(machine, script, options) {
  return bash(machine, `set -e; ${script}`, { env: ENV, ...options });
}

/** Hooks and configuration of git directories, with inodes, and names of what is around. @param {string[]} directories */
function guarded(...directories) {
  const files = directories.flatMap((directory) => {
    const hooks = path.join(directory, 'hooks');
    const names = fs.existsSync(hooks) ? fs.readdirSync(hooks).map((name) => path.join('hooks', name)) : [];
    return ['config', 'config.worktree', 'commondir', 'gitdir', ...names].map((name) => path.join(directory, name));
  });
  return files.filter(fs.existsSync).map((file) => {
    const { ino, mode, size, mtimeMs } = fs.lstatSync(file);
    return [file, ino, mode, size, mtimeMs, fs.readFileSync(file, 'latin1')].join(' ');
  });
}

const NO_BLOCK = /^((?!sandbox_violations)[^])*$/;

const PREPARE = 'echo one > a.txt; git add -A; git commit -qm first; echo two >> a.txt; git commit -qam second';

/** A repository of the host with two commits, in the workspace. @param {any} t @param {string} [init] @param {any} [options] */
async function makeRepository(t, init = 'git init -q -b main', options = {}) {
  const place = makePlace(t);
  host(place.workspace, `${init}; ${PREPARE}`);
  const machine = (await startSandbox(t, options)).machine(place.workspace);
  return { ...place, machine, git: path.join(place.workspace, '.git') };
}

const DAILY = `
  git status --porcelain | cmp - /dev/null
  echo three > b.txt; git add -A; git commit -qm third
  git switch -qc topic; echo four > c.txt; git add -A; git commit -qm fourth
  git switch -q main; echo five >> a.txt; git stash -q; git stash pop -q; git commit -qam fifth
  git rebase -q main topic; git switch -q main; git merge -q --no-edit topic
  git tag v1; git tag -am annotated v2
  git gc -q; git fsck --strict; git log -p --stat > /dev/null; git diff HEAD~1 > /dev/null
  git update-ref -d refs/heads/topic; git reset -q --hard HEAD; git clean -qfd; git worktree list > /dev/null
  git status --porcelain | cmp - /dev/null`;

for (const [kind, init] of [
  ['a plain repository', 'git init -q -b main'],
  ['a repository of SHA-256', 'git init -q -b main --object-format=sha256'],
  ['a repository behind a .git file', 'git init -q -b main --separate-git-dir=elsewhere.git; echo elsewhere.git >> elsewhere.git/info/exclude'],
]) {
  t.test(`${kind}: a day's work leaves hooks and configuration alone`, async (t) => {
    const { machine, workspace } = await makeRepository(t, init);
    const directory = fs.lstatSync(path.join(workspace, '.git')).isDirectory() ? '.git' : 'elsewhere.git';
    const before = guarded(path.join(workspace, directory));
    const names = fs.readdirSync(workspace);
    t.match(await inside(machine, 'ls -A'), { stdout: `${names.toSorted().join('\n')}\n`, stderr: '', exitCode: 0 });
    t.match(await inside(machine, DAILY), { exitCode: 0, stderr: NO_BLOCK });
    t.same(guarded(path.join(workspace, directory)), before);
    t.equal(host(workspace, 'git status --porcelain'), '');
    t.equal(host(workspace, 'git log -1 --format=%an'), 'a\n');
    t.match(host(workspace, 'git tag'), 'v1\nv2');
  });
}

t.test('a linked worktree as the cwd: commits work, the repository that it belongs to is closed', async (t) => {
  const { base, workspace } = makePlace(t);
  const main = path.join(base, 'main');
  host(base, `git init -q -b main main; cd main; ${PREPARE}; git worktree add -q ../workspace/tree`);
  const tree = path.join(workspace, 'tree');
  const machine = (await startSandbox(t)).machine(tree);
  const directories = [path.join(main, '.git'), path.join(main, '.git/worktrees/tree')];
  const before = guarded(...directories);
  const work = 'echo x > x.txt; git add -A; git commit -qm inside; git status --porcelain; git log --oneline | wc -l';
  t.match(await inside(machine, work), { stdout: '3\n', stderr: '', exitCode: 0 });
  t.equal(host(main, 'git log -1 --format=%s tree'), 'inside\n', 'the commit is in the repository');
  for (const name of ['hooks/post-commit', 'config', 'index', 'HEAD', 'ORIG_HEAD', 'info/attributes']) {
    const file = path.join(main, '.git', name);
    const old = fs.existsSync(file) && fs.readFileSync(file, 'latin1');
    t.match(await inside(machine, `echo evil >> ${quote(file)}`), { exitCode: 1, stderr: /denied|Read-only/ }, name);
    t.equal(fs.existsSync(file) && fs.readFileSync(file, 'latin1'), old);
  }
  t.same(guarded(...directories), before);
  t.equal(host(main, 'git status --porcelain'), '');
});

t.test('submodules are cloned, updated, and committed in', async (t) => {
  const { base, workspace } = makePlace(t);
  host(base, `git init -q -b main part; cd part; ${PREPARE}`);
  const add = (name) => `git -c protocol.file.allow=always submodule --quiet add ${base}/part ${name}`;
  const leave = 'git -C lib/old checkout -q HEAD~1; git submodule --quiet deinit -f new; git submodule --quiet init; rm -rf .git/modules/new';
  host(workspace, `git init -q -b main; ${PREPARE}; ${add('lib/old')}; ${add('new')}; git commit -qm sub; ${leave}`);
  const machine = (await startSandbox(t)).machine(workspace);
  const directories = ['.git', '.git/modules/lib/old'].map((name) => path.join(workspace, name));
  const before = guarded(...directories);
  const work = `git -c protocol.file.allow=always submodule --quiet update
    for name in lib/old new; do cd $name; git checkout -q -b side; echo 1 > side; git add -A; git commit -qm side; cd -; done; git commit -qam moved`;
  t.match(await inside(machine, work), { stderr: NO_BLOCK, exitCode: 0 });
  t.same(guarded(...directories), before);
  t.equal(host(workspace, 'git status --porcelain; for name in lib/old new; do git -C $name log -1 --format=%s; done'), 'side\nside\n');
});

t.test('a bare repository in a write root takes a push, and keeps its hooks and configuration', async (t) => {
  const { machine, workspace } = await makeRepository(t);
  host(workspace, 'git clone -q --bare . store.git; echo store.git >> .git/info/exclude');
  const store = path.join(workspace, 'store.git');
  const before = guarded(store);
  const work = `git clone -q store.git copy; cd copy; echo 1 > pushed; git add -A; git commit -qm pushed; git push -q origin main; cd ..; rm -rf copy`;
  t.match(await inside(machine, work), { stderr: '', exitCode: 0 });
  t.equal(host(store, 'git log -1 --format=%s main'), 'pushed\n');
  t.match(await inside(machine, 'echo evil > store.git/hooks/post-receive'), { exitCode: 1, stderr: /denied|Read-only/ });
  t.match(await inside(machine, 'git -C store.git config core.editor evil'), { stderr: /protected: git configuration/ });
  t.same(guarded(store), before);
});

t.test('worktrees come and go', async (t) => {
  const { machine, workspace, git } = await makeRepository(t);
  const before = guarded(git);
  const add = 'git worktree add -q tree; cd tree; echo 1 > in-tree; git add -A; git commit -qm in-tree';
  t.match(await inside(machine, add), { stderr: '', exitCode: 0 });
  t.equal(host(path.join(workspace, 'tree'), 'git status --porcelain; git log -1 --format=%s'), 'in-tree\n');
  t.match(await inside(machine, 'git worktree remove tree; git worktree prune'), { stderr: '', exitCode: 0 });
  t.notOk(fs.existsSync(path.join(workspace, 'tree')));
  t.same(guarded(git), before);
  t.equal(host(workspace, 'git status --porcelain; git worktree list | wc -l'), '1\n');
});

t.test('repositories are made: init, clone, npm of a git dependency', async (t) => {
  const { base, workspace, machine } = await makeRepository(t);
  const one = `git init -q -b main new; cd new; echo 1 > f; git add -A; git commit -qm new; git config user.name me; git remote add o https://example.org/`;
  t.match(await inside(machine, one), { stderr: '', exitCode: 0 });
  t.equal(host(path.join(workspace, 'new'), 'git log -1 --format=%s; git config user.name; git remote'), 'new\nme\no\n');
  t.match(await inside(machine, 'git clone -q . clone; git clone -q --bare . bare.git'), { stderr: '', exitCode: 0 });
  t.match(host(path.join(workspace, 'clone'), 'git fetch -q; git log -1 --format=%s; ls .git/hooks'), /^second\n.*sample/);
  const dependency = path.join(base, 'dependency');
  fs.mkdirSync(dependency);
  fs.writeFileSync(path.join(dependency, 'package.json'), '{"name":"dependency","version":"1.0.0"}');
  host(dependency, `git init -q -b main; ${PREPARE}`);
  fs.mkdirSync(path.join(workspace, 'user'));
  fs.writeFileSync(path.join(workspace, 'user/package.json'), '{"name":"user","version":"1.0.0"}');
  const env = { ...ENV, npm_config_cache: path.join(workspace, 'cache'), npm_config_offline: 'false' };
  const install = `cd user; npm install --no-audit --no-fund --ignore-scripts git+file://${dependency}`;
  t.match(await inside(machine, install, { env }), { exitCode: 0 });
  t.ok(fs.existsSync(path.join(workspace, 'user/node_modules/dependency/a.txt')));
});

t.test('configuration of the host is refused by name, and freed by allowGitConfig', async (t) => {
  const { machine, workspace, git } = await makeRepository(t);
  const before = guarded(git);
  const refused = await inside(machine, 'git config x.y z');
  t.match(refused.stderr, /\(protected: git configuration, see allowGitConfig\)/);
  t.not(refused.exitCode, 0);
  t.match(await inside(machine, 'echo evil > .git/hooks/post-commit'), { exitCode: 1, stderr: /\(protected: git hooks\)/ });
  t.same(guarded(git), before);
  const free = (await startSandbox(t, { filesystem: { allowGitConfig: true } })).machine(workspace);
  t.match(await inside(free, 'git config x.y z; git remote add o https://example.org/'), { stderr: '', exitCode: 0 });
  t.equal(host(workspace, 'git config x.y; git remote'), 'z\no\n');
  for (const script of ['echo evil > .git/hooks/post-commit', 'mv .git/hooks .git/away', 'ln -s ../x .git/hooks/y'])
    t.match(await inside(free, script), { exitCode: 1, stderr: /denied|Read-only|busy/ }, script);
  t.same(
    guarded(git).filter((line) => line.includes('/hooks/')),
    before.filter((line) => line.includes('/hooks/')),
  );
});

t.test('a branch is deleted though its section of the configuration stays', async (t) => {
  const { machine, workspace, git } = await makeRepository(t);
  host(workspace, 'git branch topic; git config branch.topic.description x');
  const before = guarded(git);
  t.match(await inside(machine, 'git branch -d topic'), { exitCode: 0, stderr: /\(protected: git configuration/ });
  t.same(guarded(git), before);
  t.equal(host(workspace, 'git branch --list topic'), '');
});

/** Everything below a folder, but what a commit may change. @param {string} folder */
function namesOf(folder) {
  return host(folder, 'find . -not -path "./.git/objects/*" | sort');
}

t.test('the outside sees no new name while a command runs, nor after a process of the sandbox was killed', async (t) => {
  for (const victim of ['agent', 'supervisor', 'bwrap']) {
    const { workspace } = makePlace(t);
    host(workspace, `git init -q -b main; ${PREPARE}`);
    const before = namesOf(workspace);
    const { child, pid } = startProgram(
      t,
      `const sandbox = await OsSandbox.start();
       for await (const script of require('node:readline').createInterface({ input: process.stdin }))
         sandbox.machine(process.argv[1]).run(['sh', '-c', script]).then(say, ({ message }) => say({ message }));`,
      { args: [workspace] },
    );
    const duration = uniqueDuration();
    child.stdin.write(`exec sleep ${duration}\n`);
    await eventually(() => processesWith(duration).length > 0);
    t.equal(namesOf(workspace), before, 'while it runs');
    t.equal(host(workspace, 'git status --porcelain'), '');
    const [agent] = childrenOf(pid).filter((one) => fs.readFileSync(`/proc/${one}/comm`, 'utf8') === 'os-sandbox-exec\n');
    const comm = (one) => fs.readFileSync(`/proc/${one}/comm`, 'utf8').trim();
    const found = {
      agent,
      supervisor: childrenOf(agent).find((one) => comm(one) === 'os-sandbox-exec'),
      bwrap: childrenOf(agent).find((one) => comm(one) === 'bwrap'),
    };
    t.ok(found[victim], `there is a ${victim}`);
    process.kill(found[victim], 'SIGKILL');
    t.ok(await eventually(() => processesWith(duration).length === 0), 'the command is gone');
    t.equal(namesOf(workspace), before, `after the ${victim} was killed`);
    t.equal(host(workspace, 'git status --porcelain'), '');
  }
});

// ---- What is left behind ----

/** A program that says on the host that it ran. @param {string} base */
function makeCanary(base) {
  const [program, ran] = [path.join(base, 'canary'), path.join(base, 'ran')];
  fs.writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${ran}\n`, { mode: 0o755 });
  return { program, ran: () => fs.existsSync(ran) && fs.readFileSync(ran, 'utf8') };
}

const KEYS = [
  'core.fsmonitor core.sshCommand core.editor diff.external diff.x.textconv filter.x.clean filter.x.smudge',
  'merge.x.driver gpg.program credential.helper core.pager pager.log core.alternateRefsCommand init.templateDir',
]
  .join(' ')
  .split(' ');

const HOOKS = 'pre-commit post-commit post-checkout post-merge post-index-change reference-transaction pre-push'.split(' ');

/** Makes an evil repository of an own name in the current folder. @param {string} canary @param {string} name */
function evil(canary, name) {
  const keys = KEYS.map((key) => `git config ${key} ${canary}`).join('; ');
  return `git init -q -b main ${name}; cd ${name}; echo '* diff=x filter=x merge=x' > .gitattributes; echo 1 > a; git add -A; git commit -qm 1
    git branch other; echo 2 > a; git commit -qam 2; ${keys}; git config alias.x '!${canary}'; printf '[alias]\\n y = !${canary}\\n' > included
    git config include.path ../included; git config core.hooksPath hooks2; mkdir hooks2; cp ${canary} hooks2/post-commit`;
}

/** What a user does in it. */
const VISIT = `git status; git log -p; git diff HEAD~1; echo 3 >> a; git add -A; git commit --allow-empty -m 3; git commit --allow-empty;
  git checkout other; git checkout main; git merge other; git tag x; git push . HEAD:refs/heads/z; git fetch ssh://localhost/x; git x; git y;
  git commit -S --allow-empty -m x; git stash; git gc; git fetch .; echo url=https://localhost/ | git credential fill; true`;

/** Has the host's git visit a repository. @param {string} repository */
function visit(repository) {
  spawnSync('bash', ['-c', VISIT], { cwd: repository, env: ENV, stdio: 'ignore', timeout: 60_000 });
}

t.test('the control: without a sandbox the host runs what is left behind', (t) => {
  const { base, workspace } = makePlace(t);
  const canary = makeCanary(base);
  host(workspace, evil(canary.program, 'x'));
  visit(path.join(workspace, 'x'));
  t.ok(canary.ran());
  t.end();
});

for (const [how, script, expected] of [
  ['by git config', (canary) => evil(canary, 'x'), /x\/\.git\/config/],
  [
    'in a hook that was there before .git',
    (canary) =>
      `git init -q -b main stage; mkdir x; cp -a stage/.git x/stage; ${HOOKS.map((hook) => `cp ${canary} x/stage/hooks/${hook}`).join('; ')}; mv x/stage x/.git`,
    /x\/(\.git|stage)/,
  ],
  [
    'by unpacking an archive',
    () => 'tar -xf prepared.tar',
    /x\/\.git\/(hooks|config)/,
  ],
  [
    'in a clone, by a symlink for hooks',
    (canary) => `mkdir real; cp ${canary} real/post-commit; git clone -q seed x; rm -rf x/.git/hooks; ln -s ../../real x/.git/hooks`,
    /x\/\.git\/hooks/,
  ],
  [
    'in a bare repository',
    (canary) => `git clone -q --bare seed x; git -C x config core.fsmonitor ${canary}; git -C x config alias.x '!${canary}'`,
    /x\/config/,
  ],
]) {
  t.test(`what a command leaves behind ${how} does not run`, async (t) => {
    const { base, workspace } = makePlace(t);
    const canary = makeCanary(base);
    host(workspace, `git init -q -b main seed; cd seed; ${PREPARE}`);
    host(base, `${evil(canary.program, 'x')}; cp ${canary.program} .git/hooks/post-commit; cd ..; tar -cf workspace/prepared.tar x; rm -rf x`);
    const sandbox = await startSandbox(t);
    const machine = sandbox.machine(workspace);
    // Some of it may be refused at once: what counts is what is left.
    const result = await bash(machine, script(canary.program), { env: ENV });
    t.match(result.stderr, /<sandbox_violations>/);
    t.match(sandbox.violations.list().map(({ path }) => path).join('\n'), expected, 'it is told');
    const repository = path.join(workspace, 'x');
    if (fs.existsSync(repository)) visit(repository);
    t.equal(canary.ran(), false);
    t.equal(host(workspace, 'git -C seed status --porcelain'), '', "the host's repository is as it was");
  });
}
