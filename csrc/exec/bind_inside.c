#include "exec/bind_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/capabilities.h"
#include "exec/target.h"

/* Entering a user namespace gives all capabilities in it, which a command has not. Every status but 0 is an
 * errno. */
static _Noreturn void child_main(const struct call *call, int folder, int socket,
                                 const struct sockaddr *address, socklen_t length) {
    if (setns(call->supervisor->stage, CLONE_NEWUSER | CLONE_NEWNS) != 0 || fchdir(folder) != 0 ||
        capabilities_keep(CAPABILITIES_NONE) != 0)
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
