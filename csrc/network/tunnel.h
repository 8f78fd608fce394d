/*
 * Two connected sockets, carried both ways: back-pressure, half-close, nothing held while nothing moves. What
 * either side sends first can be looked at, held back and changed before it goes on.
 */
#ifndef OS_SANDBOX_NETWORK_TUNNEL_H
#define OS_SANDBOX_NETWORK_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

/* Of one network: one buffer that all tunnels copy through, and the times that all keep. */
struct tunnels;

#define TUNNEL_IDLE_MS (2ull * 60 * 60 * 1000) /* nothing moved either way for so long: closed */

enum tunnel_next {
    TUNNEL_MORE,  /* what was given is kept; look again when there is more (or at its end: size unchanged,
                     ended true) */
    TUNNEL_AGAIN, /* look again at what follows the taken bytes, also where that is nothing yet */
    TUNNEL_PASS,  /* everything that follows passes as it is, unseen */
    TUNNEL_STOP,  /* what follows from this side is thrown away, but for its end; the other direction goes on.
                     Where both sides are stopped or have ended, both are closed once all is sent */
    TUNNEL_CLOSE, /* both sides are reset */
};

struct tunnel_view {
    const uint8_t *bytes; /* all that is kept of this direction */
    size_t size;
    bool ended; /* the side has ended: there will be no more */
    /* To be set: */
    size_t taken;      /* of the bytes: passed on, or replaced */
    char *replacement; /* NULL: the taken bytes go as they are; else these instead (the tunnel frees them) */
    size_t replacement_size;
};

/*
 * At what came from either side, in order; never called from inside tunnel_start. hold is the most that is
 * kept: at that size TUNNEL_MORE is TUNNEL_CLOSE, as it is where the side has ended and bytes are left.
 */
typedef enum tunnel_next (*tunnel_look_fn)(void *data, struct tunnel_view *view);

enum tunnel_side { TUNNEL_CLIENT, TUNNEL_UPSTREAM, TUNNEL_SIDES };

struct tunnel_end {
    int fd;            /* connected, non-blocking; taken */
    const void *first; /* bytes that this side has sent already; copied */
    size_t first_size;
    const void *greeting; /* bytes to send to this side before anything else; copied */
    size_t greeting_size;
    tunnel_look_fn look; /* at what this side sends; NULL: passes */
    size_t hold;         /* with look: at most so many bytes are kept */
};

struct tunnel;

/* Called once, when both sides are closed; never from inside tunnel_start. carried: bytes from client, from
 * upstream. */
typedef void (*tunnel_closed_fn)(void *data, uint64_t from_client, uint64_t from_upstream);

struct tunnels *tunnels_new(uv_loop_t *loop);
/* closed is called later, when no tunnel is left and no handle; then it is freed. Ends all tunnels (their
 * closed_fn are called from inside). */
void tunnels_close(struct tunnels *tunnels, void (*closed)(void *data), void *data);

/* data is that of the looks and of closed, which may be NULL. NULL: out of memory, or handles; both
 * descriptors are closed then.
 */
struct tunnel *tunnel_start(struct tunnels *tunnels, const struct tunnel_end ends[TUNNEL_SIDES],
                            tunnel_closed_fn closed, void *data);

/* Resets both sides (RST); closed is called later. Harmless from inside a look, and when it is closing
 * already. */
void tunnel_abort(struct tunnel *tunnel);

#endif
