/* How many processes and threads a run has: the supervisor's count, by which it refuses more of them. */
#ifndef OS_SANDBOX_EXEC_PROCESS_COUNT_H
#define OS_SANDBOX_EXEC_PROCESS_COUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_count;

/* Of the run of this pid 1, which does not count itself. NULL with errno. Thread-safe. */
struct process_count *process_count_new(pid_t stage, uint64_t most);

/* Whether there may be one more, which is counted then. */
bool process_count_add(struct process_count *count);

void process_count_free(struct process_count *count);

#endif
