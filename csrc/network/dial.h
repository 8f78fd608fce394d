/*
 * Reaching what was allowed: one look-up, the address check, happy eyeballs over the checked addresses (RFC
 * 8305), or the upstream proxy.
 */
#ifndef OS_SANDBOX_NETWORK_DIAL_H
#define OS_SANDBOX_NETWORK_DIAL_H

#include <stdint.h>
#include <uv.h>

#include "network/lookup.h"
#include "policy/network_rules.h"
#include "policy/upstream_proxy.h"

/* From the start to the connection, look-up and upstream's answer included. */
#define DIAL_TIMEOUT_MS 30000u

enum dial_result {
    DIAL_CONNECTED,
    DIAL_REFUSED, /* by the address check: text is the why of a violation: "resolves to 127.0.0.1, a loopback
                     address" */
    DIAL_NOT_FOUND,   /* the name has no address: text says so */
    DIAL_UNREACHABLE, /* every address failed: text has the last one's error */
    DIAL_TIMED_OUT,
    DIAL_UPSTREAM, /* the upstream proxy failed or refused: text says how */
    DIAL_BROKEN,   /* no memory, no descriptors */
};

/* fd: connected, non-blocking, close-on-exec, TCP_NODELAY; the callee owns it. -1 with any other result.
 * Called once, never from inside dial_start, not after dial_cancel. */
typedef void (*dial_done_fn)(void *data, enum dial_result result, int fd, const char *text);

struct dial_request {
    struct network_target target;
    const struct network_rules *rules;     /* for network_rules_names_address; read from inside dial_start's
                                              callbacks: it must live as long as the dial */
    const struct upstream_proxy *upstream; /* or NULL; must live as long */
    uint8_t
        address[IP_ADDRESS_BYTES]; /* with use_address: dialed and checked instead of looking the name up */
    bool use_address;
    bool absolute; /* the name is looked up as it is, never below a search domain (nor in the hosts file) */
};

struct dial;

/* NULL: out of memory. */
struct dial *dial_start(uv_loop_t *loop, const struct dial_request *request, dial_done_fn done, void *data);

/*
 * Nothing is called any more. Its handles close by themselves: the account tells when all are gone. Harmless
 * from inside done, and not allowed after it.
 */
void dial_cancel(struct dial *dial);

/*
 * How many dials still own handles or requests of that loop, cancelled ones included, is counted in *open,
 * which the caller gives once per network; idle is called each time it becomes 0.
 */
struct dial_account {
    unsigned open;
    struct lookups *lookups; /* by which they look names up; NULL: each by its own */
    void (*idle)(void *data);
    void *data;
};
struct dial *dial_start_counted(uv_loop_t *loop, const struct dial_request *request,
                                struct dial_account *account, dial_done_fn done, void *data);

/*
 * Why that address may not be dialed, or NULL: a rule denies it; or its class, or that it is this host's own,
 * unless a rule names it. The text is static: "in network.deniedDomains", "a loopback address", "an address
 * of this host".
 */
const char *dial_address_refusal(const struct network_rules *rules, const uint8_t address[IP_ADDRESS_BYTES],
                                 uint16_t port);

#endif
