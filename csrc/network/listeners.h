/* Listening sockets inside and in the gateway: opened through the gateway's process, accepted on the loop. */
#ifndef OS_SANDBOX_NETWORK_LISTENERS_H
#define OS_SANDBOX_NETWORK_LISTENERS_H

#include "network/network_internal.h"

/* Listeners on demand; of more the longest unused is closed. */
#define LISTENERS_DEMANDED_MAX 256u

enum listener_kind {
    LISTENER_EVERYWHERE,    /* every address of the gateway, one port */
    LISTENER_EVERYWHERE_V4, /* the same where IPv6 is missing */
    LISTENER_LOOPBACK,      /* 127.0.0.1 or ::1 inside */
    LISTENER_PROXY,         /* NETWORK_SESSION's: the explicit proxy on 127.0.0.1 inside */
    LISTENER_RUN_PROXY,     /* NETWORK_PER_RUN's; given */
    LISTENER_RESOLVER,      /* port 53 of a loopback address inside that resolv.conf names */
};

struct listener_waiter {
    struct link link;
    void (*opened)(struct listener_waiter *waiter, bool open);
};

struct listener {
    struct link link;
    struct network *network;
    enum listener_kind kind;
    uint16_t port;
    uint8_t address[IP_ADDRESS_BYTES]; /* of those on a loopback */
    uint32_t run;                      /* LISTENER_RUN_PROXY */
    bool first;                        /* ready waits for it */
    bool demanded;
    enum { LISTENER_OPENING, LISTENER_OPEN, LISTENER_CLOSED } state;
    int fd;
    uv_poll_t poll;
    bool polled;
    uint64_t used_ms;
    struct link waiters;
    struct deadline rest;
};

struct listener_request {
    enum listener_kind kind;
    uint16_t port;
    const uint8_t *address; /* of those on a loopback */
    bool first;
    bool demanded;
};

/*
 * Opens it, or finds it. waiter (or NULL) is called once it is open or could not be opened: from inside where
 * that is known.
 */
void listener_open(struct network *network, const struct listener_request *request,
                   struct listener_waiter *waiter);

/* Takes one that is listening already. */
void listener_take(struct network *network, uint32_t run, int fd);

void listener_close(struct listener *listener);

/* One of ours on a loopback inside, at that port. */
bool listeners_have_loopback(const struct network *network, uint16_t port);

/* Those on the loopback inside whose ports are not among these. */
void listeners_close_loopback(struct network *network, const uint16_t *kept, size_t count);
void listeners_close_run(struct network *network, uint32_t run);
void listeners_close_all(struct network *network);

/* Accepts all that is pending anywhere. */
void listeners_sweep(struct network *network);

/* The network's, of WAIT_ACCEPT. */
void listener_on_rested(void *data, struct deadline *deadline);

#endif
