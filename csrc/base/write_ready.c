#include "base/write_ready.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* What became of a write: no room, or a signal on the way, is no error. */
static ssize_t outcome(ssize_t written) {
    bool later = written < 0 && (errno == EAGAIN || errno == EINTR);
    return later ? 0 : written;
}

static bool has_room(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLOUT};
    /* POLLERR as well: the write then tells what is wrong. */
    return poll(&one, 1, 0) > 0;
}

ssize_t write_ready(int fd, const char *data, size_t size) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -1;
    if (S_ISSOCK(status.st_mode))
        return outcome(send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL));
    if (S_ISREG(status.st_mode))
        return outcome(write(fd, data, size));
    if (!has_room(fd))
        return 0;
    /* A pipe that is ready takes so much without waiting. */
    return outcome(write(fd, data, size < PIPE_BUF ? size : PIPE_BUF));
}
