/* The stage: pid 1 inside the sandbox. Checks the mounts, starts the command, reaps, reports its end, ends
 * everything. */
#ifndef OS_SANDBOX_EXEC_STAGE_H
#define OS_SANDBOX_EXEC_STAGE_H

#include <stdbool.h>

/*
 * Runs on the descriptors of enum launch_fd; returns the process's exit status. foreground: it and the
 * command are in the process group of a command line.
 */
int stage_main(bool foreground);

#endif
