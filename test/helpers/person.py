# A program on a terminal of its own, for terminal.js: person.py COMMAND ARGS...
# Reads a line of JSON for each thing to do, and says what the program wrote and what became of it.
import base64, fcntl, json, os, pty, select, signal, struct, sys, termios


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def size(master, rows, columns):
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def modes(master):
    # Of the terminal, whoever asks. The speed is none of the modes.
    return [value if isinstance(value, int) else [repr(c) for c in value] for value in termios.tcgetattr(master)]


pid, master = pty.fork()
if pid == 0:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execvp(sys.argv[1], sys.argv[1:])
size(master, 24, 80)
say(pid=pid)

pending = b""
watched = [0, master]
while master in watched:
    ready, _, _ = select.select(watched, [], [])
    if master in ready:
        try:
            data = os.read(master, 65536)
        except OSError:
            data = b""
        if data:
            say(output=base64.b64encode(data).decode())
        else:
            watched.remove(master)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            break
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            if "send" in request:
                os.write(master, request["send"].encode())
            if "size" in request:
                size(master, *request["size"])
            if "ask" in request:
                say(modes=modes(master), foreground=os.tcgetpgrp(master))
os.close(master)
_, status = os.waitpid(pid, 0)
say(ended=os.waitstatus_to_exitcode(status))
