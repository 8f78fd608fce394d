/* Heads of responses: those that upstream sends, made fit for a connection that closes; and our own replies.
 * Pure. */
#ifndef OS_SANDBOX_PROTOCOL_HTTP_RESPONSE_H
#define OS_SANDBOX_PROTOCOL_HTTP_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/cursor.h"

#define HTTP_RESPONSE_HEAD_MAX ((size_t)64 * 1024)

/*
 * Reads one response head. PARSE_DONE: *taken bytes are to be replaced by *size bytes at *rewritten (caller
 * frees): the same without hop-by-hop fields (Transfer-Encoding stays), with "Connection: close" unless
 * interim; *status is its status. An interim one (1xx) is followed by another head. 101 and what is no
 * response are PARSE_INVALID, also two different lengths, a field that goes on in the next line, more than
 * 512 fields; and when out of memory. LF alone ends a line too. *rewritten is NULL unless PARSE_DONE.
 */
enum parse_state http_response_rewrite(const uint8_t *bytes, size_t size, size_t *taken, unsigned *status,
                                       char **rewritten, size_t *rewritten_size);

/* Status of an upstream proxy's reply to CONNECT. PARSE_DONE: *status, and *taken bytes of head; after an
 * interim one (1xx) another head comes. */
enum parse_state http_connect_reply_parse(const uint8_t *bytes, size_t size, size_t *taken, unsigned *status);

/* Our own replies. */
enum http_reply {
    HTTP_REPLY_BAD_REQUEST,  /* 400, body: "Bad request: " and the text */
    HTTP_REPLY_DENIED,       /* 403, X-Proxy-Error: blocked-by-allowlist, body: "Connection blocked by network
                                allowlist: "       and the text, "host:port (why)" */
    HTTP_REPLY_BAD_GATEWAY,  /* 502 */
    HTTP_REPLY_UNAVAILABLE,  /* 503: too many connections */
    HTTP_REPLY_TIMEOUT,      /* 504 */
    HTTP_REPLY_SLOW_REQUEST, /* 408 */
};

/* The whole response, Connection: close, text/plain; or NULL: out of memory. The caller frees. */
char *http_reply_make(enum http_reply reply, const char *text, size_t *size);

/* What answers a CONNECT that is open. */
extern const char http_connect_established[]; /* "HTTP/1.1 200 Connection established\r\n\r\n" */

#endif
