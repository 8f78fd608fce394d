/*
 * The supervisor: one process per run, outside of the sandbox, that answers the calls which the run's filter
 * notifies: makes them on its own copies of paths and addresses, or lets them go on, and reports what was
 * refused.
 */
#ifndef OS_SANDBOX_EXEC_SUPERVISOR_H
#define OS_SANDBOX_EXEC_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct port_table;
struct session_index;

struct supervisor_start {
    int stage;                   /* this end of the socket to the stage */
    int payload;                 /* the run's payload, a memfd */
    int events;                  /* the write end of the run's event pipe */
    bool mounted_before;         /* START_MOUNT_PLAN */
    struct session_index *index; /* the session's; inherited */
    uint64_t run;
    int questions;            /* the session's question socket (question.h), to write to; -1: none */
    struct port_table *ports; /* the session's, inherited; NULL: none */
};

/* Forks it; descriptors stay the caller's too. Its pid, or -1 with errno. It ends when the stage is gone. */
pid_t supervisor_fork(const struct supervisor_start *start);

#endif
