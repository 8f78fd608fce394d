'use strict';
// What stays readable inside of what is denied: allowRead, strict reads, credentials. Judged from the outside.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

// Before any sandbox starts: the home of this file's commands, with credentials of no worth.
const home = fs.mkdtempSync('/var/tmp/os-sandbox-home-');
process.env.HOME = home;
// The test runner's own: a module in a folder that strict reads hide, and another npm configuration.
delete process.env.NODE_OPTIONS;
for (const name of Object.keys(process.env)) if (/^npm_config_/i.test(name)) delete process.env[name];
t.teardown(() => fs.rmSync(home, { recursive: true, force: true }));

const { bash, makePlace, quote, snapshot, startSandbox, withoutSandbox } = require('./helpers/attack');

const SECRET = 'the-secret-of-this-test';
const REFUSED =
  /permission denied|read-only file system|device or resource busy|cross-device link|not permitted|must be superuser/i;

/** Files with their texts, folders made on the way. @param {string} folder @param {Record<string, string>} files */
function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

/** A home as developers have it. */
function fillHome() {
  fs.rmSync(home, { recursive: true, force: true });
  write(home, {
    '.ssh/known_hosts': 'known',
    '.ssh/id_ed25519': SECRET,
    '.ssh/config': SECRET,
    '.ssh/keys/more': SECRET,
    '.gnupg/secring.gpg': SECRET,
    '.aws/credentials': SECRET,
    '.netrc': SECRET,
    '.git-credentials': SECRET,
    '.docker/config.json': SECRET,
    '.config/gh/hosts.yml': SECRET,
    '.npmrc': 'fund=false\n',
    '.gitconfig': '[user]\n\tname = somebody\n\temail = somebody@example.com\n',
    'private/note': SECRET,
  });
}

/** No command of a table works, and each says that it was refused. @param {any} t @param {any} machine @param {string[]} commands */
async function refuses(t, machine, commands) {
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await bash(machine, command);
    t.not(exitCode, 0, command);
    t.notMatch(stdout, SECRET, command);
    t.match(stderr, REFUSED, command);
  }
}

/** What runs although nothing but the workspace and the runtime can be read: a script, and what it prints. */
const TOOLS = {
  bash: ['[[ -x /bin/sh ]] && echo "$((6 * 7))" | cat', /^42\n$/],
  git: [
    `git init -q repository && cd repository && echo x > file && git add file &&
     git -c user.name=a -c user.email=a@b commit -qm subject && git log --format=%s && git status --porcelain`,
    /^subject\n$/,
  ],
  node: ['node -p "require(\'fs\').readFileSync(\'text\', \'utf8\').length"', /^5\n$/],
  python3: ['python3 -c "import json, ssl, subprocess, sqlite3; print(json.dumps([1]))"', /^\[1\]\n$/],
  gcc: [
    'printf "#include <stdio.h>\\nint main(void) { return puts(\\"compiled\\") < 0; }\\n" > a.c && gcc -o a a.c && ./a',
    /^compiled\n$/,
  ],
  curl: ['curl --version', /^curl \d/],
  date: ['TZ=America/New_York date +%Z', /^E[SD]T\n$/],
};

t.test('with strict reads, programs start and work', async (t) => {
  fillHome();
  // A capital letter in a folder that cannot be listed: whether names compare without case there is to be told otherwise.
  const workspace = path.join(makePlace(t).workspace, 'Work');
  write(workspace, { text: 'hello' });
  const machine = (await startSandbox(t, { filesystem: { defaultRead: 'deny' } })).machine(workspace);
  for (const [name, [script, wanted]] of Object.entries(TOOLS)) {
    const result = await bash(machine, script);
    t.match(result, { exitCode: 0, stdout: wanted }, name);
    if (result.exitCode !== 0) t.comment(result.stderr);
  }
});

t.test('with strict reads, the file of the command that is started can be read', async (t) => {
  const { out, workspace } = makePlace(t);
  const program = path.join(out, 'tool');
  write(out, { tool: '#!/bin/sh\necho started; cat "$1"\n', beside: SECRET });
  fs.chmodSync(program, 0o755);
  const machine = (await startSandbox(t, { filesystem: { defaultRead: 'deny' } })).machine(workspace);
  const result = await machine.run([program, path.join(out, 'beside')]);
  t.match(result, { stdout: /^started\n$/, stderr: /Permission denied/ });
  t.not(result.exitCode, 0);
});

t.test('with strict reads, nothing else can be read', async (t) => {
  fillHome();
  const { base, out, workspace } = makePlace(t);
  write(out, { 'deep/secret': SECRET });
  fs.symlinkSync(path.join(out, 'deep/secret'), path.join(workspace, 'to-secret'));
  fs.symlinkSync(out, path.join(workspace, 'to-out'));
  const reads = [
    'cat /etc/passwd',
    'cat /etc/group',
    'ls /etc',
    'ls /root',
    'ls /home',
    'ls /srv',
    'ls /opt',
    'ls /var',
    'ls /var/log',
    'ls /var/lib',
    'ls /mnt',
    'ls /sys',
    'ls ~',
    'cat ~/.ssh/id_ed25519',
    'cat ~/private/note',
    'cat ~/.gitconfig',
    `ls ${base}`,
    'ls ..',
    'ls ../out',
    'cat ../out/deep/secret',
    'cat to-secret',
    'ls to-out/',
    'cat to-out/deep/secret',
    `cat /proc/self/root${out}/deep/secret`,
    `cat /proc/1/root${out}/deep/secret`,
    'cat /proc/self/cwd/../out/deep/secret',
    'exec 9< to-secret && cat <&9',
    'head -c 9 /proc/self/fd/9 9< to-secret',
    'cd ../out/deep && ls',
    '. ../out/deep/secret',
    'tar -cf - ../out/deep | wc -c; exit "${PIPESTATUS[0]}"',
    `/usr/bin/python3 -c "print(open('to-secret').read())"`,
    `/usr/bin/python3 -c "import os; print(os.listdir('${out}'))"`,
    `/usr/bin/python3 -c "import os; print(os.open('.', os.O_RDONLY, dir_fd=os.open('${out}', os.O_PATH)))"`,
    `/usr/bin/python3 -c "import os; print(open(os.open('${out}/deep/secret', os.O_PATH)).read())"`,
  ];
  const writes = [
    'echo x > ../out/new',
    'echo x > ../out/deep/secret',
    'mkdir ../out/new',
    'echo x > ~/new',
    'echo x >> ~/.gitconfig',
    'rm ../out/deep/secret',
    'rm -r ../out/deep',
    'mv ../out out',
    'mv ../out/deep deep',
    'mv text ../out/',
    'ln ../out/deep/secret hard',
    'ln to-secret hard -L',
    'chmod 777 ../out',
    'chmod 777 ..',
    'touch ..',
    'echo x > /etc/os-sandbox-canary',
    'echo x > /etc/passwd',
    'mv ../workspace ../gone',
  ];
  write(workspace, { text: 'hello' });
  const before = snapshot(out);
  const machine = (await startSandbox(t, { filesystem: { defaultRead: 'deny' } })).machine(workspace);
  await refuses(t, machine, [...reads, ...writes]);
  t.same(snapshot(out), before);
  t.same(fs.readdirSync(base).sort(), ['out', 'secrets', 'workspace']);
  t.notOk(fs.existsSync('/etc/os-sandbox-canary'));
  const open = withoutSandbox(workspace);
  for (const command of ['cat /etc/passwd', 'ls ~', 'cat to-secret', 'ls ../out', 'ls /var/log'])
    t.equal((await bash(open, command)).exitCode, 0, `without a sandbox: ${command}`);
});

t.test('with strict reads, write roots and allowRead are open, and denyRead holds in them', async (t) => {
  fillHome();
  const { base, out, workspace } = makePlace(t);
  const [granted, additional] = [path.join(base, 'granted'), path.join(base, 'additional')];
  write(out, {
    'open/file': 'open',
    'open/denied/secret': SECRET,
    'open/denied/open/file': 'again',
    'open/hidden': SECRET,
    'single': 'single',
    'beside': SECRET,
  });
  write(granted, { file: 'granted' });
  write(additional, { file: 'additional' });
  fs.symlinkSync('single', path.join(out, 'to-single'));
  fs.symlinkSync('open', path.join(out, 'to-open'));
  const filesystem = {
    defaultRead: 'deny',
    allowWrite: [granted],
    allowRead: ['../out/open', `${out}/single`, '../out/open/denied/open', '~/.gitconfig', path.join(base, 'missing')],
    denyRead: ['../out/open/denied', `${out}/open/hidden`, 'secret'],
  };
  write(workspace, { 'secret/file': SECRET });
  const machine = (await startSandbox(t, { filesystem })).machine({ cwd: workspace, additionalDirs: [additional] });
  const open = ['open/file', 'single', 'to-single', 'to-open/file', 'open/denied/open/file'];
  for (const name of open) t.match(await bash(machine, `cat ../out/${name}`), { exitCode: 0 }, name);
  t.match(await bash(machine, `cat ${granted}/file ${additional}/file`), { stdout: 'grantedadditional' });
  t.match(await bash(machine, 'git config user.name'), { stdout: 'somebody\n' });
  t.match(await bash(machine, 'ls ../out/open'), { exitCode: 0, stdout: 'denied\nfile\nhidden\n' });
  await refuses(t, machine, [
    'ls ../out',
    'cat ../out/beside',
    'ls ../out/open/denied',
    'cat ../out/open/denied/secret',
    'cat ../out/open/hidden',
    'cat secret/file',
    'ls secret',
    'cat ~/.ssh/known_hosts',
    'echo x > ../out/open/file',
    'echo x > ../out/open/new',
    'echo x > ../out/single',
    'echo x > ../out/open/denied/open/file',
    'echo x > ../out/open/denied/new',
    'rm ../out/single',
    'mv ../out/open ../out/moved',
    'mv secret moved',
    `ls ${granted}/..`,
  ]);
  await bash(machine, `echo x > ${granted}/new; echo x > ${additional}/new; echo x > new`);
  for (const folder of [granted, additional, workspace]) t.ok(fs.existsSync(path.join(folder, 'new')), folder);
  t.equal(fs.readFileSync(path.join(out, 'open/file'), 'utf8'), 'open');
});

/** What is tried on the credentials beside one that is open; each must fail and say so. */
const ON_CREDENTIALS = [
  'cat ~/.ssh/id_ed25519',
  'cat ~/.ssh/keys/more',
  'ls ~/.ssh',
  'ls ~/.ssh/keys',
  'ls ~/.ssh/.',
  'cd ~/.ssh && ls',
  'cd ~/.ssh; cat id_ed25519',
  'cat ~/.ssh/../.ssh/id_ed25519',
  'cat "/proc/self/root$HOME/.ssh/id_ed25519"',
  'ls "/proc/1/root$HOME/.ssh"',
  'cat to-ssh/id_ed25519',
  'ls to-ssh/',
  'cat to-key',
  'ln ~/.ssh/id_ed25519 key && cat key',
  'ln -L to-key key && cat key',
  'ln -s ~/.ssh made && cat made/id_ed25519',
  'cp ~/.ssh/id_ed25519 key',
  'mv ~/.ssh ssh',
  'mv ~/.ssh ~/ssh',
  'mv ~/.ssh/id_ed25519 ~/.ssh/known_hosts',
  'mv ~/.ssh/known_hosts known',
  'rm ~/.ssh/known_hosts',
  'rm -r ~/.ssh',
  'echo x > ~/.ssh/id_ed25519',
  'echo x > ~/.ssh/authorized_keys',
  'echo x > to-ssh/authorized_keys',
  'mkdir ~/.ssh/new',
  'ln -s /etc/passwd ~/.ssh/new',
  'ln text ~/.ssh/new',
  'cp text ~/.ssh/',
  'chmod 777 ~/.ssh',
  'chmod 777 ~/.ssh/id_ed25519',
  `/usr/bin/python3 -c "import os; os.rename(os.environ['HOME'] + '/.ssh/keys', 'keys')"`,
  `/usr/bin/python3 -c "import os; os.open(os.environ['HOME'] + '/.ssh', os.O_TMPFILE | os.O_WRONLY)"`,
];

/** What changes the file that is open: a write root around it allows that. */
const ON_OPEN_FILE = [
  'echo x > ~/.ssh/known_hosts',
  'echo x >> ~/.ssh/known_hosts',
  'touch ~/.ssh/known_hosts',
  `/usr/bin/python3 -c "import os; os.fchmod(os.open(os.environ['HOME'] + '/.ssh/known_hosts', os.O_RDONLY), 0o777)"`,
];

for (const where of ['outside every write root', 'in a write root']) {
  t.test(`one file of a credential folder is opened, ${where}`, async (t) => {
    fillHome();
    const { workspace } = makePlace(t);
    write(workspace, { text: 'hello' });
    fs.symlinkSync(path.join(home, '.ssh'), path.join(workspace, 'to-ssh'));
    fs.symlinkSync(path.join(home, '.ssh/id_ed25519'), path.join(workspace, 'to-key'));
    const filesystem = { allowRead: ['~/.ssh/known_hosts'], allowWrite: where === 'in a write root' ? ['~'] : [] };
    const machine = (await startSandbox(t, { filesystem })).machine(workspace);
    const before = snapshot(path.join(home, '.ssh'));
    t.match(await bash(machine, 'cat ~/.ssh/known_hosts to-ssh/known_hosts'), { exitCode: 0, stdout: 'knownknown' });
    await refuses(t, machine, ON_CREDENTIALS);
    if (where === 'in a write root') t.match(await bash(machine, 'printf known > ~/.ssh/known_hosts'), { exitCode: 0 });
    else await refuses(t, machine, ON_OPEN_FILE);
    t.match(await bash(machine, 'cat ~/.ssh/none'), { exitCode: 1, stdout: '' });
    if (where !== 'in a write root') t.same(snapshot(path.join(home, '.ssh')), before);
    t.equal(fs.readFileSync(path.join(home, '.ssh/id_ed25519'), 'utf8'), SECRET);
    t.equal(fs.readFileSync(path.join(home, '.ssh/known_hosts'), 'utf8'), 'known');
    t.same(fs.readdirSync(path.join(home, '.ssh')).sort(), ['config', 'id_ed25519', 'keys', 'known_hosts']);
    t.same(fs.readdirSync(home).filter((name) => /ssh|known|new/.test(name)), ['.ssh']);
    const others = ['.gnupg/secring.gpg', '.aws/credentials', '.netrc', '.git-credentials', '.config/gh/hosts.yml'];
    await refuses(
      t,
      machine,
      others.map((name) => `cat ~/${name}`),
    );
    t.match(await bash(machine, 'cat ~/.npmrc'), { stdout: 'fund=false\n' });
  });
}

t.test('a link in a denied folder is opened with what it leads to, and with nothing else', async (t) => {
  const { out, workspace } = makePlace(t);
  const texts = { key: 'known', 'dots/known': 'known', 'dots/other': SECRET, 'dots/vault/open': 'open', 'dots/vault/other': SECRET };
  write(path.dirname(out), { 'home/.ssh/id': SECRET, ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [`home/${name}`, text])) });
  const ssh = path.join(path.dirname(out), 'home/.ssh');
  const links = { file: '../key', chain: 'file', folder: '../dots', vault: '../dots/vault', unasked: '../key', secret: 'id', way: '../dots' };
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, path.join(ssh, name));
  const filesystem = {
    denyRead: [ssh, path.join(ssh, '../dots/other'), path.join(ssh, '../dots/vault')],
    allowRead: ['file', 'chain', 'folder', 'vault/open', 'way/known', 'none'].map((name) => path.join(ssh, name)),
  };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  const opened = { file: 'known', chain: 'known', 'folder/known': 'known', 'vault/open': 'open', 'way/known': 'known' };
  for (const [name, text] of Object.entries(opened)) t.match(await bash(machine, `cat ${ssh}/${name}`), { stdout: text, exitCode: 0 }, name);
  const closed = ['unasked', 'secret', 'id', 'folder/other', 'folder/vault/other', 'vault/other', 'way/other', 'way/vault/other'];
  await refuses(t, machine, [`ls ${ssh}`, `ls ${ssh}/vault/`, ...closed.map((name) => `cat ${ssh}/${name}`)]);
  await refuses(t, machine, ['echo x > S/file', 'rm S/file', 'ln -sfn id S/file', 'echo x > S/folder/known', 'mv S/chain S/x', 'ln -s id S/new'].map((command) => command.replaceAll('S/', `${ssh}/`)));
});

t.test('a more specific denial or grant wins, and the same path denied and allowed is denied', async (t) => {
  fillHome();
  const { out, workspace } = makePlace(t);
  write(out, { 'a/file': 'a', 'a/b/file': 'b', 'a/b/c/file': 'c', 'a/b/c/d/file': 'd', 'a/e/file': 'e', 'both/file': 'f' });
  const filesystem = {
    denyRead: [`${out}/a`, `${out}/a/b/c`, `${out}/both`],
    allowRead: [`${out}/a/b`, `${out}/a/b/c/d`, `${out}/both`, '~/.aws'],
  };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  const wanted = { 'a/file': '', 'a/b/file': 'b', 'a/b/c/file': '', 'a/b/c/d/file': 'd', 'a/e/file': '', 'both/file': '' };
  for (const [name, text] of Object.entries(wanted))
    t.match(await bash(machine, `cat ../out/${name}`), { stdout: text, exitCode: text === '' ? 1 : 0 }, name);
  t.match(await bash(machine, 'cat ~/.aws/credentials'), { stdout: SECRET }, 'a credential default gives way');
});

t.test('a denied folder in a write root stays where it is, with what is open in it', async (t) => {
  const { workspace } = makePlace(t);
  write(workspace, { 'top/vault/secret': SECRET, 'top/vault/way/open/file': 'open', 'top/vault/way/secret': SECRET });
  const filesystem = { denyRead: ['top/vault'], allowRead: ['top/vault/way/open'] };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  const before = snapshot(path.join(workspace, 'top/vault'));
  t.match(await bash(machine, 'cat top/vault/way/open/file; ls top/vault/way/open'), { stdout: 'openfile\n' });
  await refuses(t, machine, [
    'ls top/vault',
    'ls top/vault/way',
    'cat top/vault/secret',
    'cat top/vault/way/secret',
    'mv top moved',
    'mv top/vault moved',
    'mv top/vault/way moved',
    `perl -e 'rename("top/vault/way/open", "moved") or die $!'`,
    'mv top/vault/secret moved',
    'ln top/vault/secret linked',
    'rm -rf top/vault',
    'echo x > top/vault/new',
    'echo x > top/vault/way/new',
    'echo x > top/vault/secret',
    'mkdir -p fresh/vault; mv -T fresh top',
    'umount top/vault',
    'mount -o remount,bind,rw top/vault',
  ]);
  t.same(snapshot(path.join(workspace, 'top/vault')), before);
  t.match(await bash(machine, 'mkdir top/new && mv top/new top/newer && rmdir top/newer'), { exitCode: 0, stderr: '' });
});

t.test('nothing is put on the host for what is open in a denied folder', async (t) => {
  const { base, out, workspace } = makePlace(t);
  write(out, { 'a/b/c/file': 'open', 'a/secret': SECRET });
  const before = snapshot(base);
  const filesystem = { denyRead: [out], allowRead: [`${out}/a/b/c`, `${out}/a/missing`] };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  t.match(await bash(machine, `cat ${out}/a/b/c/file`), { stdout: 'open' });
  await Promise.all(Array.from({ length: 10 }, () => bash(machine, `cat ${out}/a/secret`)));
  t.same(snapshot(base), before);
});

t.test('tools that only look at their configuration start with all credentials masked', async (t) => {
  fillHome();
  const { workspace } = makePlace(t);
  execFileSync('git', ['init', '-q', workspace]);
  const tools = {
    'git status --porcelain': /^$/,
    'git config user.name': /^somebody\n$/,
    'npm config get fund': /^false\n$/,
    'npm --version': /^\d/,
    'ssh -V 2>&1': /^OpenSSH/,
    'python3 -c "import netrc, site; print(1)"': /^1\n$/,
    'curl --version': /^curl/,
  };
  const machine = (await startSandbox(t)).machine(workspace);
  await refuses(t, machine, ['cat ~/.git-credentials', 'ls ~/.ssh', 'cat ~/.netrc']);
  for (const [script, wanted] of Object.entries(tools)) {
    const result = await bash(machine, script);
    t.match(result, { exitCode: 0, stdout: wanted }, script);
  }
  // ssh wants a name for its user.
  const filesystem = { defaultRead: 'deny', allowRead: ['/etc/passwd'] };
  const strict = (await startSandbox(t, { filesystem })).machine(workspace);
  for (const script of ['git status --porcelain', 'npm --version', 'ssh -V', 'python3 -c ""', 'curl --version'])
    t.match(await bash(strict, script), { exitCode: 0 }, `strict: ${script}`);
});

t.test('a machine of a strict sandbox says what was refused', async (t) => {
  const { out, workspace } = makePlace(t);
  write(out, { secret: SECRET });
  const sandbox = await startSandbox(t, { filesystem: { defaultRead: 'deny' }, monitorReads: true });
  const { stderr } = await bash(sandbox.machine(workspace), `cat ${quote(path.join(out, 'secret'))}`);
  t.match(stderr, `deny file-read-data ${out}/secret`);
});
