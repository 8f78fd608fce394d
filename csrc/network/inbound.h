/*
 * One connection from inside, from the accept to its end: its request is read (by the front that its first
 * byte, or its listener, asks for), decided, perhaps asked about, dialed and carried.
 */
#ifndef OS_SANDBOX_NETWORK_INBOUND_H
#define OS_SANDBOX_NETWORK_INBOUND_H

#include "network/judge.h"
#include "network/network_internal.h"
#include "network/owner_search.h"
#include "protocol/http_body.h"

struct inbound;

enum inbound_failure {
    FAILURE_NOT_FOUND,
    FAILURE_UNREACHABLE,
    FAILURE_TIMED_OUT,
    FAILURE_GATEWAY,  /* the upstream proxy, or we ourselves */
    FAILURE_TOO_MANY, /* network.maxTunnels */
    FAILURE_SLOW,     /* its request did not come in time */
    FAILURES
};

/* A way in. What it answers ends the connection (inbound_reply, inbound_reset), at once or soon. */
struct front {
    /* Bytes have come (inbound->head): takes what is whole, and ends with inbound_decide. NULL: nothing is
     * read. */
    void (*take)(struct inbound *inbound);
    void (*denied)(struct inbound *inbound); /* why says why; it has been reported */
    void (*failed)(struct inbound *inbound, enum inbound_failure failure, const char *text);
    /* It is connected: greetings and looks. first and the descriptors are set already. */
    void (*connected)(struct inbound *inbound, struct tunnel_end ends[TUNNEL_SIDES]);
};

extern const struct front front_http;
extern const struct front front_socks;
/* Nothing but what passes through: transparent ones, and the loopback's. */
extern const struct front front_raw;

enum inbound_state {
    INBOUND_READING,
    INBOUND_OWNERLESS, /* its run is searched for, before the question or the denial (why is set) */
    INBOUND_ASKING,
    INBOUND_DIALING,
    INBOUND_CARRYING,
    INBOUND_LINGERING, /* it was answered: what it still sends is thrown away until it ends */
    INBOUND_ENDED,
};

/* What it is decided by, other than what it says itself. */
enum inbound_place {
    INBOUND_PROXY,       /* to our own address: the explicit proxy */
    INBOUND_TRANSPARENT, /* to any other */
    INBOUND_LOCAL,       /* to a listener on the loopback inside */
};

struct inbound {
    struct link link;
    struct network *network;
    unsigned users; /* its own until it is ended, its handle, its tunnel, and whoever works with it */
    int fd;         /* -1: handed on */
    uv_poll_t poll;
    bool polled;
    enum inbound_state state;
    const struct front *front; /* NULL: its first byte has not come */
    bool excess;               /* beyond network.maxTunnels: it gets an answer that says so */
    bool spare;                /* it counts for no tunnel: it is one too many, or was answered */

    uint64_t swept; /* by the look of that number */

    struct deadline deadline;
    struct owner_search owner;
    struct ask_waiter waiter;

    uint8_t *head; /* what was read and not yet taken */
    size_t head_size;
    size_t head_capacity;
    bool head_seen; /* front_http: it was parsed before */
    bool greeted;   /* front_socks: the method was chosen */
    size_t taken;   /* what lies behind is what the tunnel begins with */

    struct network_target wanted; /* as the client wrote it */
    struct judgement judgement;
    struct rule_set *rules; /* what it was decided by; or NULL */
    bool pinned;
    char *why;      /* of a denial */
    char *late_why; /* of a refusal whose run is still searched for */

    char *upstream_head; /* front_http: the request as it goes on; NULL: CONNECT */
    size_t upstream_head_size;
    struct http_body body;

    struct dial *dial;
    struct tunnel *tunnel;
};

/*
 * Takes a connection that was accepted. local: what it connected to; place and run tell of the listener (run
 * 0: to be searched for). No memory: it is reset.
 */
void inbound_accept(struct network *network, int fd, enum inbound_place place, uint32_t run,
                    const struct sockaddr_storage *local, const struct sockaddr_storage *peer);

/* For fronts: what the client wants is known (wanted, taken). */
void inbound_decide(struct inbound *inbound);

/* For fronts: the last bytes it gets; it may read them, then it ends. */
void inbound_reply(struct inbound *inbound, const void *bytes, size_t size);
/* For fronts: bytes in between. False: it is ended. */
bool inbound_send(struct inbound *inbound, const void *bytes, size_t size);
void inbound_reset(struct inbound *inbound);

/* Ends it, whatever it does; its tunnel is reset. */
void inbound_end(struct inbound *inbound);

/* Something of it was refused while it is carried, or when it was dialed; its run may still be searched for.
 */
void inbound_report(struct inbound *inbound, const char *why);

/* Reads, or looks for the run of, what can be had now: its run is ending. */
void inbound_hurry(struct inbound *inbound);

/* Its run is over: a request that is not whole, or waits for an answer, ends; what was sent is carried. */
void inbound_orphan(struct inbound *inbound);

/* The network's, by their deadlines. */
void inbound_on_slow(void *data, struct deadline *deadline);
void inbound_on_lingered(void *data, struct deadline *deadline);

void inbound_hold(struct inbound *inbound);
void inbound_release(struct inbound *inbound);

/* Among its own files. */

/* Reads until the request is whole, or nothing is there. */
void inbound_read(struct inbound *inbound);
/* The owner_search's found. */
void inbound_on_owner(struct owner_search *search);
void inbound_leave_question(struct inbound *inbound);
void inbound_set_spare(struct inbound *inbound, bool spare);

/* Takes the descriptor from its handle, for a tunnel. */
int inbound_steal_fd(struct inbound *inbound);
/* Waits for events of the descriptor. False: it is ended. */
bool inbound_watch(struct inbound *inbound, int events);

#endif
