"""What the scripts beside this one share: named checks, each in a process of its own, that print what they see."""
import errno
import os
import signal
import sys
import traceback

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def name_of(error):
    return errno.errorcode.get(error.errno, str(error))


def attempt(function, *args, **options):
    """The result of a call, or the name of its error."""
    try:
        return function(*args, **options)
    except OSError as error:
        return name_of(error)


def mode(path):
    return oct(os.lstat(path).st_mode)


def put(path, flags=os.O_CREAT | os.O_WRONLY, bits=0o666, **options):
    """The mode of a file that is opened, and made where it is not there."""
    os.close(os.open(path, flags, bits, **options))
    return mode(path)


def child(function):
    """How a child process ends that does this."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            function()
            status = 0
        except Exception:
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def run_checks():
    chosen = sys.argv[1:]
    for function in CHECKS:
        name = function.__name__
        if chosen and name not in chosen:
            continue
        os.mkdir(name)

        def work():
            os.chdir(name)
            os.umask(0o022)
            signal.alarm(30)
            print(f'== {name}')
            function()

        status = child(work)
        if status != 0:
            print(f'{name}: ended with {status}')
