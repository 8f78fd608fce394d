/* One run's way from the agent into the sandbox: fork, namespaces, descriptors, exec of bwrap. */
#ifndef OS_SANDBOX_EXEC_LAUNCH_H
#define OS_SANDBOX_EXEC_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "exec/namespaces.h"
#include "exec/wire.h"

struct launch {
    const int *start_fds; /* START_FD_COUNT of them */
    int control;          /* the stage's end of the run's socket */
    int supervisor;       /* the stage's end of its socket to the supervisor; -1: there is none */
    int diagnostics;
    int control_group;                           /* its cgroup.procs; -1: none of its own */
    int helper;                                  /* the helper's own executable */
    bool mount_plan;                             /* START_MOUNT_PLAN */
    const struct session_namespaces *namespaces; /* NULL: without START_SESSION */
    pid_t group; /* the process group that the command is to be in; 0: a session of its own */
};

/* Forks the child that becomes bwrap. Its pid, or -1 with errno. What goes wrong later is written to
 * diagnostics. */
pid_t launch_run(const struct launch *launch);

#endif
