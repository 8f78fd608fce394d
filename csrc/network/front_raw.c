/* Connections that say nothing about where they go: what they connected to is what they want. */
#include "network/inbound.h"
#include "network/tls_look.h"
#include "protocol/tls_hello.h"

static void denied(struct inbound *inbound) {
    inbound_reset(inbound);
}

static void failed(struct inbound *inbound, enum inbound_failure failure, const char *text) {
    (void)failure;
    (void)text;
    inbound_reset(inbound);
}

static void connected(struct inbound *inbound, struct tunnel_end ends[TUNNEL_SIDES]) {
    (void)inbound;
    ends[TUNNEL_CLIENT].look = tls_look;
    ends[TUNNEL_CLIENT].hold = TLS_HELLO_MAX;
}

const struct front front_raw = {.denied = denied, .failed = failed, .connected = connected};
