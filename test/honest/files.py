"""Files: what is around the calls themselves. Masks, folders, descriptors, limits, fifos, locks, events."""
import ctypes
import errno
import fcntl
import os
import resource
import select
import signal
import stat
import struct
import subprocess
import sys
import threading
import time

from checks import attempt, check, child, mode, put, run_checks

LIBC = ctypes.CDLL(None, use_errno=True)


def errno_of(result):
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


@check
def masks():
    for mask in (0, 0o22, 0o77, 0o777, 0o111):
        os.umask(mask)
        os.mkdir(f'd{mask}')
        os.mkfifo(f'p{mask}')
        print(oct(mask), put(f'f{mask}'), mode(f'd{mask}'), mode(f'p{mask}'), put(f'x{mask}', bits=0o7777))
    for name in os.listdir('.'):
        os.chmod(name, 0o755)  # whoever looks at what is left can read it
    in_thread(lambda: os.umask(0o27))
    print('set by a thread', put('thread'), oct(os.umask(0o27)))
    child(lambda: (os.umask(0o77), print('in a child', put('child'))))
    print('after the child', put('after'))
    subprocess.run(
        ['sh', '-c', 'umask 007; : > sh; umask 0; mkdir sh-dir; exec sh -c "mkdir sh-exec; umask"'], umask=0o70
    )
    print(mode('sh'), mode('sh-dir'), mode('sh-exec'))

    def alone():
        print('unshared', LIBC.unshare(0x200))
        os.umask(0o70)
        print(put('alone'))

    in_thread(alone)
    print('the others', put('others'))


@check
def folders_of_threads():
    os.makedirs('own/deep')
    os.mkdir('common')

    def alone():
        LIBC.unshare(0x200)
        os.chdir('own/deep')
        put('file')
        os.mkdir('folder')
        os.rename('file', '../renamed')
        os.symlink('..', 'link')

    os.chdir('common')
    os.rename('../own', 'own')
    in_thread(alone)
    put('file')
    print(sorted(f'{where}: {sorted(names)} {files}' for where, names, files in os.walk('.')))


@check
def a_folder_that_is_gone():
    os.mkdir('gone')
    os.chdir('gone')
    os.rmdir('../gone')
    print(
        attempt(os.getcwd),
        attempt(put, 'x'),
        attempt(os.mkdir, 'x'),
        attempt(os.rename, '.', 'x'),
        attempt(os.symlink, 'a', 'b'),
    )
    print(attempt(os.listdir, '.'), attempt(put, '../x'), attempt(os.chmod, '.', 0o700), attempt(os.unlink, '../x'))


@check
def a_folder_that_moved():
    os.makedirs('a/b')
    os.chdir('a/b')
    os.rename('../../a', '../../moved')
    put('file')
    os.mkdir('../sibling')
    print(
        os.path.relpath(os.getcwd(), start=os.path.join(os.getcwd(), '../..')),
        os.listdir('../../moved'),
        os.listdir('.'),
    )


@check
def default_acls_and_groups():
    os.mkdir('d')
    subprocess.run(['setfacl', '-d', '-m', f'u:{os.getuid()}:rwx,g:{os.getgid()}:rwx,o::---', 'd'], check=True)
    for mask in (0o022, 0o077, 0):
        os.umask(mask)
        put(f'd/file{mask}')
        put(f'd/private{mask}', bits=0o600)
        os.mkdir(f'd/folder{mask}')
        os.mkdir(f'd/narrow{mask}', 0o700)
        os.mkfifo(f'd/fifo{mask}')
        os.mknod(f'd/node{mask}', stat.S_IFREG | 0o640)
    print(subprocess.run('getfacl d d/*', shell=True, capture_output=True, text=True).stdout)
    os.mkdir('g')
    os.chmod('g', 0o2777)
    os.mkdir('g/folder')
    put('g/file', bits=0o6777)
    print(mode('g/folder'), mode('g/file'))


@check
def descriptors():
    os.close(0)
    print([os.open('a', os.O_CREAT | os.O_RDWR), os.open('b', os.O_CREAT | os.O_RDWR), os.open('a', os.O_RDWR)])
    os.close(3)
    print(os.open('c', os.O_CREAT | os.O_RDWR), os.get_inheritable(0), fcntl.fcntl(0, fcntl.F_GETFD))
    LIBC.open.restype = ctypes.c_int
    fd = LIBC.open(b'd', os.O_CREAT | os.O_WRONLY, 0o666)
    print(fd, fcntl.fcntl(fd, fcntl.F_GETFD), hex(fcntl.fcntl(fd, fcntl.F_GETFL)), os.get_inheritable(fd))
    os.dup2(os.open('e', os.O_CREAT | os.O_RDWR | os.O_APPEND), 40)
    os.write(40, b'one')
    os.lseek(40, 0, 0)
    os.write(40, b'two')
    print(open('e').read(), os.readlink('/proc/self/fd/40').rsplit('/', 1)[1])
    info = open('/proc/self/fdinfo/40').read().split('\n')
    print([line for line in info if line.startswith(('pos', 'flags'))])


@check
def the_limit_of_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
    taken = []
    while True:
        fd = attempt(os.open, f'f{len(taken)}', os.O_CREAT | os.O_WRONLY)
        if isinstance(fd, str):
            break
        taken.append(fd)
    print(fd, taken, attempt(os.open, 'f0', os.O_RDWR), attempt(os.mkdir, 'd'))
    for fd in taken:
        os.close(fd)
    print(sorted(os.listdir('.')))


@check
def the_limit_of_sizes():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    signal.signal(signal.SIGXFSZ, lambda *_: print('SIGXFSZ'))
    fd = os.open('f', os.O_CREAT | os.O_WRONLY)
    print(
        os.write(fd, b'x' * 2000),
        attempt(os.write, fd, b'x'),
        attempt(os.ftruncate, fd, 5000),
        attempt(os.truncate, 'f', 5000),
    )
    print(attempt(os.truncate, 'f', 500), os.stat('f').st_size)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    print(child(lambda: os.truncate('f', 5000)), child(lambda: os.write(fd, b'y' * 3000)))


@check
def large_files():
    put('large')
    os.truncate('large', 5 << 32)
    print(
        os.stat('large').st_size,
        os.stat('large').st_blocks,
        attempt(os.truncate, 'large', -1),
        attempt(os.truncate, 'large', 1 << 62),
        os.unlink('large'),
    )


@check
def nameless_files():
    def link(fd, path, name, flags):
        return errno_of(LIBC.linkat(fd, path.encode(), -100, name.encode(), flags))

    for flags in (os.O_RDWR, os.O_RDWR | os.O_EXCL):
        fd = os.open('.', os.O_TMPFILE | flags, 0o640)
        os.write(fd, b'text')
        print(link(-100, f'/proc/self/fd/{fd}', f'by-proc{flags}', 0x400), link(fd, '', f'by-empty{flags}', 0x1000))
        os.close(fd)
    fd = os.open('file', os.O_CREAT | os.O_WRONLY)
    print(link(-100, f'/proc/self/fd/{fd}', 'again', 0x400), link(fd, '', 'again-by-empty', 0x1000))
    fd = os.memfd_create('memory')
    print(link(-100, f'/proc/self/fd/{fd}', 'memory', 0x400), link(fd, '', 'memory-by-empty', 0x1000))
    print([(name, os.stat(name).st_nlink) for name in sorted(os.listdir('.'))])


@check
def calls_by_descriptor():
    put('file')
    os.symlink('file', 'link')
    os.mkdir('sub')
    kinds = {
        'read-only': os.open('file', os.O_RDONLY),
        'write-only': os.open('file', os.O_WRONLY),
        'O_PATH': os.open('file', os.O_PATH),
        'O_PATH of a link': os.open('link', os.O_PATH | os.O_NOFOLLOW),
        'folder': os.open('sub', os.O_RDONLY),
        'pipe': os.pipe()[0],
        'memfd': os.memfd_create('m'),
        'closed': 999,
    }
    calls = {
        'fchmod': lambda fd: os.fchmod(fd, 0o751),
        'fchown': lambda fd: os.fchown(fd, os.getuid(), os.getgid()),
        'fchown -1': lambda fd: os.fchown(fd, -1, -1),
        'futimens': lambda fd: os.utime(fd, (1000, 2000)),
        'fsetxattr': lambda fd: os.setxattr(fd, 'user.x', b'y'),
        'fsetxattr trusted': lambda fd: os.setxattr(fd, 'trusted.x', b'y'),
        'fremovexattr': lambda fd: os.removexattr(fd, 'user.x'),
        'ftruncate': lambda fd: os.ftruncate(fd, 100),
        'fdatasync': os.fdatasync,
        'by /proc': lambda fd: os.chmod(f'/proc/self/fd/{fd}', 0o640),
        'by /proc, times': lambda fd: os.utime(f'/proc/self/fd/{fd}', (1, 2)),
        'by /dev/fd': lambda fd: os.truncate(f'/dev/fd/{fd}', 7),
        'opened again': lambda fd: os.close(os.open(f'/proc/self/fd/{fd}', os.O_WRONLY)),
        'opened again to create': lambda fd: os.close(os.open(f'/proc/self/fd/{fd}', os.O_WRONLY | os.O_CREAT)),
    }
    for kind, fd in kinds.items():
        print(kind, {name: attempt(call, fd) for name, call in calls.items()})
    print(mode('file'), os.stat('file').st_size, mode('sub'))


@check
def fifos_wait():
    os.mkfifo('fifo')

    def read_later():
        time.sleep(0.2)
        with open('fifo') as reader:
            print('read', reader.read())

    pid = os.fork()
    if pid == 0:
        read_later()
        sys.stdout.flush()
        os._exit(0)
    with open(os.open('fifo', os.O_WRONLY | os.O_CREAT), 'w') as writer:
        writer.write('through')
    os.waitpid(pid, 0)

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    signal.signal(signal.SIGALRM, interrupt)
    for flags in (os.O_WRONLY, os.O_WRONLY | os.O_CREAT, os.O_RDONLY):
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            print(attempt(os.open, 'fifo', flags))
        except Interrupted:
            print('interrupted')
    print(
        attempt(os.open, 'fifo', os.O_WRONLY | os.O_NONBLOCK),
        attempt(os.open, 'fifo', os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK),
    )
    signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def wait():
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        os.open('fifo', os.O_WRONLY | os.O_CREAT)

    print('killed', child(wait))


@check
def a_reader_sees_the_end():
    """Nobody else holds what was opened."""
    os.mkfifo('fifo')
    reader = os.open('fifo', os.O_RDONLY | os.O_NONBLOCK)
    for flags in (os.O_WRONLY, os.O_WRONLY | os.O_CREAT):
        os.close(os.open('fifo', flags))
        poll = select.poll()
        poll.register(reader)
        print(poll.poll(2000)[0][1] == select.POLLHUP, os.read(reader, 1))


@check
def leases_and_locks():
    for i in range(5):
        fd = os.open(f'new{i}', os.O_CREAT | os.O_RDWR)
        print(
            attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_WRLCK),
            attempt(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_UNLCK),
        )
        os.close(fd)
    fd = os.open('lock', os.O_CREAT | os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    fcntl.flock(fd, fcntl.LOCK_EX)

    def second():
        other = os.open('lock', os.O_CREAT | os.O_RDWR)
        print(
            attempt(fcntl.lockf, other, fcntl.LOCK_EX | fcntl.LOCK_NB),
            attempt(fcntl.flock, other, fcntl.LOCK_EX | fcntl.LOCK_NB),
        )

    child(second)
    os.close(os.open('lock', os.O_RDWR))
    child(second)
    os.close(fd)
    child(second)


def read_events(fd):
    names = {
        0x2: 'modify',
        0x4: 'attrib',
        0x8: 'close-write',
        0x10: 'close',
        0x20: 'open',
        0x40: 'from',
        0x80: 'to',
        0x100: 'create',
        0x200: 'delete',
    }
    data, events = os.read(fd, 65536), []
    while data:
        _, mask, _, length = struct.unpack_from('iIII', data)
        name = data[16 : 16 + length].rstrip(b'\0').decode()
        events.append(' '.join(word for bit, word in names.items() if mask & bit) + f' {name}')
        data = data[16 + length :]
    return events


@check
def events():
    os.mkdir('d')
    watch = LIBC.inotify_init1(os.O_CLOEXEC)
    LIBC.inotify_add_watch(watch, b'd', 0xFFF)
    fd = os.open('d/file', os.O_CREAT | os.O_WRONLY)
    os.write(fd, b'x')
    os.close(fd)
    os.close(os.open('d/file', os.O_CREAT | os.O_WRONLY | os.O_TRUNC))
    os.close(os.open('d/file', os.O_CREAT | os.O_RDONLY))
    os.mkdir('d/folder')
    os.symlink('x', 'd/link')
    os.link('d/file', 'd/hard')
    os.mkfifo('d/fifo')
    os.rename('d/hard', 'd/renamed')
    os.chmod('d/file', 0o600)
    os.utime('d/file', (1, 2))
    os.truncate('d/file', 9)
    os.setxattr('d/file', 'user.x', b'y')
    os.unlink('d/file')
    os.rmdir('d/folder')
    time.sleep(0.05)
    print('\n'.join(read_events(watch)))


run_checks()
