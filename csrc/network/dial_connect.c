/* Asking the upstream proxy for a connection: CONNECT, and its answer, not a byte more (RFC 9110, 9.3.6). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/dial_internal.h"
#include "protocol/http_response.h"

/* The most that the head of its answer takes. */
#define REPLY_MAX 16384u

struct dial_connect {
    uv_poll_t poll;
    struct dial *dial;
    int fd;
    char *request;
    size_t request_size;
    size_t sent;
    size_t have; /* of the reply's head */
    uint8_t reply[REPLY_MAX];
};

static void on_connect_closed(uv_handle_t *handle) {
    struct dial_connect *exchange = handle->data;
    struct dial *dial = exchange->dial;
    free(exchange->request);
    free(exchange);
    dial_gone(dial);
}

/* Ends the exchange; the connection is returned where it is to be kept, else closed and -1. */
static int leave(struct dial_connect *exchange, bool keep) {
    exchange->dial->connect = NULL;
    uv_close((uv_handle_t *)&exchange->poll, on_connect_closed);
    int fd = steal_fd(&exchange->fd);
    if (!keep)
        close_fd(&fd);
    return fd;
}

void dial_connect_stop(struct dial *dial) {
    if (dial->connect != NULL)
        leave(dial->connect, false);
}

/* One head has come whole: status is its. */
static void answered(struct dial_connect *exchange, unsigned status) {
    struct dial *dial = exchange->dial;
    if (status >= 100 && status < 200 && status != 101)
        exchange->have = 0; /* an interim one: another follows */
    else if (status >= 200 && status < 300)
        dial_finish(dial, DIAL_CONNECTED, leave(exchange, true), "connected");
    else
        dial_finish(dial, DIAL_UPSTREAM, -1, "the upstream proxy answered %u", status);
}

/* Takes size bytes that were looked at out of the socket. */
static bool consume(struct dial_connect *exchange, size_t size) {
    if (size > 0 && recv(exchange->fd, exchange->reply + exchange->have, size, 0) != (ssize_t)size)
        return false;
    exchange->have += size;
    return true;
}

/* Looks first and takes then: what follows the head belongs to the connection that was asked for. */
static void read_reply(struct dial_connect *exchange) {
    ssize_t seen = recv(exchange->fd, exchange->reply + exchange->have, REPLY_MAX - exchange->have, MSG_PEEK);
    if (seen < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (seen <= 0) {
        dial_finish(exchange->dial, DIAL_UPSTREAM, -1, "the upstream proxy closed the connection%s%s",
                    seen < 0 ? ": " : "", seen < 0 ? strerror(errno) : "");
        return;
    }
    size_t taken = 0;
    unsigned status = 0;
    size_t size = exchange->have + (size_t)seen;
    enum parse_state state = http_connect_reply_parse(exchange->reply, size, &taken, &status);
    if (state == PARSE_MORE && size == REPLY_MAX)
        state = PARSE_INVALID;
    if (state == PARSE_DONE && taken >= exchange->have && taken <= size &&
        consume(exchange, taken - exchange->have))
        answered(exchange, status);
    else if (state != PARSE_MORE || !consume(exchange, (size_t)seen))
        dial_finish(exchange->dial, DIAL_UPSTREAM, -1, "the upstream proxy's answer cannot be read");
}

static void on_connect_event(uv_poll_t *poll, int status, int events);

static void send_request(struct dial_connect *exchange) {
    ssize_t sent = send(exchange->fd, exchange->request + exchange->sent,
                        exchange->request_size - exchange->sent, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent < 0) {
        dial_finish(exchange->dial, DIAL_UPSTREAM, -1, "the upstream proxy closed the connection: %s",
                    strerror(errno));
        return;
    }
    exchange->sent += (size_t)sent;
    if (exchange->sent == exchange->request_size &&
        uv_poll_start(&exchange->poll, UV_READABLE, on_connect_event) != 0)
        dial_finish(exchange->dial, DIAL_BROKEN, -1, "no memory");
}

static void on_connect_event(uv_poll_t *poll, int status, int events) {
    struct dial_connect *exchange = poll->data;
    (void)status; /* an error of the socket's: the call that follows says which */
    (void)events;
    if (exchange->sent < exchange->request_size)
        send_request(exchange);
    else
        read_reply(exchange);
}

/* "host:port", an IPv6 address in brackets. */
static void authority_of(const struct dial_request *request, char *out, size_t size) {
    char host[DOMAIN_NAME_MAX + 1];
    struct network_target target = request->target;
    if (request->use_address) {
        target.name[0] = '\0';
        memcpy(target.address, request->address, IP_ADDRESS_BYTES);
    }
    network_target_host(&target, host);
    bool brackets = strchr(host, ':') != NULL;
    snprintf(out, size, "%s%s%s:%u", brackets ? "[" : "", host, brackets ? "]" : "", (unsigned)target.port);
}

static char *make_request(const struct dial_request *request, size_t *size) {
    char authority[DOMAIN_NAME_MAX + sizeof "[]:65535"];
    authority_of(request, authority, sizeof authority);
    const char *authorization = request->upstream->authorization;
    char *text = NULL;
    int length = asprintf(&text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", authority, authority,
                          authorization == NULL ? "" : "Proxy-Authorization: ",
                          authorization == NULL ? "" : authorization, authorization == NULL ? "" : "\r\n");
    if (length < 0)
        return NULL;
    *size = (size_t)length;
    return text;
}

void dial_connect_start(struct dial *dial, int fd) {
    cleanup_fd int owned = fd;
    cleanup_free struct dial_connect *fresh = calloc(1, sizeof *fresh);
    cleanup_free char *request = NULL;
    size_t size = 0;
    if (fresh == NULL || (request = make_request(&dial->request, &size)) == NULL ||
        uv_poll_init(dial->loop, &fresh->poll, fd) != 0) {
        dial_finish(dial, DIAL_BROKEN, -1, "no memory");
        return;
    }
    struct dial_connect *exchange = fresh;
    fresh = NULL;
    exchange->poll.data = exchange;
    exchange->dial = dial;
    exchange->fd = steal_fd(&owned);
    exchange->request = request;
    exchange->request_size = size;
    request = NULL;
    dial->connect = exchange;
    dial->open++;
    uv_unref((uv_handle_t *)&exchange->poll);
    if (uv_poll_start(&exchange->poll, UV_WRITABLE, on_connect_event) != 0)
        dial_finish(dial, DIAL_BROKEN, -1, "no memory");
}
