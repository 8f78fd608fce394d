/* The stage's side of supervision: the filter, and the supervisor that gets its notifications. */
#ifndef OS_SANDBOX_EXEC_SUPERVISION_H
#define OS_SANDBOX_EXEC_SUPERVISION_H

#include <stddef.h>
#include <stdint.h>

enum supervision_result {
    SUPERVISION_HOLDS,        /* everything asked for */
    SUPERVISION_UNSUPERVISED, /* the static filter at most: no notifications, or nobody can take them */
    SUPERVISION_UNFILTERED,   /* nothing */
};

/*
 * Filters this thread and all it starts, as enum supervision of payload.h asks for (memory:
 * seccomp_filter.h), and hands the notifications to the supervisor at LAUNCH_FD_SUPERVISOR. Returns when that
 * is ready to answer. Where less than that can be had text says why; the process is then only good for
 * telling so.
 */
enum supervision_result supervision_enter(unsigned supervision, uint64_t memory, char *text,
                                          size_t text_size);

#endif
