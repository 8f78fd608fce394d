/*
 * Calls that may wait (a connect, a send) while the supervisor makes them for a command. The one that waits
 * takes its thread with it, so another is made ready to receive; and a command that is killed, or has a
 * signal to handle, is let go.
 */
#ifndef OS_SANDBOX_EXEC_WAITING_H
#define OS_SANDBOX_EXEC_WAITING_H

#include <stdbool.h>

#include "exec/supervised.h"

struct wait;

/* The kernel's own (include/linux/errno.h), never seen by programs: the call starts again after a handler
 * that wants it (SA_RESTART), or after any. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513

/*
 * To be called before a system call that may wait, on the thread that makes it. NULL: too many wait already;
 * the call is to be answered with EAGAIN.
 */
struct wait *wait_begin(struct call *call);

/*
 * True where the command's thread has a signal to handle or is gone: the system call that just gave EINTR is
 * not to be made again, and the answer is wait_interrupted_answer(socket). Where false it is made again.
 */
bool wait_interrupted(const struct wait *wait);

/*
 * Makes the command's thread handle its signal, and the call start again where the handler wants that; not
 * where the socket has a time limit, which would begin anew (sock_intr_errno() in include/net/sock.h).
 */
struct answer wait_interrupted_answer(int socket);

void wait_end(struct wait *wait);

/* For the supervisor's main thread: interrupts those that need it. Returns milliseconds until the next look;
 * -1. */
int waiting_tick(struct waiting_calls *waiting);

#endif
