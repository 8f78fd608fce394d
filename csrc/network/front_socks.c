/* The explicit proxy's SOCKS5. */
#include <string.h>

#include "network/inbound.h"
#include "network/tls_look.h"
#include "protocol/socks5.h"
#include "protocol/tls_hello.h"

#define SOCKS5_NO_METHOD 0xff

static const enum socks5_reply_code code_of_failure[FAILURES] = {
    [FAILURE_NOT_FOUND] = SOCKS5_HOST_UNREACHABLE, [FAILURE_UNREACHABLE] = SOCKS5_REFUSED,
    [FAILURE_TIMED_OUT] = SOCKS5_TIMEOUT,          [FAILURE_GATEWAY] = SOCKS5_FAILURE,
    [FAILURE_TOO_MANY] = SOCKS5_FAILURE,           [FAILURE_SLOW] = SOCKS5_FAILURE,
};

/* socks5_reply_make's answer of success, before the connection's first bytes. */
static const uint8_t success[SOCKS5_REPLY_SIZE] = {5, SOCKS5_OK, 0, 1};

static void reply(struct inbound *inbound, enum socks5_reply_code code) {
    uint8_t bytes[SOCKS5_REPLY_SIZE];
    socks5_reply_make(code, bytes);
    inbound_reply(inbound, bytes, sizeof bytes);
}

static void denied(struct inbound *inbound) {
    reply(inbound, SOCKS5_DENIED);
}

static void failed(struct inbound *inbound, enum inbound_failure failure, const char *text) {
    (void)text;
    if (failure == FAILURE_SLOW && !inbound->greeted)
        inbound_end(inbound);
    else
        reply(inbound, code_of_failure[failure]);
}

static void take_greeting(struct inbound *inbound) {
    size_t taken;
    uint8_t method;
    enum parse_state state = socks5_greeting_parse(inbound->head, inbound->head_size, &taken, &method);
    if (state == PARSE_INVALID)
        inbound_end(inbound);
    if (state != PARSE_DONE)
        return;
    const uint8_t answer[2] = {5, method};
    if (method == SOCKS5_NO_METHOD) {
        inbound_reply(inbound, answer, sizeof answer);
        return;
    }
    if (!inbound_send(inbound, answer, sizeof answer))
        return;
    inbound->greeted = true;
    inbound->head_size -= taken;
    memmove(inbound->head, inbound->head + taken, inbound->head_size);
}

static void take_request(struct inbound *inbound) {
    struct socks5_request request;
    enum socks5_reply_code code = SOCKS5_FAILURE;
    enum parse_state state = socks5_request_parse(inbound->head, inbound->head_size, &request, &code);
    if (state == PARSE_INVALID)
        reply(inbound, code);
    if (state != PARSE_DONE)
        return;
    if (network_target_parse(request.host, request.host_length, request.port, &inbound->wanted) != 0 ||
        request.port == 0) {
        reply(inbound, SOCKS5_FAILURE);
        return;
    }
    inbound->taken = request.size;
    inbound_decide(inbound);
}

static void take(struct inbound *inbound) {
    if (!inbound->greeted)
        take_greeting(inbound);
    if (inbound->greeted && inbound->state == INBOUND_READING)
        take_request(inbound);
}

static void connected(struct inbound *inbound, struct tunnel_end ends[TUNNEL_SIDES]) {
    (void)inbound;
    ends[TUNNEL_CLIENT].greeting = success;
    ends[TUNNEL_CLIENT].greeting_size = sizeof success;
    ends[TUNNEL_CLIENT].look = tls_look;
    ends[TUNNEL_CLIENT].hold = TLS_HELLO_MAX;
}

const struct front front_socks = {.take = take, .denied = denied, .failed = failed, .connected = connected};
