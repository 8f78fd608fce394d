#include "protocol/socks5.h"

#include "guarded.h"
#include "tap.h"

/* Bytes with NULs in them. */
#define B(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t size;
    enum parse_state state;
    uint8_t method;
    size_t taken;
} greetings[] = {
    {B("\5\1\0"), PARSE_DONE, 0, 3},
    {B("\5\3\2\1\0"), PARSE_DONE, 0, 5},
    {B("\5\1\0\5\1\0\1"), PARSE_DONE, 0, 3}, /* the request behind it already */
    {B("\5\1\2"), PARSE_DONE, 0xff, 3},
    {B("\5\0"), PARSE_DONE, 0xff, 2},
    {B("\4\1\0\120\300\0\2\7\0"), PARSE_INVALID, 0, 0},
    {B("GET"), PARSE_INVALID, 0, 0},
};

static void test_greetings(void) {
    for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++) {
        size_t taken = 0, size = greetings[i].size, early = 0;
        uint8_t method = 1;
        size_t whole = greetings[i].state == PARSE_DONE ? greetings[i].taken : 1;
        for (size_t part = 0; part < whole; part++)
            early +=
                socks5_greeting_parse(guarded(greetings[i].bytes, part), part, &taken, &method) != PARSE_MORE;
        is_int((long long)early, 0, "a greeting goes on until it is whole");
        is_int(socks5_greeting_parse(guarded(greetings[i].bytes, size), size, &taken, &method),
               greetings[i].state, "and is read or refused then");
        if (greetings[i].state != PARSE_DONE)
            continue;
        is_int(method, greetings[i].method, "no authentication is chosen where it is offered");
        is_int((long long)taken, (long long)greetings[i].taken, "and the rest is left");
    }
}

#define LONG16 "aaaaaaaaaaaaaaaa"
#define LONG255                                                                                              \
    LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 LONG16 \
        "aaaaaaaaaaaaaaa"

static const struct {
    const char *bytes;
    size_t size;
    const char *host;
    uint16_t port;
} requests[] = {
    {B("\5\1\0\1\300\0\2\7\0\120"), "192.0.2.7", 80},
    {B("\5\1\0\3\13example.com\1\273"), "example.com", 443},
    {B("\5\1\0\3\1a\377\377"), "a", 65535},
    {B("\5\1\0\3\11"
       "127.0.0.1\0\1"),
     "127.0.0.1", 1},
    {B("\5\1\0\3\13ex%00pl.com\0\1"), "ex%00pl.com", 1}, /* for whoever reads names to refuse */
    {B("\5\1\0\3\377" LONG255 "\0\1"), LONG255, 1},
    {B("\5\1\0\4\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\7\0\120"), "2001:db8::7", 80},
    {B("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\1\0\120"), "127.0.0.1", 80},
};

static void test_requests(void) {
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct socks5_request out;
        enum socks5_reply_code reply;
        size_t size = requests[i].size, early = 0;
        char more[512];
        for (size_t part = 0; part < size; part++)
            early += socks5_request_parse(guarded(requests[i].bytes, part), part, &out, &reply) != PARSE_MORE;
        memcpy(more, requests[i].bytes, size);
        memcpy(more + size, "GET /", 5);
        if (!ok(early == 0 &&
                    socks5_request_parse(guarded(more, size + 5), size + 5, &out, &reply) == PARSE_DONE,
                "a request is read when it is whole"))
            continue;
        is_str(out.host, requests[i].host, "its host");
        ok(out.host_length == strlen(requests[i].host) && out.port == requests[i].port && out.size == size &&
               reply == SOCKS5_OK,
           "its port, and where it ends");
    }
}

static const struct {
    const char *bytes;
    size_t size;
    enum socks5_reply_code reply;
} refused[] = {
    {B("\5\2\0\1\300\0\2\7\0\120"), SOCKS5_COMMAND_UNSUPPORTED},
    {B("\5\3\0\1\0\0\0\0\0\0"), SOCKS5_COMMAND_UNSUPPORTED},
    {B("\5\0\0\3\13example.com\1\273"), SOCKS5_COMMAND_UNSUPPORTED},
    {B("\5\360\0\3\13example.com\1\273"), SOCKS5_COMMAND_UNSUPPORTED},
    {B("\4\1\0\1\300\0\2\7\0\120"), SOCKS5_FAILURE},
    {B("\5\1\1\1\300\0\2\7\0\120"), SOCKS5_FAILURE},
    {B("\5\1\0\1\300\0\2\7\0\0"), SOCKS5_FAILURE},
    {B("\5\1\0\2\300\0\2\7\0\120"), SOCKS5_ADDRESS_UNSUPPORTED},
    {B("\5\1\0\0\300\0\2\7\0\120"), SOCKS5_ADDRESS_UNSUPPORTED},
    {B("\5\1\0\3\0\0\120"), SOCKS5_FAILURE},
    {B("\5\1\0\3\13exam\0le.com\1\273"), SOCKS5_FAILURE},
    {B("\5\1\0\3\13exam\rle.com\1\273"), SOCKS5_FAILURE},
    {B("\5\1\0\3\13exam\nle.com\1\273"), SOCKS5_FAILURE},
    {B("\5\1\0\3\13exam le.com\1\273"), SOCKS5_FAILURE},
    {B("\5\1\0\3\13exam\177le.com\1\273"), SOCKS5_FAILURE},
    {B("\5\1\0\3\14ex\303\244mple.com\1\273"), SOCKS5_FAILURE},
};

static void test_refused(void) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct socks5_request out;
        enum socks5_reply_code reply = SOCKS5_OK, first = SOCKS5_OK;
        enum parse_state state = PARSE_MORE;
        for (size_t part = 0; part <= refused[i].size && state == PARSE_MORE; part++)
            state = socks5_request_parse(guarded(refused[i].bytes, part), part, &out, &first);
        is_int(state, PARSE_INVALID, "byte by byte it never becomes a request");
        is_int(
            socks5_request_parse(guarded(refused[i].bytes, refused[i].size), refused[i].size, &out, &reply),
            PARSE_INVALID, "nor at once");
        ok(reply == refused[i].reply && first == reply, "the answer says why: %d", (int)refused[i].reply);
    }
}

static void test_replies(void) {
    uint8_t reply[SOCKS5_REPLY_SIZE];
    memset(reply, 0xff, sizeof reply);
    socks5_reply_make(SOCKS5_DENIED, reply);
    ok(memcmp(reply, "\5\2\0\1\0\0\0\0\0\0", sizeof reply) == 0,
       "a reply has its code and an address of zeros");
}

int main(void) {
    test_greetings();
    test_requests();
    test_refused();
    test_replies();
    return done_testing();
}
