#include "exec/let_go.h"

#include <sys/socket.h>

#include "base/cleanup.h"
#include "exec/passfd.h"

/*
 * In a message that lies in the queue of a socket that only this message still refers to: nobody can ever
 * receive it, and a thread of the kernel's finds it and closes both (net/unix/garbage.c).
 */
void let_go(int *fd) {
    int pair[2];
    if (*fd >= 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0) {
        const int passed[] = {pair[1], *fd};
        (void)send_with_fds(pair[0], "", 1, passed, sizeof passed / sizeof passed[0]);
        close_fd(&pair[0]);
        close_fd(&pair[1]);
    }
    close_fd(fd);
}
