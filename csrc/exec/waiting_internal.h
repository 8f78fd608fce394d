/* For supervisor.c: the receiving threads, whose number waiting.c keeps. */
#ifndef OS_SANDBOX_EXEC_WAITING_INTERNAL_H
#define OS_SANDBOX_EXEC_WAITING_INTERNAL_H

#include <signal.h>

#include "exec/waiting.h"

/* Interrupts a system call; its handler does nothing. */
#define WAITING_SIGNAL SIGUSR2

/* A receiving thread, with the supervisor. It ends when waiting_receiver_is_needed says no. */
typedef void *(*receiver_fn)(void *supervisor);

/* NULL: out of memory or descriptors. */
struct waiting_calls *waiting_new(struct supervisor *supervisor, receiver_fn receive);

/* 0 or an errno. */
int waiting_start_receivers(struct waiting_calls *waiting);

/* To be asked by a receiver after each call: false where others are enough; it must end then. */
bool waiting_receiver_is_needed(struct waiting_calls *waiting);

/* Readable when waiting_tick is to be called. */
int waiting_wake_fd(const struct waiting_calls *waiting);

#endif
