'use strict';
// Names that change while a call is made: a path, a descriptor's number, the folder above.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { isDeepStrictEqual } = require('node:util');
const { compile, makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { actedOn } = require('./helpers/protected');
const { startElsewhere } = require('./helpers/sandbox-elsewhere');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const flipNames = compile(programs, 'flip_names');
const moveRace = compile(programs, 'move_race');
const refuse = path.join(programs, 'refuse');
execFileSync('cc', ['-D_GNU_SOURCE', '-o', refuse, path.join(__dirname, 'helpers', 'refuse.c')]);

const VARIANTS = {
  'with Landlock': (t) => startSandbox(t),
  'without Landlock': (t) => startElsewhere(t, [refuse, 'landlock_create_ruleset', '--']),
};

/** What the program flips through, below the workspace: names that are missing, and folders by their number. */
const MISSING = ['open', 'excl', 'read-create', 'mkdir', 'mknod', 'symlink', 'link', 'rename', 'bind', 'openat', 'mkdirat', 'slash'];
const EXISTING = ['old-write', 'old-create', 'old-truncate', 'old-chmod', 'old-xattr', 'old-times'];
/** What the command's own name is, where that is no file: what the kernel itself would open, or refuse. */
const OTHERS = {
  folder: (own) => fs.mkdirSync(own),
  device: (own) => fs.symlinkSync('/dev/zero', own),
  'part of procfs': (own) => fs.symlinkSync('/proc/1/fd/0', own),
};
const CASES = [
  ...MISSING.map((call) => ({ call })),
  ...EXISTING.map((call) => ({ call, own: (file) => fs.writeFileSync(file, 'original'), there: true })),
  ...Object.entries(OTHERS).flatMap(([what, own]) => [
    ...['old-write', 'old-cut', 'old-create'].map((call) => ({ call, what, own, there: true })),
    { call: 'old-create', what, own },
  ]),
  { call: 'old-folder' },
];

for (const [variant, start] of Object.entries(VARIANTS)) {
  t.test(`${variant}, a path that changes during the call does not lead to a protected name`, async (t) => {
    const sandbox = await start(t);
    const place = ({ own, there }) => {
      const { workspace } = makePlace(t);
      for (const folder of ['d/.git', 'e']) fs.mkdirSync(path.join(workspace, folder), { recursive: true });
      for (const name of there ? ['source', 'd/.mcp.json'] : ['source']) fs.writeFileSync(path.join(workspace, name), 'original');
      own?.(path.join(workspace, 'd/xmcp.json'));
      return workspace;
    };
    const touched = (workspace) => {
      const seen = actedOn(workspace);
      const worktree = path.join(workspace, 'd/.git/config.worktree');
      const times = ['d/.git', 'd/.mcp.json'].map((name) => fs.lstatSync(path.join(workspace, name), { throwIfNoEntry: false })?.ctimeMs);
      return { seen, times, worktree: fs.existsSync(worktree) };
    };
    for (const one of CASES) {
      const said = `${one.call}${one.what ? ` and a ${one.what}${one.there ? '' : ', missing'}` : ''}`;
      if (variant === 'with Landlock') {
        const free = place(one);
        const state = touched(free);
        // Who wins a race is chance: it is run until it was won.
        const isTouched = () => !isDeepStrictEqual(touched(free), state);
        for (let i = 0; i < 10 && !isTouched(); i += 1) await withoutSandbox(free).run([flipNames, one.call, '30000']);
        t.ok(isTouched(), `without a sandbox it is reached: ${said}`);
      }
      const workspace = place(one);
      const before = touched(workspace);
      const result = await sandbox.machine(workspace).run([flipNames, one.call, '6000']);
      const own = one.what === 'part of procfs' ? /^6000 tries, 0 worked\n$/ : /^6000 tries, [1-9]\d* worked\n$/;
      t.match(result.stdout, own, `the own file is reached: ${said}`);
      t.same(touched(workspace), before, said);
    }
  });
}

/** Runs the race in one run, in two of a session, or in two sessions; gives what the mover said. */
async function race(machines, rounds, extra = []) {
  const others = ['maker', ...extra].map((role, i) => machines[i % machines.length].run([moveRace, role]));
  const { stdout } = await machines[machines.length - 1].run([moveRace, 'mover', String(rounds)]);
  await Promise.all(others);
  const [, done, moved, lost] = /^rounds (\d+) moved (\d+) lost (\d+)\n$/.exec(stdout).map(Number);
  return { done, moved, lost };
}

t.test('a folder that becomes a git directory while somebody makes a hook in it has none', async (t) => {
  const free = makePlace(t).workspace;
  const control = await race([withoutSandbox(free)], 2000);
  t.ok(control.lost > 0 && control.moved > 500, `without a sandbox hooks stay: ${control.lost} of ${control.moved}`);
  const sandbox = await startSandbox(t);
  const other = await startSandbox(t);
  const inside = { 'in one run': [], 'while the old name is taken again': ['blocker'] };
  const scripts = (extra) => `${['maker', ...extra].map((role) => `${moveRace} ${role} &`).join(' ')} ${moveRace} mover 20000; wait`;
  for (const [what, extra] of Object.entries(inside)) {
    const { workspace } = makePlace(t);
    const { stdout } = await sandbox.machine(workspace).run(['bash', '-c', scripts(extra)]);
    const [, , moved, lost] = /rounds (\d+) moved (\d+) lost (\d+)\n/.exec(stdout).map(Number);
    t.ok(moved > 10, `${what}: ${moved} times`);
    t.equal(lost, 0, what);
    t.same(Object.keys(actedOn(workspace)), [], what);
  }
  const between = {
    'between two runs': (workspace) => [sandbox.machine(workspace), sandbox.machine(workspace)],
    'between two sandboxes': (workspace) => [sandbox.machine(workspace), other.machine(workspace)],
  };
  for (const [what, machines] of Object.entries(between)) {
    const { workspace } = makePlace(t);
    const { moved, lost } = await race(machines(workspace), 20_000);
    t.ok(moved > 10, `${what}: ${moved} times`);
    t.equal(lost, 0, what);
    t.notOk(fs.existsSync(path.join(workspace, '.git/hooks/post-commit')), what);
  }
});
