/* DNS inside: names that may be allowed have an address each, all others do not exist. Nothing is forwarded.
 */
#ifndef OS_SANDBOX_NETWORK_DNS_SERVER_H
#define OS_SANDBOX_NETWORK_DNS_SERVER_H

#include "network/network_internal.h"
#include "protocol/dns_message.h"

/* A name keeps its address for as long at least. */
#define DNS_TTL_S 60u

/* The answer to one message, and its size; 0: none is to be sent. A refused name is reported first. */
size_t dns_answer(struct network *network, struct port_owner owner, const uint8_t *message, size_t size,
                  uint8_t out[DNS_ANSWER_MAX]);

/* Opens a socket for questions: in the gateway for every address of that family (address NULL), or on one
 * inside, where there is none yet. One that cannot be had is none. first: ready waits for it. */
void dns_socket_open(struct network *network, int domain, const uint8_t *address, bool first);

void dns_sockets_sweep(struct network *network);
void dns_sockets_close(struct network *network);

#endif
