#include "protocol/http_body.h"

#include <stdbool.h>

#define SIZE_DIGITS_MAX 16 /* of a uint64_t */

/* Where in the chunks the next byte is. */
enum { SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, LAST_CR, LAST_LF, ENDED, BROKEN };

void http_body_init(struct http_body *body, enum http_framing framing, uint64_t length) {
    *body = (struct http_body){
        .framing = framing,
        .left = framing == HTTP_LENGTH ? length : 0,
        .state = framing == HTTP_CHUNKED                ? SIZE
                 : framing == HTTP_LENGTH && length > 0 ? DATA
                                                        : ENDED,
    };
}

static int hex_value(uint8_t byte) {
    uint8_t lower = byte | 0x20;
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* One byte of the size: a digit, or the line's end behind at least one. Nothing else may stand there. */
static unsigned take_size(struct http_body *body, uint8_t byte) {
    int value = hex_value(byte);
    if (value >= 0 && body->line_bytes < SIZE_DIGITS_MAX) {
        body->left = body->left << 4 | (unsigned)value;
        body->line_bytes++;
        return SIZE;
    }
    return byte == '\r' && body->line_bytes > 0 ? SIZE_LF : BROKEN;
}

static unsigned after_size(struct http_body *body) {
    body->line_bytes = 0;
    return body->left > 0 ? DATA : LAST_CR;
}

/* One byte of the framing, which every state but DATA is. */
static unsigned take_byte(struct http_body *body, uint8_t byte) {
    switch (body->state) {
    case SIZE:
        return take_size(body, byte);
    case SIZE_LF:
        return byte == '\n' ? after_size(body) : BROKEN;
    case DATA_CR:
        return byte == '\r' ? DATA_LF : BROKEN;
    case DATA_LF:
        return byte == '\n' ? SIZE : BROKEN;
    case LAST_CR:
        return byte == '\r' ? LAST_LF : BROKEN; /* anything else begins a trailer */
    case LAST_LF:
        return byte == '\n' ? ENDED : BROKEN;
    default:
        return BROKEN;
    }
}

static size_t take_data(struct http_body *body, size_t size) {
    size_t taken = body->left < size ? (size_t)body->left : size;
    body->left -= taken;
    if (body->left == 0)
        body->state = body->framing == HTTP_CHUNKED ? DATA_CR : ENDED;
    return taken;
}

enum parse_state http_body_take(struct http_body *body, const uint8_t *bytes, size_t size, size_t *taken) {
    size_t at = 0;
    while (at < size && body->state != ENDED && body->state != BROKEN) {
        if (body->state == DATA) {
            at += take_data(body, size - at);
            continue;
        }
        body->state = take_byte(body, bytes[at]);
        if (body->state != BROKEN)
            at++;
    }
    *taken = at;
    return body->state == ENDED ? PARSE_DONE : body->state == BROKEN ? PARSE_INVALID : PARSE_MORE;
}
