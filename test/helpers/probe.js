'use strict';
// A command that tries to read and to write paths and tells what came of it, leaving everything as it was.

const PROBE = `
import errno, json, os, stat, sys

def attempt(action):
    try:
        action()
        return {'works': True}
    except OSError as error:
        # A FIFO that nobody reads from could have been opened.
        return {'works': error.errno == errno.ENXIO, 'error': errno.errorcode[error.errno]}

def read(path):
    if os.path.isdir(path):
        os.listdir(path)
        os.stat(os.path.join(path, '.'))
    else:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))

def make(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK))
    os.unlink(os.path.realpath(path))

def make_below(path):
    folder = os.path.dirname(os.path.realpath(path))
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    made = []
    try:
        for each in reversed(missing):
            os.mkdir(each)
            made.append(each)
        make(path)
    finally:
        for each in reversed(made):
            os.rmdir(each)

def write(path):
    if os.path.isdir(path):
        make(os.path.join(path, 'any-name-of-a-test'))
    elif os.path.exists(path):
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
    else:
        make_below(path)

print(json.dumps([{'read': attempt(lambda: read(path)), 'write': attempt(lambda: write(path))} for path in json.load(sys.stdin)]))
`;

module.exports = { PROBE };
