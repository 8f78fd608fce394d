#include "exec/run_cost.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/wire.h"

#define NS_PER_SECOND UINT64_C(1000000000)

/* Not more often than this, however little is left. */
#define LOOK_AGAIN_NS UINT64_C(20000000)
#define WATCH_AGAIN_NS UINT64_C(5000000)
#define WATCH_IDLE_NS UINT64_C(40000000)

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

/* The kernel does not limit the number of root's processes (kernel/fork.c: INIT_USER). */
static bool is_watched(const struct run_cost *cost) {
    return cost->group.folder < 0 && cost->limits.most[COST_PROCESSES] != 0;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t greater(uint64_t left, uint64_t right) {
    return left > right ? left : right;
}

/* While nothing happens it is looked at less and less often. */
static void watch_again(struct run_cost *cost, const struct run_usage *usage) {
    bool idle = usage->tasks == cost->seen.tasks && usage->cpu_ticks == cost->seen.cpu_ticks;
    uint64_t longer = cost->watch_ns * 2 < WATCH_IDLE_NS ? cost->watch_ns * 2 : WATCH_IDLE_NS;
    cost->watch_ns = idle ? greater(longer, WATCH_AGAIN_NS) : WATCH_AGAIN_NS;
    cost->seen = *usage;
}

/* Processor time, and how many processes there are: pid 1 is not the command's. */
static void read_usage(struct run_cost *cost, struct run_usage *usage, uint64_t *cpu_ns) {
    struct group_usage group;
    uint64_t began = now_ns();
    *usage = (struct run_usage){0};
    *cpu_ns = 0;
    if (cost->group.folder >= 0) {
        control_group_read(cost->group.folder, &group);
        *cpu_ns = group.cpu_us * 1000u;
    } else if (cost->processes.procfs >= 0 && run_processes_read(&cost->processes, usage) == 0) {
        usage->tasks -= usage->tasks > 0;
        *cpu_ns = usage->cpu_ticks * (NS_PER_SECOND / CPU_TICKS_PER_SECOND);
        watch_again(cost, usage);
    }
    cost->reading_ns = now_ns() - began;
}

/* When the rest of processor time can be used up at the earliest: all processors at once. */
static uint64_t time_for(uint64_t left_ns) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wait = left_ns / (processors > 0 ? (uint64_t)processors : 1u);
    return wait > LOOK_AGAIN_NS ? wait : LOOK_AGAIN_NS;
}

/* Until the next look, which takes a fiftieth of a processor at most. */
static uint64_t time_until_look(const struct run_cost *cost, uint64_t cpu_left_ns) {
    uint64_t wait = cost->limits.most[COST_CPU] != 0 ? time_for(cpu_left_ns) : UINT64_MAX / 2;
    uint64_t watch = greater(cost->reading_ns * 50u, greater(cost->watch_ns, WATCH_AGAIN_NS));
    return is_watched(cost) && watch < wait ? watch : wait;
}

int run_cost_started(struct run_cost *cost, pid_t stage, uint64_t now) {
    if (cost->limits.most[COST_CPU] == 0 && !is_watched(cost))
        return 0;
    cost->look_ns = now + time_until_look(cost, cpu_limit_ns(cost));
    return cost->group.folder >= 0 ? 0 : run_processes_open(stage, &cost->processes);
}

int run_cost_look(struct run_cost *cost, uint64_t now) {
    struct run_usage usage;
    uint64_t used;
    if (cost->look_ns == 0 || cost->look_ns > now)
        return 0;
    read_usage(cost, &usage, &used);
    uint64_t most = is_watched(cost) ? cost->limits.most[COST_PROCESSES] : UINT64_MAX;
    bool processes = usage.tasks > most;
    /* At the limit the kernel refuses the next one to others, of which nobody hears. */
    come_to(cost, COST_PROCESSES, processes || (usage.tasks == most && geteuid() != 0));
    uint64_t left = used < cpu_limit_ns(cost) ? cpu_limit_ns(cost) - used : 0;
    bool told = (cost->reached & ENDED_AT_LIMIT(COST_CPU)) != 0;
    bool cpu = cost->limits.most[COST_CPU] != 0 && left == 0 && !told;
    come_to(cost, COST_CPU, cpu);
    /* Of what was told to end the processes are still looked at. */
    bool over = processes || ((cpu || told) && !is_watched(cost));
    cost->look_ns = over ? 0 : now + time_until_look(cost, left);
    return processes ? SIGKILL : cpu ? SIGXCPU : 0;
}

static uint64_t ns_of(struct timeval time) {
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * 1000u;
}

/* Of itself: by its own exit, or by a signal that is for its own fault. */
static bool has_failed(int status) {
    static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGTRAP, SIGILL};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        if (status == STATUS_OF(faults[i]))
            return true;
    return status > 0 && status < STATUS_OF(0);
}

/* Nobody hears of a refusal of the kernel's: a run that failed when little was left has come to it. */
static bool has_come_to_memory(const struct run_cost *cost, int status, const struct rusage *usage) {
    uint64_t most = cost->limits.most[COST_MEMORY];
    uint64_t resident = (uint64_t)usage->ru_maxrss << 10;
    return has_failed(status) && resident >= most - most / 16;
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
    come_to(cost, COST_MEMORY, has_come_to_memory(cost, status, usage));
    come_to(cost, COST_CPU, used >= cpu_limit_ns(cost) || status == STATUS_OF(SIGXCPU));
    come_to(cost, COST_FILE, status == STATUS_OF(SIGXFSZ));
    return cost->reached;
}

void run_cost_clear(struct run_cost *cost) {
    run_processes_close(&cost->processes);
    control_group_remove(&cost->group);
}
