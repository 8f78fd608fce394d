#include "protocol/http_body.h"

#include "guarded.h"
#include "tap.h"

#define MORE PARSE_MORE
#define DONE PARSE_DONE
#define INVALID PARSE_INVALID

/* Chunks, how reading them ends, and how many bytes belong to the body. */
static const struct {
    const char *bytes;
    enum parse_state state;
    size_t taken;
} rows[] = {
    {"", MORE, 0},
    {"0\r\n\r\n", DONE, 5},
    {"0\r\n\r\nGET / HTTP/1.1\r\n", DONE, 5},
    {"5\r\nhello\r\n0\r\n\r\n", DONE, 15},
    {"A\r\n0123456789\r\na\r\n0123456789\r\n00\r\n\r\nrest", DONE, 36},
    {"0000000000000001\r\nx\r\n0000000000000000\r\n\r\n", DONE, 41},
    {"5\r\n0\r\n\r\n\r\n0\r\n\r\n", DONE, 15},
    {"ffffffffffffffff\r\nabc", MORE, 21},
    {"5\r\nhel", MORE, 6},
    {"5\r\nhello\r", MORE, 9},
    {"0\r\n\r", MORE, 4},
    /* Sizes. */
    {"\r\n", INVALID, 0},
    {"g\r\n", INVALID, 0},
    {"+5\r\nhello\r\n", INVALID, 0},
    {"-1\r\n", INVALID, 0},
    {" 5\r\nhello\r\n", INVALID, 0},
    {"5 \r\nhello\r\n", INVALID, 1},
    {"5\t\r\n", INVALID, 1},
    {"0x5\r\nhello\r\n", INVALID, 1},
    {"00000000000000005\r\nhello\r\n", INVALID, 16},
    {"10000000000000000\r\n", INVALID, 16},
    {"5,5\r\n", INVALID, 1},
    /* Extensions. */
    {"5;a=b\r\nhello\r\n", INVALID, 1},
    {"5;\r\n", INVALID, 1},
    {"0;a\r\n\r\n", INVALID, 1},
    /* Ends of lines. */
    {"5\nhello\n0\n\n", INVALID, 1},
    {"5\r\r\n", INVALID, 2},
    {"5\rhello", INVALID, 2},
    {"5\r\nhello\n0\r\n\r\n", INVALID, 8},
    {"5\r\nhello0\r\n\r\n", INVALID, 8},
    {"5\r\nhello!\r\n", INVALID, 8},
    {"5\r\nhello\r5\r\n", INVALID, 9},
    {"5\r\nhello\r\n\r\n", INVALID, 10},
    {"0\r\n\n", INVALID, 3},
    {"0\r\n\rx", INVALID, 4},
    {"0\n\n", INVALID, 1},
    /* Trailers. */
    {"0\r\nX: a\r\n\r\n", INVALID, 3},
    {"0\r\nContent-Length: 5\r\n\r\n", INVALID, 3},
    {"0\r\n\tx\r\n\r\n", INVALID, 3},
};

/* In pieces of that size: the state, and the bytes of the body. */
static enum parse_state in_pieces(const char *bytes, size_t size, size_t piece, size_t *taken) {
    struct http_body body;
    enum parse_state state = MORE;
    http_body_init(&body, HTTP_CHUNKED, 0);
    *taken = 0;
    while (state == MORE && *taken < size) {
        size_t next = size - *taken < piece ? size - *taken : piece, part;
        state = http_body_take(&body, guarded(bytes + *taken, next), next, &part);
        *taken += part;
        if (state == MORE && part != next)
            return INVALID + 1;
    }
    return state;
}

static void test_chunks(void) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size = strlen(rows[i].bytes), alike = 0, taken;
        for (size_t piece = 1; piece <= size + 1; piece++)
            alike += in_pieces(rows[i].bytes, size, piece, &taken) == rows[i].state && taken == rows[i].taken;
        if (!ok(alike == size + 1, "chunks are read alike in pieces of any size"))
            diag("chunks", rows[i].bytes);
    }
}

static void test_length(void) {
    struct http_body body;
    size_t taken;
    http_body_init(&body, HTTP_LENGTH, 5);
    is_int(http_body_take(&body, guarded("hel", 3), 3, &taken), MORE, "a body of a length goes on");
    is_int((long long)taken, 3, "with all that is there");
    is_int(http_body_take(&body, guarded("lo, and more", 12), 12, &taken), DONE, "to its end");
    is_int((long long)taken, 2, "and not farther");
    is_int(http_body_take(&body, guarded("x", 1), 1, &taken), DONE, "where it stays");
    is_int((long long)taken, 0, "and takes nothing");
}

static void test_none(void) {
    struct http_body body;
    size_t taken = 1;
    http_body_init(&body, HTTP_NO_BODY, 7);
    is_int(http_body_take(&body, guarded("x", 1), 1, &taken), DONE, "no body has ended");
    is_int((long long)taken, 0, "and takes nothing");
    http_body_init(&body, HTTP_LENGTH, 0);
    is_int(http_body_take(&body, guarded("", 0), 0, &taken), DONE, "nor does one of length 0");
    http_body_init(&body, HTTP_LENGTH, UINT64_MAX);
    is_int(http_body_take(&body, guarded("x", 1), 1, &taken), MORE, "the longest goes on");
}

static void test_broken(void) {
    struct http_body body;
    size_t taken;
    http_body_init(&body, HTTP_CHUNKED, 0);
    is_int(http_body_take(&body, guarded("x", 1), 1, &taken), INVALID, "what is no chunk is refused");
    is_int(http_body_take(&body, guarded("0\r\n\r\n", 5), 5, &taken), INVALID, "and stays refused");
    is_int((long long)taken, 0, "with nothing taken");
}

int main(void) {
    test_chunks();
    test_length();
    test_none();
    test_broken();
    return done_testing();
}
