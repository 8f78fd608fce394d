/* What the heads of requests and of responses have in common: characters, fields, hop-by-hop names (RFC 9110,
 * 5 and 7.6.1). Pure. */
#ifndef OS_SANDBOX_PROTOCOL_HTTP_TEXT_H
#define OS_SANDBOX_PROTOCOL_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/http_head.h"

/* True where it is a token: one or more letters, digits and !#$%&'*+-.^_`|~ (RFC 9110, 5.6.2). */
bool http_is_token(struct http_text text);

/* No control bytes but tabs; bytes above ASCII may be there (RFC 9110, 5.5). */
bool http_is_value(struct http_text text);

/* ASCII case ignored. */
bool http_text_is(struct http_text text, const char *other);
bool http_text_same(struct http_text a, struct http_text b);

/* Without spaces and tabs around it. */
struct http_text http_text_trim(struct http_text text);

/* Whether the name is an element of the list "a, b" (ASCII case ignored). */
bool http_list_has(struct http_text list, struct http_text name);

/* Decimal digits alone, and at most max (at least 9). Writes *value only when true. */
bool http_text_number(struct http_text text, uint64_t max, uint64_t *value);

/*
 * Whether a field is between two neighbours only, so that a proxy drops it: Connection and every name in one
 * of those, Keep-Alive, Proxy-*, TE, Upgrade. Never those that say where the body ends.
 */
bool http_is_hop_by_hop(struct http_text name, const struct http_field *fields, size_t count);

/* A growing text. */
struct http_buffer {
    char *text; /* malloc'ed; NULL before anything was added, and from when memory ran out */
    size_t size;
    size_t capacity;
    bool failed; /* out of memory */
};

void http_buffer_add(struct http_buffer *buffer, const char *bytes, size_t size);
void http_buffer_add_text(struct http_buffer *buffer, const char *text);
void http_buffer_add_field(struct http_buffer *buffer, const struct http_field *field);

/* The text, which the caller frees, and its size; or NULL: out of memory. The buffer is empty again. */
char *http_buffer_take(struct http_buffer *buffer, size_t *size);

#endif
