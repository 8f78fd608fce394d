/*
 * Mounts again, in a run that lives, what a change on the host took away: a mount goes with its directory
 * entry when that is removed or renamed over (mount_namespaces(7)).
 */
#ifndef OS_SANDBOX_EXEC_REMOUNT_H
#define OS_SANDBOX_EXEC_REMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watch_place;

/* What must be mounted in a run while there is something at its path. */
struct kept_mount {
    uint32_t kind; /* enum mount_kind; of a mask, folder or file, is decided by what is there */
    bool look;     /* it is to be looked at */
    const char *path;
    struct watch_place *place;
    struct watch_place *target; /* what it leads to, where that is elsewhere; or NULL */
};

struct remount {
    pid_t stage;
    int stage_pidfd;
    const struct kept_mount *mounts; /* parents before what lies below them */
    size_t count;
    char *why; /* memory shared with the child: what could not be mounted */
    size_t why_size;
};

/*
 * Forks a child that enters the run's mount namespace and the user namespace which owns it (ioctl_nsfs(2)),
 * looks at every mount whose look is set, and mounts what is missing: read-only mounts and pins from what is
 * there now, folders and files to be masked by empty ones. What was masked with holes is masked whole. Where
 * there is a symlink now, what it leads to is treated so, unless it is below /proc or /dev. Where nothing is
 * missing, which can be seen from outside, it does not enter: a container's filter may refuse setns(2).
 *
 * Its pid, or -1 with errno. It ends with 0: all is mounted, or there is nothing at the path, or the run is
 * over. With anything else the run is open, and why says where, unless a signal ended it (SIGALRM: it took
 * longer than ten seconds).
 */
pid_t remount_fork(const struct remount *remount);

#endif
