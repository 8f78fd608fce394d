/*
 * Descriptors in flight. The kernel counts those of all of a user's processes, and holds the sum against the
 * limit of whoever sends one more (unix(7), ETOOMANYREFS). So that commands cannot use up what the rest
 * needs: what they send may fill half of the agent's limit, a supervisor's own questions three quarters, and
 * agent and gateway all of it.
 */
#ifndef OS_SANDBOX_EXEC_PASSING_H
#define OS_SANDBOX_EXEC_PASSING_H

#include <sys/socket.h>

#include "exec/supervised.h"

/* At a supervisor's start. */
void passing_set_limits(struct passing *passing);

/* sendmsg(2), with MSG_DONTWAIT, of a message with descriptors: one of a command's, one of the supervisor's.
 * -1 with errno. */
ssize_t passing_send_commands(struct passing *passing, int socket, const void *header, int flags);
ssize_t passing_send_own(struct passing *passing, int socket, const void *header, int flags);

#endif
