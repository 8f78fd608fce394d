#include "command/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool stream_read(struct stream *stream, size_t most) {
    char dropped[65536];
    for (size_t total = 0; total < most;) {
        size_t room;
        char *into = capture_reserve(&stream->capture, &room);
        /* cppcheck-suppress legacyUninitvar ; read() fills it, nobody looks at it */
        ssize_t got = read(stream->fd, into != NULL ? into : dropped, into != NULL ? room : sizeof dropped);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got < 0)
            continue;
        if (into != NULL)
            capture_commit(&stream->capture, (size_t)got);
        else
            capture_drop(&stream->capture, (size_t)got);
        total += (size_t)got;
    }
    return true;
}

int pipe_make(enum pipe_writer writer, int *ours, int *theirs) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    *ours = ends[writer == PIPE_WE_WRITE ? 1 : 0];
    *theirs = ends[writer == PIPE_WE_WRITE ? 0 : 1];
    return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}
