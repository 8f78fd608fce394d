/* Connecting to the first of several addresses that answers (RFC 8305, sections 4 and 5). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/address.h"
#include "network/dial_internal.h"

struct dial_attempt {
    uv_poll_t poll;
    struct dial *dial;
    int fd;
};

static void on_attempt_closed(uv_handle_t *handle) {
    struct dial_attempt *attempt = handle->data;
    struct dial *dial = attempt->dial;
    free(attempt);
    dial_gone(dial);
}

/* Takes the attempt out of the race: its descriptor, or -1 where that is to be closed. */
static int leave(struct dial_attempt *attempt, bool keep) {
    struct dial *dial = attempt->dial;
    for (unsigned i = 0; i < dial->attempt_count; i++) {
        if (dial->attempts[i] == attempt) {
            dial->attempts[i] = dial->attempts[--dial->attempt_count];
            break;
        }
    }
    uv_close((uv_handle_t *)&attempt->poll, on_attempt_closed);
    int fd = steal_fd(&attempt->fd);
    if (!keep)
        close_fd(&fd);
    return fd;
}

void dial_race_stop(struct dial *dial) {
    while (dial->attempt_count > 0)
        leave(dial->attempts[0], false);
    if (!uv_is_closing((uv_handle_t *)&dial->step))
        uv_timer_stop(&dial->step);
}

/* A port that nothing listens on can be the connection's own one: it is connected to itself then. */
static bool is_itself(int fd) {
    struct sockaddr_storage local = {0};
    struct sockaddr_storage remote = {0};
    socklen_t local_size = sizeof local;
    socklen_t remote_size = sizeof remote;
    return getsockname(fd, (struct sockaddr *)&local, &local_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&remote, &remote_size) == 0 && local_size == remote_size &&
           memcmp(&local, &remote, local_size) == 0;
}

static int result_of(int fd) {
    int errnum = 0;
    socklen_t size = sizeof errnum;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &size) != 0)
        return errno;
    return errnum == 0 && is_itself(fd) ? ECONNREFUSED : errnum;
}

static void next_attempt(struct dial *dial);

static void on_attempt(uv_poll_t *poll, int status, int events) {
    struct dial_attempt *attempt = poll->data;
    struct dial *dial = attempt->dial;
    (void)status; /* an error of the socket's: SO_ERROR says which */
    (void)events;
    int errnum = result_of(attempt->fd);
    int fd = leave(attempt, errnum == 0);
    if (errnum == 0) {
        dial_race_stop(dial);
        dial_race_won(dial, fd);
        return;
    }
    dial->last_errnum = errnum;
    next_attempt(dial);
}

/* Watches a connect that goes on; the descriptor is taken. False: out of memory or handles. */
static bool watch(struct dial *dial, int fd) {
    cleanup_fd int owned = fd;
    cleanup_free struct dial_attempt *attempt = calloc(1, sizeof *attempt);
    if (attempt == NULL || uv_poll_init(dial->loop, &attempt->poll, fd) != 0)
        return false;
    struct dial_attempt *kept = attempt;
    attempt = NULL;
    kept->poll.data = kept;
    kept->dial = dial;
    kept->fd = steal_fd(&owned);
    dial->open++;
    dial->attempts[dial->attempt_count++] = kept;
    uv_unref((uv_handle_t *)&kept->poll);
    if (uv_poll_start(&kept->poll, UV_WRITABLE, on_attempt) == 0)
        return true;
    leave(kept, false);
    return false;
}

/* 0: it goes on; or errno. */
static int try_address(struct dial *dial, const uint8_t address[IP_ADDRESS_BYTES]) {
    struct sockaddr_storage to;
    const int on = 1;
    socklen_t size = network_address_write(address, dial->port, &to);
    cleanup_fd int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (const struct sockaddr *)&to, size) != 0 && errno != EINPROGRESS)
        return errno;
    return watch(dial, steal_fd(&fd)) ? 0 : ENOMEM;
}

static bool is_our_lack(int errnum) {
    return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == ENOBUFS;
}

static void on_delay(uv_timer_t *timer) {
    next_attempt(timer->data);
}

static void fail(struct dial *dial) {
    enum dial_result result = is_our_lack(dial->last_errnum) ? DIAL_BROKEN
                              : dial->upstream               ? DIAL_UPSTREAM
                                                             : DIAL_UNREACHABLE;
    dial_finish(dial, result, -1, "%s%s", dial->upstream ? "the upstream proxy cannot be reached: " : "",
                strerror(dial->last_errnum));
}

/* Starts the next attempt that does not fail at once. */
static void next_attempt(struct dial *dial) {
    uv_timer_stop(&dial->step);
    while (dial->next < dial->addresses.count) {
        int errnum = try_address(dial, dial->addresses.list[dial->next++]);
        if (errnum == 0) {
            if (dial->next < dial->addresses.count)
                uv_timer_start(&dial->step, on_delay, DIAL_ATTEMPT_DELAY_MS, 0);
            return;
        }
        dial->last_errnum = errnum;
    }
    if (dial->attempt_count == 0)
        fail(dial);
}

/* One of each family in turn, beginning with the family that the resolver put first. */
static void interleave(struct dial_addresses *addresses) {
    struct dial_addresses mixed = {.count = addresses->count};
    unsigned at[2] = {0, 0}; /* the next of the first family, and of the other */
    bool first_is_v4 = ip_address_is_v4(addresses->list[0]);
    for (unsigned i = 0, turn = 0; i < mixed.count; turn ^= 1) {
        bool wanted = turn == 0 ? first_is_v4 : !first_is_v4;
        while (at[turn] < addresses->count && ip_address_is_v4(addresses->list[at[turn]]) != wanted)
            at[turn]++;
        if (at[turn] < addresses->count)
            memcpy(mixed.list[i++], addresses->list[at[turn]++], IP_ADDRESS_BYTES);
    }
    *addresses = mixed;
}

void dial_race_start(struct dial *dial) {
    interleave(&dial->addresses);
    next_attempt(dial);
}
