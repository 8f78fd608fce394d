#include "network/dns_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/dns_server.h"
#include "network/owner_search.h"

#define LENGTH_SIZE ((size_t)2)

struct dns_stream {
    struct link link;
    struct network *network;
    int fd;
    uv_poll_t poll;
    bool closed;
    struct deadline deadline;
    struct owner_search owner;
    size_t size;
    uint8_t bytes[LENGTH_SIZE + DNS_QUESTION_MAX];
};

static void free_stream(struct dns_stream *stream) {
    struct network *network = stream->network;
    free(stream);
    network_release(network);
}

static void on_poll_closed(uv_handle_t *handle) {
    free_stream(handle->data);
}

static void close_stream(struct dns_stream *stream) {
    if (stream->closed)
        return;
    stream->closed = true;
    link_remove(&stream->link);
    stream->network->dns_stream_count--;
    deadlines_remove(&stream->deadline);
    owner_search_end(&stream->owner);
    uv_poll_stop(&stream->poll);
    close_fd(&stream->fd);
    uv_close((uv_handle_t *)&stream->poll, on_poll_closed);
}

/* As far as it is known at once: an answer does not wait for it. */
static struct port_owner owner_of(struct dns_stream *stream) {
    owner_search_hurry(&stream->owner);
    return stream->owner.owner;
}

/* One message; false: the client is to be left. */
static bool answer(struct dns_stream *stream, const uint8_t *message, size_t size) {
    uint8_t out[LENGTH_SIZE + DNS_ANSWER_MAX];
    size_t made = dns_answer(stream->network, owner_of(stream), message, size, out + LENGTH_SIZE);
    if (made == 0 || stream->closed)
        return false;
    out[0] = (uint8_t)(made >> 8);
    out[1] = (uint8_t)made;
    /* Who does not read its answers asks no more. */
    return send(stream->fd, out, LENGTH_SIZE + made, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (ssize_t)(LENGTH_SIZE + made);
}

/* Answers what is whole. False: the connection is to be closed. */
static bool take(struct dns_stream *stream) {
    size_t at = 0;
    while (stream->size - at >= LENGTH_SIZE) {
        size_t length = (size_t)stream->bytes[at] << 8 | stream->bytes[at + 1];
        if (length > DNS_QUESTION_MAX)
            return false;
        if (stream->size - at - LENGTH_SIZE < length)
            break;
        if (!answer(stream, stream->bytes + at + LENGTH_SIZE, length))
            return false;
        at += LENGTH_SIZE + length;
        deadlines_add(&stream->network->waits[WAIT_DNS], &stream->deadline);
    }
    stream->size -= at;
    memmove(stream->bytes, stream->bytes + at, stream->size);
    return true;
}

static void read_pending(struct dns_stream *stream) {
    for (unsigned i = 0; i < 16 && !stream->closed; i++) {
        ssize_t got =
            recv(stream->fd, stream->bytes + stream->size, sizeof stream->bytes - stream->size, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got > 0)
            stream->size += (size_t)got;
        if (got <= 0 || !take(stream))
            close_stream(stream);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct dns_stream *stream = poll->data;
    (void)events;
    if (status < 0)
        close_stream(stream);
    else
        read_pending(stream);
}

/* Answers do not wait for the owner, so nobody needs to be told. */
static void on_owner(struct owner_search *search) {
    (void)search;
}

void dns_stream_accept(struct network *network, int fd, const struct sockaddr_storage *peer) {
    struct dns_stream *stream = NULL;
    if (network->dns_stream_count < DNS_STREAMS_MAX)
        stream = calloc(1, sizeof *stream);
    if (stream == NULL || uv_poll_init(network->loop, &stream->poll, fd) != 0) {
        free(stream);
        close(fd);
        return;
    }
    network_hold(network);
    network->dns_stream_count++;
    stream->network = network;
    stream->fd = fd;
    stream->poll.data = stream;
    link_add(&network->dns_streams, &stream->link);
    uv_unref((uv_handle_t *)&stream->poll);
    owner_search_begin(&stream->owner, network, peer, on_owner);
    deadlines_add(&network->waits[WAIT_DNS], &stream->deadline);
    if (uv_poll_start(&stream->poll, UV_READABLE, on_readable) != 0)
        close_stream(stream);
    else
        read_pending(stream);
}

void dns_stream_on_idle(void *data, struct deadline *deadline) {
    (void)data;
    close_stream(LINK_OWNER(deadline, struct dns_stream, deadline));
}

void dns_streams_sweep(struct network *network) {
    /* A stream that is closed frees itself later, and leads to the head's first again. */
    for (struct link *at = network->dns_streams.next; at != &network->dns_streams;) {
        read_pending(LINK_OWNER(at, struct dns_stream, link));
        at = link_is_in_list(at) ? at->next : network->dns_streams.next;
    }
}

void dns_streams_close(struct network *network) {
    while (!link_is_empty(&network->dns_streams))
        close_stream(LINK_OWNER(network->dns_streams.next, struct dns_stream, link));
}
