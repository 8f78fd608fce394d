/* A bounds-checked cursor over bytes: what every parser of this folder reads with. */
#ifndef OS_SANDBOX_PROTOCOL_CURSOR_H
#define OS_SANDBOX_PROTOCOL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a parser came out over what has arrived so far. */
enum parse_state {
    PARSE_MORE,    /* all of it fits so far */
    PARSE_DONE,    /* whole */
    PARSE_INVALID, /* can become nothing valid any more, or is over its bound */
};

/* What is still to be read. Every reader below takes nothing where there is too little, and returns false. */
struct cursor {
    const uint8_t *at;
    size_t left;
};

static inline struct cursor cursor_over(const void *bytes, size_t size) {
    return (struct cursor){.at = bytes, .left = size};
}

/* The next size bytes, as they lie there. */
static inline bool cursor_take(struct cursor *cursor, size_t size, const uint8_t **bytes) {
    if (size > cursor->left)
        return false;
    *bytes = cursor->at;
    cursor->at += size;
    cursor->left -= size;
    return true;
}

static inline bool cursor_skip(struct cursor *cursor, size_t size) {
    const uint8_t *skipped;
    return cursor_take(cursor, size, &skipped);
}

/* A number of so many bytes (at most 4), the most significant one first. */
static inline bool cursor_number(struct cursor *cursor, size_t size, uint32_t *value) {
    const uint8_t *bytes;
    if (!cursor_take(cursor, size, &bytes))
        return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value = *value << 8 | bytes[i];
    return true;
}

/* A vector: a length of size bytes and as many bytes behind it, which *inner is over. */
static inline bool cursor_vector(struct cursor *cursor, size_t size, struct cursor *inner) {
    struct cursor rest = *cursor;
    uint32_t length;
    const uint8_t *bytes;
    if (!cursor_number(&rest, size, &length) || !cursor_take(&rest, length, &bytes))
        return false;
    *inner = cursor_over(bytes, length);
    *cursor = rest;
    return true;
}

#endif
