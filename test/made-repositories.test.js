'use strict';
// Repositories that a run made, and what the check at its end does with them and with those of the host.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { chainOf } = require('./helpers/chain');
const { PRELUDE, furnishDetours, isEvil, runDetour, runHostGit } = require('./helpers/detours');
const { eventually } = require('./helpers/processes');
const { actedOn, git, makeRepository } = require('./helpers/protected');
const { processesWith, uniqueDuration } = require('./helpers/sandbox');
const { startElsewhere } = require('./helpers/sandbox-elsewhere');

/** What a command can bring the check at the end of a run to change, which it could not change itself. */
const DEPUTIES = {
  'a link to the host\'s git directory': 'mkdir x; ln -s ../host/.git x/.git',
  'a link to the host\'s bare repository': 'mkdir x; ln -s ../bare.git x/.git',
  'a file that names the host\'s git directory': 'mkdir x; echo "gitdir: ../host/.git" > x/.git',
  'a repository whose hooks are a link': 'git init -q x; rm -rf x/.git/hooks; ln -s ../../host/.git/hooks x/.git/hooks',
  'a repository whose configuration is a link': 'git init -q x; rm x/.git/config; ln -s ../../host/.git/config x/.git/config',
  'a repository whose modules are a link': 'git init -q x; ln -s ../../host/.git x/.git/modules; ln -s ../../host/.git x/.git/worktrees',
  'a repository with the host\'s as its common one': 'git init -q x; echo ../../host/.git > x/.git/commondir',
  'a repository of the host\'s in the place of one that was made': 'git init -q x; rm -rf x; mv host x; mv x host',
  'one that is exchanged': 'git init -q x; exchange x host; exchange x host',
  'a folder of sources with such names': 'mkdir src/objects src/refs',
  'a folder that looks like one': 'mkdir src/objects src/refs; touch src/HEAD',
  'a repository of the host\'s among the modules of one that was made': ['git init -q x; mkdir x/.git/modules; mv host x/.git/modules/h', 'mv x/.git/modules/h host'],
  'one further down': ['git init -q x; mkdir x/.git/worktrees d; mv host d/; mv bare.git d/; mv d x/.git/worktrees/', 'mv x/.git/worktrees/d/* .'],
  'a repository of the host\'s without a HEAD for a while': 'cp host/.git/HEAD own/; echo > host/.git/HEAD; mv own/HEAD host/.git/; echo "ref: refs/heads/main" > host/.git/HEAD',
};

t.test('the check of what a run made changes nothing that it did not make', async (t) => {
  const sandbox = await startSandbox(t);
  for (const [what, script] of Object.entries(DEPUTIES)) {
    const { workspace } = makePlace(t);
    furnishDetours(workspace);
    fs.mkdirSync(path.join(workspace, 'src/hooks'), { recursive: true });
    fs.writeFileSync(path.join(workspace, 'src/hooks/useThing.js'), 'export {};\n');
    fs.writeFileSync(path.join(workspace, 'src/config'), '[core]\n\tpager = less\n');
    git(path.join(workspace, 'host'), 'config', 'core.pager', 'less -F');
    const before = actedOn(workspace);
    const sources = () => ['hooks/useThing.js', 'config'].map((name) => fs.readFileSync(path.join(workspace, 'src', name), 'utf8'));
    const state = sources();
    await runDetour(sandbox.machine(workspace), script);
    const after = actedOn(workspace);
    t.same(Object.keys(before).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])), [], what);
    t.same(sources(), state, what);
  }
});

/** Ways to lead the host's git from a folder to another git directory. */
const REPOINTED = {
  'to one that was made': 'git init -q made; config made/.git/config; rm sub/.git; echo "gitdir: ../made/.git" > sub/.git',
  'to one that was made, moved there': 'git init -q made; config made/.git/config; rm sub/.git; mv made/.git sub/.git',
  'with a folder that is exchanged': 'git init -q made; config made/.git/config; mkdir other; echo "gitdir: ../made/.git" > other/.git; exchange other sub',
  'to one without a HEAD for a while': 'mkdir bad; config bad/config; rm sub/.git; echo "gitdir: ../bad" > sub/.git; parts bad',
  'by a new worktree': 'git init -q made; config made/.git/config; mkdir -p host/.git/worktrees/w w; cp host/.git/HEAD host/.git/worktrees/w/; echo ../../../made/.git > host/.git/worktrees/w/commondir; echo ../../../../w/.git > host/.git/worktrees/w/gitdir; echo "gitdir: ../host/.git/worktrees/w" > w/.git',
};

t.test("a folder's .git that is removed and made again leads the host's git to nothing that it would run", async (t) => {
  const sandbox = await startSandbox(t);
  for (const [what, script] of Object.entries(REPOINTED)) {
    const free = makePlace(t).workspace;
    furnishDetours(free);
    await runDetour(withoutSandbox(free), script);
    t.notSame(runHostGit(free), [], `without a sandbox it runs: ${what}`);
    const { workspace } = makePlace(t);
    furnishDetours(workspace);
    await runDetour(sandbox.machine(workspace), script);
    t.same(runHostGit(workspace), [], what);
  }
});

/** Ways to hide from the last look a repository that the host's git finds, by a file in sub; each part in a sandbox of its own. */
const HIDDEN = {
  'a common directory without a HEAD': 'mkdir -p a/b/.git a/objects a/refs; hook a/hooks/post-commit; config a/config; cp host/.git/HEAD a/b/.git/; echo ../.. > a/b/.git/commondir',
  'the same as a worktree\'s': 'mkdir -p a/worktrees/n a/objects a/refs; hook a/hooks/post-commit; config a/config; cp host/.git/HEAD a/worktrees/n/; echo ../.. > a/worktrees/n/commondir; lead a/worktrees/n',
  'one that comes under a worktree that was made': ['mkdir q; config q/config; parts q; mkdir -p q/worktrees/n a/objects a/refs; hook a/hooks/post-commit; config a/config; cp q/HEAD q/worktrees/n/; echo ../.. > q/worktrees/n/commondir', 'mv q/worktrees a/; lead a/worktrees/n'],
  'names that are taken': 'hook x/hooks/post-commit; touch x/hooks/post-commit.{1..99}.os-sandbox-disabled x/hooks/post-commit.os-sandbox-disabled; parts x; lead x',
  'the configuration\'s names that are taken': 'mkdir -p x/config.os-sandbox-new; config x/config; touch x/config.{1..99}.os-sandbox-disabled x/config.os-sandbox-disabled; parts x; lead x',
  'a HEAD with many spaces': 'mkdir x; config x/config; printf "ref:%100srefs/heads/main\\n" "" > x/HEAD; mkdir x/objects x/refs; lead x',
  'the name of something deleted': 'mkdir x "x (deleted)"; config "x (deleted)/config"; parts "x (deleted)"; lead "x (deleted)"',
  'a HEAD by another name': ['mkdir -p x/objects x/refs; config x/config; touch x/HEAD; ln x/HEAD plain; lead x', 'echo "ref: refs/heads/main" > plain'],
  'a HEAD that comes later': ['mkdir -p x/objects x/refs; config x/config; lead x', 'echo "ref: refs/heads/main" > x/HEAD'],
  'a common directory by another name': ['mkdir -p x c/objects c/refs; config c/config; echo ../.. > plain; cp host/.git/HEAD x/; ln plain x/commondir; lead x', 'echo ../c > plain'],
  'a closed folder above it': 'mkdir -p p/x/objects; config p/x/config; cp host/.git/HEAD p/x/; (cd p/x; chmod 0 ..; mkdir refs); chmod 755 p; lead p/x',
};

t.test('a repository is not hidden from the last look', async (t) => {
  const lead = `${PRELUDE}\nlead() { mkdir -p s; echo "gitdir: ../$1" > s/.git; }\n`;
  for (const [what, scripts] of Object.entries(HIDDEN)) {
    const free = makePlace(t).workspace;
    furnishDetours(free);
    await runDetour(withoutSandbox(free), [scripts].flat().map((script) => lead + script));
    t.notSame(runHostGit(free), [], `without a sandbox it runs: ${what}`);
    const { workspace } = makePlace(t);
    furnishDetours(workspace);
    for (const script of [scripts].flat()) {
      const sandbox = await startSandbox(t);
      await runDetour(sandbox.machine(workspace), lead + script);
      await sandbox.dispose();
    }
    t.same(runHostGit(workspace), [], what);
  }
});

t.test('threads that get in each other\'s way hide no repository', async (t) => {
  const { workspace } = makePlace(t);
  const race = `
import os, threading
def spin(name, until):
    while not until.is_set():
        try: os.rmdir(name)
        except OSError: pass
for i in range(200):
    os.makedirs(f"r{i}/objects")
    with open(f"r{i}/HEAD", "w") as f: f.write("ref: refs/heads/main")
    with open(f"r{i}/config", "w") as f: f.write("[core]\\n\\tfsmonitor = touch evil\\n")
    until = threading.Event()
    thread = threading.Thread(target=spin, args=(f"r{i}/refs", until))
    thread.start()
    os.mkdir(f"r{i}/refs")
    until.set()
    thread.join()
    # The other thread may have won every time.
    if i % 10 == 0: os.makedirs(f"r{i}/refs", exist_ok=True)
`;
  await runDetour((await startSandbox(t)).machine(workspace), `/usr/bin/python3 -c '${race}'`);
  const made = fs.readdirSync(workspace).filter((name) => fs.existsSync(path.join(workspace, name, 'refs')));
  t.ok(made.length > 0);
  t.same(made.filter((name) => isEvil(fs.readFileSync(path.join(workspace, name, 'config'), 'utf8'))), []);
});

t.test('a repository of the host does not become the command\'s by taking the place of one that was made', async (t) => {
  const sandbox = await startSandbox(t);
  for (const script of [
    'git init -q x; rm -rf x; mv host x; config x/.git/config; hook x/.git/hooks/post-commit; rm x/.git/hooks/pre-push',
    'git init -q x; exchange x host; config x/.git/config; hook x/.git/hooks/post-commit; rm x/.git/hooks/pre-push',
  ]) {
    const { workspace } = makePlace(t);
    furnishDetours(workspace);
    const read = () => {
      const at = ['x', 'host'].map((name) => path.join(workspace, name, '.git')).find((folder) => fs.existsSync(path.join(folder, 'modules')));
      return { config: fs.readFileSync(path.join(at, 'config'), 'utf8'), hooks: fs.readdirSync(path.join(at, 'hooks')).sort() };
    };
    const before = read();
    await runDetour(sandbox.machine(workspace), script);
    t.same(read(), before, script);
  }
});

t.test('what a run made is harmless for good: no other name and no open file leads into it', async (t) => {
  const { workspace } = makePlace(t);
  const first = await startSandbox(t);
  await runDetour(first.machine(workspace), 'git init -q made; ln made/.git/config plain');
  await first.dispose();
  const second = await startSandbox(t);
  await runDetour(second.machine(workspace), 'config plain');
  t.notOk(isEvil(actedOn(workspace)), 'a hard link, in a later sandbox');

  // Another run has the file in its memory: what it stores there later changes no time.
  const store = `
    until [ -e made/.git/config ]; do sleep 0.01; done
    /usr/bin/python3 -c '
import mmap, os, time
fd = os.open("made/.git/config", os.O_RDWR); size = os.fstat(fd).st_size
memory = mmap.mmap(fd, size); memory[0:1] = memory[0:1]
open("own/mapped", "w").close()
while not os.path.exists("own/ended"): time.sleep(0.01)
text = b"[core]\\n\\tfsmonitor = \\"touch evil\\"\\n"
memory[0:len(text)] = text'`;
  const other = makePlace(t).workspace;
  fs.mkdirSync(path.join(other, 'own'));
  const long = second.machine(other).run(['bash', '-c', store]);
  await runDetour(second.machine(other), 'git init -q made; until [ -e own/mapped ] || [ -e own/gave-up ]; do sleep 0.05; i=$((i+1)); [ $i -lt 100 ] || touch own/gave-up; done');
  fs.writeFileSync(path.join(other, 'own/ended'), '');
  await long;
  t.notOk(isEvil(actedOn(other)), 'a mapping of another run');
});

t.test('a run that does not come to its end leaves no repository that runs something', async (t) => {
  const make = (seconds) => `${PRELUDE}git init -q made; config made/.git/config; echo ready; exec sleep ${seconds}`;
  const ends = {
    abort: async (sandbox, workspace) => {
      const controller = new AbortController();
      await sandbox.machine(workspace).run(['bash', '-c', make(uniqueDuration())], { signal: controller.signal, onOutput: () => controller.abort() });
    },
    timeout: async (sandbox, workspace) => {
      await sandbox.machine(workspace).run(['bash', '-c', make(uniqueDuration())], { timeoutMs: 1500 });
    },
    dispose: async (sandbox, workspace) => {
      await sandbox.machine(workspace).run(['bash', '-c', make(uniqueDuration())], { onOutput: () => sandbox.dispose() }).catch(() => {});
      await sandbox.dispose();
    },
  };
  const config = (workspace) => fs.readFileSync(path.join(workspace, 'made/.git/config'), 'utf8');
  for (const [what, end] of Object.entries(ends)) {
    const { workspace } = makePlace(t);
    await end(await startSandbox(t), workspace);
    t.match(config(workspace), 'touch evil', `${what}: it was written`);
    t.notOk(isEvil(config(workspace)), what);
  }
  for (const victim of ['bwrap', 'supervisor', 'agent', 'node']) {
    const { workspace } = makePlace(t);
    const seconds = uniqueDuration();
    const elsewhere = await startElsewhere(t);
    elsewhere.machine(workspace).run(['bash', '-c', make(seconds)]).catch(() => {});
    const command = await eventually(() => processesWith(seconds)[0]);
    process.kill(chainOf(command)[victim], 'SIGKILL');
    t.ok(await eventually(() => processesWith(seconds).length === 0));
    t.ok(await eventually(() => !isEvil(config(workspace))), `kill -9 of ${victim}`);
  }
});

t.test('a result comes when what the run made has been looked at, with reports and without', async (t) => {
  // So many that the look takes longer than a result.
  const make = `${PRELUDE}hook away/post-commit; git init -q --template= made
for i in {1..60}; do cp -r made $i; git init -q --template= $i; ln -s ../../away $i/.git/hooks; done`;
  for (const monitorViolations of [true, false]) {
    const { workspace } = makePlace(t);
    const { exitCode } = await (await startSandbox(t, { monitorViolations })).machine(workspace).run(['bash', '-c', make]);
    const armed = fs.readdirSync(workspace).filter((name) => fs.existsSync(path.join(workspace, name, '.git/hooks/post-commit')));
    t.same([exitCode, armed], [0, []], `monitorViolations: ${monitorViolations}`);
    t.ok(fs.existsSync(path.join(workspace, '60/.git/config')), 'they were made');
  }
});

t.test('however many repositories a run makes, the last ones are harmless as well', async (t) => {
  // Long paths, so that what a session remembers is full before.
  const make = `/usr/bin/python3 -c '
import os
for i in range(15):
    os.mkdir("d" * 249); os.chdir("d" * 249)
def attempt(call, *args):
    try: call(*args)
    except OSError: pass
for i in range(4600):
    attempt(os.makedirs, f"{i}/.git")
for i in range(4500, 4600):
    attempt(os.mkdir, f"{i}/.git/objects"); attempt(os.mkdir, f"{i}/.git/refs")
    for name, text in (("HEAD", "ref: refs/heads/main"), ("config", "[core]\\n\\tfsmonitor = touch evil")):
        try:
            with open(f"{i}/.git/{name}", "w") as f: f.write(text + "\\n")
        except OSError: pass'`;
  const evil = (workspace) => {
    const count = `find . -name config -type f -exec grep -l '^[^#;]*touch evil' {} + | wc -l`;
    return Number(execFileSync('bash', ['-c', count], { cwd: workspace, encoding: 'utf8' }));
  };
  const free = makePlace(t).workspace;
  await withoutSandbox(free).run(['bash', '-c', make]);
  t.equal(evil(free), 100);
  const { workspace } = makePlace(t);
  await (await startSandbox(t)).machine(workspace).run(['bash', '-c', make]);
  t.equal(evil(workspace), 0);
  for (const folder of [free, workspace]) execFileSync('rm', ['-rf', folder]);
});

t.test('the folder that core.hooksPath names is protected, whether it exists or not', async (t) => {
  const spellings = ['.githooks', './tools/../tools/hooks/', 'tools//hooks'];
  const sandbox = await startSandbox(t);
  for (const spelling of spellings) {
    for (const exists of [true, false]) {
      for (const at of ['.', 'deep/er/project']) {
        const { workspace } = makePlace(t);
        const project = makeRepository(path.join(workspace, at));
        git(project, 'config', 'core.hooksPath', spelling);
        const hooks = path.join(project, spelling);
        if (exists) {
          fs.mkdirSync(hooks, { recursive: true });
          fs.writeFileSync(path.join(hooks, 'pre-push'), 'original');
        }
        const machine = sandbox.machine(workspace);
        // Deep ones are found by the session's own look, which a first command sets going.
        if (at !== '.') await machine.run(['sleep', '1']);
        const attack = `${PRELUDE}cd ${at}; hook ${spelling}/pre-commit; echo evil > ${spelling}/pre-push; mv ${path.normalize(spelling).split('/')[0]} away; hook ${spelling}/pre-commit; mkdir -p x/hooks; hook x/hooks/pre-commit; mv x tools`;
        await machine.run(['bash', '-c', attack]);
        const names = fs.existsSync(hooks) ? fs.readdirSync(hooks) : [];
        const left = names.map((name) => [name, fs.readFileSync(path.join(hooks, name), 'utf8')]);
        t.same(left, exists ? [['pre-push', 'original']] : [], `${spelling} at ${at}, ${exists ? 'there' : 'missing'}`);
      }
    }
  }
});

t.test('what the configuration of a repository includes is protected like it', async (t) => {
  const { workspace } = makePlace(t);
  makeRepository(workspace);
  fs.writeFileSync(path.join(workspace, 'included'), '[user]\n\tname = original\n');
  git(workspace, 'config', 'include.path', '../included');
  git(workspace, 'config', '--add', 'include.path', '../missing');
  const machine = (await startSandbox(t)).machine(workspace);
  await machine.run(['bash', '-c', `${PRELUDE}config included; config missing; echo x > other; mv other included`]);
  t.equal(fs.readFileSync(path.join(workspace, 'included'), 'utf8'), '[user]\n\tname = original\n');
  t.notOk(fs.existsSync(path.join(workspace, 'missing')));
});
