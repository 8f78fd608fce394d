'use strict';
// Denied paths in every spelling, of every kind, there or not: neither read nor written, and nothing else is denied.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, compile, makePlace, quote, resultsOf, snapshot, startSandbox, withoutSandbox } = require('./helpers/attack');
const { OWN_MOUNTS } = require('./helpers/namespace');
const { runProgram } = require('./helpers/program');
const { snapshotWithout } = require('./helpers/protected');
const { blockOf } = require('./helpers/violations');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = compile(programs, 'protected_names');

const SECRET = 'the-secret-of-this-test';

/** Makes files with the secret in them, and the folders above. @param {string} folder @param {string[]} names */
function makeFiles(folder, names) {
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), SECRET);
  }
}

/** A workspace with a folder of the command's own, and files. @param {any} t @param {string[]} names */
function furnish(t, names) {
  const { base, workspace, out } = makePlace(t);
  makeFiles(workspace, names);
  fs.mkdirSync(path.join(workspace, 'own'));
  return { base, workspace, out };
}

/** What reads a file, or a folder that holds `key`. @param {string} file */
const READS = {
  file: (file) => [`cat ${file}`, `cp ${file} own/copy`, `ln ${file} own/hard && cat own/hard`, `mv ${file} own/away && cat own/away`, `dd if=${file}`, `ln -s "$PWD"/${file} own/link; cat own/link`, `cat /proc/self/root"$PWD"/${file}`, `cat /proc/self/cwd/${file}`, `chmod 644 ${file} && cat ${file}`],
  folder: (folder) => [`ls ${folder}`, `cat ${folder}/key`, `stat ${folder}/key`, `cd ${folder}`, `grep -r . ${folder}`, `tar -cf - ${folder}/key`, `cp -r ${folder} own/copy && ls own/copy/key`, `mv ${folder} own/away && cat own/away/key`, `chmod 755 ${folder} && cat ${folder}/key`, `stat ${folder}/none 2>&1 | grep -q "No such" `],
};

/** What writes there. */
const WRITES = {
  file: (file) => [`echo x > ${file}`, `echo x >> ${file}`, `rm -f ${file}`, `truncate -s 0 ${file}`, `touch -c ${file}`, `chmod 600 ${file}`, `mv own/plain ${file}`, `ln -sf /etc/hostname ${file}`, `rm -f ${file}; mkdir ${file}`, `sed -i s/t/b/ ${file}`],
  folder: (folder) => [`echo x > ${folder}/new`, `echo x > ${folder}/key`, `mkdir ${folder}/sub`, `rm -rf ${folder}; ! [ -e ${folder} ]`, `mv -T own/tree ${folder}`, `rm -f ${folder}/key`, `touch -c ${folder}`, `chmod 700 ${folder}`, `ln -sfn own ${folder}`, `mv own/plain ${folder}/`],
};

/** What is in a workspace, but for the times of folders: names that are free come and go there. @param {string} workspace */
function contentOf(workspace) {
  const withoutTime = (facts) => facts.replace(/^(4\d+ \d+ \d+) .*/, '$1');
  return Object.fromEntries(Object.entries(snapshotWithout(workspace, 'own')).map(([name, facts]) => [name, withoutTime(facts)]));
}

/** @param {any} t what every one of some commands is to come to: failure, without the secret; and no file changes */
async function nothingWorks(t, machine, workspace, commands, what) {
  const before = contentOf(workspace);
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await bash(machine, `mkdir -p own/tree; echo x > own/plain; ${command}`);
    t.not(exitCode, 0, `${what}: ${command}`);
    t.notMatch(stdout + stderr.replaceAll(/^deny .*$/gm, ''), SECRET, `${what}: ${command}`);
  }
  // What is copied from a denied folder is an empty one that nobody may search.
  execFileSync('chmod', ['-R', 'u+rwX', path.join(workspace, 'own')]);
  t.same(contentOf(workspace), before, `${what}: nothing changed`);
}

t.test('without a sandbox each of these commands works', async (t) => {
  for (const kind of ['file', 'folder']) {
    for (const command of [...READS[kind]('data/x'), ...WRITES[kind]('data/x')]) {
      const { workspace } = furnish(t, [kind === 'file' ? 'data/x' : 'data/x/key']);
      const { exitCode, stderr } = await bash(withoutSandbox(workspace), `mkdir -p own/tree; echo x > own/plain; ${command}`);
      const works = exitCode === 0 || /mv -T/.test(command);
      t.ok(works, `${command}: ${stderr}`);
    }
  }
});

/** Spellings of data/secret, of a workspace whose name is W, below a home H that is the folder above. */
const SPELLINGS = {
  relative: 'data/secret',
  'with a trailing slash': 'data/secret/',
  'with slashes': './/data///secret//',
  'with dots': './data/./secret/.',
  'with two dots': 'own/../data/other/../secret',
  absolute: 'W/data/secret',
  'absolute, with a trailing slash': 'W/data/secret/',
  'absolute, untidy': 'W//own/.././data//secret/',
  'in the home': '~/workspace/data/secret',
  'in the home, untidy': '~//workspace/./data/secret/',
  'through a link': 'link/secret',
  'through a link, and back': 'link/../data/secret',
  'as a link': 'to-secret',
  'as a link, with a trailing slash': 'to-secret/',
  'through an absolute link': 'absolute/secret/',
};

t.test('an entry means the same in every spelling', async (t) => {
  for (const [what, spelling] of Object.entries(SPELLINGS)) {
    const { base, workspace } = furnish(t, ['data/secret/key', 'data/other/key', 'data/secretly']);
    fs.symlinkSync('data', path.join(workspace, 'link'));
    fs.symlinkSync('data/secret', path.join(workspace, 'to-secret'));
    fs.symlinkSync(path.join(workspace, 'data'), path.join(workspace, 'absolute'));
    const home = process.env.HOME;
    process.env.HOME = base;
    t.teardown(() => (process.env.HOME = home));
    const entry = spelling.replace(/^W/, workspace);
    const reading = (await startSandbox(t, { filesystem: { denyRead: [entry] } })).machine(workspace);
    await nothingWorks(t, reading, workspace, [...READS.folder('data/secret').slice(0, 4), ...WRITES.folder('data/secret').slice(0, 5)], `denyRead ${what}`);
    const writing = (await startSandbox(t, { filesystem: { denyWrite: [entry] } })).machine(workspace);
    await nothingWorks(t, writing, workspace, WRITES.folder('data/secret'), `denyWrite ${what}`);
    t.match(await bash(writing, 'cat data/secret/key; ls data/secret'), { stdout: `${SECRET}key\n`, exitCode: 0 }, `${what}: it can be read`);
    for (const machine of [reading, writing]) {
      t.match(await bash(machine, 'cat data/other/key data/secretly && echo x > data/other/new && echo x > data/secret2 && rm data/secret2 data/other/new'), { exitCode: 0 }, `${what}: what is beside it is free`);
    }
    process.env.HOME = home;
  }
});

t.test("a relative entry is relative to the machine's cwd", async (t) => {
  const { workspace } = furnish(t, ['secret', 'sub/secret', 'package.json']);
  const sandbox = await startSandbox(t, { filesystem: { denyRead: ['secret'], denyWrite: ['package.json'] } });
  const machine = sandbox.machine(workspace);
  t.match(await bash(machine, 'cat secret; cat sub/secret; echo x > package.json'), { stdout: SECRET, exitCode: 1 });
  t.equal(fs.readFileSync(path.join(workspace, 'package.json'), 'utf8'), SECRET);
  t.match(await bash(machine.withCwd('sub'), 'cat secret'), { stdout: '' }, 'of a sibling: its own');
  t.match(await machine.run(['sh', '-c', 'cat secret'], { cwd: 'sub' }), { stdout: SECRET }, 'of a run: still the machine\'s');
  t.match(await bash(machine, `cat ${path.join(__dirname, '..', 'package.json')}`), { exitCode: 0 }, "not the process's");
});

t.test('a denied file or folder is closed to every way of reading and writing', async (t) => {
  const { workspace } = furnish(t, ['data/file', 'data/folder/key', 'data/kept', 'data/keep/key']);
  const filesystem = { denyRead: ['data/file', 'data/folder'], denyWrite: ['data/kept', 'data/keep'] };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  await nothingWorks(t, machine, workspace, [...READS.file('data/file'), ...WRITES.file('data/file')], 'denyRead');
  await nothingWorks(t, machine, workspace, [...READS.folder('data/folder'), ...WRITES.folder('data/folder')], 'denyRead');
  await nothingWorks(t, machine, workspace, WRITES.file('data/kept'), 'denyWrite');
  await nothingWorks(t, machine, workspace, WRITES.folder('data/keep'), 'denyWrite');
  const errors = await bash(machine, 'cat data/file; cat data/folder/key; ls data/folder; stat data/folder/key; cat data/folder/none; ls data/folder/none');
  t.equal(errors.stderr.match(/Permission denied/g)?.length, 6, `a read is refused with EACCES, below as well: ${errors.stderr}`);
  const swallowed = await bash(machine, 'echo x > data/folder/new; echo x > data/file; echo x >> data/folder/key');
  t.equal(swallowed.stderr.match(/Permission denied|Read-only file system/g)?.length, 3);
  const moved = 'mv data own/away; mv data data2; mkdir data; rm -rf data';
  await nothingWorks(t, machine, workspace, moved.split('; ').map((command) => `${command}; [ "$(ls -d data2 own/away/kept 2>/dev/null)" ]`), 'a parent');
});

/** Runs the program of all calls; gives what was not refused. */
async function callsThatWork(machine, mode, targets) {
  const { stdout, stderr } = await machine.run([program, mode, 'own', ...targets]);
  const results = Object.entries(resultsOf(stdout));
  if (results.length < 10) throw new Error(stderr);
  return results.filter(([, result]) => result === 'DONE').map(([name]) => name);
}

t.test('no call writes what is denied, whether an entry or a glob names it, there or not', async (t) => {
  const there = ['kept', 'a/b/c.kept', 'a/folder/inner'];
  const missing = ['missing', 'a/new.kept', 'a/b/c/none/x'];
  const prepare = () => {
    const { workspace } = furnish(t, there);
    for (const folder of ['a/folder/empty', 'a/b/c/none']) fs.mkdirSync(path.join(workspace, folder), { recursive: true });
    return workspace;
  };
  const existing = ['kept', 'a/b/c.kept', 'a/folder'];
  const free = prepare();
  t.ok((await callsThatWork(withoutSandbox(free), 'create', missing)).length > 50);
  t.ok((await callsThatWork(withoutSandbox(free), 'change', existing)).length > 100);
  for (const monitorViolations of [true, false]) {
    const workspace = prepare();
    const denyWrite = ['kept', 'missing', '**/*.kept', 'a/folder', 'a/b/c/none/?'];
    const machine = (await startSandbox(t, { filesystem: { denyWrite }, monitorViolations })).machine(workspace);
    const before = snapshotWithout(workspace, 'own');
    t.same(await callsThatWork(machine, 'create', missing), []);
    t.same(await callsThatWork(machine, 'change', existing), []);
    t.same(snapshotWithout(workspace, 'own'), before, 'nothing changed');
    t.match(await bash(machine, 'cat kept a/b/c.kept; echo x > keptx; echo x > a/b/kept2; mkdir a/b/c/none/ab'), { exitCode: 0, stdout: SECRET + SECRET });
  }
});

t.test('a name with the signs of a glob is that file, where there is one', async (t) => {
  const names = ['a*b', 'q?', '[x]', '{a,b}', '**', 'dir[1]/*.pem', 'back\\slash', '*'];
  const others = ['aXb', 'qq', 'x', 'a', 'b', 'zz', 'dir1/a.pem', 'dir[1]/a.pem', 'back'];
  for (const name of names) {
    const { workspace } = furnish(t, [...names, ...others]);
    const machine = (await startSandbox(t, { filesystem: { denyRead: [name] } })).machine(workspace);
    const { stdout } = await bash(machine, `for f in ${[...names, ...others].map(quote).join(' ')}; do cat "$f" > /dev/null 2>&1 && printf '%s\\n' "$f"; done`);
    t.same(stdout.trim().split('\n').sort(), [...names, ...others].filter((other) => other !== name).sort(), name);
    const writing = (await startSandbox(t, { filesystem: { denyWrite: [name] } })).machine(workspace);
    const before = fs.readFileSync(path.join(workspace, name), 'utf8');
    await bash(writing, `for f in ${[...names, ...others].map(quote).join(' ')}; do echo x > "$f"; done`);
    t.equal(fs.readFileSync(path.join(workspace, name), 'utf8'), before, name);
    t.same(others.filter((other) => fs.readFileSync(path.join(workspace, other), 'utf8') !== 'x\n'), [], `nothing but ${name}`);
  }
});

/** Patterns, what they deny of the files below, and what not. */
const FILES = ['a.pem', 'k.key', 'd/b.pem', 'd/e/f/g/h/i/c.pem', 'd/x.pem/inner', 'conf/one/secret', 'conf/two/secret', 'conf/secret', 'conf/one/deep/secret', 'secret', 'Secret', '.hidden.pem', 'pem', 'xpem'];
const GLOBS = {
  '**/*.pem': ['a.pem', 'd/b.pem', 'd/e/f/g/h/i/c.pem', 'd/x.pem/inner', '.hidden.pem'],
  '*.pem': ['a.pem', '.hidden.pem'],
  './*.pem': ['a.pem', '.hidden.pem'],
  'd/../*.pem': ['a.pem', '.hidden.pem'],
  '**/*.{pem,key}': ['a.pem', 'k.key', 'd/b.pem', 'd/e/f/g/h/i/c.pem', 'd/x.pem/inner', '.hidden.pem'],
  'conf/*/secret': ['conf/one/secret', 'conf/two/secret'],
  'conf/**/secret': ['conf/one/secret', 'conf/two/secret', 'conf/secret', 'conf/one/deep/secret'],
  'conf/{one,three}/secret': ['conf/one/secret'],
  '[s]ecret': ['secret'],
  '?ecret': ['secret', 'Secret'],
  'd/**': ['d/b.pem', 'd/e/f/g/h/i/c.pem', 'd/x.pem/inner'],
  'link/e/**/*.pem': ['d/e/f/g/h/i/c.pem'],
  'W/**/*.pem': ['a.pem', 'd/b.pem', 'd/e/f/g/h/i/c.pem', 'd/x.pem/inner', '.hidden.pem'],
  'nothing/**/*.x': [],
};

t.test('a glob denies what matches it, when the run starts', async (t) => {
  for (const [pattern, denied] of Object.entries(GLOBS)) {
    const { workspace } = furnish(t, FILES);
    fs.symlinkSync('d', path.join(workspace, 'link'));
    const entry = pattern.replace(/^W/, workspace);
    const machine = (await startSandbox(t, { filesystem: { denyRead: [entry] } })).machine(workspace);
    const words = FILES.map(quote).join(' ');
    const reads = await bash(machine, `for f in ${words}; do cat "$f" > /dev/null 2>&1 && echo "$f"; done; true`);
    t.same(FILES.filter((name) => !reads.stdout.split('\n').includes(name)).sort(), [...denied].sort(), `${pattern} read`);
    const writing = (await startSandbox(t, { filesystem: { denyWrite: [entry] } })).machine(workspace);
    await bash(writing, `for f in ${words}; do echo x > "$f"; done; true`);
    t.same(FILES.filter((name) => fs.readFileSync(path.join(workspace, name), 'utf8') === SECRET).sort(), [...denied].sort(), `${pattern} write`);
  }
});

t.test('a glob denies what comes to match it while a command runs', async (t) => {
  const attempts = [
    'echo x > new.pem', 'mkdir new.pem', 'mv own/plain new.pem', 'ln own/plain deep/new.pem', 'ln -s plain new.pem', 'mkfifo d/e/new.pem',
    'mkdir -p x && mv x y.pem', 'mv d other', 'mv d own/', 'mv conf conf2', 'cp a.pem b.pem', 'mkdir -p m/one && echo x > m/one/secret && mv m conf/m && cat conf/m/secret',
    'mkdir -p one && echo x > one/secret && mv one conf/three', 'mv conf/one conf/1', 'ln -s d/b.pem own/link && cat own/link',
  ];
  const names = ['a.pem', 'd/b.pem', 'd/e/c.pem', 'conf/one/secret', 'deep/x'];
  const unwanted = (workspace) => Object.keys(snapshot(workspace)).filter((name) => /(^|\/)[^/]*\.pem(\/|$)|^conf\/[^/]+\/secret/.test(name)).sort();
  for (const list of ['denyRead', 'denyWrite']) {
    const { workspace } = furnish(t, names);
    const machine = (await startSandbox(t, { filesystem: { [list]: ['**/*.pem', 'conf/*/secret'] } })).machine(workspace);
    const before = unwanted(workspace);
    const commands = list === 'denyRead' ? attempts : attempts.filter((attempt) => !/cat own.link|m.one/.test(attempt));
    for (const attempt of commands) {
      const { exitCode } = await bash(machine, `echo x > own/plain; ${attempt}`);
      t.not(exitCode, 0, `${list}: ${attempt}`);
      t.same(unwanted(workspace), before, `${list}: ${attempt}`);
      fs.rmSync(path.join(workspace, 'own'), { recursive: true });
      fs.mkdirSync(path.join(workspace, 'own'));
    }
    t.match(await bash(machine, 'mv deep deeper && echo x > pem && echo x > new.pem2'), { exitCode: 0, stderr: '' }, 'what matches nothing is free');
  }
});

t.test('a glob denies reading what the host puts there while a command runs', async (t) => {
  const attack = 'echo up; until [ -e own/go ]; do sleep 0.01; done; cat new.pem d/moved.pem; cat d/new.txt';
  for (const denyRead of [[], ['**/*.pem']]) {
    const { workspace } = furnish(t, ['d/x']);
    makeFiles(path.dirname(workspace), ['moved.pem']);
    const machine = (await startSandbox(t, { filesystem: { denyRead } })).machine(workspace);
    const onOutput = ({ data }) => {
      if (!data.startsWith('up')) return;
      makeFiles(workspace, ['new.pem', 'd/new.txt']);
      fs.renameSync(path.join(path.dirname(workspace), 'moved.pem'), path.join(workspace, 'd/moved.pem'));
      fs.writeFileSync(path.join(workspace, 'own/go'), '');
    };
    const { stdout, stderr } = await bash(machine, attack, { onOutput });
    t.equal(stdout, `up\n${SECRET.repeat(denyRead.length === 0 ? 3 : 1)}`);
    if (denyRead.length > 0) t.equal(stderr.match(/Permission denied/g)?.length, 2);
  }
});

t.test('a denied path that does not exist is not made, by no way there', async (t) => {
  const ways = [
    'mkdir -p m/n', 'mkdir m; echo evil > m/n', 'mkdir m; echo evil > own/x; mv own/x m/n', 'mkdir -p own/m; echo evil > own/m/n; mv own/m m',
    'echo evil > own/n; ln -s own m', 'ln -s own m; echo evil > own/n', 'mkdir m; ln -s ../own m/n', 'mkdir m; ln own/plain m/n', 'mkdir m; mkfifo m/n',
    'mkdir -p m own/m; echo evil > own/m/n; /usr/bin/python3 -c "import ctypes; ctypes.CDLL(None).renameat2(-100, b\'m\', -100, b\'own/m\', 2)"',
    'ln -s m/n link; mkdir m; echo evil > link', 'cd own; mkdir -p ../m; echo evil > ../m/n',
  ];
  for (const list of ['denyRead', 'denyWrite']) {
    for (const way of ways) {
      const attack = `echo evil > own/plain; ${way}`;
      const exists = (workspace) => fs.lstatSync(path.join(workspace, 'm/n'), { throwIfNoEntry: false }) !== undefined;
      const free = furnish(t, []).workspace;
      await bash(withoutSandbox(free), attack);
      t.ok(exists(free), `without a sandbox: ${way}`);
      const { workspace } = furnish(t, []);
      const machine = (await startSandbox(t, { filesystem: { [list]: ['m/n'] } })).machine(workspace);
      const { stderr } = await bash(machine, attack);
      t.notOk(exists(workspace), `${list}: ${way}`);
      t.ok(blockOf(stderr).length > 0, `${list}: ${way} is told`);
    }
  }
});

t.test('the most specific entry holds: a denial in a grant in a denial', async (t) => {
  const { workspace, base } = furnish(t, ['d/key', 'd/open/file', 'd/open/closed/key', 'd/open/closed/again/file']);
  makeFiles(base, ['out/grant/kept/x', 'out/grant/x', 'out/x']);
  const filesystem = {
    denyRead: ['d', 'd/open/closed'],
    allowRead: ['d/open', 'd/open/closed/again'],
    allowWrite: [path.join(base, 'out/grant')],
    denyWrite: [path.join(base, 'out/grant/kept')],
  };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  t.match(await bash(machine, 'cat d/open/file d/open/closed/again/file; ls d/open'), { stdout: `${SECRET}${SECRET}closed\nfile\n`, exitCode: 0 });
  await nothingWorks(t, machine, workspace, ['cat d/key', 'ls d', 'cat d/open/closed/key', 'ls d/open/closed', 'echo x > d/new', 'echo x > d/open/closed/new', 'mv d own/d2', 'mv d/open own/', 'cat d/open/../key'], 'nested');
  t.match(await bash(machine, `echo x > ${base}/out/grant/x`), { exitCode: 0 });
  for (const file of ['out/x', 'out/grant/kept/x', 'out/grant/kept/new', 'out/new']) t.not((await bash(machine, `echo y > ${base}/${file}`)).exitCode, 0, file);
  t.equal(fs.readFileSync(path.join(base, 'out/grant/kept/x'), 'utf8'), SECRET);
  const equal = (await startSandbox(t, { filesystem: { denyRead: ['d'], allowRead: ['d'] } })).machine(workspace);
  t.match(await bash(equal, 'cat d/key'), { stdout: '', exitCode: 1 }, 'of the same path, the denial');
});

t.test('a denied link, whatever it leads to, holds with what it leads to', async (t) => {
  const kinds = {
    'to a file': (workspace) => makeFiles(workspace, ['target']),
    'to a folder': (workspace) => makeFiles(workspace, ['target/key']),
    dangling: () => {},
  };
  for (const [what, prepare] of Object.entries(kinds)) {
    for (const list of ['denyRead', 'denyWrite']) {
      const { workspace } = furnish(t, ['other']);
      prepare(workspace);
      fs.symlinkSync('target', path.join(workspace, 'link'));
      const machine = (await startSandbox(t, { filesystem: { [list]: ['link', 'other'] } })).machine(workspace);
      const attempts = ['rm link', 'mv link own/', 'ln -sfn own link', 'echo x > link', 'echo x > target', 'mkdir target', 'mv own/plain target', 'rm -r target', 'mv target own/t', 'echo x > other', 'rm -f link; echo x > link'];
      if (list === 'denyRead') attempts.push('cat link', 'cat target', 'cat link/key', 'cat target/key', 'cat other');
      await nothingWorks(t, machine, workspace, attempts, `${list} of a link ${what}`);
      t.match(await bash(machine, 'echo x > own/free; ls > /dev/null'), { exitCode: 0, stderr: '' });
    }
  }
});

t.test('an entry that leads nowhere keeps no command from running, or says why, and others hold', async (t) => {
  const kinds = {
    'a loop': (workspace) => fs.symlinkSync('odd', path.join(workspace, 'odd')),
    'below a file': (workspace) => makeFiles(workspace, ['odd-file']),
    'below a locked folder': (workspace) => {
      makeFiles(workspace, ['locked/odd']);
      fs.chmodSync(path.join(workspace, 'locked'), 0);
    },
    missing: () => {},
  };
  const entries = { 'below a file': 'odd-file/odd', 'below a locked folder': 'locked/odd' };
  for (const [what, prepare] of Object.entries(kinds)) {
    for (const list of ['denyRead', 'denyWrite']) {
      const { workspace } = furnish(t, ['secret', 'kept']);
      prepare(workspace);
      t.teardown(() => fs.existsSync(path.join(workspace, 'locked')) && fs.chmodSync(path.join(workspace, 'locked'), 0o755));
      const filesystem = { denyRead: ['secret'], denyWrite: ['kept'] };
      filesystem[list].push(entries[what] ?? 'odd');
      const machine = (await startSandbox(t, { filesystem })).machine(workspace);
      const script = 'cat secret; echo x > kept; chmod 755 locked; cat odd locked/odd; echo x > locked/odd; rm odd; echo x > odd; echo end';
      const result = await bash(machine, script).catch(({ message }) => ({ message, stdout: '' }));
      if ('message' in result) t.match(result.message, /^os-sandbox: /, what);
      else t.match(result.stdout, list === 'denyWrite' ? /^(the-secret-of-this-test)?end\n$/ : /^end\n$/, `${list}: ${what}`);
      t.equal(fs.readFileSync(path.join(workspace, 'kept'), 'utf8'), SECRET);
      if (!(what in entries)) t.notOk(fs.existsSync(path.join(workspace, 'odd')), `${list}: ${what} is not made`);
      if (what === 'below a locked folder') {
        fs.chmodSync(path.join(workspace, 'locked'), 0o755);
        t.equal(fs.readFileSync(path.join(workspace, 'locked/odd'), 'utf8'), SECRET);
      }
    }
  }
});

t.test('a denied path on another mount is denied', async (t) => {
  const { workspace } = furnish(t, []);
  fs.mkdirSync(path.join(workspace, 'mnt'));
  const body = `
    const fs = require('node:fs');
    const workspace = process.argv[1];
    for (const name of ['secret', 'kept', 'deep.pem', 'whole']) fs.writeFileSync(workspace + '/mnt/' + name, 'content of ' + name);
    const filesystem = { denyRead: ['mnt/secret', 'mnt/**/*.pem'], denyWrite: ['mnt/kept', 'mnt/missing'] };
    const sandbox = await OsSandbox.start({ filesystem });
    const script = 'cat mnt/secret mnt/deep.pem; cat mnt/whole; echo x > mnt/kept; echo x > mnt/missing; echo x > mnt/free; mv mnt/secret mnt/s2; rm -f mnt/kept; echo x > mnt/new.pem';
    const inside = await sandbox.machine(workspace).run(['bash', '-c', script]);
    const all = await (await OsSandbox.start({ filesystem: { denyRead: ['mnt'] } })).machine(workspace).run(['bash', '-c', 'cat mnt/whole; ls mnt; echo x > mnt/x']);
    say({ status: sandbox.status, stdout: inside.stdout, all, names: fs.readdirSync(workspace + '/mnt').sort(), kept: fs.readFileSync(workspace + '/mnt/kept', 'utf8') });
    process.exit();`;
  const launcher = [...OWN_MOUNTS, 'sh', '-c', 'mount -t tmpfs none "$0/mnt" && exec "$@"', workspace];
  const { said, stderr } = await runProgram(t, body, { launcher, args: [workspace] });
  t.match(said[0], { status: { enabled: true }, stdout: 'content of whole', all: { stdout: '', exitCode: 1 }, kept: 'content of kept' }, stderr);
  t.same(said[0].names, ['deep.pem', 'free', 'kept', 'secret', 'whole']);
});
