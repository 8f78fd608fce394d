/*
 * Before Linux 6.17 a caller went on waiting interruptibly after the supervisor had taken its call: a signal
 * that came while it was answered could make it start again, although it had been made (kernel/seccomp.c,
 * "Fix a race with WAIT_KILLABLE_RECV if the tracer replies too fast").
 */
#ifndef OS_SANDBOX_EXEC_SETTLE_H
#define OS_SANDBOX_EXEC_SETTLE_H

#include <stdbool.h>

#include "exec/supervised.h"

/* True on such kernels. */
bool settle_is_needed(void);

/*
 * Makes the caller look at its call again, whereupon it waits for the answer until it dies. False where the
 * call was interrupted before: it is not to be made. Changes nothing in the caller.
 */
bool settle(const struct call *call);

#endif
