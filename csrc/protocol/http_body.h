/* Where the body of one request ends: by its length or its chunks (RFC 9112, 6 and 7). Incremental, pure, no
 * memory. */
#ifndef OS_SANDBOX_PROTOCOL_HTTP_BODY_H
#define OS_SANDBOX_PROTOCOL_HTTP_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/cursor.h"
#include "protocol/http_head.h"

struct http_body {
    enum http_framing framing;
    uint64_t left;     /* bytes until the end of the body or of the chunk */
    unsigned state;    /* http_body.c's own */
    size_t line_bytes; /* of the size line, or of all trailers: bounded */
};

void http_body_init(struct http_body *body, enum http_framing framing, uint64_t length);

/*
 * Takes the next bytes of the connection; *taken of them belong to the body (chunk framing included, as it
 * goes upstream unchanged). PARSE_DONE: the body ended with them. PARSE_INVALID: the byte behind them is
 * wrong; it stays so. Strict: CRLF only, at most 16 hex digits, chunk extensions and trailers are refused.
 */
enum parse_state http_body_take(struct http_body *body, const uint8_t *bytes, size_t size, size_t *taken);

#endif
