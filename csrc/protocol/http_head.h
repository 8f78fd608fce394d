/*
 * The head of one HTTP/1 request, as a proxy takes it (RFC 9112, RFC 9110): strict, so that nobody behind us
 * can read it another way. Pure.
 */
#ifndef OS_SANDBOX_PROTOCOL_HTTP_HEAD_H
#define OS_SANDBOX_PROTOCOL_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/cursor.h"

#define HTTP_HEAD_MAX ((size_t)32 * 1024)
#define HTTP_FIELDS_MAX 128

struct http_text {
    const char *start; /* into the parsed bytes */
    size_t length;
};

struct http_field {
    struct http_text name;
    struct http_text value; /* without the white space around it */
};

enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED };

struct http_request {
    struct http_text method;
    bool connect;          /* CONNECT host:port */
    struct http_text host; /* of the target; IPv6 without brackets */
    uint16_t port;         /* 80 where an http:// target names none */
    struct http_text
        path;       /* what goes upstream in origin form: path and query; may be empty: "/" (OPTIONS: "*") */
    unsigned minor; /* HTTP/1.minor */
    struct http_field fields[HTTP_FIELDS_MAX];
    size_t field_count;
    enum http_framing framing;
    uint64_t length; /* of HTTP_LENGTH */
    size_t size;     /* of the head, with the empty line */
};

/*
 * Parses size bytes from the beginning of a connection; to be called again with more after PARSE_MORE.
 * PARSE_INVALID sets *why to a static text for the 400 reply ("two Content-Length fields"). Refused: what RFC
 * 9112 calls invalid, and bare LF, obs-fold, space before the colon, control bytes, Transfer-Encoding
 * with 1.0 or with Content-Length or other than "chunked" alone, repeated or signed Content-Length, versions
 * but 1.0 and 1.1, no or two Host fields with 1.1, Host that is not the target's host and port, user
 * information in the target, CONNECT without a port or with a body (an empty one is none), targets that are
 * neither absolute http:// nor CONNECT's (https:// says what to do instead), heads over HTTP_HEAD_MAX.
 * Accepted: CONNECT h:p HTTP/1.0 without a field.
 */
enum parse_state http_request_parse(const uint8_t *bytes, size_t size, struct http_request *out,
                                    const char **why);

/* The value of the one field of that name (ASCII case ignored), or NULL. */
const struct http_field *http_request_field(const struct http_request *request, const char *name);

/*
 * The head as it goes upstream: origin form, HTTP/1.1 (1.0 stays), Host of the target as a canonical host
 * text, hop-by-hop fields left out (Connection and what it names, Keep-Alive, Proxy-*, TE, Trailer, Upgrade,
 * and Transfer-Encoding written anew where the body is chunked), "Connection: close" added. authority: "host"
 * or "host:port" for the Host field. NULL: out of memory; else *size bytes (caller frees).
 */
char *http_request_rewrite(const struct http_request *request, const char *authority, size_t *size);

#endif
