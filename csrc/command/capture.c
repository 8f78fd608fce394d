#include "command/capture.h"

#include <stdlib.h>

#define FIRST_CAPACITY ((size_t)4096)
#define GROW_BELOW ((size_t)2048)

char *capture_reserve(struct capture *capture, size_t *room) {
    size_t left = capture->cap - capture->size;
    size_t free_space = capture->capacity - capture->size;
    if (left > 0 && free_space < GROW_BELOW && free_space < left) {
        size_t capacity = capture->capacity == 0 ? FIRST_CAPACITY : capture->capacity * 2;
        if (capacity > capture->cap)
            capacity = capture->cap;
        char *data = realloc(capture->data, capacity);
        if (data != NULL) {
            capture->data = data;
            capture->capacity = capacity;
        }
        free_space = capture->capacity - capture->size;
    }
    *room = free_space < left ? free_space : left;
    return *room == 0 ? NULL : capture->data + capture->size;
}

void capture_commit(struct capture *capture, size_t size) {
    capture->size += size;
}

void capture_drop(struct capture *capture, size_t size) {
    if (size > 0)
        capture->truncated = true;
}

/* Length of the UTF-8 sequence that the byte begins (RFC 3629), 1 for what begins none. */
static size_t sequence_length(unsigned char lead) {
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    if (lead >= 0xe0 && lead < 0xf0)
        return 3;
    return lead >= 0xc2 && lead < 0xe0 ? 2 : 1;
}

/* How many bytes at the end begin a character whose rest has not come yet. */
static size_t dangling(const char *data, size_t size) {
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char byte = (unsigned char)data[size - back];
        if ((byte & 0xc0) == 0x80)
            continue;
        return sequence_length(byte) > back ? back : 0;
    }
    return 0;
}

const char *capture_next(struct capture *capture, bool final, size_t *size) {
    const char *start = capture->data + capture->given;
    size_t left = capture->size - capture->given;
    *size = left - (final || left == 0 ? 0 : dangling(start, left));
    capture->given += *size;
    return *size == 0 ? NULL : start;
}

void capture_clear(struct capture *capture) {
    free(capture->data);
    *capture = (struct capture){0};
}
