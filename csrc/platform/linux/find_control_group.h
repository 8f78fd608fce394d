/* The cgroup (version 2) in which the commands' own can be made, where one is delegated to this user. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_FIND_CONTROL_GROUP_H
#define OS_SANDBOX_PLATFORM_LINUX_FIND_CONTROL_GROUP_H

#include <stdbool.h>

#include "base/error.h"
#include "policy/cost_limits.h"

/* Whether a cgroup would do more for these than limits of single processes. */
bool control_group_helps(const struct cost_limits *limits);

/*
 * Of the processes whose /proc/PID/cgroup and mountinfo these are: where its cgroup is (*own) and where the
 * hierarchy begins (*top, a prefix of it). The caller frees. 0, or -1 with err: there is none.
 */
int control_group_own(const char *cgroup, const char *mountinfo, char **own, char **top, struct error *err);

/* Where runs can have groups of their own. */
struct control_groups {
    char *folder;       /* the caller frees */
    uint64_t processes; /* what the groups that a run leaves allow; 0: any number */
};

/*
 * The nearest folder from own up to top in which groups can be made, and processes moved into them, with what
 * the limits need; none where a limit would be left by that. 0, or -1 with err: there is none.
 */
int control_group_search(const char *own, const char *top, const struct cost_limits *limits,
                         struct control_groups *out, struct error *err);

/* Both, of this process. */
int find_control_groups(const struct cost_limits *limits, struct control_groups *out, struct error *err);

#endif
