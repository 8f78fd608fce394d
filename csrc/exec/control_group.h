/*
 * A run's cgroup (version 2), below the one that the addon found (platform/linux/find_control_group.h).
 * Whoever has one holds a lock on it (flock(2)), which ends with its process: what nobody holds was left
 * behind by a killed agent.
 */
#ifndef OS_SANDBOX_EXEC_CONTROL_GROUP_H
#define OS_SANDBOX_EXEC_CONTROL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/cost_limits.h"

struct control_group {
    int parent; /* -1: there is none */
    int folder;
    char name[64];
};
#define CONTROL_GROUP_NONE                                                                                   \
    { .parent = -1, .folder = -1 }

/* What a group has seen. */
struct group_usage {
    uint64_t cpu_us;
    bool out_of_memory; /* the kernel killed for memory.max */
    bool out_of_pids;   /* a fork was refused for pids.max */
};

/*
 * Makes it in the folder, with its limits (and no more than so many processes; 0: any number), after what is
 * left of others was removed there. 0, or -1 with errno.
 */
int control_group_make(const char *parent, const struct cost_limits *limits, uint64_t processes,
                       struct control_group *out);

/* The descriptor to which a process writes 0 to be in it; the caller closes. Or -1 with errno. */
int control_group_door(const struct control_group *group);

/* Writes the limits of a group's folder. 0, or -1 with errno. */
int control_group_limit(int folder, const struct cost_limits *limits, uint64_t processes);

/* Reads what a group's folder tells; what it has not got is 0. */
void control_group_read(int folder, struct group_usage *out);

/* Once it is empty. */
void control_group_remove(struct control_group *group);

/* Removes the groups in the folder that nobody holds. */
void control_groups_sweep(int parent);

#endif
