/* The processes of one run, as seen from outside of its pid namespace. */
#ifndef OS_SANDBOX_EXEC_RUN_PROCESSES_H
#define OS_SANDBOX_EXEC_RUN_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

/* Where they are listed. All zero, with procfs -1: nowhere yet. */
struct run_processes {
    int procfs;      /* the run's own, or this process's where the run has none */
    ino_t namespace; /* then: of which pid namespace they are; 0: all that are listed */
};

struct run_usage {
    uint64_t tasks;     /* threads of all processes, pid 1 among them */
    uint64_t cpu_ticks; /* of those, and of all that they have waited for (proc_pid_stat(5)) */
};

/* The clock of cpu_ticks, the same on every architecture there is a table for (sysconf(_SC_CLK_TCK)). */
#define CPU_TICKS_PER_SECOND 100u

/* stage: the run's pid 1. 0, or -1 with errno. */
int run_processes_open(pid_t stage, struct run_processes *out);

/* 0, or -1 with errno. */
int run_processes_read(const struct run_processes *processes, struct run_usage *out);

void run_processes_close(struct run_processes *processes);

#endif
