#include "exec/process_count.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "exec/run_processes.h"

/* How long a call that was let go may take until what it makes is there to be counted. */
#define MAKING_NS 2000000

struct process_count {
    pthread_mutex_t lock;
    struct run_processes processes;
    uint64_t most;
    uint64_t known; /* there are no more than so many: those that have ended since are among them */
};

struct process_count *process_count_new(pid_t stage, uint64_t most) {
    struct process_count *count = calloc(1, sizeof *count);
    if (count == NULL)
        return NULL;
    count->most = most;
    if (run_processes_open(stage, &count->processes) == 0 && pthread_mutex_init(&count->lock, NULL) == 0)
        return count;
    run_processes_close(&count->processes);
    free(count);
    return NULL;
}

/* Pid 1 is not the command's. What cannot be counted is as many as there may be. */
static uint64_t count_now(const struct process_count *count) {
    struct run_usage usage;
    if (run_processes_read(&count->processes, &usage) != 0)
        return count->most;
    return usage.tasks > 0 ? usage.tasks - 1 : 0;
}

/* Counted only where it may matter: so many ends are seen at once. */
static bool may_be_one_more(struct process_count *count) {
    const struct timespec making = {.tv_nsec = MAKING_NS};
    if (count->known < count->most)
        return true;
    if (count_now(count) >= count->most)
        return false;
    /* Of those who were let go before this one some may not be there yet. */
    nanosleep(&making, NULL);
    count->known = count_now(count);
    return count->known < count->most;
}

bool process_count_add(struct process_count *count) {
    pthread_mutex_lock(&count->lock);
    bool added = may_be_one_more(count);
    count->known += added;
    pthread_mutex_unlock(&count->lock);
    return added;
}

void process_count_free(struct process_count *count) {
    if (count == NULL)
        return;
    run_processes_close(&count->processes);
    pthread_mutex_destroy(&count->lock);
    free(count);
}
