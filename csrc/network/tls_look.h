/* The first bytes of a client, where they are TLS: the server name must be what was allowed. */
#ifndef OS_SANDBOX_NETWORK_TLS_LOOK_H
#define OS_SANDBOX_NETWORK_TLS_LOOK_H

#include "network/tunnel.h"

/* A tunnel_look_fn whose data is the struct inbound; hold TLS_HELLO_MAX. */
enum tunnel_next tls_look(void *data, struct tunnel_view *view);

#endif
