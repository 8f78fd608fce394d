/*
 * bind(2) of a unix socket to a path, as the command would make it but with the supervisor's copy of the
 * address. The kernel keeps the text for getsockname(2), so it cannot be a path by descriptor as elsewhere: a
 * short-lived child enters the run's mount namespace and binds there.
 */
#ifndef OS_SANDBOX_EXEC_BIND_INSIDE_H
#define OS_SANDBOX_EXEC_BIND_INSIDE_H

#include "exec/socket_address.h"
#include "exec/supervised.h"
#include "exec/walk.h"

/*
 * socket: a duplicate of the command's; path: the address's; place: where that leads. 0 or the errno of
 * bind(2); EAGAIN where no child could be made. A path into /proc/self, which the child is not, leads to the
 * place all the same.
 */
int bind_inside(struct call *call, int socket, const struct socket_address *address, const char *path,
                const struct place *place);

#endif
