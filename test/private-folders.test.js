'use strict';
// Folders of the sandbox's own in the place of the host's: temporary directories, npm's cache; and write roots that are
// named, and nothing besides. Judged from the outside.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

// Before any sandbox starts: the home of this file's commands.
const home = fs.mkdtempSync('/var/tmp/os-sandbox-home-');
process.env.HOME = home;
delete process.env.NODE_OPTIONS;
for (const name of Object.keys(process.env)) if (/^npm_config_/i.test(name)) delete process.env[name];
t.teardown(() => fs.rmSync(home, { recursive: true, force: true }));

const { bash, makePlace, snapshot, startSandbox } = require('./helpers/attack');
const { OWN_MOUNTS, withBinds } = require('./helpers/namespace');
const { runProgram, startProgram } = require('./helpers/program');
const { blockOf } = require('./helpers/violations');

/** What a script was refused. @param {any} machine @param {string} script @param {any} [options] */
const refusals = async (machine, script, options) => blockOf((await bash(machine, script, options)).stderr);

const SECRET = 'the-secret-of-this-test';

/** Files with their texts, folders made on the way. @param {string} folder @param {Record<string, string>} files */
function write(folder, files) {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
}

/** A folder below the host's own /tmp, removed at the end. @param {any} t */
function hostTmp(t) {
  const folder = fs.mkdtempSync('/tmp/os-sandbox-host-');
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What a script prints; it has to end well. @param {any} t @param {any} machine @param {string} script */
async function prints(t, machine, script) {
  const { exitCode, stdout, stderr } = await bash(machine, script);
  t.match({ exitCode, stderr }, { exitCode: 0, stderr: '' }, script);
  return stdout.trim();
}

t.test('a private temporary directory is the sandbox\'s, shared by its runs, and nobody else\'s', async (t) => {
  const { workspace, out } = makePlace(t);
  const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8');
  const outside = hostTmp(t);
  write(outside, { secret: SECRET });
  const sandbox = await startSandbox(t, { filesystem: { privateTmp: true } });
  const machine = sandbox.machine(workspace);
  t.equal(await prints(t, machine, 'ls -A /tmp; stat -c %a /tmp'), '1777', 'it is empty, whatever the host has there');
  t.match(await bash(machine, `cat ${outside}/secret`), { exitCode: 1, stdout: '' });
  const [size, files] = (await prints(t, machine, 'stat -f -c "%b %S %c" /tmp | { read blocks block files; echo $((blocks * block)) $files; }')).split(' ').map(Number);
  t.ok(size < os.totalmem() / 4 + 8192 && files <= 262144, `of the host's memory it takes a part, in whole pages: ${size}, ${files}`);
  await prints(
    t,
    machine,
    `cd /tmp && echo one > a && mkdir -p d/e && mv a d/e/b && ln d/e/b l && ln -s d/e s && mv d f && echo two >> f/e/b
     chmod 600 l && touch -d @5 l && truncate -s 100 big && mkfifo p && rm big p && cp /bin/true t && ./t
     mktemp -d > made && [ -d "$(cat made)" ]`,
  );
  t.equal(await prints(t, sandbox.machine(out), 'cat /tmp/l; stat -c "%a %Y %h" /tmp/f/e/b; readlink /tmp/s'), 'one\ntwo\n600 5 2\nd/e', 'another run, of another machine, has what was made');
  t.equal(await prints(t, machine, 'mv /tmp/l . && cat l && mv l /tmp/m && cat /tmp/m && rm -r /tmp/f'), 'one\ntwo\none\ntwo', 'files move between it and the workspace, as between any two volumes');
  const refused = await bash(machine, 'echo x > /tmp/.mcp.json; mkdir -p /tmp/r/.git && git init -q /tmp/g && echo x > /tmp/g/.git/hooks/pre-commit');
  t.same(blockOf(refused.stderr), ['deny file-write-create /tmp/.mcp.json (protected: agent configuration, see allowProtected)', 'deny file-write-create /tmp/g/.git/hooks/pre-commit (protected: git hooks)'], 'names are protected there as everywhere');
  const server = "require('net').createServer((c) => c.end('hello')).listen('/tmp/sock', () => require('fs').writeFileSync('/tmp/ready', ''))";
  const serving = bash(machine, `exec node -e "${server}; setInterval(() => require('fs').existsSync('/tmp/done') && process.exit(), 20)"`);
  t.equal(await prints(t, machine, `until [ -e /tmp/ready ]; do sleep 0.05; done; node -e "require('net').connect('/tmp/sock').on('data', (d) => console.log(String(d)))"; touch /tmp/done`), 'hello', 'and a socket in it is reached from another run');
  t.equal((await serving).exitCode, 0);
  const other = (await startSandbox(t, { filesystem: { privateTmp: true } })).machine(workspace);
  t.equal(await prints(t, other, 'ls -A /tmp'), '', 'another sandbox has its own');
  t.same(fs.readdirSync(outside), ['secret'], 'on the host nothing changed');
  t.notOk(fs.existsSync('/tmp/m') || fs.existsSync('/tmp/t'), 'and nothing of it is there');
  t.same(sandbox.status.warnings, []);
  await sandbox.dispose();
  t.equal(fs.readFileSync('/proc/self/mountinfo', 'utf8'), mounts, 'nothing is mounted on the host');
});

t.test('write roots in a temporary directory are the host\'s, also where that is private', async (t) => {
  const { workspace } = makePlace(t);
  const folder = hostTmp(t);
  write(folder, { 'a/project/file': 'host', 'a/project/.git/HEAD': 'ref: refs/heads/main\n', 'a/project/.git/config': '', 'a/secret': SECRET, 'read/note': 'note\n', 'read/secret/key': SECRET, 'w/only': '' });
  fs.mkdirSync(path.join(folder, 'a/project/.git/hooks'));
  const filesystem = { privateTmp: true, allowWrite: [path.join(folder, 'w/only')], allowRead: [path.join(folder, 'read')], denyRead: [path.join(folder, 'read/secret'), path.join(folder, 'gone')] };
  const sandbox = await startSandbox(t, { filesystem });
  const project = path.join(folder, 'a/project');
  const machine = sandbox.machine(project);
  await prints(t, machine, `cat file && echo inside > new && mkdir sub && mv new sub/ && echo x > ${folder}/w/only && echo x > ${folder}/a/mine && echo x > /tmp/mine`);
  t.equal(fs.readFileSync(path.join(project, 'sub/new'), 'utf8'), 'inside\n');
  t.equal(fs.readFileSync(path.join(folder, 'w/only'), 'utf8'), 'x\n', 'a root can be a file');
  t.notOk(fs.existsSync(path.join(folder, 'a/mine')) || fs.existsSync('/tmp/mine'), 'what is around a root is private');
  t.equal(await prints(t, machine, `cat ${folder}/read/note; ls -A ${folder} ${folder}/a`), `note\n${folder}:\na\nread\nw\n\n${folder}/a:\nmine\nproject`, 'and holds nothing of the host\'s');
  const before = snapshot(folder);
  for (const script of [
    `cat ${folder}/a/secret`,
    `ls ${folder}/read/secret`,
    `echo x > ${folder}/read/new`,
    `echo x > ${folder}/gone`,
    `mv ${folder}/a ${folder}/b`,
    `mv ${folder} /tmp/moved`,
    `rm -rf ${folder}/read`,
    'echo x > .git/hooks/pre-commit',
    'echo x > .git/config',
    'mv .git/hooks .git/other',
  ]) {
    const { exitCode, stdout } = await bash(machine, script);
    t.not(exitCode, 0, script);
    t.notMatch(stdout, SECRET);
  }
  t.same(snapshot(folder), before, 'nothing of that was changed');
  t.match(await bash(sandbox.machine(workspace), `cat ${project}/file`), { exitCode: 1 }, 'a machine elsewhere does not have that root');
  t.equal(await prints(t, machine, 'cat file'), 'host', 'which is there for the next run as before');
});

t.test('who moves or removes what a root of another run is mounted on frees nothing in it', async (t) => {
  const { workspace } = makePlace(t);
  const script = (/** @type {string} */ key) => `touch /tmp/${key}-ready; until [ -e /tmp/${key}-go ]; do sleep 0.05; done
    : > later; : > a.pem; mkdir hooks; : > .mcp.json; : >> file; mv file later; ln file new; ls > /tmp/${key}-seen; touch /tmp/${key}-done`;
  for (const [key, take] of [['remove', 'rm -rf'], ['move', 'mv -t /tmp/elsewhere']]) {
    const folder = hostTmp(t);
    const project = path.join(folder, 'x/project');
    write(project, { file: 'host', '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '[core]\n\thooksPath = hooks\n' });
    const sandbox = await startSandbox(t, { filesystem: { privateTmp: true, denyWrite: [path.join(project, 'later'), path.join(project, '*.pem')] } });
    const before = snapshot(project);
    const [held] = await Promise.all([
      bash(sandbox.machine(project), script(key)),
      prints(t, sandbox.machine(workspace), `mkdir /tmp/elsewhere; until [ -e /tmp/${key}-ready ]; do sleep 0.05; done; ${take} ${folder}/x && touch /tmp/${key}-go; until [ -e /tmp/${key}-done ]; do sleep 0.05; done`),
    ]);
    t.same(snapshot(project), before, key);
    t.match(blockOf(held.stderr).join('\n'), /hooks \(another command moved or removed the folder that it is mounted on\)/);
    t.equal(await prints(t, sandbox.machine(project), 'echo x > mine && rm mine && cat file'), 'host', 'the next run has its root where it was');
  }
});

t.test('sockets of allowUnixSockets are there, also where what is around them is private, or closed', async (t) => {
  const { base, workspace, out, secrets } = makePlace(t);
  const folder = hostTmp(t);
  write(folder, { secret: SECRET });
  const files = [path.join(folder, 'named'), path.join(folder, 'agent.1'), path.join(out, 'named'), path.join(secrets, 'denied'), path.join(folder, 'other')];
  for (const file of files) {
    const server = net.createServer((connection) => connection.end(path.basename(file))).listen(file);
    t.teardown(() => server.close());
    await once(server, 'listening');
  }
  fs.symlinkSync(files[2], path.join(base, 'link'));
  const asked = [files[0], files[1], path.join(base, 'link'), ...files.slice(2)];
  const program = `
    const answer = (file) => new Promise((resolve) => require('node:net').connect(file).on('data', (data) => resolve(String(data))).on('error', ({ code }) => resolve(code)));
    Promise.all(process.argv.slice(1).map(answer)).then((answers) => console.log(answers.join()));`;
  const network = { allowUnixSockets: [files[0], path.join(folder, 'agent.*'), path.join(base, 'link'), files[3], path.join(folder, 'secret')] };
  for (const defaultRead of ['allow', 'deny']) {
    const sandbox = await startSandbox(t, { filesystem: { privateTmp: true, defaultRead, denyRead: [secrets] }, network });
    const machine = sandbox.machine(workspace);
    t.equal((await machine.run(['node', '-e', program, ...asked])).stdout, 'named,agent.1,named,named,EACCES,ENOENT\n', defaultRead);
    t.equal(await prints(t, machine, `ls -A ${folder}`), 'agent.1\nnamed', 'and nothing else');
    t.match(await sandbox.explain(files[0], workspace), [{ read: { allowed: true, rule: { option: 'network.allowUnixSockets', index: 0 } } }]);
  }
});

t.test('the temporary directory of the environment is the same private one', async (t) => {
  const { base, workspace } = makePlace(t);
  const tmpdir = path.join(base, 'temporary');
  write(base, { 'temporary/host': SECRET, 'temporary/below/x': '' });
  const program = `
    const [workspace] = process.argv.slice(1);
    const sandbox = await OsSandbox.start({ filesystem: { privateTmp: true } });
    const run = async (script) => (await sandbox.machine(workspace).run(['sh', '-c', script], { env: { TMP: process.env.TMPDIR + '/below' } })).stdout;
    say(await run('ls -A "$TMPDIR"; mktemp | sed s/.tmp[.].*//; echo "$TMPDIR $TMP"; echo x > /tmp/one'));
    say(await run('cat "$TMPDIR/one"'));
    await sandbox.dispose();`;
  const { said } = await runProgram(t, program, { args: [workspace], env: { ...process.env, TMPDIR: tmpdir } });
  t.match(said, [`${tmpdir}\n${tmpdir} /tmp\n`, 'x\n'], 'both paths lead there, and no variable to what is not there');
  t.same(fs.readdirSync(tmpdir), ['below', 'host']);
});

const CACHE = { '.npm/_cacache/content': 'host', '.npm/_cacache/index/a': 'host', '.npm/_npx/1/package.json': '{}', '.npmrc': 'fund=false\n' };

t.test('npm\'s cache is closed to commands, and the refusal names the option', async (t) => {
  write(home, CACHE);
  const { workspace } = makePlace(t);
  const named = path.join(home, 'named');
  fs.mkdirSync(named);
  const machine = (await startSandbox(t)).machine(workspace);
  const why = "(npm's cache, see filesystem.packageCache (--package-cache))";
  t.same(await refusals(machine, 'mkdir ~/.npm/x; mkdir ~/.np'), [`deny file-write-create ${home}/.npm/x ${why}`, `deny file-write-create ${home}/.np (outside the write roots)`]);
  t.same(await refusals(machine, 'mkdir ~/named/x', { env: { npm_config_cache: '~/named' } }), [`deny file-write-create ${named}/x ${why}`]);
  const strict = (await startSandbox(t, { filesystem: { defaultRead: 'deny' } })).machine(workspace);
  t.same(await refusals(strict, 'echo x > ~/.npm/new'), [`deny file-write-create ${home}/.npm/new ${why}`]);
});

t.test('with packageCache commands have npm\'s cache as a copy of their own', async (t) => {
  write(home, CACHE);
  const { workspace } = makePlace(t);
  const before = snapshot(path.join(home, '.npm'));
  const sandbox = await startSandbox(t, { filesystem: { packageCache: true } });
  const machine = sandbox.machine(workspace);
  await Promise.all([1, 2, 3, 4].map((n) => prints(t, machine, `cat ~/.npm/_cacache/content && echo ${n} > ~/.npm/${n}`)));
  await prints(
    t,
    machine,
    `cd ~/.npm && [ "$(cat 1 2 3 4 | tr -d "\\n")" = 1234 ] && echo changed > _cacache/content && mv _cacache/content _cacache/moved
     ln _cacache/moved _cacache/linked && echo new > _cacache/tmp && mv _cacache/tmp _cacache/content && rm _npx/1/package.json
     mkdir _npx/2 && mv _npx/2 _npx/3 && touch -d @5 _npx/3 && ln -s 3 _npx/4 && chmod 700 _cacache && cp /bin/true _npx/3/t && _npx/3/t
     mv _cacache/index _cacache/other && rm -r _cacache/other && mkdir _cacache/index`,
  );
  t.equal(await prints(t, sandbox.machine(workspace), 'cat ~/.npm/_cacache/content ~/.npm/_cacache/linked; ls -A ~/.npm/_npx ~/.npm/_npx/1 ~/.npm/_cacache/index'), 'new\nchanged\n' + `${home}/.npm/_cacache/index:\n\n${home}/.npm/_npx:\n1\n3\n4\n\n${home}/.npm/_npx/1:`, 'which the next run has as the one before left it');
  t.same(snapshot(path.join(home, '.npm')), before, 'the host\'s is as it was');
  t.match(await bash(machine, 'echo x >> ~/.npmrc; echo x > ~/new'), { exitCode: 1 }, 'and what is beside it is closed');
  t.same(sandbox.status.warnings, []);
  const other = (await startSandbox(t, { filesystem: { packageCache: true, defaultRead: 'deny', privateTmp: true } })).machine(workspace);
  t.equal(await prints(t, other, 'cat ~/.npm/_cacache/content; echo x > ~/.npm/x; npm config get cache'), `host${home}/.npm`, 'another sandbox has its own, with strict reads as well');
});

t.test('what is denied in npm\'s cache is in no copy of it, nor what a link of a command\'s leads to', async (t) => {
  write(home, { ...CACHE, '.npm/private/key': SECRET, '.ssh/id': SECRET });
  const { workspace, secrets } = makePlace(t);
  write(secrets, { key: SECRET });
  const denied = await startSandbox(t, { filesystem: { packageCache: true, denyRead: ['~/.npm/private'] } });
  t.equal(await prints(t, denied.machine(workspace), 'ls -A ~/.npm; echo x > ~/.npm/x; cat ~/.npm/x'), 'x', 'it is empty then');
  t.match(denied.status.warnings, [/^npm's cache is not shown to commands, they have an empty one: something in .*\.npm is denied$/]);
  const whole = await startSandbox(t, { filesystem: { packageCache: true, denyRead: ['~/.npm'] } });
  t.match(await bash(whole.machine(workspace), 'ls ~/.npm || cat ~/.npm/private/key'), { exitCode: 1, stdout: '' }, 'a denial of it all holds');
  const tricked = await startSandbox(t, { filesystem: { packageCache: true } });
  const machine = tricked.machine(workspace);
  await bash(machine, `ln -s ${secrets} cache && ln -s ~/.ssh keys`);
  for (const cache of ['cache', 'keys']) {
    const own = { env: { npm_config_cache: path.join(workspace, cache) } };
    const { stdout } = await bash(machine, 'echo "$npm_config_cache"; cat keys/id; echo x > cache/new', own);
    t.equal(stdout, '/dev/shm/npm-cache\n', cache);
  }
  t.match([...tricked.status.warnings].join(), /they have an empty one: .* leads to /);
  t.notOk(fs.existsSync(path.join(secrets, 'new')));
});

t.test('where the host has no npm cache, or cannot overlay it, commands have an empty one', async (t) => {
  fs.rmSync(path.join(home, '.npm'), { recursive: true, force: true });
  const { workspace } = makePlace(t);
  for (const [privateTmp, wanted] of [[false, '/dev/shm/npm-cache'], [true, '/tmp/npm-cache']]) {
    const machine = (await startSandbox(t, { filesystem: { packageCache: true, privateTmp } })).machine(workspace);
    t.equal(await prints(t, machine, 'npm config get cache && ls "$npm_config_cache" | grep -c _logs'), `${wanted}\n1`);
  }
  t.notOk(fs.existsSync(path.join(home, '.npm')), 'and the host still has none');

  write(home, CACHE);
  const program = `
    const sandbox = await OsSandbox.start({ filesystem: { packageCache: true, privateTmp: true } });
    const run = async (script) => (await sandbox.machine(process.argv[1]).run(['sh', '-c', script])).stdout;
    say(await run('ls -A ~/.npm; echo x > ~/.npm/x; ls -A /tmp; echo x > /tmp/x'));
    say(await run('cat ~/.npm/x /tmp/x'));
    say([...sandbox.status.warnings]);
    await sandbox.dispose();`;
  // As deep as overlays may be stacked.
  const layers = path.join(workspace, '..', 'layers');
  for (const name of ['a', 'b', 'c', 'm']) fs.mkdirSync(path.join(layers, name), { recursive: true });
  const stack = `cd ${layers} && mount -t overlay o -o lowerdir=a:b m && mount -t overlay o -o lowerdir=m:c ${home}/.npm && exec "$@"`;
  const { said } = await runProgram(t, program, { launcher: [...OWN_MOUNTS, 'sh', '-c', stack, 'sh'], args: [workspace] });
  t.match(said, ['', 'x\nx\n', [/^npm's cache is not shown to commands, they have an empty one: overlayfs: /]]);

  const refuse = path.join(workspace, '..', 'refuse');
  execFileSync('cc', ['-D_GNU_SOURCE', '-o', refuse, path.join(__dirname, 'helpers', 'refuse.c')]);
  const alone = await runProgram(t, program, { launcher: [refuse, 'setns', '--'], args: [workspace] });
  t.match([alone.said[0], alone.said[1], alone.said[2].slice(-2)], ['', '', [/private temporary directory is not shared/, /npm's cache is not shown/]], 'where bwrap mounts everything each run has its own');
  t.same(fs.readdirSync(path.join(home, '.npm')), ['_cacache', '_npx'], 'of all that the host has seen nothing');
});

t.test('the strict command reads, writes and reaches what it was given, and nothing else', async (t) => {
  write(home, { ...CACHE, note: SECRET });
  const { base, out } = makePlace(t);
  const work = path.join(base, 'work');
  write(base, { 'work/server.js': '', 'work/output/old': 'old', 'cwd/here': SECRET, 'work/data': 'data' });
  write(out, { secret: SECRET });
  const server = http.createServer((request, response) => response.end('reached')).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => server.close());
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const cwd = path.join(base, 'cwd');
  const filesystem = { writableCwd: false, privateTmp: true, defaultRead: 'deny', allowRead: [work], allowWrite: [path.join(work, 'output')] };
  const sandbox = await startSandbox(t, { filesystem, network: { allowedDomains: [`localhost:${port}`] } });
  const machine = sandbox.machine(cwd);
  write(work, {
    'server.js': `
      const fs = require('node:fs');
      const attempt = (name, act) => { try { return [name, act() ?? 'done']; } catch (error) { return [name, error.code]; } };
      const get = async (url) => { try { return await (await fetch(url)).text(); } catch { return 'refused'; } };
      (async () => console.log(JSON.stringify(Object.fromEntries([
        ['cwd', process.cwd()],
        attempt('read', () => fs.readFileSync('${work}/data', 'utf8')),
        attempt('write', () => fs.writeFileSync('${work}/output/new', 'new')),
        attempt('tmp', () => fs.readdirSync('/tmp').length),
        attempt('own tmp', () => fs.writeFileSync('/tmp/x', '')),
        attempt('read cwd', () => fs.readdirSync('.')),
        attempt('read in cwd', () => fs.readFileSync('here', 'utf8')),
        attempt('write cwd', () => fs.writeFileSync('new', '')),
        attempt('read beside', () => fs.readFileSync('${out}/secret', 'utf8')),
        attempt('read home', () => fs.readFileSync('${home}/note', 'utf8')),
        attempt('write beside', () => fs.writeFileSync('${work}/data', '')),
        attempt('make tasks', () => fs.mkdirSync('${home}/.operon')),
        ['reach', await get('http://localhost:${port}/')],
        ['reach elsewhere', await get('http://denied.example.com/')],
      ]))))();`,
  });
  const { stdout, exitCode, stderr } = await machine.run(['node', path.join(work, 'server.js')]);
  t.equal(exitCode, 0, stderr);
  const denied = { 'read cwd': 'EACCES', 'read in cwd': 'EACCES', 'write cwd': /EACCES|EROFS/, 'read beside': /EACCES|ENOENT/, 'read home': 'EACCES', 'write beside': /EACCES|EROFS/, 'make tasks': /EACCES|EROFS/, 'reach elsewhere': 'refused' };
  t.match(JSON.parse(stdout), { cwd, read: 'data', write: 'done', tmp: 0, 'own tmp': 'done', reach: 'reached', ...denied });
  t.equal(fs.readFileSync(path.join(work, 'output/new'), 'utf8'), 'new');
  t.same(fs.readdirSync(cwd), ['here']);
  t.match(await bash(machine, `cd ${out}`), { exitCode: 1 }, 'only where it starts can be entered');
  t.match(await machine.run(['pwd'], { cwd: out }), { exitCode: 0, stdout: `${out}\n` }, 'also where that is a run\'s own');
  const denies = await startSandbox(t, { filesystem: { ...filesystem, denyRead: [cwd] } });
  t.match(await denies.machine(cwd).run(['pwd']), { exitCode: 127, stderr: /^os-sandbox: cannot enter .*: Permission denied/ }, 'but not what is denied');
  const below = hostTmp(t);
  write(below, { here: SECRET });
  t.match(await bash(sandbox.machine(below), 'pwd; ls -A'), { exitCode: 0, stdout: `${below}\n` }, 'nor is a folder of the private one the host\'s');
});

t.test('without a writable cwd nothing but what is named can be written', async (t) => {
  const { workspace, out } = makePlace(t);
  write(workspace, { 'in/x': '', y: '' });
  fs.mkdirSync(path.join(home, '.operon/tasks'), { recursive: true });
  const sandbox = await startSandbox(t, { filesystem: { writableCwd: false, allowWrite: ['in'] } });
  const machine = sandbox.machine({ cwd: workspace, additionalDirs: [out] });
  await prints(t, machine, `echo x > in/x && cat y && echo x > ${out}/x && echo x > /tmp/os-sandbox-$$ && rm /tmp/os-sandbox-$$`);
  for (const script of ['echo x > y', 'echo x > new', 'rm y', 'echo x > ~/.operon/tasks/log']) t.match(await bash(machine, script), { exitCode: 1 }, script);
  t.same(fs.readdirSync(workspace), ['in', 'y']);
});

t.test('after a crash nothing of it is left', async (t) => {
  write(home, CACHE);
  const { workspace } = makePlace(t);
  const mounts = fs.readFileSync('/proc/self/mountinfo', 'utf8');
  const before = snapshot(path.join(home, '.npm'));
  const program = `
    const sandbox = await OsSandbox.start({ filesystem: { packageCache: true, privateTmp: true } });
    const running = sandbox.machine(process.argv[1]).run(['sh', '-c', 'echo x > /tmp/os-sandbox-crash; echo x > ~/.npm/x; echo ready; exec sleep 600'], { onOutput: ({ data }) => say(data) });
    await running;`;
  const { child, next, ended } = startProgram(t, program, { args: [workspace] });
  t.equal(await next(), 'ready\n');
  child.kill('SIGKILL');
  await ended;
  t.same(snapshot(path.join(home, '.npm')), before);
  t.notOk(fs.existsSync('/tmp/os-sandbox-crash'));
  t.equal(fs.readFileSync('/proc/self/mountinfo', 'utf8'), mounts);
});
