#include "exec/passing.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void passing_set_limits(struct passing *passing) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max == RLIM_INFINITY || files.rlim_max < 4)
        return;
    const rlim_t whole = files.rlim_max;
    files.rlim_cur = files.rlim_max = whole / 4 * 3;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        return;
    passing->own = files.rlim_max;
    passing->commands = whole / 2;
}

/* The limit is the process's: while it is lowered no other thread may send any. */
static void set_limit(const struct passing *passing, rlim_t limit) {
    const struct rlimit files = {.rlim_cur = limit, .rlim_max = passing->own};
    if (passing->own != 0)
        (void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Past the C library, whose header and limits are others. */
static ssize_t send_now(int socket, const void *header, int flags) {
    return syscall(SYS_sendmsg, socket, header, flags | MSG_DONTWAIT);
}

ssize_t passing_send_commands(struct passing *passing, int socket, const void *header, int flags) {
    pthread_mutex_lock(&passing->lock);
    set_limit(passing, passing->commands);
    ssize_t sent = send_now(socket, header, flags);
    int errnum = errno;
    set_limit(passing, passing->own);
    pthread_mutex_unlock(&passing->lock);
    errno = errnum;
    return sent;
}

ssize_t passing_send_own(struct passing *passing, int socket, const void *header, int flags) {
    pthread_mutex_lock(&passing->lock);
    ssize_t sent = send_now(socket, header, flags);
    int errnum = errno;
    pthread_mutex_unlock(&passing->lock);
    errno = errnum;
    return sent;
}
