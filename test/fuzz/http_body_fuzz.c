/* Fuzzes the end of a body: in two pieces it is where it is in one, and chunks end in an empty one. The first
 * two bytes say how the body is framed and how long it is. */
#include "exact.h"
#include "protocol/http_body.h"

static enum parse_state take(struct http_body *body, const uint8_t *data, size_t size, size_t *taken) {
    uint8_t *bytes = exact_copy(data, size);
    enum parse_state state = http_body_take(body, bytes, size, taken);
    check(*taken <= size && (state != PARSE_MORE || *taken == size));
    free(bytes);
    return state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct http_body whole, parts;
    size_t taken, first, second = 0;
    if (size < 2)
        return 0;
    enum http_framing framing = data[0] % 3;
    uint64_t length = data[1];
    data += 2;
    size -= 2;
    size_t cut = cut_of(data, size);
    http_body_init(&whole, framing, length);
    http_body_init(&parts, framing, length);
    enum parse_state state = take(&whole, data, size, &taken);
    enum parse_state halves = take(&parts, data, cut, &first);
    if (halves == PARSE_MORE)
        halves = take(&parts, data + cut, size - cut, &second);
    check(halves == state && first + second == taken);
    if (state == PARSE_DONE && framing == HTTP_CHUNKED)
        check(taken >= 5 && memcmp(data + taken - 5, "0\r\n\r\n", 5) == 0);
    if (state == PARSE_DONE && framing != HTTP_CHUNKED)
        check(taken == (framing == HTTP_LENGTH ? length : 0));
    return 0;
}
