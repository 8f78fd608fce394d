#include "protocol/http_response.h"

#include <stdlib.h>

#include "guarded.h"
#include "tap.h"

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define CLOSE "Connection: close\r\n\r\n"

static const struct {
    const char *head, *rewritten;
} accepted[] = {
    {OK_LINE "\r\n", OK_LINE CLOSE},
    {"HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n" CLOSE},
    {"HTTP/1.1 204\r\n\r\n", "HTTP/1.1 204 \r\n" CLOSE},
    {"HTTP/1.1 204 \r\n\r\n", "HTTP/1.1 204 \r\n" CLOSE},
    {"HTTP/1.1 404 Not  Found \xc3\xbc\r\n\r\n", "HTTP/1.1 404 Not  Found \xc3\xbc\r\n" CLOSE},
    {"HTTP/1.1 999 x\r\n\r\n", "HTTP/1.1 999 x\r\n" CLOSE},
    {OK_LINE "Content-Length: 5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
     OK_LINE "Content-Length: 5\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n" CLOSE},
    /* Line feeds alone, also mixed. */
    {"HTTP/1.1 200 OK\nX: a\n\n", OK_LINE "X: a\r\n" CLOSE},
    {"HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\n", OK_LINE "X: a\r\nY: b\r\n" CLOSE},
    /* Hop by hop. */
    {OK_LINE
     "Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nUpgrade: h2\r\nTE: x\r\n"
     "Proxy-Connection: keep-alive\r\nProxy-Authenticate: Basic\r\nX: 2\r\n\r\n",
     OK_LINE "X: 2\r\n" CLOSE},
    {OK_LINE "Close: 1\r\nX: 2\r\n\r\n", OK_LINE "X: 2\r\n" CLOSE},
    {OK_LINE "X-Mine: 1\r\nCONNECTION: x-mine\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\n",
     OK_LINE "Content-Length: 5\r\n" CLOSE},
    /* Where the body ends. */
    {OK_LINE "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n",
     OK_LINE "Transfer-Encoding: chunked\r\nTrailer: X\r\n" CLOSE},
    {OK_LINE "Content-Length: 5\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
     OK_LINE "Transfer-Encoding: gzip, chunked\r\n" CLOSE},
    {OK_LINE "Content-Length: 5\r\ncontent-length: 5\r\n\r\n", OK_LINE "Content-Length: 5\r\n" CLOSE},
    /* Sloppy fields. */
    {OK_LINE "X : a\r\nnothing\r\na b: c\r\n: d\r\nY:\t e \r\n\r\n", OK_LINE "X: a\r\nY: e\r\n" CLOSE},
    /* Interim. */
    {"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"},
    {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x\r\n\r\n",
     "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"},
};

static const char *const refused[] = {
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "HTTP/1.2 200 OK\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
    "HTTP/2.0 200 OK\r\n\r\n",
    "ICY 200 OK\r\n\r\n",
    "http/1.1 200 OK\r\n\r\n",
    "<html>",
    "SSH-2.0-OpenSSH\r\n",
    "\r\n" OK_LINE "\r\n",
    "HTTP/1.1\r\n\r\n",
    "HTTP/1.1 \r\n\r\n",
    "HTTP/1.1 20\r\n\r\n",
    "HTTP/1.1 2x0 OK\r\n\r\n",
    "HTTP/1.1 2000 OK\r\n\r\n",
    "HTTP/1.1 099 OK\r\n\r\n",
    "HTTP/1.1 000 OK\r\n\r\n",
    "HTTP/1.1  200 OK\r\n\r\n",
    "HTTP/1.1\t200 OK\r\n\r\n",
    "HTTP/1.1 200\tOK\r\n\r\n",
    "HTTP/1.1 200 O\rK\r\n\r\n",
    OK_LINE "X: a\r\n b\r\n\r\n",
    OK_LINE " X: a\r\n\r\n",
    OK_LINE "X: a\rY: b\r\n\r\n",
    OK_LINE "X: a\x01\r\n\r\n",
    OK_LINE "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
};

/* A NUL-terminated copy of a rewritten head, which it frees. */
static const char *take(char *text, size_t size) {
    static char copy[4096];
    snprintf(copy, sizeof copy, "%.*s", (int)size, text);
    free(text);
    return copy;
}

/* How often it was no PARSE_MORE before it was whole. */
static size_t count_early(const char *head, size_t size) {
    size_t early = 0, taken, rewritten_size;
    unsigned status;
    char *rewritten;
    for (size_t part = 0; part < size; part++)
        early += http_response_rewrite(guarded(head, part), part, &taken, &status, &rewritten,
                                       &rewritten_size) != PARSE_MORE;
    return early;
}

static void test_accepted(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        const char *head = accepted[i].head;
        size_t size = strlen(head), taken = 0, rewritten_size = 0;
        unsigned status = 0;
        char *rewritten = NULL;
        is_int((long long)count_early(head, size), 0, "a head goes on until its empty line");
        if (!ok(http_response_rewrite(guarded(head, size), size, &taken, &status, &rewritten,
                                      &rewritten_size) == PARSE_DONE,
                "and then is read")) {
            diag("head", head);
            continue;
        }
        is_str(take(rewritten, rewritten_size), accepted[i].rewritten, "and made fit");
        is_int(status, atoi(head + 9), "its status is told");
        is_int((long long)taken, (long long)size, "and its size");
    }
}

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t size = strlen(refused[i]), taken, rewritten_size;
        unsigned status;
        char *rewritten;
        enum parse_state state = PARSE_MORE;
        for (size_t part = 0; part <= size && state == PARSE_MORE; part++)
            state = http_response_rewrite(guarded(refused[i], part), part, &taken, &status, &rewritten,
                                          &rewritten_size);
        bool alike = state == http_response_rewrite(guarded(refused[i], size), size, &taken, &status,
                                                    &rewritten, &rewritten_size);
        if (!ok(state == PARSE_INVALID && alike && rewritten == NULL, "what is no response is refused"))
            diag("head", refused[i]);
    }
}

static void test_interim(void) {
    static const char heads[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \n\nHTTP/1.1 200 OK\r\n\r\nbody";
    static const unsigned wanted[] = {100, 103, 200};
    const char *at = heads;
    for (size_t i = 0; i < 3; i++) {
        size_t taken = 0, size;
        unsigned status = 0;
        char *rewritten = NULL;
        ok(http_response_rewrite(guarded(at, strlen(at)), strlen(at), &taken, &status, &rewritten, &size) ==
               PARSE_DONE,
           "one head is read after the other");
        is_int(status, wanted[i], "in their order");
        ok((strstr(take(rewritten, size), "Connection: close") != NULL) == (status == 200),
           "the last one alone says that the connection closes");
        at += taken;
    }
    is_str(at, "body", "and the body is left");
}

/* A head of that size, of fields of a kibibyte. */
static char *head_of(size_t size) {
    char *head = malloc(size + 1);
    if (head == NULL)
        abort();
    size_t at = (size_t)sprintf(head, "%s", OK_LINE);
    while (at < size - 2) {
        size_t length = size - 2 - at < 2048 ? size - 2 - at : 1024;
        memset(head + at, 'a', length);
        memcpy(head + at, "X:", 2);
        memcpy(head + at + length - 2, "\r\n", 2);
        at += length;
    }
    memcpy(head + size - 2, "\r\n", 2);
    return head;
}

static enum parse_state state_of(const char *head, size_t size) {
    size_t taken, rewritten_size;
    unsigned status;
    char *rewritten;
    enum parse_state state =
        http_response_rewrite(guarded(head, size), size, &taken, &status, &rewritten, &rewritten_size);
    free(rewritten);
    return state;
}

static void test_bounds(void) {
    char *most = head_of(HTTP_RESPONSE_HEAD_MAX), *more = head_of(HTTP_RESPONSE_HEAD_MAX + 1);
    is_int(state_of(most, HTTP_RESPONSE_HEAD_MAX), PARSE_DONE, "a head of 64 KiB is read");
    is_int(state_of(more, HTTP_RESPONSE_HEAD_MAX - 1), PARSE_MORE, "below there may come more");
    is_int(state_of(more, HTTP_RESPONSE_HEAD_MAX), PARSE_INVALID, "at the bound there may not");
    is_int(state_of(more, HTTP_RESPONSE_HEAD_MAX + 1), PARSE_INVALID, "nor behind it");
    free(most);
    free(more);
    static char many[20000] = OK_LINE;
    size_t at = strlen(many);
    for (size_t i = 0; i < 513; i++)
        at += (size_t)sprintf(many + at, "a:\r\n");
    sprintf(many + at, "\r\n");
    is_int(state_of(many, strlen(many)), PARSE_INVALID, "more fields than can be looked at are refused");
    is_int(state_of(many, strlen(many) - 2), PARSE_INVALID, "and that before the head is whole");
}

/* --- an upstream proxy's reply --- */

static const struct {
    const char *head;
    enum parse_state state;
    unsigned status;
} connect_replies[] = {
    {"HTTP/1.1 200 Connection established\r\n\r\nbytes", PARSE_DONE, 200},
    {"HTTP/1.0 200 OK\n\n", PARSE_DONE, 200},
    {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n", PARSE_DONE, 407},
    {"HTTP/1.1 200\r\nX: a\r\n", PARSE_MORE, 0},
    {"HTTP", PARSE_MORE, 0},
    {"", PARSE_MORE, 0},
    {"SSH-2.0", PARSE_INVALID, 0},
    {"HTTP/1.1 OK\r\n", PARSE_INVALID, 0},
};

static void test_connect_replies(void) {
    for (size_t i = 0; i < sizeof connect_replies / sizeof *connect_replies; i++) {
        const char *head = connect_replies[i].head;
        size_t taken = 0;
        unsigned status = 0;
        enum parse_state state =
            http_connect_reply_parse(guarded(head, strlen(head)), strlen(head), &taken, &status);
        is_int(state, connect_replies[i].state, "a reply to CONNECT is read");
        if (state != PARSE_DONE)
            continue;
        is_int(status, connect_replies[i].status, "with its status");
        is_str(head + taken, i == 0 ? "bytes" : "", "and what follows is left");
    }
}

/* --- our own --- */

static void test_own(void) {
    static const struct {
        enum http_reply reply;
        const char *line, *body;
    } rows[] = {
        {HTTP_REPLY_BAD_REQUEST, "HTTP/1.1 400 Bad Request\r\n", "Bad request: a text\n"},
        {HTTP_REPLY_DENIED, "HTTP/1.1 403 Forbidden\r\nX-Proxy-Error: blocked-by-allowlist\r\n",
         "Connection blocked by network allowlist: a text\n"},
        {HTTP_REPLY_BAD_GATEWAY, "HTTP/1.1 502 Bad Gateway\r\n", "Bad gateway: a text\n"},
        {HTTP_REPLY_UNAVAILABLE, "HTTP/1.1 503 Service Unavailable\r\n", "Service unavailable: a text\n"},
        {HTTP_REPLY_TIMEOUT, "HTTP/1.1 504 Gateway Timeout\r\n", "Gateway timeout: a text\n"},
        {HTTP_REPLY_SLOW_REQUEST, "HTTP/1.1 408 Request Timeout\r\n", "Request timeout: a text\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        char wanted[512];
        char *reply = http_reply_make(rows[i].reply, "a text", &size);
        snprintf(
            wanted, sizeof wanted,
            "%sContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
            rows[i].line, strlen(rows[i].body), rows[i].body);
        is_str(take(reply, size), wanted, "our own reply is whole");
    }
    is_str(http_connect_established, "HTTP/1.1 200 Connection established\r\n\r\n", "CONNECT is answered");
}

int main(void) {
    test_accepted();
    test_refused();
    test_interim();
    test_bounds();
    test_connect_replies();
    test_own();
    return done_testing();
}
