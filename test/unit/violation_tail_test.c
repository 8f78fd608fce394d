#include "tap.h"
#include "violations/tail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Lines as they came, each in brackets. */
struct seen {
    char text[256];
    size_t count;
    size_t last_size;
};

static void take_line(void *data, const char *line, size_t size) {
    struct seen *seen = data;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "[%.*s]", (int)(size < 100 ? size : 100), line);
    seen->count++;
    seen->last_size = size;
}

/* Bytes in a block of exactly their size, so that an over-read shows. */
static void feed(struct tail *tail, const char *bytes, size_t size) {
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    tail_feed(tail, copy, size);
    free(copy);
}

static void splits(void) {
    static const char text[] = "one\n\ntwo three\nf\nrest";
    const size_t size = sizeof text - 1;
    unsigned right = 0;
    unsigned tried = 0;
    for (size_t first = 0; first <= size; first++)
        for (size_t second = first; second <= size; second++) {
            struct seen seen = {0};
            struct tail tail = {.on_line = take_line, .data = &seen};
            feed(&tail, text, first);
            feed(&tail, text + first, second - first);
            feed(&tail, text + second, size - second);
            tail_end(&tail);
            right += strcmp(seen.text, "[one][][two three][f]") == 0 && tail.lost == 1;
            tail_clear(&tail);
            tried++;
        }
    is_int(right, tried, "lines come whole over every split in three; one without an end is lost");
    struct seen seen = {0};
    struct tail tail = {.on_line = take_line, .data = &seen};
    for (size_t i = 0; i < size; i++)
        feed(&tail, text + i, 1);
    is_str(seen.text, "[one][][two three][f]", "and byte by byte");
    tail_clear(&tail);
}

/* A line of so many bytes, in pieces, with one before and one behind it. */
static void long_line(size_t size, size_t piece, bool fits) {
    struct seen seen = {0};
    struct tail tail = {.on_line = take_line, .data = &seen};
    char *text = malloc(size + 3);
    if (text == NULL)
        abort();
    text[0] = '\n';
    memset(text + 1, 'a', size);
    memcpy(text + 1 + size, "\nb", 2);
    for (size_t at = 0; at < size + 3; at += piece)
        feed(&tail, text + at, size + 3 - at < piece ? size + 3 - at : piece);
    feed(&tail, "\n", 1);
    ok(seen.count == (fits ? 3u : 2u) && tail.lost == (fits ? 0u : 1u) && seen.last_size == 1,
       "a line of %zu bytes in pieces of %zu %s", size, piece, fits ? "is one" : "is skipped and counted");
    tail_end(&tail);
    ok(tail.lost == (fits ? 0u : 1u), "and nothing else is lost");
    tail_clear(&tail);
    free(text);
}

static void endless(void) {
    struct seen seen = {0};
    struct tail tail = {.on_line = take_line, .data = &seen};
    char zeroes[1000] = {0};
    for (int i = 0; i < 100000; i++)
        tail_feed(&tail, zeroes, sizeof zeroes);
    tail_end(&tail);
    ok(tail.lost == 1 && seen.count == 0, "a hundred million bytes without an end are one lost line");
    tail_clear(&tail);
}

static void reads(void) {
    struct seen seen = {0};
    struct tail tail = {.on_line = take_line, .data = &seen};
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        abort();
    ok(tail_read(&tail, ends[0], 100), "an empty pipe is not at its end");
    ok(write(ends[1], "a\nb", 3) == 3 && tail_read(&tail, ends[0], 100), "nor is one that was read");
    ok(write(ends[1], "c\n", 2) == 2 && close(ends[1]) == 0 && !tail_read(&tail, ends[0], 100),
       "without a writer it is");
    is_str(seen.text, "[a][bc]", "every line was given");
    close(ends[0]);
    ok(!tail_read(&tail, ends[0], 100), "an error is an end, too");
    tail_clear(&tail);
}

int main(void) {
    splits();
    for (size_t piece = 1000; piece <= 1000000; piece *= 1000) {
        long_line(TAIL_LINE_MAX, piece, true);
        long_line(TAIL_LINE_MAX + 1, piece, false);
        long_line(3 * TAIL_LINE_MAX, piece, false);
    }
    endless();
    reads();
    return done_testing();
}
