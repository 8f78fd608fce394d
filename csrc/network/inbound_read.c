/* What an inbound connection says, and the last that it hears. */
#include <errno.h>
#include <stdlib.h>

#include "network/inbound.h"
#include "protocol/http_head.h"

#define HEAD_FIRST ((size_t)1024)
/* Of what a connection that was answered still sends, as much is thrown away each time. */
#define DISCARD_MAX ((size_t)256 * 1024)

bool inbound_send(struct inbound *inbound, const void *bytes, size_t size) {
    /* The buffer of the socket is empty: what does not fit goes to someone who never read. */
    ssize_t sent = send(inbound->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == (ssize_t)size)
        return true;
    inbound_end(inbound);
    return false;
}

void inbound_reply(struct inbound *inbound, const void *bytes, size_t size) {
    if (!inbound_send(inbound, bytes, size))
        return;
    /* Closed with something unread, it would be reset, and the reply lost. */
    shutdown(inbound->fd, SHUT_WR);
    inbound->state = INBOUND_LINGERING;
    inbound_set_spare(inbound, true);
    deadlines_add(&inbound->network->waits[WAIT_LINGER], &inbound->deadline);
    inbound_watch(inbound, UV_READABLE);
}

static bool keep_head_room(struct inbound *inbound) {
    if (inbound->head_size < inbound->head_capacity)
        return true;
    if (inbound->head_capacity >= HTTP_HEAD_MAX)
        return false;
    size_t capacity = inbound->head_capacity == 0 ? HEAD_FIRST : inbound->head_capacity * 2;
    uint8_t *head = realloc(inbound->head, capacity);
    if (head == NULL)
        return false;
    inbound->head = head;
    inbound->head_capacity = capacity;
    return true;
}

/* The first byte tells the protocol: SOCKS5's and SOCKS4's version numbers begin no HTTP method. */
static void choose_front(struct inbound *inbound) {
    if (inbound->head[0] == 4)
        inbound_end(inbound);
    else
        inbound->front = inbound->head[0] == 5 ? &front_socks : &front_http;
}

/* Reads until the request is whole, or nothing is there. */
void inbound_read(struct inbound *inbound) {
    while (inbound->state == INBOUND_READING) {
        if (!keep_head_room(inbound)) {
            inbound_end(inbound);
            return;
        }
        ssize_t got = recv(inbound->fd, inbound->head + inbound->head_size,
                           inbound->head_capacity - inbound->head_size, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            inbound_watch(inbound, UV_READABLE);
            return;
        }
        if (got <= 0) {
            inbound_end(inbound);
            return;
        }
        inbound->head_size += (size_t)got;
        if (inbound->front == NULL)
            choose_front(inbound);
        if (inbound->state == INBOUND_READING)
            inbound->front->take(inbound);
    }
}

static void discard(struct inbound *inbound) {
    uint8_t bytes[16384];
    for (size_t total = 0; total < DISCARD_MAX;) {
        ssize_t got = recv(inbound->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got <= 0) {
            inbound_end(inbound);
            return;
        }
        total += (size_t)got;
    }
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct inbound *inbound = poll->data;
    (void)events;
    inbound_hold(inbound);
    if (status < 0 || inbound->state == INBOUND_ASKING)
        inbound_end(inbound); /* while a question is open only its end is watched */
    else if (inbound->state == INBOUND_READING)
        inbound_read(inbound);
    else if (inbound->state == INBOUND_LINGERING)
        discard(inbound);
    else if (inbound->polled)
        uv_poll_stop(&inbound->poll);
    inbound_release(inbound);
}

bool inbound_watch(struct inbound *inbound, int events) {
    if (!inbound->polled) {
        if (uv_poll_init(inbound->network->loop, &inbound->poll, inbound->fd) != 0) {
            inbound_end(inbound);
            return false;
        }
        inbound->polled = true;
        inbound->poll.data = inbound;
        inbound_hold(inbound);
        uv_unref((uv_handle_t *)&inbound->poll);
    }
    if (uv_poll_start(&inbound->poll, events, on_poll) == 0)
        return true;
    inbound_end(inbound);
    return false;
}

void inbound_on_slow(void *data, struct deadline *deadline) {
    (void)data;
    struct inbound *inbound = LINK_OWNER(deadline, struct inbound, deadline);
    if (inbound->front == NULL)
        inbound_end(inbound);
    else
        inbound->front->failed(inbound, FAILURE_SLOW, "the request did not come in time");
}
