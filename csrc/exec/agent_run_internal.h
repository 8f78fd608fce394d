/* A run of the agent's, for the files that it is made of. */
#ifndef OS_SANDBOX_EXEC_AGENT_RUN_INTERNAL_H
#define OS_SANDBOX_EXEC_AGENT_RUN_INTERNAL_H

#include <stdbool.h>

#include "exec/agent_run.h"

bool agent_run_watch(struct agent_run *run, int fd);

/*
 * Closing alone does not end the watch while a child that was just forked still holds a copy (epoll(7)): an
 * event for a run that was freed would follow.
 */
void agent_run_unwatch(const struct agent_run *run, int *fd);

/* The first failure counts. */
void agent_run_set_failed(struct agent_run *run, const char *step, const char *why);

#endif
