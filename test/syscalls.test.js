'use strict';
// The system call filter, attacked from inside the sandbox: what it refuses, how, and that programs go on without it.

const t = require('tap');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { compile, makePlace, resultsOf, startSandbox } = require('./helpers/attack');

const programs = fs.mkdtempSync('/var/tmp/os-sandbox-programs-');
t.teardown(() => fs.rmSync(programs, { recursive: true, force: true }));
const program = compile(programs, 'syscalls');

/** Killed by SIGSYS, as a shell says it. */
const BAD_CALL = 128 + os.constants.signals.SIGSYS;

/** @param {string} errno @param {string[]} names */
const all = (errno, names) => Object.fromEntries(names.map((name) => [name, errno]));

const RINGS_AND_KEYS = {
  ...all('ENOSYS', ['io_uring_setup', 'io_uring_enter', 'io_uring_register']),
  ...all('EPERM', ['keyctl', 'add_key', 'request_key']),
};

const REFUSED = {
  ...RINGS_AND_KEYS,
  ...all('EPERM', ['bpf', 'perf_event_open', 'userfaultfd', 'kexec_load', 'kexec_file_load', 'open_by_handle_at']),
  ...all('ENOSYS', ['openat2 RESOLVE_NO_SYMLINKS', 'openat2 RESOLVE_IN_ROOT', 'openat2 to create']),
  ...all('ENOSYS', ['setxattrat', 'removexattrat', 'file_setattr', 'call 470', 'call 600', 'call 400, in the gap']),
  ...all('ENOSYS', ['clone3', 'clone3 CLONE_NEWUSER']),
  ...all('EPERM', ['clone CLONE_NEWUSER', 'clone CLONE_NEWUSER, high bit', 'clone CLONE_NEWUSER and others']),
  ...all('EPERM', ['unshare CLONE_NEWUSER', 'unshare CLONE_NEWUSER, high bit', 'setns']),
  ...all('EPERM', ['mount', 'umount2', 'pivot_root', 'chroot', 'mount_setattr', 'move_mount']),
  ...all('EPERM', ['open_tree', 'open_tree without a clone', 'open_tree_attr']),
  ...all('EPERM', ['fsopen', 'fsconfig', 'fsmount', 'fspick']),
};

/** A machine that may not do more than any. @param {any} t @param {any} [options] */
async function start(t, options) {
  const { workspace } = makePlace(t);
  const machine = (await startSandbox(t, options)).machine(workspace);
  return { machine, workspace, attack: (/** @type {string} */ name) => machine.run([program, name]) };
}

for (const monitorViolations of [true, false]) {
  t.test(`calls past the sandbox are refused, with violations ${monitorViolations ? '' : 'not '}monitored`, async (t) => {
    const { attack, workspace } = await start(t, { monitorViolations });
    const result = await attack('refused');
    t.match(result, { exitCode: 0, stderr: '' });
    t.same(resultsOf(result.stdout), REFUSED);
    t.same(fs.readdirSync(workspace), [], 'nothing was made');
  });
}

t.test('sockets are of four families, and netlink sockets of one protocol', async (t) => {
  const { attack } = await start(t);
  const families = Object.fromEntries(
    Array.from({ length: 46 }, (_, n) => [`family ${n}`, [1, 2, 10, 16].includes(n) ? 'DONE' : 'EAFNOSUPPORT']),
  );
  t.same(resultsOf((await attack('families')).stdout), {
    ...families,
    ...all('EAFNOSUPPORT', ['family 17, high bit', 'family 38, pair']),
    ...all('EPERM', ['raw', 'raw 6', 'packet by its old name']),
  });
  const protocols = Object.fromEntries(
    Array.from({ length: 32 }, (_, n) => [`protocol ${n}`, n === 0 ? 'DONE' : 'EPROTONOSUPPORT']),
  );
  t.same(resultsOf((await attack('netlink')).stdout), { ...protocols, 'protocol 4, high bit': 'EPROTONOSUPPORT' });
});

t.test('nothing can be typed into a terminal', async (t) => {
  const { attack } = await start(t);
  t.same(resultsOf((await attack('terminal')).stdout), {
    ...all('EPERM', ['TIOCSTI', 'TIOCSTI, high bit', 'TIOCSTI, all high bits', 'TIOCLINUX', 'TIOCLINUX, high bit']),
    'ask for the size': 'DONE',
    typed: '0',
  });
});

if (process.arch === 'x64')
  t.test('calls by the doors of x32 and of 32 bits end the process', async (t) => {
    const { attack } = await start(t);
    for (const name of ['x32', 'int80']) t.match(await attack(name), { exitCode: BAD_CALL, stdout: '' }, name);
  });

t.test('a tracer brings its child past nothing, and may skip calls', async (t) => {
  const { attack } = await start(t);
  t.same(resultsOf((await attack('tracer')).stdout), {
    getpid: 'DONE',
    keyctl: 'EPERM',
    io_uring_setup: 'ENOSYS',
    openat2: 'ENOSYS',
    'no call': 'ENOSYS',
  });
});

t.test("a program's own filter works, and opens nothing", async (t) => {
  const { attack } = await start(t);
  t.same(resultsOf((await attack('filter')).stdout), {
    "a listener of one's own": 'EBUSY',
    ...all('DONE', ['a filter that allows all', 'one that asks a tracer', 'one that refuses getppid']),
    getppid: 'EXDEV',
    ...RINGS_AND_KEYS,
  });
});

t.test('threads, processes, interfaces and files are there as ever', async (t) => {
  const { attack } = await start(t);
  const result = await attack('ordinary');
  t.match(result, { exitCode: 0, stderr: '' });
  t.same(resultsOf(result.stdout), {
    ...all('DONE', ['threads', 'fork', 'vfork', 'posix_spawn', 'getifaddrs', 'socketpair', 'open', 'open a path']),
    'threads that ran': '8',
  });
});

const MULTIPROCESSING = `
import concurrent.futures, multiprocessing, subprocess
from multiprocessing import shared_memory

def square(n): return n * n

def main():
    for method in ('fork', 'spawn', 'forkserver'):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool: print(method, sum(pool.map(square, range(10))))
    with concurrent.futures.ProcessPoolExecutor(2) as pool: print('pool', sum(pool.map(square, range(10))))
    with concurrent.futures.ThreadPoolExecutor(4) as pool: print('threads', sum(pool.map(square, range(10))))
    with multiprocessing.Manager() as manager:
        shared = manager.list()
        worker = multiprocessing.Process(target=shared.append, args=(7,))
        worker.start(); worker.join()
        print('manager', shared[0])
    memory = shared_memory.SharedMemory(create=True, size=16)
    memory.buf[0] = 9
    again = shared_memory.SharedMemory(name=memory.name)
    print('memory', again.buf[0])
    again.close(); memory.close(); memory.unlink()
    print('subprocess', subprocess.run(['echo', 'done'], capture_output=True, text=True).stdout.strip())

if __name__ == '__main__': main()
`;

t.test("Python's processes, threads, managers and shared memory work", async (t) => {
  const { machine, workspace } = await start(t);
  fs.writeFileSync(path.join(workspace, 'work.py'), MULTIPROCESSING);
  const result = await machine.run(['/usr/bin/python3', 'work.py']);
  t.match(result, { exitCode: 0, stderr: '' });
  t.same(result.stdout.trim().split('\n'), [
    'fork 285',
    'spawn 285',
    'forkserver 285',
    'pool 285',
    'threads 285',
    'manager 7',
    'memory 9',
    'subprocess done',
  ]);
});
