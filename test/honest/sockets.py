"""Sockets within the run: of the file system, abstract, of localhost, of the kernel."""
import array
import ctypes
import errno
import os
import select
import signal
import socket
import struct
import threading
import time

from checks import attempt, check, child, run_checks

LIBC = ctypes.CDLL(None, use_errno=True)
TYPES = {'stream': socket.SOCK_STREAM, 'datagram': socket.SOCK_DGRAM, 'packets': socket.SOCK_SEQPACKET}


def unix(kind='stream', **options):
    return socket.socket(socket.AF_UNIX, TYPES[kind], **options)


def server(path, kind='stream', backlog=5):
    listener = unix(kind)
    listener.bind(path)
    if kind != 'datagram':
        listener.listen(backlog)
    return listener


def pair(path='server', kind='stream'):
    listener, client = server(path, kind), unix(kind)
    client.connect(path)
    return client, listener.accept()[0]


@check
def every_type_by_every_name():
    os.mkdir('deep')
    os.symlink('deep/socket-stream', 'link-to-stream')
    listeners = []
    for kind in TYPES:
        for path in (
            f'deep/socket-{kind}',
            f'{os.getcwd()}/{kind}',
            f'./deep/../.{kind}',
            f'\0abstract-{kind}-{os.getpid()}',
        ):
            listener, client = server(path, kind), unix(kind)
            listeners.append(listener)
            shown = path.replace(os.getcwd(), 'HERE').replace(str(os.getpid()), 'PID')
            print(
                kind,
                repr(shown),
                client.connect(path),
                listener.getsockname() in (path, path.encode()),
                client.getpeername() in (path, path.encode()),
            )
            client.send(b'hello')
            side = listener if kind == 'datagram' else listener.accept()[0]
            print(side.recv(100), attempt(server, path, kind))
    client = unix()
    print(client.connect('link-to-stream'), client.getpeername())
    print(
        unix().connect(f'/proc/self/fd/{os.open("deep", os.O_PATH)}/socket-stream'),
        unix('packets').connect('deep/socket-packets'),
    )


@check
def refusals():
    server('there')
    unix('datagram').bind('datagrams')
    open('file', 'w').close()
    os.symlink('loop', 'loop')
    for path in ('there', 'datagrams', 'file', '.', 'missing', 'loop', 'file/x', 'no/x', '', '\0nobody', 'x' * 107):
        print(
            repr(path[:20]),
            {kind: attempt(unix(kind).connect, path) for kind in TYPES},
            attempt(unix('datagram').sendto, b'x', path),
        )
    os.chmod('there', 0)
    print('closed', attempt(unix().connect, 'there'))
    client = unix()
    listener = server('other')
    print(
        client.connect('other'),
        attempt(client.connect, 'other'),
        attempt(client.bind, 'file'),
        attempt(listener.connect, 'other'),
    )
    for family in (socket.AF_INET, socket.AF_INET6):
        host = '127.0.0.1' if family == socket.AF_INET else '::1'
        print(
            attempt(socket.socket(family).connect, (host, 1)),
            attempt(socket.socket(family, socket.SOCK_DGRAM).sendto, b'x', (host, 1)),
        )
    wrong = struct.pack('H', 999) + b'x' * 14
    for fd in (socket.socket().fileno(), unix().fileno(), os.pipe()[0], 999):
        results = []
        for address, size in ((wrong, 16), (wrong, 0), (wrong, 1), (wrong, 200), (None, 16), (wrong, -1 & 0xFFFFFFFF)):
            results.append(errno.errorcode[ctypes.get_errno()] if LIBC.connect(fd, address, ctypes.c_uint(size)) else 0)
        print(results)


@check
def binding():
    os.umask(0o027)
    for path in ('plain', './dotted', f'{os.getcwd()}/absolute'):
        bound = unix()
        bound.bind(path)
        print(repr(bound.getsockname().replace(os.getcwd(), 'HERE')), oct(os.stat(path).st_mode))
    os.umask(0)
    nameless = unix('datagram')
    nameless.bind('')
    print(
        len(nameless.getsockname()),
        nameless.getsockname()[:1],
        attempt(unix().bind, 'no/x'),
        attempt(unix().bind, 'x' * 108),
    )
    os.chmod('.', 0o555)
    print(attempt(unix().bind, 'refused') if os.getuid() else 'EACCES')
    os.chmod('.', 0o755)
    first = socket.socket()
    first.bind(('127.0.0.1', 0))
    first.listen()
    print(
        attempt(socket.socket().bind, first.getsockname()),
        attempt(socket.socket().bind, ('192.0.2.1', 40000)),
        attempt(first.bind, ('127.0.0.1', 0)),
    )
    everywhere = socket.socket(socket.AF_INET6)
    everywhere.bind(('::', 0))
    print(everywhere.getsockname()[0])


@check
def datagrams():
    one, two = unix('datagram'), unix('datagram')
    one.bind('one')
    two.bind('two')
    print(
        two.sendto(b'text', 'one'), one.recvfrom(100), one.sendmsg([b'a', b'', b'bc'], [], 0, 'two'), two.recvfrom(100)
    )
    print(two.connect('one'), two.send(b'x'), two.sendto(b'y', 'one'), one.recv(10), one.recv(10), two.getpeername())
    LIBC.connect(two.fileno(), struct.pack('H', 0), 2)
    print(attempt(two.send, b'x'), attempt(two.getpeername), attempt(two.sendto, b'x' * 10_000_000, 'one'))
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    two.setblocking(False)
    sent = 0
    while not isinstance(result := attempt(two.sendto, b'x', 'one'), str):
        sent += 1
    print(result, sent > 0)
    one.close()
    print(attempt(two.sendto, b'x', 'one'))
    os.unlink('one')
    print(attempt(two.sendto, b'x', 'one'))


@check
def messages_with_descriptors_and_rights():
    client, side = pair()
    read, write = os.pipe()
    file = os.open('file', os.O_CREAT | os.O_RDWR)
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [write, file]))]
    print(client.sendmsg([b'take ', b'these'], rights))
    data, ancillary, flags, _ = side.recvmsg(100, socket.CMSG_SPACE(8))
    got = array.array('i', ancillary[0][2])
    print(
        data,
        len(got),
        flags,
        os.write(got[0], b'x'),
        os.read(read, 1),
        os.path.samestat(os.fstat(got[1]), os.stat('file')),
    )
    wrong = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [999]))]
    print(attempt(client.sendmsg, [b'x'], wrong), attempt(client.sendmsg, [b'x'], [(socket.SOL_SOCKET, 99, b'')]))
    many = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [read] * 254))]
    print(attempt(client.sendmsg, [b'x'], many))
    for kind in ('datagram', 'packets'):
        a, b = socket.socketpair(socket.AF_UNIX, TYPES[kind])
        a.sendmsg([b'one'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))])
        data, ancillary, flags, _ = b.recvmsg(100, 100)
        print(kind, data, len(ancillary), flags)
    receiver, sender = unix('datagram'), unix('datagram')
    receiver.bind('rights')
    sender.sendmsg([b'by name'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))], 0, 'rights')
    data, ancillary, _, _ = receiver.recvmsg(100, 100)
    print(data, len(ancillary))


def credentials_of(data):
    pid, uid, gid = struct.unpack('iII', data)
    return pid == os.getpid(), uid == os.getuid(), gid == os.getgid()


@check
def credentials():
    client, side = pair()
    side.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    print(client.send(b'a'), credentials_of(side.recvmsg(1, 100)[1][0][2]))
    print(client.sendmsg([b'a']), credentials_of(side.recvmsg(1, 100)[1][0][2])[1:])
    own = [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack('iII', os.getpid(), os.getuid(), os.getgid()))]
    print(client.sendmsg([b'a'], own), credentials_of(side.recvmsg(1, 100)[1][0][2])[1:])
    wrong = [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, struct.pack('iII', 1, os.getuid(), os.getgid()))]
    print(attempt(client.sendmsg, [b'a'], wrong))
    print(credentials_of(side.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1:])
    one, two = socket.socketpair()
    print(credentials_of(one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))


@check
def streams_that_are_full():
    client, side = pair()
    data = os.urandom(1 << 20) * 4
    received = []
    reader = threading.Thread(
        target=lambda: [
            received.append(side.recv(1 << 16)) for _ in iter(lambda: sum(map(len, received)) < len(data), False)
        ]
    )
    reader.start()
    print(client.sendmsg([data[:1000], data[1000:70000], b'', data[70000:]]) == len(data))
    reader.join()
    print(b''.join(received) == data)
    client.setblocking(False)
    sent = [client.sendmsg([data])]
    while not isinstance(sent[-1], str):
        sent.append(attempt(client.sendmsg, [data]))
    print(sent[0] < len(data), sent[-1])
    client.settimeout(0.2)
    print(attempt(client.sendmsg, [b'x' * 100000]))
    client.setblocking(True)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 0, 100000))
    print(attempt(client.sendmsg, [b'x' * 100000]))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 0, 0))

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        client.sendmsg([data])
    except Interrupted:
        print('interrupted')


@check
def streams_without_a_reader():
    signal.signal(signal.SIGPIPE, lambda *_: print('SIGPIPE'))
    client, side = pair()
    side.close()
    print(
        attempt(client.sendmsg, [b'x']),
        attempt(client.sendmsg, [b'x'], [], socket.MSG_NOSIGNAL),
        attempt(client.send, b'x'),
    )
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    print(child(lambda: client.sendmsg([b'x'])))
    left, right = socket.socketpair()
    left.shutdown(socket.SHUT_WR)
    print(
        attempt(left.sendmsg, [b'x'], [], socket.MSG_NOSIGNAL),
        right.recv(1),
        attempt(unix().sendmsg, [b'x']),
        attempt(socket.socket().sendmsg, [b'x'], [], socket.MSG_NOSIGNAL),
    )


@check
def listeners_that_are_full():
    listener = server('full', backlog=0)
    first, second = unix(), unix()
    first.connect('full')
    second.setblocking(False)
    results = [attempt(second.connect, 'full') for _ in range(2)]
    print(results)

    def accept_later():
        time.sleep(0.3)
        for _ in range(2):
            listener.accept()

    thread = threading.Thread(target=accept_later)
    third = unix()
    thread.start()
    print('waited', third.connect('full'))
    thread.join()

    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    unix().connect('full')
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        print(attempt(unix().connect, 'full'))
    except Interrupted:
        print('interrupted')
    signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def wait():
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        unix().connect('full')

    print('killed', child(wait))


@check
def localhost():
    for family, host in (
        (socket.AF_INET, '127.0.0.1'),
        (socket.AF_INET6, '::1'),
        (socket.AF_INET, '127.9.9.9'),
        (socket.AF_INET, '0.0.0.0'),
    ):
        listener = socket.socket(family)
        listener.bind((host, 0))
        listener.listen()
        port = listener.getsockname()[1]
        client = socket.socket(family)
        print(
            host, client.connect((host, port)), client.getpeername()[1] == port, attempt(client.connect, (host, port))
        )
        side, _ = listener.accept()
        print(client.sendmsg([b'a', b'b']), client.send(b'c'), client.sendto(b'd', (host, port)), side.recv(10))
        waiting = socket.socket(family)
        waiting.setblocking(False)
        print(
            waiting.connect_ex((host, port)) in (errno.EINPROGRESS, 0),
            select.select([], [waiting], [], 5)[1] == [waiting],
            waiting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR),
        )
        refused = socket.socket(family)
        listener.close()
        print(attempt(refused.connect, (host, port)), attempt(refused.connect, (host, port)))
        late = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        late.connect_ex((host, port))
        select.select([], [late], [], 5)
        print(late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        print(attempt(socket.create_connection, (host, port), 2))
    fast = socket.socket()
    listener = socket.create_server(('127.0.0.1', 0))
    print(
        attempt(fast.sendto, b'fast', socket.MSG_FASTOPEN, listener.getsockname()) in (4, 'EINPROGRESS', 'EOPNOTSUPP')
    )


@check
def udp():
    for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
        one, two = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
        one.bind((host, 0))
        two.bind((host, 0))
        port = one.getsockname()[1]
        print(two.sendto(b'a', (host, port)), two.sendmsg([b'b', b'c'], [], 0, (host, port)), one.recv(9), one.recv(9))
        print(
            attempt(two.sendto, b'x' * 70000, (host, port)),
            two.connect((host, port)),
            two.send(b'd'),
            two.sendmsg([b'e']),
            one.recv(9),
            one.recv(9),
        )
        print(one.sendto(b'f', two.getsockname()), two.recv(9), attempt(two.sendto, b'g', (host, port)), one.recv(9))
        one.close()
        time.sleep(0.05)
        print(attempt(two.send, b'h'), attempt(two.recv, 9))
    broadcast = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    print(attempt(broadcast.sendto, b'x', ('127.255.255.255', 9)), attempt(broadcast.sendto, b'x', ('127.0.0.1', 0)))


class Message(ctypes.Structure):
    _fields_ = [
        ('name', ctypes.c_void_p),
        ('namelen', ctypes.c_uint),
        ('iov', ctypes.c_void_p),
        ('iovlen', ctypes.c_size_t),
        ('control', ctypes.c_void_p),
        ('controllen', ctypes.c_size_t),
        ('flags', ctypes.c_int),
        ('padding', ctypes.c_int),
        ('sent', ctypes.c_uint),
    ]


@check
def batches():
    """sendmmsg: datagrams to two places, one that is not there in the middle, senseless pointers."""
    receivers = [unix('datagram') for _ in range(2)]
    for i, receiver in enumerate(receivers):
        receiver.bind(f'r{i}')
    names = [struct.pack('H', socket.AF_UNIX) + name + b'\0' for name in (b'r0', b'r1', b'missing', b'r0')]
    texts = [b'one', b'two2', b'three', b'four']
    keep = []

    def batch(indices):
        messages = (Message * len(indices))()
        for message, i in zip(messages, indices):
            name, text = ctypes.create_string_buffer(names[i], len(names[i])), ctypes.create_string_buffer(
                texts[i], len(texts[i])
            )
            iov = (ctypes.c_size_t * 2)(ctypes.addressof(text), len(texts[i]))
            keep.extend((name, text, iov))
            message.name, message.namelen = ctypes.addressof(name), len(names[i])
            message.iov, message.iovlen = ctypes.addressof(iov), 1
        return messages

    sender = unix('datagram')

    def send(messages, count=None, flags=0):
        result = LIBC.sendmmsg(sender.fileno(), messages, len(messages) if count is None else count, flags)
        return (result if result >= 0 else errno.errorcode[ctypes.get_errno()]), [
            message.sent for message in messages or []
        ]

    print(send(batch([0, 1, 3])), receivers[0].recv(9), receivers[0].recv(9), receivers[1].recv(9))
    print(send(batch([0, 2, 1])), receivers[0].recv(9))
    print(send(batch([2, 0])), send(batch([0]), 0), send(None, 1))
    broken = batch([0, 1])
    broken[1].iov = 1
    print(send(broken), receivers[0].recv(9))
    for field, value in (
        ('name', 1),
        ('namelen', 2000),
        ('namelen', 1),
        ('iovlen', 5000),
        ('control', 1),
        ('controllen', 1 << 40),
    ):
        broken = batch([0])
        setattr(broken[0], field, value)
        if field == 'control':
            broken[0].controllen = 64
        print(field, value, send(broken))


@check
def the_kernel():
    """netlink: what lists interfaces and routes."""
    print([name for _, name in socket.if_nameindex() if name == 'lo'])
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.bind((0, 0))
    request = struct.pack('IHHIIBxxxIII', 32, 18, 0x301, 1, 0, 0, 0, 0, 0)
    print(link.sendto(request, (0, 0)), len(link.recv(65536)) > 100, link.sendmsg([request], [], 0, (0, 0)))
    while link.recv(65536)[4:6] != struct.pack('H', 3):
        pass
    print(link.connect((0, 0)), link.send(request), link.getpeername())
    print(socket.getaddrinfo('localhost', 80, type=socket.SOCK_STREAM)[0][4][1], socket.gethostbyname('127.0.0.1'))


run_checks()
