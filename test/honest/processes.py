"""Processes: what they create at once, while signals come, as children, under rules of their own; terminals."""
import ctypes
import mmap
import os
import signal
import struct
import subprocess
import threading

from checks import attempt, check, child, mode, put, run_checks

LIBC = ctypes.CDLL(None, use_errno=True)


@check
def programs_just_written():
    """Text busy, were a descriptor for writing kept."""
    text = open('/bin/true', 'rb').read()
    failures = 0
    for i in range(60):
        fd = os.open(f'program{i % 3}', os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o755)
        os.write(fd, text)
        os.close(fd)
        try:
            failures += subprocess.call([f'./program{i % 3}']) != 0
        except OSError as error:
            print(error)
        if i % 3 == 2:
            for k in range(3):
                os.unlink(f'program{k}')
    print('failures', failures)


@check
def signals_at_any_moment():
    """A call that comes again after a signal is the same call. (Where it must not come again it can end with EINTR.)"""
    count = 0

    def tick(*_):
        nonlocal count
        count += 1

    signal.signal(signal.SIGALRM, tick)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    failures = []
    for i in range(400):
        for call in (
            lambda: os.close(os.open(f'f{i}', os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
            lambda: os.mkdir(f'd{i}'),
            lambda: os.symlink('x', f's{i}'),
            lambda: os.link(f'f{i}', f'l{i}'),
            lambda: os.rename(f'f{i}', f'r{i}'),
            lambda: os.unlink(f'r{i}'),
            lambda: os.rmdir(f'd{i}'),
        ):
            result = attempt(call)
            if result is not None:
                failures.append(result)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(failures, count > 0, len(os.listdir('.')))


@check
def threads_at_once():
    failures = []

    def work(own):
        for i in range(50):
            for call in (
                lambda: put(f'{own}-{i}', os.O_CREAT | os.O_EXCL | os.O_WRONLY),
                lambda: os.rename(f'{own}-{i}', f'{own}-renamed'),
                lambda: os.mkdir(f'{own}-dir{i}'),
                lambda: os.replace(f'{own}-renamed', f'{own}-dir{i}/file'),
            ):
                result = attempt(call)
                if isinstance(result, str) and result.startswith('E'):
                    failures.append(result)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winners = []
    for i in range(50):
        threads = [threading.Thread(target=lambda: winners.append(attempt(os.mkdir, f'race{i}'))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(
        failures,
        winners.count(None),
        winners.count('EEXIST'),
        sum(len(names) + len(files) for _, names, files in os.walk('.')),
    )


@check
def spawned_processes():
    actions = [(os.POSIX_SPAWN_OPEN, 1, 'out', os.O_CREAT | os.O_WRONLY, 0o640), (os.POSIX_SPAWN_DUP2, 1, 2)]
    pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'echo out; echo err >&2; : > more'], os.environ, file_actions=actions)
    print(os.waitpid(pid, 0)[1], open('out').read(), mode('out'), mode('more'))
    results = [subprocess.Popen(['sh', '-c', f'echo {i} > p{i}; mkdir d{i}'], close_fds=i % 2 == 0) for i in range(30)]
    print([process.wait() for process in results], len(os.listdir('.')))


@check
def processes_that_cannot_be_looked_into():
    print(LIBC.prctl(4, 0, 0, 0, 0))  # PR_SET_DUMPABLE
    print(
        put('file'), attempt(os.mkdir, 'd'), attempt(os.rename, 'file', 'renamed'), attempt(os.chmod, 'renamed', 0o600)
    )


@check
def terminals():
    master, slave = os.openpty()
    print(os.isatty(slave), attempt(os.open, '/dev/tty', os.O_RDWR))
    name = os.ttyname(slave)

    def session():
        os.setsid()
        fd = os.open(name, os.O_RDWR)
        print(os.tcgetpgrp(fd) == os.getpid(), os.write(os.open('/dev/tty', os.O_WRONLY), b'hello'))

    os.close(slave)
    slave = os.open(name, os.O_RDWR | os.O_NOCTTY)
    print(attempt(os.fchmod, slave, 0o620), attempt(os.chmod, name, 0o600), child(session), os.read(master, 100))


@check
def shared_memory():
    import multiprocessing
    from multiprocessing import shared_memory as memory

    block = memory.SharedMemory(create=True, size=100)
    context = multiprocessing.get_context('fork')
    semaphore, queue = context.Semaphore(0), context.Queue()

    def other():
        attached = memory.SharedMemory(block.name)
        attached.buf[0] = 7
        queue.put('text')
        semaphore.release()

    process = context.Process(target=other)
    process.start()
    print(semaphore.acquire(timeout=10), block.buf[0], queue.get(timeout=10), process.join())
    block.close()
    block.unlink()
    with open('mapped', 'w+b') as file:
        file.truncate(8192)
        with mmap.mmap(file.fileno(), 0) as mapped:
            mapped[4096:4100] = b'text'
    print(open('mapped', 'rb').read().count(0))


@check
def its_own_filter():
    """Seccomp: mkdir is refused by a filter of the program's own."""

    def work():
        code = [
            (0x20, 0, 0, 0),
            (0x15, 0, 2, 83),
            (0x6, 0, 0, 0x50000 | 7),
            (0, 0, 0, 0),
            (0x15, 0, 1, 258),
            (0x6, 0, 0, 0x50000 | 7),
            (0x6, 0, 0, 0x7FFF0000),
        ]
        program = b''.join(struct.pack('HBBI', *line) for line in code)
        buffer = ctypes.create_string_buffer(program)
        header = struct.pack('HxxxxxxQ', len(code), ctypes.addressof(buffer))
        print(LIBC.prctl(38, 1, 0, 0, 0), LIBC.prctl(22, 2, ctypes.c_char_p(header), 0, 0))
        print(attempt(os.mkdir, 'd'), put('file'), attempt(os.symlink, 'a', 'b'))

    print(child(work))


run_checks()
