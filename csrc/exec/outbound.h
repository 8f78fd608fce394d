/*
 * Where a command's IP sockets lead, in a session that has a port table: what is decided before a connection
 * is made or a datagram sent, and what the addon is told of it. Sockets of other families, and addresses that
 * the kernel would not take for the socket, are left to the kernel. The gateway lets nothing pass by itself:
 * what is refused here is refused at once, and with a reason.
 */
#ifndef OS_SANDBOX_EXEC_OUTBOUND_H
#define OS_SANDBOX_EXEC_OUTBOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/socket_address.h"
#include "exec/supervised.h"

/*
 * Before connect(2), and before a TCP message whose flags have MSG_FASTOPEN. The addon is asked where it has
 * to open a listener first, which waits (asking.h). 0, or the errno of the answer: ECONNREFUSED, reported;
 * EAGAIN, ERESTARTNOINTR as of asking_wait.
 */
int outbound_judge_connect(struct call *call, const struct socket_kind *kind,
                           const struct socket_address *address);

/* Before a datagram with an address; one to a resolver is noted, from whatever port. 0 or ECONNREFUSED. */
int outbound_judge_datagram(struct call *call, int socket, const struct socket_kind *kind,
                            const struct socket_address *address);

/*
 * After a connect with that result, 0 or a negative errno: a connection that was made or is on its way is
 * noted, a failure that is a refusal is reported.
 */
void outbound_connected(struct call *call, int socket, const struct socket_kind *kind,
                        const struct socket_address *address, int64_t result);

/* Reports a send with an address that failed because there is no network inside. */
void outbound_explain(struct call *call, const struct socket_kind *kind, const struct socket_address *address,
                      int64_t result);

/* Whether the socket is one of TCP, IPv4 or IPv6. */
bool outbound_is_tcp(const struct socket_kind *kind);

/* Such a socket listens now: the addon is told. */
void outbound_listening(struct call *call, int socket);

#endif
