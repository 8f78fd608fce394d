/* What the files of dialing share: one dial, from its look-up over its race to the upstream proxy's answer.
 */
#ifndef OS_SANDBOX_NETWORK_DIAL_INTERNAL_H
#define OS_SANDBOX_NETWORK_DIAL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "network/dial.h"

/* Of what a name resolves to, at most so many are tried. */
#define DIAL_ADDRESSES_MAX 16

/* After so long the next address is tried beside those that have not answered (RFC 8305, section 8). */
#define DIAL_ATTEMPT_DELAY_MS 250u

struct dial_attempt; /* one connect that has not answered */
struct dial_connect; /* the exchange with the upstream proxy */

struct dial_addresses {
    uint8_t list[DIAL_ADDRESSES_MAX][IP_ADDRESS_BYTES];
    unsigned count;
};

struct dial {
    uv_loop_t *loop;
    struct dial_request request;
    dial_done_fn done;
    void *data;
    struct dial_account *account; /* or NULL */

    unsigned open; /* handles and requests that the loop still knows */
    bool over;     /* done was called, or nobody wants to hear any more */
    bool upstream; /* what is dialed is the upstream proxy */
    uv_timer_t deadline;
    uv_timer_t step;       /* begins, and later starts the next attempt */
    struct lookup *lookup; /* NULL: none is going on */

    uint16_t port;
    struct dial_addresses addresses;
    unsigned next; /* of the addresses */
    struct dial_attempt *attempts[DIAL_ADDRESSES_MAX];
    unsigned attempt_count; /* that are in flight */
    int last_errnum;

    struct dial_connect *connect;
};

/* Of dial_check.c: the why where there were no descriptors to look with. */
extern const char dial_unchecked[];

/* Ends the dial and tells; fd is -1 but with DIAL_CONNECTED. Does nothing but close fd where it is over. */
void dial_finish(struct dial *dial, enum dial_result result, int fd, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One of its handles is closed, or a request answered: the dial is freed with the last one. */
void dial_gone(struct dial *dial);

/* Connects to the addresses: dial_race_won, or dial_finish. */
void dial_race_start(struct dial *dial);
/* Closes what has not answered. */
void dial_race_stop(struct dial *dial);
/* Of dial.c: the race has this connection. */
void dial_race_won(struct dial *dial, int fd);

/* Sends CONNECT for the target over a connection to the upstream proxy, which it takes, and ends the dial. */
void dial_connect_start(struct dial *dial, int fd);
void dial_connect_stop(struct dial *dial);

#endif
