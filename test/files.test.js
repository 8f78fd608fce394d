'use strict';
// What commands may write and read: write roots, denyWrite, denyRead, credentials. Judged from the outside.

const t = require('tap');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

// Before any sandbox starts: the home of this file's commands, with credentials of no worth.
const home = fs.mkdtempSync('/var/tmp/os-sandbox-home-');
process.env.HOME = home;
t.teardown(() => fs.rmSync(home, { recursive: true, force: true }));

const { bash, makePlace, quote, snapshot, startSandbox, withoutSandbox } = require('./helpers/attack');

const SECRET = 'the-secret-of-this-test';

/** Every way to change a folder with the files `file`, `second` and the folders `empty`, `full/x`. One line per success. */
const CHANGES = [
  'echo x > file',
  'echo x >> file',
  ': > file',
  'truncate -s 1 file',
  'dd if=/dev/zero of=file bs=1 count=1',
  'cp /etc/passwd file',
  'sed -i s/o/x/ file',
  'sh -c "exec 9<>file && echo x >&9"',
  'tee -a file < /etc/passwd',
  'chmod 777 file',
  'chmod 777 .',
  'touch -d 2001-01-01 file',
  'touch -h -d 2001-01-01 link',
  'ln file hard',
  'ln file "$TMPDIR"/hard',
  'ln -s file soft',
  'ln -sfn x link',
  'mv file moved',
  'mv file /tmp/',
  'mv -f second file',
  'echo x > new',
  'mkdir new-folder',
  'mkdir -p a/b/c',
  'mkfifo pipe',
  'rm -f file',
  'rm -f link',
  'rmdir empty',
  'rm -rf full',
  'cp -r /etc/hostname full/',
  'tar -xf "$TMPDIR"/archive.tar',
  'mv empty other',
  'mv full/x full/y',
  `/usr/bin/python3 -c "import os; os.setxattr('file', 'user.x', b'y')"`,
  `/usr/bin/python3 -c "import os; os.rename('file', 'second')"`,
  `/usr/bin/python3 -c "import os; os.open('.', os.O_TMPFILE | os.O_WRONLY)"`,
  `/usr/bin/python3 -c "import os; os.utime(os.open('file', os.O_RDONLY), (1, 1))"`,
  `/usr/bin/python3 -c "import os; os.fchmod(os.open('file', os.O_RDONLY), 0o777)"`,
];

function fill(folder) {
  for (const name of ['empty', 'full/x']) fs.mkdirSync(path.join(folder, name), { recursive: true });
  for (const name of ['file', 'second', 'full/x/y']) fs.writeFileSync(path.join(folder, name), 'original');
  fs.symlinkSync('file', path.join(folder, 'link'));
}

/** Tries every change in a folder; the changes that worked. TMPDIR is a place for what an attack needs beside it. */
async function tryChanges(machine, folder, beside) {
  fs.writeFileSync(path.join(beside, 'file'), 'planted');
  const script = [`cd ${quote(folder)} || exit 1; tar -cf "$TMPDIR/archive.tar" -C "$TMPDIR" file`];
  for (const change of CHANGES) script.push(`{ ${change}; } >/dev/null 2>&1 && echo ${quote(change)}`);
  const { stdout } = await bash(machine, `${script.join('\n')}\necho end`, { env: { TMPDIR: beside } });
  const worked = stdout.trim().split('\n');
  return worked.pop() === 'end' ? worked : ['the script did not run'];
}

t.test('commands write in every write root and nowhere else', async (t) => {
  const { base, workspace } = makePlace(t);
  const folders = Object.fromEntries(
    ['additional', 'allowed', 'relative', 'not-granted'].map((name) => [name, path.join(base, name)]),
  );
  for (const folder of Object.values(folders)) fs.mkdirSync(folder);
  fs.mkdirSync(path.join(home, '.operon/tasks'), { recursive: true });
  const sandbox = await startSandbox(t, {
    filesystem: { allowWrite: [folders.allowed, '../relative', path.join(base, 'missing')] },
  });
  const machine = sandbox.machine({ cwd: workspace, additionalDirs: [folders.additional] });
  const temporary = fs.mkdtempSync('/tmp/os-sandbox-test-');
  t.teardown(() => fs.rmSync(temporary, { recursive: true, force: true }));

  const roots = [
    workspace,
    folders.additional,
    folders.allowed,
    folders.relative,
    temporary,
    path.join(home, '.operon/tasks'),
  ];
  for (const root of roots) {
    await bash(machine, `mkdir -p ${quote(root)}/sub && echo written > ${quote(root)}/sub/file`);
    t.equal(fs.readFileSync(path.join(root, 'sub/file'), 'utf8'), 'written\n', root);
  }
  const inTmpdir = path.join(os.tmpdir(), path.basename(temporary), 'by-name');
  await bash(machine, `echo x > ${quote(inTmpdir)}`);
  t.ok(fs.existsSync(inTmpdir));

  const closed = [
    base,
    folders['not-granted'],
    home,
    path.join(home, '.operon'),
    path.join(base, 'missing'),
    '/',
    '/etc',
    '/usr',
    '/var/tmp',
  ];
  for (const folder of closed) {
    const name = `os-sandbox-canary-${process.pid}`;
    const result = await bash(machine, `mkdir -p ${quote(folder)}; echo x > ${quote(path.join(folder, name))}`);
    t.not(result.exitCode, 0, folder);
    t.notOk(fs.existsSync(path.join(folder, name)), folder);
  }
  t.notOk(fs.existsSync(path.join(base, 'missing')));
});

t.test('no kind of change works outside the write roots', async (t) => {
  const { base, workspace, out } = makePlace(t);
  fill(out);
  const machine = (await startSandbox(t)).machine(workspace);
  const before = snapshot(out);
  t.same(await tryChanges(machine, out, workspace), []);
  t.same(snapshot(out), before);

  const open = path.join(base, 'open');
  fs.mkdirSync(open);
  fill(open);
  const worked = await tryChanges(withoutSandbox(base), open, workspace);
  t.ok(worked.length > CHANGES.length / 2, `without a sandbox ${worked.length} of ${CHANGES.length} work`);
});

t.test('denyWrite beats every grant', async (t) => {
  const { workspace } = makePlace(t);
  const denied = path.join(workspace, 'deep/er/denied');
  fs.mkdirSync(denied, { recursive: true });
  fill(denied);
  const filesystem = { denyWrite: ['deep/er/denied'], allowWrite: [denied, path.join(denied, 'full')] };
  const machine = (await startSandbox(t, { filesystem })).machine({
    cwd: workspace,
    additionalDirs: [path.join(denied, 'empty')],
  });
  const before = snapshot(denied);
  t.same(await tryChanges(machine, denied, workspace), []);
  t.same(snapshot(denied), before);
  t.match(await bash(machine, 'cat deep/er/denied/file'), { stdout: 'original', exitCode: 0 }, 'it can be read');

  const all = (await startSandbox(t, { filesystem: { denyWrite: ['.'] } })).machine(workspace);
  t.not((await bash(all, 'echo x > new')).exitCode, 0);
  t.notOk(fs.existsSync(path.join(workspace, 'new')));
});

t.test('a denied path cannot be carried away by its parents', async (t) => {
  const { workspace } = makePlace(t);
  for (const folder of ['a/b/denied', 'c/d']) fs.mkdirSync(path.join(workspace, folder), { recursive: true });
  fs.writeFileSync(path.join(workspace, 'a/b/denied/file'), 'original');
  fs.writeFileSync(path.join(workspace, 'c/d/secret'), SECRET);
  const sandbox = await startSandbox(t, { filesystem: { denyWrite: ['a/b/denied'], denyRead: ['c/d/secret'] } });
  const machine = sandbox.machine(workspace);
  const exchange = `/usr/bin/python3 -c "
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.renameat2(-100, b'a', -100, b'fresh', 2) != 0)"`;
  const moves = [
    'mv a z',
    'mv a/b z',
    'mv a/b/denied z',
    'mv c z',
    'mv c/d z',
    'mv c/d/secret z',
    'mv a /tmp/',
    'mkdir fresh; mv -T fresh a',
    'mkdir -p fresh; mv -T fresh a/b/denied',
    'rmdir a/b/denied',
    'rm -r a',
    'ln c/d/secret z',
    'ln a/b/denied/file z',
    exchange,
    'cp -r --reflink=auto c /tmp/os-sandbox-copy && cat /tmp/os-sandbox-copy/d/secret',
    'mv ../workspace ../gone',
  ];
  for (const move of moves) {
    const result = await bash(machine, move);
    t.not(result.exitCode, 0, move);
    t.notMatch(result.stdout, SECRET);
  }
  fs.rmSync('/tmp/os-sandbox-copy', { recursive: true, force: true });
  t.equal(fs.readFileSync(path.join(workspace, 'a/b/denied/file'), 'utf8'), 'original');
  t.equal(fs.readFileSync(path.join(workspace, 'c/d/secret'), 'utf8'), SECRET);
  t.match(
    await bash(machine, 'mkdir a/new && mv a/new a/newer && rmdir a/newer && echo x > c/d/beside'),
    { exitCode: 0, stderr: '' },
    'beside it all goes on',
  );
});

/** How one folder of the workspace may be written; F is its name, `to-F` a symlink to it, W the workspace, B its parent. */
const SPELLINGS = [
  'W/F',
  'W/F/',
  'W/F//',
  '/W/F',
  '/../..W/F',
  'F',
  'F/',
  './F',
  './/./F/.',
  '../workspace/F',
  'none/../F',
  '/proc/self/rootW/F',
  'B/alias/F',
  'W/up/workspace/F',
  'up/alias/F/',
  'to-F',
  'to-F/',
  'to-F/.',
  'W/F/file',
  'to-F/file',
  './F//file',
  '~/back/workspace/F',
  '~//back//workspace/F/',
];

t.test('a denial holds in every spelling of its entry', async (t) => {
  const { base, workspace } = makePlace(t);
  fs.symlinkSync(base, path.join(workspace, 'up'));
  fs.symlinkSync(base, path.join(home, 'back'));
  fs.symlinkSync('workspace', path.join(base, 'alias'));
  fs.mkdirSync(path.join(workspace, 'none'));
  const folders = SPELLINGS.map((_, i) => `folder${i}`);
  for (const folder of folders) {
    fs.mkdirSync(path.join(workspace, folder));
    fs.writeFileSync(path.join(workspace, folder, 'file'), SECRET);
    fs.symlinkSync(folder, path.join(workspace, `to-${folder}`));
  }
  const entries = SPELLINGS.map((text, i) =>
    text.replace(/[WBF]/g, (letter) => ({ W: workspace, B: base, F: folders[i] })[letter]),
  );
  const before = snapshot(workspace);
  for (const option of ['denyRead', 'denyWrite']) {
    const machine = (await startSandbox(t, { filesystem: { [option]: entries } })).machine(workspace);
    const ways = (folder) =>
      ['', `${workspace}/`, 'up/workspace/', 'to-', `/proc/self/root${workspace}/`, '/proc/self/cwd/'].map(
        (way) => `${way}${folder}/file`,
      );
    for (const [i, folder] of folders.entries()) {
      const script = ways(folder)
        .map((file) => `cat ${file} 2>/dev/null; echo x > ${file}`)
        .join('\n');
      const { stdout, stderr } = await bash(machine, script);
      if (option === 'denyRead') t.equal(stdout, '', `${option} ${entries[i]}`);
      t.equal(
        stderr.match(/Permission denied|Read-only file system/g)?.length,
        ways(folder).length,
        `${option} ${entries[i]}`,
      );
    }
  }
  t.same(snapshot(workspace), before);
});

t.test('relative entries start at the cwd of the machine, not of the process or the run', async (t) => {
  const { base, workspace, secrets } = makePlace(t);
  for (const folder of [base, workspace, secrets]) fs.writeFileSync(path.join(folder, 'file'), SECRET);
  const sandbox = await startSandbox(t, { filesystem: { denyRead: ['file'] } });
  const machine = sandbox.machine(workspace);
  const everything = `cat ${base}/file; echo; cat ${secrets}/file; echo; cat ${workspace}/file`;
  for (const cwd of [undefined, secrets, base]) {
    const result = await bash(machine, everything, { cwd });
    t.match(result, { stdout: `${SECRET}\n${SECRET}\n`, stderr: `cat: ${workspace}/file: Permission denied\n` });
  }
  t.match(await bash(machine.withCwd('../secrets'), everything), {
    stderr: `cat: ${secrets}/file: Permission denied\n`,
  });
});

t.test('names that a shell, a glob or bwrap could misread are just names', async (t) => {
  const { workspace } = makePlace(t);
  const names = [
    'a*',
    'b?[x]',
    '[c]',
    '{d,e}',
    '**',
    '--perms',
    '-n',
    'new\nline',
    'back\\slash',
    'octal\\040x',
    'sp ace',
    'tab\t',
    'ünï',
    '~',
    '$HOME',
    'quo\'te"',
  ];
  for (const name of names) {
    fs.mkdirSync(path.join(workspace, name));
    fs.writeFileSync(path.join(workspace, name, 'file'), SECRET);
    fs.writeFileSync(path.join(workspace, `${name}.kept`), 'original');
  }
  fs.mkdirSync(path.join(workspace, 'axyz'));
  const filesystem = { denyRead: names.map((name) => `./${name}`), denyWrite: names.map((name) => `./${name}.kept`) };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  for (const name of names) {
    const file = quote(`./${name}`);
    const result = await bash(
      machine,
      `cat ${file}/file; echo x > ${file}/file; echo x > ${file}/new; echo x > ${file}.kept; ls ${file}`,
    );
    t.equal(result.stdout, '', name);
    t.equal(fs.readFileSync(path.join(workspace, name, 'file'), 'utf8'), SECRET, name);
    t.equal(fs.readFileSync(path.join(workspace, `${name}.kept`), 'utf8'), 'original', name);
    t.same(fs.readdirSync(path.join(workspace, name)), ['file'], name);
  }
  t.match(await bash(machine, 'echo x > axyz/file'), { exitCode: 0 }, 'a literal name is no glob');
});

/** Each must say EACCES, or EROFS where it would write. */
const ON_DENIED_FOLDER = [
  'ls .',
  'cat inner/file',
  'cat file',
  'stat file',
  'cd inner',
  'mkdir new',
  'echo x > new',
  'echo x > file',
  'rm file',
  'touch .',
  'chmod 755 .',
  'ln -s x y',
];
const ON_DENIED_FILE = [
  'cat F',
  'head -c 1 F',
  'echo x > F',
  'echo x >> F',
  'chmod 644 F',
  'truncate -s 0 F',
  'cp F G',
  'exec 9<>F',
  'touch F',
];

t.test('what is read-denied fails for reading and for writing, in a write root and outside', async (t) => {
  const { workspace, secrets } = makePlace(t);
  for (const place of [workspace, secrets]) {
    fs.mkdirSync(path.join(place, 'folder/inner'), { recursive: true });
    for (const name of ['folder/file', 'folder/inner/file', 'single'])
      fs.writeFileSync(path.join(place, name), SECRET, { mode: 0o666 });
  }
  const denyRead = [workspace, secrets].flatMap((place) => [path.join(place, 'folder'), path.join(place, 'single')]);
  const machine = (await startSandbox(t, { filesystem: { denyRead } })).machine(workspace);
  const before = [workspace, secrets].map(snapshot);
  for (const place of [workspace, secrets]) {
    const folder = quote(path.join(place, 'folder'));
    const refusal = /Permission denied|Read-only file system/;
    t.match(await bash(machine, `cd ${folder}`), { exitCode: 1, stderr: /Permission denied/ });
    for (const attack of ON_DENIED_FOLDER) {
      const absolute = attack.replace(/(?<= )(\.|file|inner\/file|inner|new|y)$/, (name) => `${folder}/${name}`);
      t.match(await bash(machine, absolute), { stdout: '', stderr: refusal }, `${attack} in ${place}`);
    }
    for (const attack of ON_DENIED_FILE) {
      const absolute = attack.replace(/\bF\b/, quote(path.join(place, 'single')));
      t.match(await bash(machine, absolute), { stdout: '', stderr: refusal }, `${attack} in ${place}`);
    }
  }
  t.same([workspace, secrets].map(snapshot), before);
  t.match(await withoutSandbox(workspace).run(['cat', 'single']), { stdout: SECRET });
});

const CREDENTIAL_FOLDERS = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.config/gcloud',
  '.kube',
  '.config/gh',
  '.config/glab-cli',
  '.password-store',
  '.local/share/keyrings',
  '.config/op',
  '.mozilla',
  '.config/google-chrome',
];
const CREDENTIAL_FILES = [
  '.docker/config.json',
  '.config/containers/auth.json',
  '.netrc',
  '.git-credentials',
  '.config/git/credentials',
  '.pypirc',
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.gem/credentials',
  '.terraform.d/credentials.tfrc.json',
  '.pgpass',
  '.my.cnf',
  '.vault-token',
];

t.test('credentials are closed to commands, also where the home is the workspace', async (t) => {
  const files = [...CREDENTIAL_FOLDERS.map((folder) => `${folder}/key`), ...CREDENTIAL_FILES].map((name) =>
    path.join(home, name),
  );
  for (const file of [...files, path.join(home, '.npmrc'), path.join(home, '.config/other')]) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, SECRET);
  }
  const sandbox = await startSandbox(t);
  const { workspace } = makePlace(t);
  for (const cwd of [workspace, home, '/']) {
    const machine = sandbox.machine(cwd);
    for (const file of files) fs.accessSync(file);
    const words = files.map(quote).join(' ');
    const result = await bash(
      machine,
      `cat ${words} 2>&1 | grep -c 'Permission denied'; cat ${words} 2>/dev/null; for f in ${words}; do echo x > "$f"; done 2>/dev/null; true`,
    );
    t.equal(result.stdout, `${files.length}\n`, cwd);
    for (const file of files) t.equal(fs.readFileSync(file, 'utf8'), SECRET, `${file} for ${cwd}`);
    t.match(
      await bash(machine, 'cat ~/.npmrc ~/.config/other'),
      { stdout: SECRET + SECRET },
      `what installs need, for ${cwd}`,
    );
  }
  t.match(sandbox.status.warnings.join('\n'), home, 'a workspace that is the home is worth a warning');
});

t.test('symlinks in the workspace lead neither out nor to a secret', async (t) => {
  const { workspace, out, secrets } = makePlace(t);
  fill(out);
  fs.writeFileSync(path.join(secrets, 'key'), SECRET);
  const machine = (await startSandbox(t, { filesystem: { denyRead: [secrets] } })).machine(workspace);
  const before = snapshot(out);
  await bash(
    machine,
    `ln -s ${out} to-out; ln -s ${secrets} to-secrets; ln -s ${out}/file to-file; ln -s /proc/self/root${secrets}/key to-key; ln -s ${out}/new dangling; ln -s / root`,
  );
  t.same(await tryChanges(machine, path.join(workspace, 'to-out'), workspace), []);
  const result = await bash(
    machine,
    `echo x > to-file; echo x > dangling; cp /etc/hostname dangling; mkdir to-out/new; echo x > root${out}/new
    for s in to-secrets/key to-key root${secrets}/key /proc/self/root${secrets}/key /proc/self/cwd/to-key /proc/thread-self/root${secrets}/key; do cat $s; done
    exec 9< .; cat /proc/self/fd/9/to-key; cd to-secrets; cat /dev/fd/9/to-secrets/key`,
  );
  t.equal(result.stdout, '');
  t.same(snapshot(out), before);
});

t.test('options that hide a deny list in a Set, a getter or a prototype never lose it', async (t) => {
  const { workspace, secrets } = makePlace(t);
  fs.writeFileSync(path.join(secrets, 'key'), SECRET);
  const { OsSandbox } = require('..');
  await t.rejects(OsSandbox.start({ filesystem: { denyRead: new Set([secrets]) } }), TypeError);
  await t.rejects(OsSandbox.start({ filesystem: new Map([['denyRead', [secrets]]]) }), TypeError);
  await t.rejects(OsSandbox.start({ filesystem: { denyread: [secrets] } }), TypeError);
  class Rules {
    get denyRead() {
      return [secrets];
    }
  }
  for (const filesystem of [
    Object.create({ denyRead: [secrets] }),
    new Rules(),
    {
      get denyRead() {
        return [secrets];
      },
    },
  ]) {
    const machine = (await startSandbox(t, { filesystem })).machine(workspace);
    t.match(await machine.run(['cat', path.join(secrets, 'key')]), { stdout: '', exitCode: 1 });
  }
});
