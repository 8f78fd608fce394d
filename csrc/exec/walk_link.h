/* The symlinks on a walk: what each stands for, for the command that walks. */
#ifndef OS_SANDBOX_EXEC_WALK_LINK_H
#define OS_SANDBOX_EXEC_WALK_LINK_H

#include <limits.h>
#include <stdbool.h>

#include "exec/supervised.h"

struct link {
    int folder;       /* O_PATH; where it lies */
    const char *name; /* one component */
    int fd;           /* O_PATH of itself */
    bool last;        /* nothing but slashes comes behind it */
};

/*
 * Where the link leads: *object is -1 and text the way from the folder (or the root), or *object is an O_PATH
 * descriptor of what a magic link of procfs stands for, owned by the caller. 0, or the errno that the kernel
 * would give.
 */
int link_read(const struct call *call, const struct link *link, char text[PATH_MAX], int *object);

/*
 * O_PATH of what a descriptor of the command's own process stands for: name in folder, found as `fd` in above
 * (-1: unknown). A process that is not dumpable may search that folder, but nobody else (proc_pid_fd(5)). Or
 * -errno: -EACCES where it is something else.
 */
int link_own_descriptor(struct call *call, int above, int folder, const char *name);

#endif
