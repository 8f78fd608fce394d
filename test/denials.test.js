'use strict';
// Calls that make, change and remove names: what is refused is told, once, by its real path; what is allowed is told by
// nothing and does what it does without a supervisor.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const t = require('tap');
const { bash, compile, makePlace, resultsOf, snapshot, startSandbox, withoutSandbox } = require('./helpers/attack');
const { beforeBlock, blockOf } = require('./helpers/violations');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = compile(programs, 'denials');

/** `deny file-write-… /path`, without the reason. @param {{ stderr: string }} result */
const denials = ({ stderr }) => blockOf(stderr).map((line) => line.replace(/ \([^()]*\)(?= \(×|$)/, ''));

/** Operation and path below the outside that each refused call of the program is told by. */
const REFUSED = {
  'file-write-create': [
    ...['open', 'creat', 'excl', 'read-create', 'openat', 'through', 'dangling', 'dots', 'proc-cwd', 'proc-fd'],
    ...['', 'mkdir', 'mkdirat', 'mkdir-slash', 'mknod', 'mkfifo', 'mknodat', 'symlink', 'symlinkat', 'link', 'linkat'],
    ...['rename-out', 'renameat2', ...(process.arch === 'x64' ? ['sys-open'] : [])],
  ],
  'file-write-data': ['f-write', 'f-read-write', 'f-append', 'f-truncate', 'f-create-old', 'f-link-old'],
  'file-write-unlink': [
    ...['f-unlink', 'f-unlinkat', 'd-rmdir', 'd-rmdirat', 'f-rename', 'f-rename-in', 'd-renameat', 'f-exchange'],
  ],
};

/** What the program looks for in its workspace and outside. */
function furnish({ workspace, out }) {
  const existing = Object.values(REFUSED).flat();
  for (const name of existing.filter((name) => name.startsWith('f-'))) fs.writeFileSync(path.join(out, name), 'old');
  for (const name of existing.filter((name) => name.startsWith('d-'))) fs.mkdirSync(path.join(out, name));
  fs.writeFileSync(path.join(workspace, 'own'), 'own');
  fs.symlinkSync('../out', path.join(workspace, 'to-out'));
  fs.symlinkSync(path.join(out, 'dangling'), path.join(workspace, 'dangling'));
}

t.test('every refused call is told once, by its operation and its real path', async (t) => {
  const place = makePlace(t);
  furnish(place);
  const machine = (await startSandbox(t)).machine(place.workspace);
  const before = snapshot(place.out);
  const lines = Object.entries(REFUSED).flatMap(([operation, names]) =>
    names.map((name) => `deny ${operation} ${path.join(place.out, name)}`),
  );
  const result = await machine.run([program, 'refused', place.out]);
  t.same(denials(result).sort(), lines.sort());
  t.ok(blockOf(result.stderr).every((line) => line.endsWith(' (outside the write roots)')));
  const results = resultsOf(result.stdout);
  t.same(results.open, 'EROFS');
  t.same([results['rename-in'], results['rename-out'], results.exchange], ['EXDEV', 'EXDEV', 'EXDEV']);
  t.same(snapshot(place.out), before, 'nothing happened outside');
  const again = await bash(machine, `for i in 1 2 3; do ${program} refused ${place.out}; done`);
  t.same(denials(again).sort(), lines.map((line) => `${line} (×3)`).sort());
});

t.test('without a supervisor the same calls fail alike, and are told by nothing', async (t) => {
  const place = makePlace(t);
  furnish(place);
  const loud = (await startSandbox(t)).machine(place.workspace);
  const silent = (await startSandbox(t, { monitorViolations: false })).machine(place.workspace);
  const attempt = [program, 'refused', place.out];
  const { stdout, stderr } = await silent.run(attempt);
  t.same({ stdout, stderr }, { stdout: (await loud.run(attempt)).stdout, stderr: '' });
});

/** A fresh machine for a program that leaves its workspace full. */
async function freshMachine(t, options) {
  const { workspace } = makePlace(t);
  t.teardown(() => execFileSync('chmod', ['-R', 'u+rwX', workspace]));
  return (await startSandbox(t, options)).machine(workspace);
}

t.test('names, modes, flags, links, folders and errors are what they are without a supervisor', async (t) => {
  const watched = await (await freshMachine(t)).run([program, 'same']);
  const unwatched = await (await freshMachine(t, { monitorViolations: false })).run([program, 'same']);
  t.same(watched, unwatched);
  t.match(watched, { exitCode: 0, stderr: '', stdout: /\nstill locked: 0\nmany: 400 made, 2800 found\n$/ });
  const reading = await (await freshMachine(t, { monitorReads: true })).run([program, 'same']);
  t.same(reading, unwatched, 'nor does looking at every open change anything');
});

t.test('what is allowed, or fails of itself, is told by nothing', async (t) => {
  const { base, workspace } = makePlace(t);
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'os-sandbox-test-'));
  t.teardown(() => fs.rmSync(temporary, { recursive: true, force: true }));
  const additional = path.join(base, 'additional');
  fs.mkdirSync(additional);
  const sandbox = await startSandbox(t);
  const machine = sandbox.machine({ cwd: workspace, additionalDirs: [additional] });
  const env = { TMPDIR: temporary, HOME: workspace, GIT_CONFIG_GLOBAL: '/dev/null', NODE_OPTIONS: '' };
  const change = 'mkdir d && echo x > d/f && echo y >> d/f && ln -s f d/l && ln d/f d/h && mv d/h d/g && rm -r d';
  const scripts = [
    change,
    ...[additional, temporary, '/dev/shm'].map((root) => `cd ${root} && ${change}`),
    'f=$(mktemp) && rm $f && f=$(mktemp -d) && rmdir $f',
    `mkdir -p a/b/c a/b/c / /usr/bin ${workspace}/a ${additional} /tmp`,
    'mkdir a; mkdir /usr; rmdir /; rm -f missing /usr/missing /usr/missing/file; mv missing b; :',
    ': > /dev/null; echo x > /dev/stdout; echo x >&2; echo x > /dev/fd/2; : > /proc/self/fd/1; : < /etc/passwd',
    'exit 1',
    'git init -q r && cd r && echo x > f && git status --short && git add f && git -c user.name=n -c user.email=e commit -qm m && git log --oneline | wc -l',
    'sh -c : && bash -c : && python3 -c "import os, tempfile; tempfile.TemporaryFile(); os.makedirs(\'p/q\', exist_ok=True)"',
    'npm --version',
    'mkdir -p s/t && echo x > s/t/u && tar -cf s.tar s && rm -r s && tar -xf s.tar && cat s/t/u',
    'set -o noclobber; echo x > new; echo y > new; cat new',
    'chmod 000 new; cat new; echo x >> new; rm -f new; :',
    'mkdir -m 0 shut; echo x > shut/x; rmdir shut',
  ];
  for (const script of scripts) {
    const { stderr } = await bash(machine, script, { env });
    t.same(blockOf(stderr), [], script);
  }
});

t.test('denied places stay what and where they are, and are told by the name that was tried', async (t) => {
  const { workspace } = makePlace(t);
  const deep = path.join(workspace, 'deep');
  fs.mkdirSync(path.join(deep, 'down/hidden'), { recursive: true });
  fs.mkdirSync(path.join(workspace, 'kept'));
  fs.writeFileSync(path.join(deep, 'key'), 'secret');
  fs.writeFileSync(path.join(workspace, 'kept/file'), 'kept');
  for (const own of ['own', 'deep/own']) fs.writeFileSync(path.join(workspace, own), 'own');
  const filesystem = { denyRead: ['deep/key', 'deep/down/hidden'], denyWrite: ['kept'] };
  const machine = (await startSandbox(t, { filesystem })).machine(workspace);
  const before = snapshot(workspace);
  const told = async (script) => denials(await bash(machine, script)).map((line) => line.replace(`${workspace}/`, ''));
  const unlink = (name) => [`deny file-write-unlink ${name}`];
  const attempts = {
    'rm -f deep/key': unlink('deep/key'),
    'mv deep/key deep/moved': unlink('deep/key'),
    'mv -T deep/own deep/key': ['deny file-write-create deep/key'],
    'rmdir deep/down/hidden': unlink('deep/down/hidden'),
    'mv deep/down/hidden deep/down/moved': unlink('deep/down/hidden'),
    'mv deep moved': unlink('deep'),
    'mv deep/down deep/moved': unlink('deep/down'),
    'mv -T deep/down/ deep/away': unlink('deep/down'),
    // It is not empty: nobody could.
    'rmdir deep/down': [],
    'mv kept moved': unlink('kept'),
    'rm kept/file': unlink('kept/file'),
    'echo x > kept/file': ['deny file-write-data kept/file'],
    'echo x > kept/new': ['deny file-write-create kept/new'],
    'echo x > deep/key': ['deny file-write-data deep/key'],
    'echo x > deep/down/hidden/new': ['deny file-write-create deep/down/hidden/new'],
    'mkdir deep/down/hidden/new': ['deny file-write-create deep/down/hidden/new'],
    'echo x 1<> deep/down/hidden/old': ['deny file-write-create deep/down/hidden/old'],
    'python3 -c "import os; os.unlink(\'deep/down/hidden\')"': [],
    'python3 -c "import os; os.rename(\'none\', \'deep/key\')"': [],
    'rmdir deep/key': [],
    'mv deep/key moved': unlink('deep/key'),
    'cat d*/k*; ls d*/down/h*': [],
  };
  for (const [script, lines] of Object.entries(attempts)) t.same(await told(script), lines, script);
  const exchange = 'import ctypes; print(ctypes.CDLL(None).renameat2(-100, b"own", -100, b"deep", 2))';
  t.same(await told(`python3 -c '${exchange}'`), unlink('deep'));
  t.same(await told('cp own in && mv in deep && mv -n own deep/down && mv deep/in . && mv deep/down/own . && rm in'), []);
  t.same(snapshot(workspace).own, before.own);
  for (const name of Object.keys(before).filter((name) => /^(deep|kept)\b.*\w$/.test(name)))
    t.equal(snapshot(workspace)[name].split(' ')[0], before[name].split(' ')[0], name);
  t.equal(fs.readFileSync(path.join(deep, 'key'), 'utf8'), 'secret');
  t.equal(fs.readFileSync(path.join(workspace, 'kept/file'), 'utf8'), 'kept');
});

t.test('a denied read is told where opens for reading are looked at', async (t) => {
  const { workspace, secrets } = makePlace(t);
  fs.writeFileSync(path.join(workspace, 'key'), 'secret');
  fs.writeFileSync(path.join(secrets, 'key'), 'secret');
  fs.symlinkSync(path.join(secrets, 'key'), path.join(workspace, 'link'));
  fs.writeFileSync(path.join(workspace, 'closed'), 'x', { mode: 0 });
  const options = { filesystem: { denyRead: ['key', secrets] }, monitorReads: true };
  const machine = (await startSandbox(t, options)).machine(workspace);
  const read = (script) => bash(machine, script).then(denials);
  t.same(await read('cat key'), [`deny file-read-data ${workspace}/key`]);
  t.same(await read('cat link link'), [`deny file-read-data ${secrets}/key (×2)`]);
  t.same(await read(`ls ${secrets}`), [`deny file-read-data ${secrets}`]);
  t.same(await read('echo x 1<> key'), [`deny file-write-data ${workspace}/key`]);
  t.same(await read('cat closed missing /etc/passwd; ls . / >/dev/null; head -c 1 /dev/zero; stat key'), []);
});

t.test('a program that would restrict itself is told that it cannot', async (t) => {
  const { stdout } = await (await freshMachine(t)).run([program, 'own-domain']);
  t.same(resultsOf(stdout), { rules: 'EOPNOTSUPP', version: 'EOPNOTSUPP' });
});

/** What happens in a folder until the end of an action: names that something was done to. */
async function eventsIn(folder, action) {
  const seen = new Set();
  const watcher = fs.watch(folder, (_, name) => seen.add(name));
  await action();
  fs.writeFileSync(path.join(folder, 'end'), '');
  while (!seen.has('end')) await new Promise((resolve) => setTimeout(resolve, 10));
  watcher.close();
  fs.rmSync(path.join(folder, 'end'));
  return [...seen].filter((name) => name !== 'end');
}

t.test('a path that changes while it is looked at leads nowhere outside', async (t) => {
  const prepare = ({ workspace, out }, existing) => {
    fs.mkdirSync(path.join(workspace, 'inside'));
    fs.symlinkSync(out, path.join(workspace, 'to-out'));
    fs.symlinkSync(path.join(out, 'canary'), path.join(workspace, 'last-link'));
    for (const file of [path.join(workspace, 'last'), path.join(workspace, 'own')]) fs.writeFileSync(file, 'own');
    for (const name of existing) fs.writeFileSync(path.join(out, name), 'original');
  };
  const filesIn = (folder) => ({ ...snapshot(folder), '': 'whose times the watcher changes' });
  for (const existing of [[], ['x', 'canary']]) {
    const place = makePlace(t);
    prepare(place, existing);
    const machine = (await startSandbox(t)).machine(place.workspace);
    const before = filesIn(place.out);
    const attack = async () => {
      const result = await machine.run([program, 'flip', place.out, '3000']);
      t.match(result, { exitCode: 0, stdout: 'flipped\n' });
      t.match(denials(result).join('\n'), new RegExp(`deny file-write-\\w+ ${place.out}/x`), 'the attack met a refusal');
      t.same(blockOf(result.stderr).filter((line) => !line.includes(` ${place.out}/`)), [], 'and nothing else did');
      t.equal(beforeBlock(result.stderr), '');
    };
    t.same(await eventsIn(place.out, attack), [], `with ${existing.length} files there`);
    t.same(filesIn(place.out), before);
  }
  const place = makePlace(t);
  prepare(place, []);
  const unhindered = () => withoutSandbox(place.workspace).run([program, 'flip', place.out, '500']);
  t.ok((await eventsIn(place.out, unhindered)).includes('x'), 'without a sandbox it works');
});
