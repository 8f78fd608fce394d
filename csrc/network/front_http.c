/* The explicit proxy's HTTP: CONNECT, and requests with the whole address; one request per connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/inbound.h"
#include "network/tls_look.h"
#include "protocol/http_head.h"
#include "protocol/http_response.h"
#include "protocol/tls_hello.h"

/* A name, brackets, a port. */
#define AUTHORITY_MAX (DOMAIN_NAME_MAX + 9)
/* Of the body what was read at once is looked at; nothing is held back. */
#define BODY_HOLD ((size_t)64 * 1024)
#define HTTP_PORT 80

static const enum http_reply reply_of_failure[FAILURES] = {
    [FAILURE_NOT_FOUND] = HTTP_REPLY_BAD_GATEWAY, [FAILURE_UNREACHABLE] = HTTP_REPLY_BAD_GATEWAY,
    [FAILURE_TIMED_OUT] = HTTP_REPLY_TIMEOUT,     [FAILURE_GATEWAY] = HTTP_REPLY_BAD_GATEWAY,
    [FAILURE_TOO_MANY] = HTTP_REPLY_UNAVAILABLE,  [FAILURE_SLOW] = HTTP_REPLY_SLOW_REQUEST,
};

static void reply(struct inbound *inbound, enum http_reply kind, const char *text) {
    size_t size;
    cleanup_free char *bytes = http_reply_make(kind, text, &size);
    if (bytes == NULL)
        inbound_end(inbound);
    else
        inbound_reply(inbound, bytes, size);
}

/* "host", or "host:port" where the port is not the given one; IPv6 in brackets. */
static void authority_of(const struct network_target *target, uint16_t implied, char text[AUTHORITY_MAX]) {
    char host[DOMAIN_NAME_MAX + 1];
    network_target_host(target, host);
    bool brackets = strchr(host, ':') != NULL;
    int length = snprintf(text, AUTHORITY_MAX, "%s%s%s", brackets ? "[" : "", host, brackets ? "]" : "");
    if (target->port != implied)
        snprintf(text + length, AUTHORITY_MAX - (size_t)length, ":%u", target->port);
}

/* What became of the target. */
static void reply_about(struct inbound *inbound, enum http_reply kind, const char *why) {
    char authority[AUTHORITY_MAX];
    char text[AUTHORITY_MAX + 600];
    authority_of(&inbound->judgement.target, 0, authority);
    snprintf(text, sizeof text, "%s (%s)", authority, why);
    reply(inbound, kind, text);
}

static void denied(struct inbound *inbound) {
    reply_about(inbound, HTTP_REPLY_DENIED, inbound->why);
}

static void failed(struct inbound *inbound, enum inbound_failure failure, const char *text) {
    if (failure == FAILURE_SLOW)
        reply(inbound, reply_of_failure[failure], text);
    else
        reply_about(inbound, reply_of_failure[failure], text);
}

/* The head as it goes upstream, made now, while the request's texts are there. */
static bool keep_request(struct inbound *inbound, const struct http_request *request) {
    char authority[AUTHORITY_MAX];
    authority_of(&inbound->wanted, HTTP_PORT, authority);
    inbound->upstream_head = http_request_rewrite(request, authority, &inbound->upstream_head_size);
    http_body_init(&inbound->body, request->framing, request->length);
    return inbound->upstream_head != NULL;
}

static void take_request(struct inbound *inbound, const struct http_request *request) {
    if (network_target_parse(request->host.start, request->host.length, request->port, &inbound->wanted) !=
            0 ||
        request->port == 0) {
        reply(inbound, HTTP_REPLY_BAD_REQUEST, "the host is neither a name nor an address");
        return;
    }
    if (!request->connect && !keep_request(inbound, request)) {
        inbound_end(inbound);
        return;
    }
    inbound->taken = request->size;
    inbound_decide(inbound);
}

/* A head is parsed anew only where a line has ended: one that trickles in costs no more for it. */
static bool is_worth_parsing(struct inbound *inbound) {
    bool first = !inbound->head_seen;
    inbound->head_seen = true;
    return first || inbound->head_size >= HTTP_HEAD_MAX ||
           memrchr(inbound->head + inbound->taken, '\n', inbound->head_size - inbound->taken) != NULL;
}

static void take(struct inbound *inbound) {
    struct http_request request;
    const char *why = "the head is too long";
    bool worth = is_worth_parsing(inbound);
    inbound->taken = inbound->head_size;
    if (!worth)
        return;
    enum parse_state state = http_request_parse(inbound->head, inbound->head_size, &request, &why);
    if (state == PARSE_DONE)
        take_request(inbound, &request);
    else if (state == PARSE_INVALID || inbound->head_size >= HTTP_HEAD_MAX)
        reply(inbound, HTTP_REPLY_BAD_REQUEST, why);
}

/* What the client sends: the body of its one request, and nothing behind it. */
static enum tunnel_next look_at_body(void *data, struct tunnel_view *view) {
    struct inbound *inbound = data;
    switch (http_body_take(&inbound->body, view->bytes, view->size, &view->taken)) {
    case PARSE_DONE:
        return TUNNEL_STOP;
    case PARSE_INVALID:
        return TUNNEL_CLOSE;
    case PARSE_MORE:
        break;
    }
    if (view->ended && view->taken == view->size)
        return TUNNEL_PASS;
    return view->taken > 0 ? TUNNEL_AGAIN : TUNNEL_MORE;
}

/* Upstream said nothing that can be passed on: the client hears of it, and has a moment to read it. */
static enum tunnel_next refuse_response(struct inbound *inbound, struct tunnel_view *view) {
    view->replacement = http_reply_make(HTTP_REPLY_BAD_GATEWAY, "the server's response cannot be understood",
                                        &view->replacement_size);
    if (view->replacement == NULL)
        return TUNNEL_CLOSE;
    view->taken = view->size;
    deadlines_add(&inbound->network->waits[WAIT_LINGER], &inbound->deadline);
    return TUNNEL_STOP;
}

static enum tunnel_next look_at_response(void *data, struct tunnel_view *view) {
    struct inbound *inbound = data;
    unsigned status = 0;
    if (inbound->state == INBOUND_ENDED)
        return TUNNEL_CLOSE;
    switch (http_response_rewrite(view->bytes, view->size, &view->taken, &status, &view->replacement,
                                  &view->replacement_size)) {
    case PARSE_DONE:
        return status >= 200 ? TUNNEL_PASS : TUNNEL_AGAIN;
    case PARSE_MORE:
        if (!view->ended && view->size < HTTP_RESPONSE_HEAD_MAX)
            return TUNNEL_MORE;
        break;
    case PARSE_INVALID:
        break;
    }
    return refuse_response(inbound, view);
}

static void connected(struct inbound *inbound, struct tunnel_end ends[TUNNEL_SIDES]) {
    if (inbound->upstream_head == NULL) {
        ends[TUNNEL_CLIENT].greeting = http_connect_established;
        ends[TUNNEL_CLIENT].greeting_size = strlen(http_connect_established);
        ends[TUNNEL_CLIENT].look = tls_look;
        ends[TUNNEL_CLIENT].hold = TLS_HELLO_MAX;
        return;
    }
    ends[TUNNEL_CLIENT].look = look_at_body;
    ends[TUNNEL_CLIENT].hold = BODY_HOLD;
    ends[TUNNEL_UPSTREAM].greeting = inbound->upstream_head;
    ends[TUNNEL_UPSTREAM].greeting_size = inbound->upstream_head_size;
    ends[TUNNEL_UPSTREAM].look = look_at_response;
    ends[TUNNEL_UPSTREAM].hold = HTTP_RESPONSE_HEAD_MAX;
}

const struct front front_http = {.take = take, .denied = denied, .failed = failed, .connected = connected};
