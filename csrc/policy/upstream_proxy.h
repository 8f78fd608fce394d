/* The proxy through which this host itself reaches the outside. Pure. */
#ifndef OS_SANDBOX_POLICY_UPSTREAM_PROXY_H
#define OS_SANDBOX_POLICY_UPSTREAM_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/network_rules.h"

struct upstream_proxy {
    char host[DOMAIN_NAME_MAX + 1]; /* a name or an address without brackets */
    uint16_t port;
    char *authorization; /* the value of Proxy-Authorization, or NULL */
    char *except;        /* NO_PROXY as written, or NULL */
};

/*
 * Reads "http://[user:password@]host[:port][/]" or "host:port" (port 80 where none is written; user and
 * password are percent-decoded). 0, or -1 with an ERROR_OPTIONS whose text is the reason alone. The caller
 * clears *out.
 */
int upstream_proxy_parse(const char *url, struct upstream_proxy *out, struct error *err);

/*
 * Whether a connection goes out directly all the same: NO_PROXY has it (names with what is below them, with
 * or without a leading dot or "*.", addresses, CIDR blocks, each with :port or without; "*"), or it is for
 * this host (localhost, a loopback address).
 */
bool upstream_proxy_excepts(const struct upstream_proxy *proxy, const struct network_target *target);

void upstream_proxy_clear(struct upstream_proxy *proxy);

#endif
