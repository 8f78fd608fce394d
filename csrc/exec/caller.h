/* Which process a call belongs to. */
#ifndef OS_SANDBOX_EXEC_CALLER_H
#define OS_SANDBOX_EXEC_CALLER_H

#include <sys/types.h>

#include "exec/supervised.h"

/* The process of the thread that made the call, as the supervisor sees it; the thread's own number where that
 * cannot be had. Asked of its pidfd (Linux 6.13), which is cheaper than /proc. */
pid_t caller_process(struct call *call);

#endif
