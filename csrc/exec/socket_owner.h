/* Whose socket it is, for kernels on which no supervisor makes the connections: asked of sock_diag(7) and of
 * /proc. */
#ifndef OS_SANDBOX_EXEC_SOCKET_OWNER_H
#define OS_SANDBOX_EXEC_SOCKET_OWNER_H

#include <sys/socket.h>

#include "exec/port_table.h"

/*
 * A process of a run that has a TCP or UDP socket open whose local address this is (AF_INET, AF_INET6, also
 * mapped) in the caller's network namespace, and its run. {0, 0}: none is found. It walks through /proc: some
 * milliseconds.
 */
struct port_owner socket_owner_find(const struct sockaddr_storage *local, const struct port_table *ports);

#endif
