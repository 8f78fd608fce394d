/* DNS over TCP (RFC 1035, 4.2.2): several questions on one connection, each with its length before it. */
#ifndef OS_SANDBOX_NETWORK_DNS_STREAM_H
#define OS_SANDBOX_NETWORK_DNS_STREAM_H

#include "network/network_internal.h"

#define DNS_STREAMS_MAX 64u

/* Takes the connection; one that is too many is reset. */
void dns_stream_accept(struct network *network, int fd, const struct sockaddr_storage *peer);

/* Answers what can be read now. */
void dns_streams_sweep(struct network *network);
void dns_streams_close(struct network *network);

/* The network's, of WAIT_DNS. */
void dns_stream_on_idle(void *data, struct deadline *deadline);

#endif
