#include "exec/run_cost.h"

#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/wire.h"

#define NS_PER_SECOND UINT64_C(1000000000)

/* Not more often than this, however little is left. */
#define LOOK_AGAIN_NS UINT64_C(20000000)

/* A status as a shell shows it, of a command that a signal ended, or that tells so of one of its own. */
#define STATUS_OF(signal) (128 + (signal))

int run_cost_begin(struct run_cost *cost, const struct payload *payload, int *door) {
    *door = -1;
    cost->limits = payload->cost;
    if (payload->group_parent[0] == '\0')
        return 0;
    if (control_group_make(payload->group_parent, &payload->cost, payload->group_processes, &cost->group) !=
        0)
        return -1;
    *door = control_group_door(&cost->group);
    return *door < 0 ? -1 : 0;
}

static void come_to(struct run_cost *cost, enum cost_limit limit, bool reached) {
    if (reached && cost->limits.most[limit] != 0)
        cost->reached |= ENDED_AT_LIMIT(limit);
}

static uint64_t cpu_limit_ns(const struct run_cost *cost) {
    uint64_t seconds = cost->limits.most[COST_CPU];
    return seconds > UINT64_MAX / 2 / NS_PER_SECOND ? UINT64_MAX / 2 : seconds * NS_PER_SECOND;
}

static uint64_t cpu_used_ns(const struct run_cost *cost) {
    struct run_usage usage;
    if (cost->group.folder >= 0) {
        struct group_usage group;
        control_group_read(cost->group.folder, &group);
        return group.cpu_us * 1000u;
    }
    if (cost->processes.procfs < 0 || run_processes_read(&cost->processes, &usage) != 0)
        return 0;
    return usage.cpu_ticks * (NS_PER_SECOND / CPU_TICKS_PER_SECOND);
}

/* When the rest can be used up at the earliest: all processors at once. */
static uint64_t time_for(uint64_t left_ns) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wait = left_ns / (processors > 0 ? (uint64_t)processors : 1u);
    return wait > LOOK_AGAIN_NS ? wait : LOOK_AGAIN_NS;
}

void run_cost_started(struct run_cost *cost, pid_t stage, uint64_t now) {
    if (cost->limits.most[COST_CPU] == 0)
        return;
    if (cost->group.folder < 0)
        run_processes_open(stage, &cost->processes);
    cost->look_ns = now + time_for(cpu_limit_ns(cost));
}

bool run_cost_look(struct run_cost *cost, uint64_t now) {
    if (cost->look_ns == 0 || cost->look_ns > now)
        return false;
    uint64_t limit = cpu_limit_ns(cost);
    uint64_t used = cpu_used_ns(cost);
    bool reached = used >= limit;
    come_to(cost, COST_CPU, reached);
    cost->look_ns = reached ? 0 : now + time_for(limit - used);
    return reached;
}

static uint64_t ns_of(struct timeval time) {
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000u;
}

uint32_t run_cost_finish(struct run_cost *cost, int status, const struct rusage *usage) {
    uint64_t used = ns_of(usage->ru_utime) + ns_of(usage->ru_stime);
    cost->look_ns = 0;
    if (cost->group.folder >= 0) {
        struct group_usage group;
        control_group_read(cost->group.folder, &group);
        used = group.cpu_us * 1000u;
        come_to(cost, COST_MEMORY, group.out_of_memory);
        come_to(cost, COST_PROCESSES, group.out_of_pids);
    }
    come_to(cost, COST_CPU, used >= cpu_limit_ns(cost) || status == STATUS_OF(SIGXCPU));
    come_to(cost, COST_FILE, status == STATUS_OF(SIGXFSZ));
    return cost->reached;
}

void run_cost_clear(struct run_cost *cost) {
    run_processes_close(&cost->processes);
    control_group_remove(&cost->group);
}
