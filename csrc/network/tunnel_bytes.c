#include <stdlib.h>
#include <string.h>

#include "network/tunnel_internal.h"

void tunnel_bytes_clear(struct tunnel_bytes *bytes) {
    free(bytes->buffer);
    *bytes = (struct tunnel_bytes){.buffer = NULL};
}

void tunnel_bytes_drop(struct tunnel_bytes *bytes, size_t size) {
    bytes->at += size;
    bytes->size -= size;
    if (bytes->size == 0)
        tunnel_bytes_clear(bytes);
}

/* Makes room for size more behind what is there: by moving that to the front, or in a larger buffer. */
static bool make_room(struct tunnel_bytes *bytes, size_t size) {
    size_t needed = bytes->size + size;
    if (bytes->at > 0)
        memmove(bytes->buffer, bytes->buffer + bytes->at, bytes->size);
    bytes->at = 0;
    if (needed <= bytes->capacity)
        return true;
    /* The first is exact: mostly nothing is added to it. */
    size_t capacity = bytes->capacity == 0 || needed > bytes->capacity * 2 ? needed : bytes->capacity * 2;
    uint8_t *larger = realloc(bytes->buffer, capacity);
    if (larger == NULL)
        return false;
    bytes->buffer = larger;
    bytes->capacity = capacity;
    return true;
}

bool tunnel_bytes_add(struct tunnel_bytes *bytes, const uint8_t *more, size_t size) {
    if (size == 0)
        return true;
    if (bytes->at + bytes->size + size > bytes->capacity && !make_room(bytes, size))
        return false;
    memcpy(bytes->buffer + bytes->at + bytes->size, more, size);
    bytes->size += size;
    return true;
}
