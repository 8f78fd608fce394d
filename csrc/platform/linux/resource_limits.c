#include "platform/linux/resource_limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>

/*
 * The limit of one process for each of a run. Data and not address space (RLIMIT_AS): V8, the JVM and Go
 * reserve far more of that than they use. more: what is not the command's own (pid 1), or is left to whoever
 * counts for all processes together (the agent), so that it is told.
 */
static const struct {
    int resource;
    enum cost_limit limit;
    uint64_t more;
    uint64_t until_hard;
} rows[] = {
    {RLIMIT_DATA, COST_MEMORY, 0, 0}, {RLIMIT_NPROC, COST_PROCESSES, 1, 0},   {RLIMIT_CPU, COST_CPU, 1, 1},
    {RLIMIT_FSIZE, COST_FILE, 0, 0},  {RLIMIT_NOFILE, COST_OPEN_FILES, 0, 0},
};

/* Whether the kernel counts a user's processes for each user namespace, and so those of a run alone
 * (Linux 5.14). */
static bool counts_processes(void) {
    struct utsname name;
    if (uname(&name) != 0)
        return false;
    char *rest;
    long major = strtol(name.release, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 14);
}

static uint64_t lower_of(uint64_t left, uint64_t right) {
    return left < right ? left : right;
}

static void lower(struct payload_limit *limit, const struct cost_limits *cost) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t most = cost->most[rows[i].limit];
        if (rows[i].resource != (int)limit->resource || most == 0 ||
            (rows[i].limit == COST_PROCESSES && !counts_processes()))
            continue;
        limit->soft = lower_of(limit->soft, most + rows[i].more);
        limit->hard = lower_of(limit->hard, most + rows[i].more + rows[i].until_hard);
    }
}

/*
 * What a child of Node would inherit. Commands get half of the descriptors: the kernel counts descriptors in
 * flight per user against the sender's limit, and the agent, with the whole, must still be able to pass some.
 */
void resource_limits_fill(struct payload *payload) {
    for (int resource = 0; resource < RLIM_NLIMITS && payload->limit_count < PAYLOAD_LIMITS_MAX; resource++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)resource, &limit) != 0)
            continue;
        if (resource == RLIMIT_NOFILE && limit.rlim_max != RLIM_INFINITY && limit.rlim_max >= 2) {
            limit.rlim_max /= 2;
            limit.rlim_cur = limit.rlim_cur < limit.rlim_max ? limit.rlim_cur : limit.rlim_max;
        }
        struct payload_limit *given = &payload->limits[payload->limit_count++];
        *given = (struct payload_limit){
            .resource = (uint32_t)resource, .soft = limit.rlim_cur, .hard = limit.rlim_max};
        lower(given, &payload->cost);
    }
}
