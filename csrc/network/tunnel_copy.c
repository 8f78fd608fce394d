/* Moving bytes between the two sides of a tunnel. */
#include <errno.h>
#include <sys/socket.h>

#include "network/tunnel_internal.h"

/* What a side that has failed had sent before is passed on, at most so many buffers of it. */
#define LAST_READS 512u

bool tunnel_send(struct tunnel *tunnel, enum tunnel_side to, const uint8_t *bytes, size_t size) {
    struct tunnel_direction *direction = &tunnel->from[tunnel_other(to)];
    struct tunnel_socket *socket = &tunnel->sockets[to];
    if (socket->failed)
        return true;
    ssize_t sent = 0;
    if (size > 0 && direction->out.size == 0) {
        sent = send(socket->fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            socket->failed = true;
            return true;
        }
        sent = sent < 0 ? 0 : sent;
    }
    direction->carried += (uint64_t)sent;
    return tunnel_bytes_add(&direction->out, bytes + sent, size - (size_t)sent);
}

/* Sends what waits for a side that is writable again. */
static void flush(struct tunnel *tunnel, enum tunnel_side to) {
    struct tunnel_direction *direction = &tunnel->from[tunnel_other(to)];
    struct tunnel_socket *socket = &tunnel->sockets[to];
    if (direction->out.size == 0 || socket->failed)
        return;
    ssize_t sent =
        send(socket->fd, direction->out.buffer + direction->out.at, direction->out.size, MSG_NOSIGNAL);
    if (sent >= 0) {
        direction->carried += (uint64_t)sent;
        tunnel_bytes_drop(&direction->out, (size_t)sent);
    } else if (errno != EAGAIN && errno != EINTR) {
        socket->failed = true;
    }
}

void tunnel_take(struct tunnel *tunnel, enum tunnel_side from, const uint8_t *bytes, size_t size) {
    struct tunnel_direction *direction = &tunnel->from[from];
    if (direction->stopped)
        direction->discarded += size;
    else if (direction->look != NULL)
        tunnel_look(tunnel, from, bytes, size);
    else if (!tunnel_send(tunnel, tunnel_other(from), bytes, size))
        tunnel_end(tunnel, true);
}

/* How much may be read: not more than a look may keep, or than may be held. */
static size_t room(const struct tunnel_direction *direction) {
    if (direction->stopped)
        return TUNNEL_COPY_SIZE;
    if (direction->look == NULL)
        return TUNNEL_HELD_MAX;
    size_t left = direction->hold > direction->kept.size ? direction->hold - direction->kept.size : 1;
    return left < TUNNEL_COPY_SIZE ? left : TUNNEL_COPY_SIZE;
}

/*
 * Carries much at once: it is looked at and sent first; only what went, and what may be held, is taken out of
 * the socket then, unread (MSG_TRUNC: tcp(7)). False: nothing came.
 */
static bool carry_much(struct tunnel *tunnel, enum tunnel_side from) {
    struct tunnel_direction *direction = &tunnel->from[from];
    struct tunnel_socket *source = &tunnel->sockets[from];
    struct tunnel_socket *target = &tunnel->sockets[tunnel_other(from)];
    uint8_t *bytes = tunnel->all->buffer;
    ssize_t got = recv(source->fd, bytes, TUNNEL_COPY_SIZE, MSG_PEEK);
    direction->much = got > (ssize_t)TUNNEL_HELD_MAX;
    if (!direction->much)
        return false;
    ssize_t sent = send(target->fd, bytes, (size_t)got, MSG_NOSIGNAL);
    target->failed = target->failed || (sent < 0 && errno != EAGAIN && errno != EINTR);
    size_t gone = sent < 0 ? 0 : (size_t)sent;
    size_t left = (size_t)got - gone;
    size_t held = left < TUNNEL_HELD_MAX ? left : TUNNEL_HELD_MAX;
    direction->carried += gone;
    if (!tunnel_bytes_add(&direction->out, bytes + gone, held) ||
        recv(source->fd, bytes, gone + held, MSG_TRUNC) != (ssize_t)(gone + held))
        tunnel_end(tunnel, true);
    return true;
}

/* Reads once. False: nothing came. */
static bool read_side(struct tunnel *tunnel, enum tunnel_side from) {
    struct tunnel_direction *direction = &tunnel->from[from];
    struct tunnel_socket *socket = &tunnel->sockets[from];
    if (direction->much && direction->look == NULL && !direction->stopped && carry_much(tunnel, from))
        return true;
    ssize_t got = recv(socket->fd, tunnel->all->buffer, room(direction), 0);
    if (got < 0) {
        socket->failed = socket->failed || (errno != EAGAIN && errno != EINTR);
        return false;
    }
    direction->ended = got == 0;
    direction->much = got == (ssize_t)TUNNEL_HELD_MAX;
    tunnel_take(tunnel, from, tunnel->all->buffer, (size_t)got);
    return got > 0;
}

static bool wants_to_read(const struct tunnel *tunnel, enum tunnel_side from) {
    const struct tunnel_direction *direction = &tunnel->from[from];
    return !direction->ended && direction->out.size == 0 && direction->discarded < TUNNEL_DISCARD_MAX;
}

/* There is nothing left to be passed on that way. */
static bool is_finished(const struct tunnel_direction *direction) {
    return (direction->ended || direction->stopped) && direction->out.size == 0;
}

/* Tells a side that there is no more for it. */
static void shut_down(struct tunnel *tunnel, enum tunnel_side to) {
    struct tunnel_direction *direction = &tunnel->from[tunnel_other(to)];
    if (!direction->shut)
        shutdown(tunnel->sockets[to].fd, SHUT_WR);
    direction->shut = true;
}

/* Whether it is over, or near its end; ends are passed on. */
static void finish(struct tunnel *tunnel) {
    struct tunnel_direction *from = tunnel->from;
    bool both = is_finished(&from[TUNNEL_CLIENT]) && is_finished(&from[TUNNEL_UPSTREAM]);
    for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES; side++)
        if (is_finished(&from[side]) && (from[side].ended || both))
            shut_down(tunnel, tunnel_other(side));
    if (both && from[TUNNEL_CLIENT].ended && from[TUNNEL_UPSTREAM].ended)
        tunnel_end(tunnel, false);
    else if (both && tunnel->list != TUNNEL_LINGERING)
        tunnel_enter(tunnel, TUNNEL_LINGERING);
}

static void poll_for(struct tunnel_socket *socket, int events) {
    if (socket->events == events)
        return;
    socket->events = events;
    int status =
        events == 0 ? uv_poll_stop(&socket->poll) : uv_poll_start(&socket->poll, events, tunnel_on_event);
    if (status != 0)
        tunnel_end(socket->tunnel, true);
}

static void read_last(struct tunnel *tunnel, enum tunnel_side from) {
    for (unsigned i = 0; i < LAST_READS && !tunnel_is_over(tunnel) && wants_to_read(tunnel, from); i++)
        if (!read_side(tunnel, from))
            return;
}

/* A side is gone: what it had sent goes on, as far as the other takes it at once, which is reset then. */
static void give_up(struct tunnel *tunnel) {
    for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES; side++)
        if (tunnel->sockets[side].failed)
            read_last(tunnel, side);
    tunnel_end(tunnel, true);
}

void tunnel_settle(struct tunnel *tunnel) {
    if (!tunnel_is_over(tunnel) &&
        (tunnel->sockets[TUNNEL_CLIENT].failed || tunnel->sockets[TUNNEL_UPSTREAM].failed))
        give_up(tunnel);
    if (!tunnel_is_over(tunnel))
        finish(tunnel);
    for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES && !tunnel_is_over(tunnel); side++)
        poll_for(&tunnel->sockets[side],
                 (wants_to_read(tunnel, side) ? UV_READABLE : 0) |
                     (tunnel->from[tunnel_other(side)].out.size > 0 ? UV_WRITABLE : 0));
}

void tunnel_on_event(uv_poll_t *poll, int status, int events) {
    struct tunnel_socket *socket = poll->data;
    struct tunnel *tunnel = socket->tunnel;
    enum tunnel_side side = socket == &tunnel->sockets[TUNNEL_CLIENT] ? TUNNEL_CLIENT : TUNNEL_UPSTREAM;
    if (status < 0) {
        socket->failed = true;
        socket->events = 0; /* libuv has stopped it */
    }
    if ((events & UV_WRITABLE) != 0)
        flush(tunnel, side);
    if ((events & UV_READABLE) != 0 && wants_to_read(tunnel, side))
        read_side(tunnel, side);
    if (tunnel->list == TUNNEL_MOVING)
        tunnel_enter(tunnel, TUNNEL_MOVING);
    tunnel_settle(tunnel);
}
