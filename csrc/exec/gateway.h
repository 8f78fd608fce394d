/*
 * The gateway process: one per session, in the session's user namespace, for as long as the addon holds its
 * socket. It makes the sockets that the addon asks for (gateway_wire.h) in either network namespace.
 */
#ifndef OS_SANDBOX_EXEC_GATEWAY_H
#define OS_SANDBOX_EXEC_GATEWAY_H

#include <sys/types.h>

#include "exec/port_table.h"

struct gateway {
    int socket;               /* this end of the addon's socket */
    int inner;                /* where commands are */
    int outer;                /* where everything is local; -1: there is none */
    pid_t agent;              /* the parent: its end is this one's, too */
    struct port_table *ports; /* whose processes belong to which run; NULL: none is ever known */
};

/* In a single-threaded child of the agent that made the namespaces. Ends with the addon's socket. */
_Noreturn void gateway_main(const struct gateway *gateway);

#endif
