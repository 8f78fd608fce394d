/* Whether a thread that waits is wanted elsewhere. */
#ifndef OS_SANDBOX_EXEC_PENDING_SIGNAL_H
#define OS_SANDBOX_EXEC_PENDING_SIGNAL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * True: the kernel has called the thread to handle a signal, so that its call can be made to start again
 * (ERESTARTSYS); of a thread that was not called, a program would see that as an error. False also where it
 * cannot be told: a signal for a whole process that several threads may handle, and its first one may not.
 */
bool has_signal_to_handle(pid_t thread);

#endif
