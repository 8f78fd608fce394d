/* Sockets that a command was given from elsewhere: each stays in the network namespace it was made in. */
#ifndef OS_SANDBOX_EXEC_SOCKET_NETWORK_H
#define OS_SANDBOX_EXEC_SOCKET_NETWORK_H

#include "exec/socket_address.h"
#include "exec/supervised.h"

/* Whose network that is: of the run's pid 1. 0 or an errno. */
int socket_network_learn(struct supervisor *supervisor, pid_t stage);

/*
 * Whether a socket of whatever family may get an address, or one to send to: only one of the run's own
 * network. One that came over an allowed unix socket, or as the run's own stdin, may only go on with what it
 * is connected to. 0; or EACCES, reported as that operation.
 */
int socket_network_judge(struct call *call, int socket, const struct socket_address *address,
                         const char *operation);

#endif
