/* Controlling terminals (tty(4)). */
#ifndef OS_SANDBOX_EXEC_TERMINAL_H
#define OS_SANDBOX_EXEC_TERMINAL_H

#include <sys/sysmacros.h>

#include "exec/supervised.h"

/* /dev/tty: what it opens depends on who asks. */
#define TTY makedev(5, 0)

/* O_PATH of the caller's controlling terminal, where it is one of the run's own pseudo terminals; or -1. */
int terminal_of(const struct call *call);

#endif
