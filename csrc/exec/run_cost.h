/* What one run has cost so far, and which of its limits it came to: the agent's part of limits. */
#ifndef OS_SANDBOX_EXEC_RUN_COST_H
#define OS_SANDBOX_EXEC_RUN_COST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "exec/control_group.h"
#include "exec/payload.h"
#include "exec/run_processes.h"

struct run_cost {
    struct cost_limits limits;
    struct control_group group;
    struct run_processes processes;
    uint64_t look_ns;    /* when it is looked at next; 0: never */
    uint64_t reading_ns; /* how long the last look took */
    uint64_t watch_ns;   /* until the number of processes is looked at again */
    struct run_usage seen;
    uint32_t reached; /* ENDED_AT_LIMIT of each */
};

/* Nothing is limited, or not yet. */
#define RUN_COST_NONE                                                                                        \
    { .group = CONTROL_GROUP_NONE, .processes.procfs = -1 }

/*
 * Makes the run's cgroup where the payload names a place for it; *door is then the descriptor to which the
 * process that is to be in it writes 0, else -1. 0, or -1 with errno: the run must not start.
 */
int run_cost_begin(struct run_cost *cost, const struct payload *payload, int *door);

/* The run has begun; stage: its pid 1. 0, or -1 with errno: its processes cannot be seen. */
int run_cost_started(struct run_cost *cost, pid_t stage, uint64_t now);

/* Looks where that is due at the time now. 0, or the signal that is to end the run: SIGXCPU where its
 * processor time is used up, SIGKILL where it has more than it may. */
int run_cost_look(struct run_cost *cost, uint64_t now);

/*
 * It is all over: status is the command's as a shell shows it, usage that of bwrap and all that was waited
 * for. ENDED_AT_LIMIT of each limit that the run came to.
 */
uint32_t run_cost_finish(struct run_cost *cost, int status, const struct rusage *usage);

void run_cost_clear(struct run_cost *cost);

#endif
