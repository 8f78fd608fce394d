#include "exec/bind_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/capabilities.h"
#include "exec/target.h"

/* Copies of files that other threads are about to hand over would keep those locked and busy. */
static int keep_only(int first, int second, int third) {
    const int kept[] = {first, second, third};
    for (unsigned from = 0;;) {
        int next = -1;
        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
            if ((unsigned)kept[i] >= from && (next < 0 || kept[i] < next))
                next = kept[i];
        if (next < 0)
            return (int)syscall(SYS_close_range, from, ~0u, 0u);
        if ((unsigned)next > from && syscall(SYS_close_range, from, (unsigned)next - 1, 0u) != 0)
            return -1;
        from = (unsigned)next + 1;
    }
}

/* Entering a user namespace gives all capabilities in it, which a command has not. Every status but 0 is an
 * errno. */
static _Noreturn void child_main(const struct call *call, int folder, int socket,
                                 const struct sockaddr *address, socklen_t length) {
    int stage = call->supervisor->stage;
    if (keep_only(stage, folder, socket) != 0 || setns(stage, CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        fchdir(folder) != 0 || capabilities_keep(CAPABILITIES_NONE) != 0)
        _exit(EACCES);
    _exit(bind(socket, address, length) == 0 ? 0 : errno);
}

int bind_inside(struct call *call, int socket, const struct sockaddr *address, socklen_t length) {
    cleanup_fd int folder = target_folder(call, AT_FDCWD);
    if (folder < 0)
        return -folder;
    umask(target_umask(call));
    /* Only system calls in the child: other threads may have held any lock. */
    pid_t child = fork();
    if (child == 0)
        child_main(call, folder, socket, address, length);
    if (child < 0)
        return EAGAIN;
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return EAGAIN;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN;
}
