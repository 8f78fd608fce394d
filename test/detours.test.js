'use strict';
// Ways to a protected name that no look at one call's text would find: with the kernel's own guard of names, without
// it, and without reports.

const t = require('tap');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { makePlace, startSandbox, withoutSandbox } = require('./helpers/attack');
const { DETOURS, furnishDetours, harm, runDetour, runHostGit } = require('./helpers/detours');
const { actedOn } = require('./helpers/protected');
const { startElsewhere } = require('./helpers/sandbox-elsewhere');
const { blockOf } = require('./helpers/violations');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const refuse = path.join(programs, 'refuse');
execFileSync('cc', ['-D_GNU_SOURCE', '-o', refuse, path.join(__dirname, 'helpers', 'refuse.c')]);

const VARIANTS = {
  'with Landlock': (t) => startSandbox(t),
  'without Landlock': (t) => startElsewhere(t, [refuse, 'landlock_create_ruleset', '--']),
  'without reports': (t) => startSandbox(t, { monitorViolations: false }),
};

for (const [variant, start] of Object.entries(VARIANTS)) {
  t.test(`${variant}, no detour leads to a protected name`, async (t) => {
    const sandbox = await start(t);
    const template = makePlace(t).workspace;
    furnishDetours(template);
    for (const [what, scripts] of Object.entries(DETOURS)) {
      const place = () => {
        const { workspace } = makePlace(t);
        fs.cpSync(template, workspace, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
        return workspace;
      };
      if (variant === 'with Landlock') {
        const free = place();
        const state = actedOn(free);
        await runDetour(withoutSandbox(free), scripts);
        execFileSync('chmod', ['-R', 'u+rwX', free]);
        t.notSame(harm(state, actedOn(free)), [], `without a sandbox it works: ${what}`);
      }
      const workspace = place();
      const before = actedOn(workspace);
      const results = await runDetour(sandbox.machine(workspace), scripts);
      const last = results[results.length - 1];
      execFileSync('chmod', ['-R', 'u+rwX', workspace]);
      t.same(harm(before, actedOn(workspace)), [], what);
      t.same(runHostGit(workspace), [], `the host's git runs nothing: ${what}`);
      const lines = results.flatMap(({ stderr }) => blockOf(stderr));
      if (variant === 'without reports') t.same(lines, []);
      else t.ok(lines.length > 0 && lines.every((line) => / \((protected: |taken out)/.test(line)), `it is told: ${what}: ${lines} ${last.stderr}`);
    }
  });
}

t.test('a descriptor of a folder from another run is no way', async (t) => {
  const give = `/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.bind("own/socket"); s.listen()
c, _ = s.accept()
socket.send_fds(c, [b"x"], [os.open(".", os.O_RDONLY), os.open("there", os.O_PATH)])
c.recv(1)'`;
  const take = `/usr/bin/python3 -c '
import errno, os, socket, time
s = socket.socket(socket.AF_UNIX)
while True:
    try: s.connect("own/socket"); break
    except OSError: time.sleep(0.01)
_, fds, _, _ = socket.recv_fds(s, 1, 2)
def attempt(name, call):
    try: call(); print(name, "DONE")
    except OSError as e: print(name, errno.errorcode[e.errno])
attempt("own", lambda: os.close(os.open("plain", os.O_WRONLY | os.O_CREAT, dir_fd=fds[0])))
attempt("open", lambda: os.open(".mcp.json", os.O_WRONLY | os.O_CREAT, dir_fd=fds[0]))
attempt("mkdir", lambda: os.mkdir(".vscode", dir_fd=fds[0]))
attempt("write", lambda: os.write(os.open(".mcp.json", os.O_WRONLY, dir_fd=fds[1]), b"evil"))
attempt("unlink", lambda: os.unlink(".mcp.json", dir_fd=fds[1]))
attempt("chmod", lambda: os.chmod("/proc/self/fd/%d/.mcp.json" % fds[1], 0o777))'`;
  const sandbox = await startSandbox(t);
  const attack = async (machine, workspace) => {
    furnishDetours(workspace);
    const before = actedOn(workspace);
    const [, { stdout }] = await Promise.all([machine.run(['bash', '-c', give]), machine.run(['bash', '-c', take])]);
    return { stdout, harm: harm(before, actedOn(workspace)) };
  };
  const free = makePlace(t).workspace;
  t.notSame((await attack(withoutSandbox(free), free)).harm, []);
  const { workspace } = makePlace(t);
  const { stdout, harm: done } = await attack(sandbox.machine(workspace), workspace);
  t.same(done, []);
  t.match(stdout, /^own DONE\n(\w+ (EACCES|EROFS|EPERM)\n){5}$/);
});

t.test('calls that the supervisor cannot read are refused', async (t) => {
  const script = `/usr/bin/python3 -c '
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, *args):
    print(name, "DONE" if libc.syscall(*args) >= 0 else errno.errorcode[ctypes.get_errno()])
how = (ctypes.c_uint64 * 3)(0o101, 0o644, 0)
attempt("openat2", 437, -100, b".mcp.json", how, 24)
attempt("io_uring_setup", 425, 4, bytes(256))
attempt("landlock_create_ruleset", 444, 0, 0, 1)'`;
  const free = makePlace(t).workspace;
  t.match((await withoutSandbox(free).run(['bash', '-c', script])).stdout, /openat2 DONE/);
  t.ok(fs.existsSync(path.join(free, '.mcp.json')));
  const { workspace } = makePlace(t);
  const { stdout } = await (await startSandbox(t)).machine(workspace).run(['bash', '-c', script]);
  t.equal(stdout, 'openat2 ENOSYS\nio_uring_setup ENOSYS\nlandlock_create_ruleset ENOTSUP\n');
  t.same(fs.readdirSync(workspace), []);
});

t.test('a path that is too long to be told is refused where it ends in a protected name', async (t) => {
  const script = `/usr/bin/python3 -c '
import os
for i in range(60):
    os.mkdir("d" * 100); os.chdir("d" * 100)
for name in (".mcp.json", "plain"):
    try: os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
    except OSError: pass
try: os.mkdir(".vscode")
except OSError: pass'`;
  const found = (workspace) => execFileSync('find', ['.', '-name', '.mcp.json', '-o', '-name', '.vscode'], { cwd: workspace, encoding: 'utf8', maxBuffer: 1 << 24 });
  const free = makePlace(t).workspace;
  const { workspace } = makePlace(t);
  t.teardown(() => [free, workspace].forEach((folder) => execFileSync('rm', ['-rf', folder])));
  await withoutSandbox(free).run(['bash', '-c', script]);
  t.not(found(free), '');
  await (await startSandbox(t)).machine(workspace).run(['bash', '-c', script]);
  t.equal(found(workspace), '');
  for (const folder of [free, workspace]) execFileSync('rm', ['-rf', folder]);
});
