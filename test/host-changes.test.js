'use strict';
// What the host replaces while a command runs is closed again: at most 50 ms later nothing denied can be read or written.

const t = require('tap');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { makePlace, startSandbox } = require('./helpers/attack');
const { eventually } = require('./helpers/processes');
const { startProgram } = require('./helpers/program');
const { childrenOf, processesOfRuns } = require('./helpers/sandbox');

/** Milliseconds for which a new file may be open, and for which it never is even where the host is overloaded. */
const WINDOW = 50;
const OVERLOADED = 2000;
const ATTEMPTS = 5;

/** Reads files until the workspace has a file `stop`: a line for each success, with when it began, and the number of rounds. */
const READ = `LC_ALL=C; rounds=0; : > started$NAME
while [ ! -e stop ]; do
  for file in "$@"; do
    began=$EPOCHREALTIME
    { read -r line < "$file"; } 2>/dev/null && echo "$began $file $line"
  done
  rounds=$((rounds + 1)); sleep 0.005
done
echo "rounds $rounds"`;

/** When something was changed. What is replaced is itself open while it is, from that time on. */
const changes = [];

/** The contents of every file here: when it came, in milliseconds. */
function stamp() {
  changes.push(Date.now());
  return `${changes.at(-1)}\n`;
}

/** How long a file that had come at one time, and was read at another, had been open. */
function age(came, began) {
  const replaced = changes.find((time) => time > came);
  return began - (replaced <= began ? replaced : came);
}

function replace(file) {
  fs.writeFileSync(`${file}.new`, stamp());
  fs.renameSync(`${file}.new`, file);
}

function removeAndMake(file) {
  stamp();
  fs.unlinkSync(file);
  fs.writeFileSync(file, stamp());
}

/**
 * A command that reads files while `change` happens, and what it could read: how long after the file had come.
 * @param {any} machine
 * @param {string} workspace
 * @param {string[]} files
 * @param {() => any} change
 * @param {number} [commands] how many at once
 */
async function readWhile(machine, workspace, files, change, commands = 1) {
  const started = Array.from({ length: commands }, (_, i) => path.join(workspace, `started${i}`));
  const runs = started.map((_, i) => machine.run(['bash', '-c', READ, 'bash', ...files], { env: { NAME: String(i) } }));
  if (!(await eventually(() => started.every((file) => fs.existsSync(file))))) throw new Error('no command started');
  try {
    await change();
    await sleep(4 * WINDOW);
  } finally {
    fs.writeFileSync(path.join(workspace, 'stop'), '');
  }
  const results = await Promise.all(runs);
  for (const name of ['stop', ...started]) fs.rmSync(path.resolve(workspace, name));
  const lines = results.flatMap(({ stdout }) => stdout.trim().split('\n'));
  const reads = lines.filter((line) => !line.startsWith('rounds')).map((line) => line.split(' '));
  return {
    results,
    rounds: lines.filter((line) => line.startsWith('rounds')).map((line) => Number(line.split(' ')[1])),
    reads: reads.map(([began, file, came]) => ({ file, age: age(Number(came), Number(began) * 1000) })),
  };
}

/** The same until one attempt is not disturbed by other load: nothing is open for longer than it may. */
async function closedAfter(t, place, change, what) {
  const { machine, workspace, files, control, commands, prepare } = place;
  let longest = 0;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    prepare?.();
    const { results, rounds, reads } = await readWhile(machine, workspace, [...files, control], change, commands);
    t.ok(results.every(({ exitCode }) => exitCode === 0), `${what}: the commands went on to their end`);
    t.ok(rounds.every((count) => count > 2), `${what}: they tried again and again`);
    t.ok(reads.filter(({ file }) => file === control).length > rounds[0] / 2, `${what}: what is not denied can be read`);
    longest = Math.max(0, ...reads.filter(({ file }) => file !== control).map(({ age }) => age));
    t.ok(longest < OVERLOADED, `${what}: closed after ${longest.toFixed(0)} ms`);
    if (longest <= WINDOW) break;
  }
  t.ok(longest <= WINDOW, `${what}: closed within ${WINDOW} ms`);
}

/** A sandbox with a secret that is denied, and a file beside it that is not. */
async function denied(t, options = {}) {
  const { base, workspace, secrets } = makePlace(t);
  const folder = path.join(secrets, 'folder');
  const [key, control] = [path.join(folder, 'key'), path.join(folder, 'control')];
  fs.mkdirSync(folder);
  for (const file of [key, control]) fs.writeFileSync(file, stamp());
  const sandbox = await startSandbox(t, { filesystem: { denyRead: [key], ...options } });
  return { base, workspace, secrets, folder, key, control, files: [key], machine: sandbox.machine(workspace) };
}

t.test('a denied file', async (t) => {
  const place = await denied(t);
  const { key, folder, control, workspace } = place;

  await closedAfter(t, place, () => replace(key), 'another renamed over it');
  await closedAfter(t, place, () => removeAndMake(key), 'removed and made again');
  await closedAfter(
    t,
    place,
    async () => {
      stamp();
      fs.unlinkSync(key);
      await sleep(30);
      fs.writeFileSync(key, stamp());
    },
    'removed, and made again later',
  );
  await closedAfter(
    t,
    place,
    async () => {
      for (let i = 0; i < 200; i++) {
        (i % 2 ? replace : removeAndMake)(key);
        if (i % 10 === 0) await sleep(3);
      }
    },
    'replaced two hundred times',
  );
  const other = path.join(folder, 'other');
  fs.writeFileSync(other, stamp());
  fs.unlinkSync(key);
  await closedAfter(
    t,
    { ...place, files: [key, other] },
    () => {
      removeAndMake(other);
      fs.rmSync(key, { force: true });
      fs.symlinkSync('other', `${key}.link`);
      fs.renameSync(`${key}.link`, key);
    },
    'now a symlink to a file',
  );
  await closedAfter(
    t,
    { ...place, prepare: () => removeAndMake(key) },
    async () => {
      stamp();
      fs.symlinkSync('other', `${key}.link`);
      fs.renameSync(`${key}.link`, key);
      await sleep(2 * WINDOW);
      replace(other);
    },
    'now a symlink to a file, which is replaced',
  );
  fs.rmSync(key);
  replace(key);

  const { results, reads } = await readWhile(place.machine, workspace, [key, control], () => {
    for (const target of ['key', 'missing', '/dev/null', '/proc/self/environ', '/']) {
      fs.symlinkSync(target, `${key}.link`);
      fs.renameSync(`${key}.link`, key);
    }
  });
  t.match(results, [{ exitCode: 0 }], 'a symlink to nothing that could be masked does no harm');
  t.same(reads.filter(({ file }) => file === key && Number.isFinite(file.age)), []);
});

t.test('a denied symlink becomes a file', async (t) => {
  const { workspace, secrets, key, control } = await denied(t);
  const link = path.join(secrets, 'link');
  fs.symlinkSync('folder/key', link);
  const sandbox = await startSandbox(t, { filesystem: { denyRead: [link] } });
  const place = { workspace, control, files: [key, link], machine: sandbox.machine(workspace) };
  await closedAfter(t, place, () => replace(link), 'by another renamed over it');
});

t.test('a folder above a denied file is replaced', async (t) => {
  const place = await denied(t);
  const { folder, secrets, key, control } = place;
  const swap = (which) => {
    fs.renameSync(which, `${which}.old`);
    fs.mkdirSync(folder, { recursive: true });
    for (const file of [control, key]) fs.writeFileSync(file, stamp());
  };
  const prepare = () => {
    for (const which of [folder, secrets]) fs.rmSync(`${which}.old`, { recursive: true, force: true });
  };
  const files = [key, path.join(`${folder}.old`, 'key'), path.join(`${secrets}.old`, 'folder/key')];
  await closedAfter(t, { ...place, files, prepare }, () => swap(folder), 'its own folder, and where that went');
  await closedAfter(t, { ...place, files, prepare }, () => swap(secrets), 'the one above, and where that went');
});

t.test('a denied folder', async (t) => {
  const { workspace, secrets, folder, key, control: inside } = await denied(t);
  const control = path.join(secrets, 'control');
  fs.writeFileSync(control, stamp());
  const sandbox = await startSandbox(t, { filesystem: { denyRead: [folder] } });
  const place = { workspace, control, files: [key, inside], machine: sandbox.machine(workspace) };
  const fill = () => {
    for (const file of [key, inside]) fs.writeFileSync(file, stamp());
  };
  await closedAfter(
    t,
    place,
    () => {
      stamp();
      fs.rmSync(folder, { recursive: true });
      fs.mkdirSync(folder);
      fill();
    },
    'removed and made again',
  );
  await closedAfter(
    t,
    place,
    () => {
      const next = `${folder}.next`;
      stamp();
      fs.mkdirSync(next);
      for (const file of [key, inside]) fs.writeFileSync(path.join(next, path.basename(file)), stamp());
      fs.rmSync(folder, { recursive: true });
      fs.renameSync(next, folder);
    },
    'removed, and another renamed to it',
  );
});

t.test('a denied file that did not exist appears', async (t) => {
  const { secrets, workspace, control } = await denied(t);
  const missing = path.join(secrets, 'later');
  const below = path.join(secrets, 'a/b/later');
  const inWorkspace = path.join(workspace, 'later');
  const { HOME } = process.env;
  const home = path.join(secrets, 'home');
  fs.mkdirSync(home);
  process.env.HOME = home;
  t.teardown(() => (process.env.HOME = HOME));
  const sandbox = await startSandbox(t, { filesystem: { denyRead: [missing, below, inWorkspace] } });
  const files = [missing, below, inWorkspace, path.join(home, '.netrc')];
  await closedAfter(
    t,
    { workspace, control, files, machine: sandbox.machine(workspace) },
    async () => {
      for (const file of files) {
        if (file === below) fs.rmSync(path.join(secrets, 'a'), { recursive: true, force: true });
        fs.rmSync(file, { force: true });
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, stamp());
        await sleep(20);
      }
    },
    'made by the host',
  );
});

t.test('a folder above that commands close', async (t) => {
  const { workspace } = makePlace(t);
  const folder = path.join(workspace, 'p/d');
  const [key, secret, later] = ['p/d/key', 'p/secret', 'q/later'].map((name) => path.join(workspace, name));
  fs.mkdirSync(folder, { recursive: true });
  for (const file of [key, secret]) fs.writeFileSync(file, 'old');
  const sandbox = await startSandbox(t, { filesystem: { denyRead: [key, secret, later] } });
  const machine = sandbox.machine(workspace);
  const lines = [];
  const host = spawn('bash', ['-c', 'while read -r line; do eval "$line"; echo done; done'], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => host.kill());
  host.stdout.on('data', (data) => lines.push(data));
  /** In the folder, whatever its parents allow by now. */
  const inFolder = async (line) => {
    const before = lines.length;
    host.stdin.write(`${line}\n`);
    t.ok(await eventually(() => lines.length > before));
  };
  t.ok(await eventually(() => fs.readlinkSync(`/proc/${host.pid}/cwd`) === folder));

  const closed = afterwards(machine, 'chmod 755 p; cat p/d/key; chmod 755 p/d; sleep 0.2; cat p/d/key', 'chmod 0 p');
  t.ok(await eventually(() => fs.existsSync(path.join(workspace, 'started'))));
  await inFolder('echo new > next; mv -f next key');
  await sleep(4 * WINDOW);
  fs.writeFileSync(path.join(workspace, 'go'), '');
  t.match(await closed, { stdout: '', stderr: /key: Permission denied/, exitCode: 1 }, 'for everything');

  for (const name of ['go', 'started']) fs.rmSync(path.join(workspace, name));
  const unreadable = afterwards(machine, 'cat p/secret p/d/key q/later', 'chmod 311 p p/d; mkdir -m 311 q');
  t.ok(await eventually(() => fs.existsSync(path.join(workspace, 'started'))));
  for (const file of [key, secret, later]) {
    fs.rmSync(file, { force: true });
    fs.writeFileSync(file, 'new');
  }
  await sleep(4 * WINDOW);
  fs.writeFileSync(path.join(workspace, 'go'), '');
  t.match(await unreadable, { stdout: '', stderr: /secret: Perm.*\n.*key: Perm.*\n.*later: Perm/, exitCode: 1 }, 'for lists of it');

  for (const name of ['go', 'started']) fs.rmSync(path.join(workspace, name));
  const next = (await startSandbox(t, { filesystem: { denyRead: [key, secret, later] } })).machine(workspace);
  const fresh = afterwards(next, 'cat p/secret p/d/key q/later');
  t.ok(await eventually(() => fs.existsSync(path.join(workspace, 'started'))));
  for (const file of [key, secret, later]) {
    fs.writeFileSync(path.join(workspace, 'new'), 'new');
    fs.renameSync(path.join(workspace, 'new'), file);
  }
  await sleep(4 * WINDOW);
  fs.writeFileSync(path.join(workspace, 'go'), '');
  t.match(await fresh, { stdout: '', stderr: /secret: Perm.*\n.*key: Perm.*\n.*later: Perm/, exitCode: 1 }, 'from the start');
  for (const name of ['p', 'p/d', 'q']) fs.chmodSync(path.join(workspace, name), 0o755);
});

t.test('a replaced file in every one of ten commands, and nothing is left of it afterwards', async (t) => {
  const place = { ...(await denied(t)), commands: 10 };
  await place.machine.run(['true']);
  const agents = childrenOf(process.pid);
  const descriptors = () => agents.map((pid) => fs.readdirSync(`/proc/${pid}/fd`).length);
  const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8');
  const before = descriptors();
  await closedAfter(t, place, () => replace(place.key), 'ten commands');
  t.ok(agents.length > 0);
  t.ok(await eventually(() => agents.every((pid) => processesOfRuns(pid).length === 0)), 'no process is left');
  t.ok(await eventually(() => descriptors().every((count, i) => count <= before[i])), 'no descriptor');
  t.equal(fs.readFileSync('/proc/self/mountinfo', 'utf8'), mounts, 'no mount');
});

t.test('a command that cannot be closed again is ended', async (t) => {
  const { key, workspace } = await denied(t);
  const program = path.join(workspace, 'refuse');
  execFileSync('cc', ['-D_GNU_SOURCE', '-o', program, path.join(__dirname, 'helpers', 'refuse.c')]);
  const body = `
    const sandbox = await OsSandbox.start({ filesystem: { denyRead: [${JSON.stringify(key)}] } });
    const machine = sandbox.machine(${JSON.stringify(workspace)});
    const run = machine.run(['bash', '-c', ': > started; sleep 60']);
    say(await run.then((result) => result, (error) => error.message));
    say(await machine.run(['cat', ${JSON.stringify(key)}]));
    await sandbox.dispose();`;
  const { next, ended } = startProgram(t, body, { launcher: [program, 'setns', '--'] });
  t.ok(await eventually(() => fs.existsSync(path.join(workspace, 'started'))));
  fs.writeFileSync(path.join(workspace, 'other'), '');
  fs.unlinkSync(key);
  await sleep(4 * WINDOW);
  fs.writeFileSync(key, stamp());
  t.match(await next(), /a change on the host took a mount away: .* could not be masked again: Operation not permitted/);
  t.match(await next(), { stdout: '', exitCode: 1, stderr: /Permission denied/ }, 'the next one is closed');
  t.match(await ended, { code: 0 });
});

/** A command that waits for a file `go`, and then runs a script. */
function afterwards(machine, script, before = 'true') {
  return machine.run(['bash', '-c', `${before}; : > started; until [ -e go ]; do sleep 0.01; done; ${script}`]);
}

t.test('what is write-denied and replaced cannot be written', async (t) => {
  const { workspace } = makePlace(t);
  const inFolder = path.join(workspace, 'folder/file');
  const file = path.join(workspace, 'file');
  fs.mkdirSync(path.dirname(inFolder));
  for (const each of [file, inFolder]) fs.writeFileSync(each, 'old');
  const options = { filesystem: { denyWrite: [file, path.dirname(inFolder)] } };
  const machine = (await startSandbox(t, options)).machine(workspace);
  const run = afterwards(machine, 'echo x >> file; echo x >> folder/file; echo x > folder/new; mv file moved; rm -r folder; cat file');
  t.ok(await eventually(() => fs.existsSync(path.join(workspace, 'started'))));
  fs.writeFileSync(`${file}.new`, 'new');
  fs.renameSync(`${file}.new`, file);
  fs.rmSync(path.dirname(inFolder), { recursive: true });
  fs.mkdirSync(path.dirname(inFolder));
  fs.writeFileSync(inFolder, 'new');
  await sleep(4 * WINDOW);
  fs.writeFileSync(path.join(workspace, 'go'), '');
  t.match(await run, { stdout: 'new', exitCode: 0 });
  t.same([file, inFolder].map((each) => fs.readFileSync(each, 'utf8')), ['new', 'new']);
  t.same(fs.readdirSync(path.dirname(inFolder)), ['file']);
});

t.test("git's configuration, which git replaces whenever the host sets something", async (t) => {
  const { workspace } = makePlace(t);
  const git = (...words) => execFileSync('git', ['-C', workspace, ...words], { encoding: 'utf8' });
  git('init', '-q');
  const machine = (await startSandbox(t)).machine(workspace);
  const run = afterwards(
    machine,
    'git config core.pager "touch pwned"; echo "[core] pager = touch pwned" >> .git/config; git config user.name',
  );
  t.ok(await eventually(() => fs.existsSync(path.join(workspace, 'started'))));
  for (let i = 0; i < 5; i++) git('config', 'user.name', `from the host ${i}`);
  await sleep(4 * WINDOW);
  fs.writeFileSync(path.join(workspace, 'go'), '');
  t.match(await run, { stdout: 'from the host 4\n', exitCode: 0 });
  t.notMatch(fs.readFileSync(path.join(workspace, '.git/config'), 'utf8'), 'pwned');
});
