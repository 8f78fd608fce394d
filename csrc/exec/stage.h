/* The stage: pid 1 inside the sandbox. Checks the mounts, starts the command, reaps, reports its end, ends
 * everything. */
#ifndef OS_SANDBOX_EXEC_STAGE_H
#define OS_SANDBOX_EXEC_STAGE_H

/* Runs on the descriptors of enum launch_fd; returns the process's exit status. */
int stage_main(void);

#endif
