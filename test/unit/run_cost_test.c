/* What a run has cost, of a cgroup that is a folder of plain files, and of what bwrap has waited for. */
#include "base/cleanup.h"
#include "exec/run_cost.h"
#include "exec/wire.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static char scratch[] = "/var/tmp/os-sandbox-cost-XXXXXX";

static void put(int folder, const char *name, const char *text) {
    cleanup_fd int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
}

static struct run_cost cost_of(uint64_t seconds) {
    struct run_cost cost = RUN_COST_NONE;
    cost.limits = (struct cost_limits){
        .most = {[COST_CPU] = seconds, [COST_MEMORY] = 1, [COST_PROCESSES] = 2, [COST_FILE] = 3}};
    return cost;
}

static void looks(void) {
    struct run_cost cost = cost_of(10);
    ok(!run_cost_look(&cost, 1), "before it has begun nothing is due");
    cost.group.folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put(cost.group.folder, "cpu.stat", "usage_usec 4000000\n");
    run_cost_started(&cost, getpid(), SECOND);
    uint64_t first = cost.look_ns;
    ok(first > SECOND && first <= 11 * SECOND, "the first look is when all processors could have used it up");
    ok(!run_cost_look(&cost, first - 1), "not before");
    ok(!run_cost_look(&cost, first) && cost.look_ns > first && cost.look_ns <= first + 6 * SECOND,
       "with some left there is another, sooner");
    put(cost.group.folder, "cpu.stat", "usage_usec 9999999\n");
    ok(run_cost_look(&cost, cost.look_ns) == 0 && cost.look_ns > first, "with a microsecond left, too");
    put(cost.group.folder, "cpu.stat", "usage_usec 10000000\n");
    ok(run_cost_look(&cost, cost.look_ns) == SIGXCPU && cost.look_ns == 0,
       "with nothing left it is over, and looked at no more");
    const struct rusage none = {.ru_maxrss = 0};
    is_int(run_cost_finish(&cost, 0, &none), ENDED_AT_LIMIT(COST_CPU), "which is told at the end");
    run_cost_clear(&cost);

    struct run_cost endless = RUN_COST_NONE;
    endless.limits = (struct cost_limits){.most = {[COST_CPU] = UINT64_C(9007199254740991)}};
    run_cost_started(&endless, getpid(), SECOND);
    ok(endless.processes.procfs >= 0 && endless.look_ns > SECOND, "the greatest limit overflows nothing");
    ok(!run_cost_look(&endless, endless.look_ns), "nor does a look at it");
    run_cost_clear(&endless);
}

static int look_at_this(struct run_cost *cost) {
    const struct rusage none = {.ru_maxrss = 0};
    int ending = 0;
    run_cost_started(cost, getpid(), SECOND);
    /* Pid 1 of a run is not counted; here there are at least this process and its parent. */
    if (cost->look_ns != 0 && cost->processes.procfs >= 0)
        ending = run_cost_look(cost, cost->look_ns);
    cost->reached = run_cost_finish(cost, 0, &none);
    run_processes_close(&cost->processes);
    return ending;
}

static void watches(void) {
    struct run_cost few = RUN_COST_NONE;
    few.limits.most[COST_PROCESSES] = 1 << 22;
    is_int(look_at_this(&few), 0, "what has less than it may goes on");
    is_int(few.reached, 0, "and nothing is told");
    few.limits.most[COST_PROCESSES] = 1;
    is_int(look_at_this(&few), SIGKILL, "with more processes it is ended");
    is_int(few.reached, ENDED_AT_LIMIT(COST_PROCESSES), "which is told");

    struct run_cost grouped = RUN_COST_NONE;
    grouped.limits.most[COST_PROCESSES] = 1;
    grouped.group.folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    is_int(run_cost_started(&grouped, getpid(), SECOND), 0, "a cgroup");
    ok(grouped.look_ns == 0, "is the kernel's to watch");
    run_cost_clear(&grouped);
}

static void idles(void) {
    struct run_cost cost = RUN_COST_NONE;
    uint64_t now = SECOND;
    cost.limits.most[COST_PROCESSES] = 1 << 22;
    run_cost_started(&cost, getpid(), now);
    uint64_t first = cost.look_ns - now;
    /* Of a namespace that has nobody. */
    cost.processes.namespace ++;
    for (int i = 0; i < 9; i++) {
        now = cost.look_ns;
        is_int(run_cost_look(&cost, now), 0, "a run in which nothing happens");
    }
    ok(cost.look_ns - now > 2 * first, "is looked at less often");
    run_cost_clear(&cost);
}

static void failures(void) {
    struct run_cost cost = RUN_COST_NONE;
    const uint64_t most = UINT64_C(160) << 20;
    const struct rusage full = {.ru_maxrss = 150 << 10};
    const struct rusage roomy = {.ru_maxrss = (150 << 10) - 1};
    cost.limits.most[COST_MEMORY] = most;
    is_int(run_cost_finish(&cost, 0, &full), 0, "nearly all memory is no failure");
    is_int(run_cost_finish(&cost, 128 + SIGKILL, &full), 0, "nor is being killed");
    is_int(run_cost_finish(&cost, 1, &roomy), 0, "a failure with some left is another");
    is_int(run_cost_finish(&cost, 1, &full), ENDED_AT_LIMIT(COST_MEMORY), "with little left it is told");
    cost.reached = 0;
    is_int(run_cost_finish(&cost, 128 + SIGABRT, &full), ENDED_AT_LIMIT(COST_MEMORY), "also of an abort");
}

static void ends(void) {
    const struct rusage idle = {.ru_maxrss = 0};
    const struct rusage busy = {.ru_utime.tv_sec = 1, .ru_stime.tv_usec = 999999};
    const struct rusage busier = {.ru_utime.tv_sec = 1, .ru_stime.tv_sec = 1};
    struct run_cost cost = cost_of(2);
    is_int(run_cost_finish(&cost, 0, &busy), 0, "a run that came to no limit");
    is_int(run_cost_finish(&cost, 128 + SIGXFSZ, &idle), ENDED_AT_LIMIT(COST_FILE),
           "one whose file was too grouped");
    cost = cost_of(2);
    is_int(run_cost_finish(&cost, 0, &busier), ENDED_AT_LIMIT(COST_CPU),
           "one that was over before it was looked at");
    cost = cost_of(2);
    cost.limits = (struct cost_limits){.most = {0}};
    is_int(run_cost_finish(&cost, 128 + SIGXFSZ, &busier), 0, "without limits there are none to come to");
    cost = cost_of(2);
    cost.group.folder = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put(cost.group.folder, "cpu.stat", "usage_usec 1\n");
    put(cost.group.folder, "memory.events", "oom_kill 1\n");
    put(cost.group.folder, "pids.events", "max 1\n");
    is_int(run_cost_finish(&cost, 0, &busier), ENDED_AT_LIMIT(COST_MEMORY) | ENDED_AT_LIMIT(COST_PROCESSES),
           "a cgroup tells of memory and processes, and of processor time instead");
    run_cost_clear(&cost);
}

static void begins(void) {
    struct run_cost cost = RUN_COST_NONE;
    struct payload payload = {.group_parent = "", .cost.most = {[COST_CPU] = 1}};
    int door = 7;
    ok(run_cost_begin(&cost, &payload, &door) == 0 && door == -1 && cost.group.folder == -1,
       "without a place there is no cgroup");
    payload.group_parent = "/var/tmp/os-sandbox-no-such-folder";
    ok(run_cost_begin(&cost, &payload, &door) != 0 && door == -1,
       "in a place that is not there none can be made");
    payload.group_parent = scratch;
    ok(run_cost_begin(&cost, &payload, &door) != 0 && door == -1,
       "one that no process can be put in is none");
    run_cost_clear(&cost);
    payload.cost.most[COST_MEMORY] = 1;
    ok(run_cost_begin(&cost, &payload, &door) != 0 && cost.group.folder == -1, "nor one that takes no limit");
    run_cost_clear(&cost);
}

/* Of processes that are in this one's own namespace: all that are listed, at least this one and its children.
 */
static void processes(void) {
    struct run_processes here;
    struct run_usage before;
    struct run_usage after;
    ok(run_processes_open(getpid(), &here) == 0 && here.namespace != 0,
       "what has no procfs of its own is told apart");
    ok(run_processes_read(&here, &before) == 0 && before.tasks >= 1, "there is a process");
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    here.namespace ++;
    ok(run_processes_read(&here, &after) == 0 && after.tasks == 0, "those of another namespace do not count");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    run_processes_close(&here);
    ok(here.procfs == -1, "it is closed");
}

int main(void) {
    if (mkdtemp(scratch) == NULL)
        return 1;
    begins();
    looks();
    watches();
    idles();
    failures();
    ends();
    processes();
    char command[128];
    snprintf(command, sizeof command, "rm -r %s && ! ls /var/tmp/os-sandbox-cost-* 2>/dev/null", scratch);
    ok(system(command) == 0, "nothing is left");
    return done_testing();
}
