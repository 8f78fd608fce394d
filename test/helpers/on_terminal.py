"""Runs a command on a terminal of its own and answers what it says there: on_terminal.py SECONDS COMMAND... < STEPS.

STEPS are lines of JSON: {"until": TEXT, "send": TEXT}, one after the other. Prints all that came, as JSON with how the
command ended and whether the terminal's modes and foreground are what they were.
"""
import json
import os
import pty
import select
import signal
import sys
import termios
import time

steps = [json.loads(line) for line in sys.stdin]
deadline = time.monotonic() + float(sys.argv[1])

pid, master = pty.fork()
if pid == 0:
    # A shell that waits, as a user's does: the command is not the terminal's leader.
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(sys.argv[2], sys.argv[2:])
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(child, 0)
    print("@foreground", os.tcgetpgrp(0) == child, flush=True)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

before = termios.tcgetattr(master)
text = ""
seen = 0
ended = False
while time.monotonic() < deadline and not ended:
    ready, _, _ = select.select([master], [], [], 0.1)
    if ready:
        try:
            text += os.read(master, 65536).decode("utf-8", "replace")
        except OSError:
            ended = True
    while steps and steps[0]["until"] in text[seen:]:
        seen = text.index(steps[0]["until"], seen) + len(steps[0]["until"])
        os.write(master, steps.pop(0)["send"].encode())
try:
    same = termios.tcgetattr(master) == before
except termios.error:
    same = None
if not ended:
    os.kill(pid, signal.SIGKILL)
_, status = os.waitpid(pid, 0)
print(json.dumps({"text": text, "code": os.waitstatus_to_exitcode(status), "ended": ended, "modes": same}))
