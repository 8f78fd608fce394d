# Fifty processes in the middle of calls that are made for them: half wait for a connection that nobody takes, the others
# are refused names and make some.
import os
import socket
import time

refused = os.environ['REFUSED']
listener = socket.socket(socket.AF_UNIX)
listener.bind('full.sock')
listener.listen(0)
filler = socket.socket(socket.AF_UNIX)
filler.connect('full.sock')


def attempt(call, *args):
    try:
        call(*args)
    except OSError:
        pass


for number in range(50):
    if os.fork() == 0:
        if number % 2 == 0:
            attempt(socket.socket(socket.AF_UNIX).connect, 'full.sock')
            os.mkdir(f'survived{number}')
        while True:
            attempt(os.mkdir, f'{refused}/{number}')
            attempt(os.mkdir, f'folder{number}')
            attempt(os.rmdir, f'folder{number}')
print('up', flush=True)
time.sleep(600)
