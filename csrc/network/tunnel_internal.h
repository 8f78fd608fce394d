/* What the files of tunnels share: a tunnel's two directions, and the lists that a network's tunnels are in.
 */
#ifndef OS_SANDBOX_NETWORK_TUNNEL_INTERNAL_H
#define OS_SANDBOX_NETWORK_TUNNEL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "network/list.h"
#include "network/tunnel.h"

/* The most that one event moves: more holds the loop, and less costs a fifth of the throughput. */
#define TUNNEL_COPY_SIZE ((size_t)256 * 1024)
/* The most that is held for a side that does not read, of what is carried unseen. */
#define TUNNEL_HELD_MAX ((size_t)32 * 1024)
/* A side whose end is not waited for any more (the rest of a request that nobody wants) has so long to end.
 */
#define TUNNEL_LINGER_MS 2000u
/* Of what is thrown away after TUNNEL_STOP; then the side is not read any more. */
#define TUNNEL_DISCARD_MAX ((uint64_t)64 * 1024 * 1024)

/* Bytes that wait: size of them at buffer + at. NULL while nothing waits. */
struct tunnel_bytes {
    uint8_t *buffer;
    size_t at;
    size_t size;
    size_t capacity;
};

/* What one side sends, on its way to the other. */
struct tunnel_direction {
    tunnel_look_fn look; /* NULL: it passes */
    size_t hold;
    struct tunnel_bytes kept; /* not decided yet */
    struct tunnel_bytes out;  /* to be sent to the other side */
    uint64_t carried;         /* to the other side, with the greeting */
    size_t greeting;
    uint64_t discarded;
    bool much;    /* more came at the last read than may be held */
    bool ended;   /* the side will send no more */
    bool stopped; /* what it sends is thrown away */
    bool shut;    /* the other side was told that there is no more */
};

struct tunnel_socket {
    uv_poll_t poll;
    struct tunnel *tunnel;
    int fd;
    int events; /* that are polled for */
    bool failed;
};

enum tunnel_list_kind { TUNNEL_NEW, TUNNEL_MOVING, TUNNEL_LINGERING, TUNNEL_CLOSING, TUNNEL_LISTS };

struct tunnel {
    struct tunnels *all;
    struct link link; /* in its list */
    uint64_t last;    /* when something moved, or it began to linger: the loop's time */
    enum tunnel_list_kind list;
    unsigned open; /* handles */
    tunnel_closed_fn closed;
    void *data;
    struct tunnel_socket sockets[TUNNEL_SIDES];
    struct tunnel_direction from[TUNNEL_SIDES];
};

struct tunnels {
    uv_loop_t *loop;
    struct link lists[TUNNEL_LISTS]; /* each by time, oldest first */
    uint64_t patience[TUNNEL_LISTS]; /* ms after which a tunnel of that list is ended; 0: never */
    uv_timer_t timer;
    bool ticking;
    uv_idle_t begin; /* runs while there are new ones, whose first bytes are to be looked at */
    unsigned open;   /* handles, tunnels' included */
    bool over;
    void (*closed)(void *data);
    void *data;
    uint8_t *buffer; /* TUNNEL_COPY_SIZE */
};

static inline enum tunnel_side tunnel_other(enum tunnel_side side) {
    return side == TUNNEL_CLIENT ? TUNNEL_UPSTREAM : TUNNEL_CLIENT;
}

static inline bool tunnel_is_over(const struct tunnel *tunnel) {
    return tunnel->list == TUNNEL_CLOSING;
}

/* Of tunnel.c. Puts it at the end of a list, as of now. */
void tunnel_enter(struct tunnel *tunnel, enum tunnel_list_kind list);
/* Closes both sides, with a reset or without; the memory goes when the loop is done with them. */
void tunnel_end(struct tunnel *tunnel, bool reset);

/* Of tunnel_copy.c. Sends to a side, and keeps what does not go at once. False: out of memory; a side that
 * does not take any more is marked as failed. */
bool tunnel_send(struct tunnel *tunnel, enum tunnel_side to, const uint8_t *bytes, size_t size);
/* Bytes that came from that side, or none; and whether it has ended. */
void tunnel_take(struct tunnel *tunnel, enum tunnel_side from, const uint8_t *bytes, size_t size);
/* After anything happened: ends what is done, and polls for what is wanted next. */
void tunnel_settle(struct tunnel *tunnel);
void tunnel_on_event(uv_poll_t *poll, int status, int events);

/* Of tunnel_look.c: bytes from a side with a look. */
void tunnel_look(struct tunnel *tunnel, enum tunnel_side from, const uint8_t *bytes, size_t size);

/* Appends; false: out of memory. */
bool tunnel_bytes_add(struct tunnel_bytes *bytes, const uint8_t *more, size_t size);
/* Drops from the front; nothing is held where nothing is left. */
void tunnel_bytes_drop(struct tunnel_bytes *bytes, size_t size);
void tunnel_bytes_clear(struct tunnel_bytes *bytes);

#endif
