'use strict';
// Names that change, before and while sandboxes start: no grant moves, no denial is lost.

const t = require('tap');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bash, compile, makePlace, startSandbox } = require('./helpers/attack');
const { makeRepository } = require('./helpers/protected');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const flipProgram = compile(programs, 'flip');

const SECRET = 'the-secret-of-this-test';

t.test('a folder that a command swapped for a symlink does not become a write root', async (t) => {
  const { base, workspace, out } = makePlace(t);
  const inTmp = fs.mkdtempSync('/tmp/os-sandbox-test-');
  t.teardown(() => fs.rmSync(inTmp, { recursive: true, force: true }));
  const planted = {
    'a cwd below /tmp': { first: inTmp, then: path.join(inTmp, 'cwd') },
    'an ancestor of a cwd below /tmp': { first: inTmp, swap: path.join(inTmp, 'up'), then: path.join(inTmp, 'up/out') },
    'an additional folder below the cwd': {
      first: workspace,
      then: { cwd: workspace, additionalDirs: [path.join(workspace, 'additional')] },
    },
    'a folder below an additional one': {
      first: workspace,
      then: { cwd: path.join(workspace, 'cwd'), additionalDirs: [workspace] },
    },
    'a worktree below the cwd of another machine': { first: workspace, then: path.join(workspace, 'worktree') },
    'a folder below a folder of another machine': {
      first: { cwd: inTmp, additionalDirs: [workspace] },
      then: path.join(workspace, 'other'),
    },
  };
  for (const [what, { first, then, swap }] of Object.entries(planted)) {
    const target =
      swap ??
      (typeof then === 'string' ? then : then.additionalDirs[0] === workspace ? then.cwd : then.additionalDirs[0]);
    for (const link of [swap ? base : out, path.relative(path.dirname(target), swap ? base : out)]) {
      const sandbox = await startSandbox(t);
      fs.mkdirSync(swap ? path.join(target, 'out') : target, { recursive: true });
      t.match(await bash(sandbox.machine(first), `rm -r ${target} && ln -s ${link} ${target}`), { exitCode: 0 }, what);
      t.equal(fs.realpathSync(target), swap ? base : out);
      const result = await bash(
        sandbox.machine(then),
        `echo x > ${out}/canary; echo x > canary; echo x > ${target}/canary; mkdir ${target}/folder`,
      );
      t.not(result.exitCode, 0, what);
      t.same(fs.readdirSync(out), [], what);
      t.match(sandbox.status.warnings.join('\n'), target, `a warning names ${what}`);
      for (const name of ['out/canary', 'out/folder', 'canary', 'folder'])
        fs.rmSync(path.join(base, name), { recursive: true, force: true });
      fs.rmSync(target, { recursive: true });
    }
  }
});

/** Starts the program that exchanges two names again and again; gives what stops it. */
function flip(t, cwd, names, microseconds) {
  const flipping = spawn(flipProgram, [...names, String(microseconds)], { cwd, stdio: 'ignore' });
  const stop = () => flipping.kill('SIGKILL');
  t.teardown(stop);
  return stop;
}

/** Many runs, a few at a time: the results of those that came to run, the messages of the others. */
async function manyRuns(machine, count, script) {
  const results = [];
  const errors = [];
  const worker = async () => {
    while (results.length + errors.length < count) {
      await bash(machine, script).then(
        (result) => results.push(result),
        (error) => errors.push(error.message),
      );
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  return { results, errors };
}

t.test('a component of denied paths that changes while 500 sandboxes start opens nothing', async (t) => {
  const { workspace } = makePlace(t);
  // p is the folder or a symlink to q, q the folder or a symlink to itself: p/secret always names the same file.
  fs.mkdirSync(path.join(workspace, 'p/secret'), { recursive: true });
  fs.writeFileSync(path.join(workspace, 'p/secret/key'), SECRET);
  fs.writeFileSync(path.join(workspace, 'p/kept'), 'original');
  fs.symlinkSync('q', path.join(workspace, 'q'));
  const machine = (await startSandbox(t, { filesystem: { denyRead: ['p/secret'], denyWrite: ['p/kept'] } })).machine(
    workspace,
  );
  flip(t, workspace, ['p', 'q'], 2000);
  const { results, errors } = await manyRuns(
    machine,
    500,
    'for i in 1 2 3; do cat p/secret/key q/secret/key; echo x > p/kept; echo x > q/kept; done 2>/dev/null; echo end',
  );
  t.ok(results.length > 0 && errors.length > 0, `${results.length} ran, ${errors.length} were refused`);
  t.same(
    results.filter(({ stdout }) => stdout !== 'end\n'),
    [],
  );
  t.same(
    errors.filter((text) => !/^os-sandbox: (.*was replaced|bwrap: |mount check failed: )/.test(text)),
    [],
  );
  const kept = ['p', 'q'].map((name) => path.join(workspace, name, 'kept')).find((file) => fs.existsSync(file));
  t.equal(fs.readFileSync(kept, 'utf8'), 'original');
});

t.test(
  'a cwd or a folder in it that is swapped for a link to the outside opens nothing and leaves nothing there',
  async (t) => {
    const { out } = makePlace(t);
    const base = fs.mkdtempSync('/tmp/os-sandbox-test-');
    t.teardown(() => fs.rmSync(base, { recursive: true, force: true }));
    // The last one is the name that bwrap gives to the host's tree while it works.
    for (const [i, link] of [
      out,
      path.relative(base, out),
      path.relative(path.join(base, 'cwd1'), out),
      `/oldroot${out}`,
    ].entries()) {
      const cwd = path.join(base, `cwd${i}`);
      fs.mkdirSync(path.join(cwd, 'p/denied'), { recursive: true });
      fs.writeFileSync(path.join(cwd, 'p/secret'), SECRET);
      const [folder, name] = i < 2 ? [base, `cwd${i}`] : [cwd, 'p'];
      fs.symlinkSync(link, path.join(folder, `link${i}`));
      const machine = (await startSandbox(t, { filesystem: { denyRead: ['p/denied', 'p/secret'] } })).machine(cwd);
      const stop = flip(t, folder, [name, `link${i}`], 2000);
      const { results, errors } = await manyRuns(
        machine,
        100,
        `echo x > ${out}/canary; echo x > ${folder}/${name}/canary; echo end`,
      );
      t.ok(results.length > 0, `${results.length} ran, ${errors.length} were refused`);
      t.same(fs.readdirSync(out), [], link);
      stop();
      for (const left of fs.readdirSync(out)) fs.rmSync(path.join(out, left), { recursive: true });
    }
  },
);

t.test('what a denied symlink led to stays denied after a command has turned the link', async (t) => {
  const { workspace } = makePlace(t);
  for (const name of ['secret', 'kept']) {
    fs.writeFileSync(path.join(workspace, name), SECRET);
    fs.symlinkSync(name, path.join(workspace, `to-${name}`));
  }
  const sandbox = await startSandbox(t, { filesystem: { denyRead: ['to-secret'], denyWrite: ['to-kept'] } });
  const machine = sandbox.machine(workspace);
  const attack = 'cat secret to-secret; echo x > kept; ln -sfn /etc/hostname to-secret; ln -sfn new to-kept';
  for (let run = 0; run < 3; run++) {
    t.notMatch((await bash(machine, attack)).stdout, SECRET);
    t.equal(fs.readFileSync(path.join(workspace, 'kept'), 'utf8'), SECRET);
  }
  t.notMatch(sandbox.status.warnings.join('\n'), /symlink/, 'the supervisor keeps the link, there is nothing to warn of');
});

t.test('a denial that cannot be had is an error, not an opening', async (t) => {
  const { workspace } = makePlace(t);
  for (const entry of ['/', '/proc/version', '/proc/self/../cpuinfo']) {
    const machine = (await startSandbox(t, { filesystem: { denyRead: [entry] } })).machine(workspace);
    await t.rejects(machine.run(['touch', 'ran']), /^os-sandbox: filesystem\.denyRead\[0\]: /, entry);
  }
  t.same(fs.readdirSync(workspace), []);
});

t.test('protected names that are swapped for links while 500 sandboxes start are not written, nor is what they lead to', async (t) => {
  for (const toOut of [(out) => out, (out, folder) => path.relative(folder, out), (out) => `/oldroot${out}`]) {
    const { workspace, out } = makePlace(t);
    const [x, y] = ['x', 'y'].map((name) => path.join(workspace, name));
    fs.mkdirSync(path.join(x, '.vscode'), { recursive: true });
    fs.mkdirSync(y);
    makeRepository(x);
    for (const folder of ['hooks', 'inner']) fs.mkdirSync(path.join(out, folder));
    // Where one is the folder, the other is the link.
    for (const name of ['.vscode', '.git']) {
      fs.symlinkSync(toOut(out, y), path.join(y, name));
      flip(t, workspace, [`x/${name}`, `y/${name}`], 3000);
    }
    const machine = (await startSandbox(t)).machine({ cwd: workspace, additionalDirs: [x, y] });
    const attack = `for i in x y x y; do echo x > $i/.vscode/canary; echo x > $i/.git/hooks/canary; mkdir $i/.vscode/folder; echo x > ${out}/canary; done 2>/dev/null; echo end`;
    const { results, errors } = await manyRuns(machine, 170, attack);
    t.ok(results.length > 0, `${results.length} ran, ${errors.length} were refused`);
    t.same(errors.filter((text) => !/^os-sandbox: (.*was replaced|bwrap: |mount check failed: )/.test(text)), []);
    t.same(results.filter(({ stdout }) => !stdout.startsWith('end\n')), []);
    const found = execFileSync('find', [workspace, out, '-name', 'canary', '-o', '-name', 'folder'], { encoding: 'utf8' });
    t.equal(found, '');
  }
});

t.test('a denied file that the host removes and makes again while sandboxes start is never written', async (t) => {
  const { workspace } = makePlace(t);
  fs.mkdirSync(path.join(workspace, 'p'));
  const replace = `while :; do rm -f p/kept p/made.glob; sleep 0.00$((RANDOM % 5)); for f in p/kept p/made.glob; do echo original > p/new && mv p/new $f; done; sleep 0.00$((RANDOM % 5)); done`;
  const host = spawn('bash', ['-c', replace], { cwd: workspace, stdio: 'ignore' });
  t.teardown(() => host.kill('SIGKILL'));
  const machine = (await startSandbox(t, { filesystem: { denyWrite: ['p/kept', 'p/*.glob'] } })).machine(workspace);
  const attack = 'for i in $(seq 30); do for f in p/kept p/made.glob; do echo attack > $f; echo attack >> $f; ln -f own $f; mv -f own2 $f; done; done 2>/dev/null; grep -l attack p/kept p/made.glob && echo worked; echo end';
  const { results, errors } = await manyRuns(machine, 120, `echo attack > own; echo attack > own2; ${attack}`);
  host.kill('SIGKILL');
  t.ok(results.length > 0, `${results.length} ran, ${errors.length} were refused`);
  t.same(errors.filter((text) => !/^os-sandbox: /.test(text)), []);
  t.same(results.filter(({ stdout }) => /worked|^(?!end)/.test(stdout)).map(({ stdout }) => stdout), []);
});
