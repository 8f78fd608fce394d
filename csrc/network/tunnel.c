#include "network/tunnel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/tunnel_internal.h"

/* NULL: the list is empty. */
static struct tunnel *first_of(const struct tunnels *all, enum tunnel_list_kind kind) {
    const struct link *head = &all->lists[kind];
    return link_is_empty(head) ? NULL : LINK_OWNER(head->next, struct tunnel, link);
}

static void append(struct tunnel *tunnel, enum tunnel_list_kind kind) {
    tunnel->list = kind;
    tunnel->last = uv_now(tunnel->all->loop);
    link_add(&tunnel->all->lists[kind], &tunnel->link);
}

static void on_tick(uv_timer_t *timer);

/* One timer for all: it is not moved when a tunnel is, but looks again when it fires. */
static void tick_for(struct tunnels *all, uint64_t due) {
    uint64_t now = uv_now(all->loop);
    uint64_t delay = due > now ? due - now : 0;
    if (all->over || (all->ticking && uv_timer_get_due_in(&all->timer) <= delay))
        return;
    all->ticking = true;
    uv_timer_start(&all->timer, on_tick, delay, 0);
}

void tunnel_enter(struct tunnel *tunnel, enum tunnel_list_kind kind) {
    struct tunnels *all = tunnel->all;
    link_remove(&tunnel->link);
    append(tunnel, kind);
    if (all->patience[kind] > 0)
        tick_for(all, tunnel->last + all->patience[kind]);
}

static void on_tick(uv_timer_t *timer) {
    struct tunnels *all = timer->data;
    uint64_t now = uv_now(all->loop);
    all->ticking = false;
    for (enum tunnel_list_kind kind = TUNNEL_NEW; kind < TUNNEL_LISTS; kind++) {
        uint64_t patience = all->patience[kind];
        struct tunnel *first;
        while (patience > 0 && (first = first_of(all, kind)) != NULL && first->last + patience <= now)
            tunnel_end(first, kind != TUNNEL_LINGERING);
        if (patience > 0 && first != NULL)
            tick_for(all, first->last + patience);
    }
}

/* A handle is gone. */
static void release(struct tunnels *all) {
    if (--all->open > 0)
        return;
    void (*closed)(void *data) = all->closed;
    void *data = all->data;
    free(all->buffer);
    free(all);
    if (closed != NULL)
        closed(data);
}

static uint64_t carried(const struct tunnel_direction *direction) {
    return direction->carried > direction->greeting ? direction->carried - direction->greeting : 0;
}

/* Its owner hears, once. */
static void report(struct tunnel *tunnel) {
    tunnel_closed_fn closed = tunnel->closed;
    tunnel->closed = NULL;
    if (closed != NULL)
        closed(tunnel->data, carried(&tunnel->from[TUNNEL_CLIENT]), carried(&tunnel->from[TUNNEL_UPSTREAM]));
}

static void on_side_closed(uv_handle_t *handle) {
    const struct tunnel_socket *socket = handle->data;
    struct tunnel *tunnel = socket->tunnel;
    struct tunnels *all = tunnel->all;
    if (--tunnel->open == 0) {
        link_remove(&tunnel->link);
        report(tunnel);
        tunnel_bytes_clear(&tunnel->from[TUNNEL_CLIENT].kept);
        tunnel_bytes_clear(&tunnel->from[TUNNEL_UPSTREAM].kept);
        free(tunnel);
    }
    release(all);
}

static void close_side(struct tunnel_socket *socket, bool reset) {
    const struct linger now = {.l_onoff = 1, .l_linger = 0}; /* close() sends RST: socket(7) */
    uv_close((uv_handle_t *)&socket->poll, on_side_closed);
    if (reset)
        setsockopt(socket->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close_fd(&socket->fd);
}

void tunnel_end(struct tunnel *tunnel, bool reset) {
    if (tunnel_is_over(tunnel))
        return;
    tunnel_enter(tunnel, TUNNEL_CLOSING);
    for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES; side++) {
        close_side(&tunnel->sockets[side], reset);
        /* The kept bytes may be what a look is looking at: only what waits to be sent goes now. */
        tunnel_bytes_clear(&tunnel->from[side].out);
    }
}

/* The first bytes of the new ones are looked at, and polling begins. */
static void on_begin(uv_idle_t *idle) {
    struct tunnels *all = idle->data;
    uv_idle_stop(idle);
    struct tunnel *tunnel;
    while ((tunnel = first_of(all, TUNNEL_NEW)) != NULL) {
        tunnel_enter(tunnel, TUNNEL_MOVING);
        for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES && !tunnel_is_over(tunnel); side++)
            if (tunnel->from[side].kept.size > 0)
                tunnel_look(tunnel, side, NULL, 0);
        tunnel_settle(tunnel);
    }
}

struct tunnels *tunnels_new(uv_loop_t *loop) {
    struct tunnels *all = calloc(1, sizeof *all);
    if (all == NULL || (all->buffer = malloc(TUNNEL_COPY_SIZE)) == NULL) {
        free(all);
        return NULL;
    }
    all->loop = loop;
    for (enum tunnel_list_kind kind = TUNNEL_NEW; kind < TUNNEL_LISTS; kind++)
        link_head(&all->lists[kind]);
    all->patience[TUNNEL_MOVING] = TUNNEL_IDLE_MS;
    all->patience[TUNNEL_LINGERING] = TUNNEL_LINGER_MS;
    uv_timer_init(loop, &all->timer);
    uv_idle_init(loop, &all->begin);
    all->timer.data = all->begin.data = all;
    uv_unref((uv_handle_t *)&all->timer);
    uv_unref((uv_handle_t *)&all->begin);
    all->open = 2;
    return all;
}

static void on_handle_closed(uv_handle_t *handle) {
    release(handle->data);
}

void tunnels_close(struct tunnels *all, void (*closed)(void *data), void *data) {
    all->over = true;
    all->closed = closed;
    all->data = data;
    for (enum tunnel_list_kind kind = TUNNEL_NEW; kind < TUNNEL_CLOSING; kind++)
        for (struct tunnel *tunnel; (tunnel = first_of(all, kind)) != NULL;)
            tunnel_end(tunnel, true);
    const struct link *closing = &all->lists[TUNNEL_CLOSING];
    for (const struct link *at = closing->next; at != closing; at = at->next)
        report(LINK_OWNER(at, struct tunnel, link));
    uv_close((uv_handle_t *)&all->timer, on_handle_closed);
    uv_close((uv_handle_t *)&all->begin, on_handle_closed);
}

/* Opens the handle of one side; the descriptor is taken where that goes. */
static bool open_side(struct tunnel *tunnel, enum tunnel_side side, int *fd) {
    struct tunnel_socket *socket = &tunnel->sockets[side];
    const int on = 1;
    if (uv_poll_init(tunnel->all->loop, &socket->poll, *fd) != 0)
        return false;
    /* What waits in the kernel for more to come is what the other side waits for. No TCP: no matter. */
    setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    socket->poll.data = socket;
    socket->tunnel = tunnel;
    socket->fd = steal_fd(fd);
    uv_unref((uv_handle_t *)&socket->poll);
    tunnel->open++;
    tunnel->all->open++;
    return true;
}

/* What is to be sent or kept before anything arrives. False: out of memory. */
static bool prepare(struct tunnel *tunnel, const struct tunnel_end ends[TUNNEL_SIDES]) {
    bool good = true;
    for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES; side++) {
        struct tunnel_direction *direction = &tunnel->from[side];
        direction->look = ends[side].look;
        direction->hold = ends[side].hold;
        tunnel->from[tunnel_other(side)].greeting = ends[side].greeting_size;
        if (ends[side].greeting_size > 0)
            good = good && tunnel_send(tunnel, side, ends[side].greeting, ends[side].greeting_size);
    }
    for (enum tunnel_side side = TUNNEL_CLIENT; side < TUNNEL_SIDES; side++) {
        if (ends[side].first_size == 0)
            continue;
        if (ends[side].look != NULL)
            good =
                good && tunnel_bytes_add(&tunnel->from[side].kept, ends[side].first, ends[side].first_size);
        else
            good = good && tunnel_send(tunnel, tunnel_other(side), ends[side].first, ends[side].first_size);
    }
    return good;
}

/* What could not become a tunnel: nobody hears of it. */
static void discard(struct tunnel *tunnel) {
    bool has_handles = tunnel->open > 0;
    enum tunnel_side opened = tunnel->open > 1 ? TUNNEL_SIDES : TUNNEL_UPSTREAM;
    tunnel->closed = NULL;
    if (!has_handles) {
        link_remove(&tunnel->link);
        free(tunnel);
        return;
    }
    tunnel_enter(tunnel, TUNNEL_CLOSING);
    for (enum tunnel_side side = TUNNEL_CLIENT; side < opened; side++) {
        tunnel_bytes_clear(&tunnel->from[side].out);
        close_side(&tunnel->sockets[side], true);
    }
}

struct tunnel *tunnel_start(struct tunnels *all, const struct tunnel_end ends[TUNNEL_SIDES],
                            tunnel_closed_fn closed, void *data) {
    cleanup_fd int client = ends[TUNNEL_CLIENT].fd;
    cleanup_fd int upstream = ends[TUNNEL_UPSTREAM].fd;
    struct tunnel *tunnel = all->over ? NULL : calloc(1, sizeof *tunnel);
    if (tunnel == NULL)
        return NULL;
    tunnel->all = all;
    tunnel->closed = closed;
    tunnel->data = data;
    append(tunnel, TUNNEL_NEW);
    if (!open_side(tunnel, TUNNEL_CLIENT, &client) || !open_side(tunnel, TUNNEL_UPSTREAM, &upstream) ||
        !prepare(tunnel, ends)) {
        discard(tunnel);
        return NULL;
    }
    uv_idle_start(&all->begin, on_begin);
    return tunnel;
}

void tunnel_abort(struct tunnel *tunnel) {
    tunnel_end(tunnel, true);
}
