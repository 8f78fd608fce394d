#include "violations/tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void lose_line(struct tail *tail) {
    tail->lost++;
    tail->begun_size = 0;
}

/* Keeps the beginning of a line. False where it cannot be kept. */
static bool keep(struct tail *tail, const char *bytes, size_t size) {
    if (size > TAIL_LINE_MAX - tail->begun_size)
        return false;
    if (tail->begun == NULL && (tail->begun = malloc(TAIL_LINE_MAX)) == NULL)
        return false;
    memcpy(tail->begun + tail->begun_size, bytes, size);
    tail->begun_size += size;
    return true;
}

/* The rest of a line, whose end came. */
static void end_line(struct tail *tail, const char *bytes, size_t size) {
    if (tail->skipping) {
        tail->skipping = false;
    } else if (tail->begun_size == 0 && size <= TAIL_LINE_MAX) {
        tail->on_line(tail->data, bytes, size);
    } else if (keep(tail, bytes, size)) {
        size_t whole = tail->begun_size;
        tail->begun_size = 0;
        tail->on_line(tail->data, tail->begun, whole);
    } else {
        lose_line(tail);
    }
}

void tail_feed(struct tail *tail, const char *bytes, size_t size) {
    tail->bytes += size;
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end == NULL ? size : (size_t)(end - bytes);
        if (end != NULL) {
            end_line(tail, bytes, length);
        } else if (!tail->skipping && !keep(tail, bytes, length)) {
            lose_line(tail);
            tail->skipping = true;
        }
        length += end == NULL ? 0 : 1;
        bytes += length;
        size -= length;
    }
}

bool tail_read(struct tail *tail, int fd, size_t most) {
    char bytes[16384];
    for (size_t total = 0; total < most;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got <= 0)
            return false;
        tail_feed(tail, bytes, (size_t)got);
        total += (size_t)got;
    }
    return true;
}

void tail_end(struct tail *tail) {
    if (tail->begun_size > 0)
        lose_line(tail);
    tail->skipping = false;
}

void tail_clear(struct tail *tail) {
    free(tail->begun);
    tail->begun = NULL;
    tail->begun_size = 0;
}
