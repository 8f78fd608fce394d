/* Fuzzes the reader of a run's events, from the pipe's bytes to the block: whatever comes, the block is one.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "violations/collector.h"
#include "violations/tail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OPEN "<sandbox_violations>\n"
#define CLOSE "\n</sandbox_violations>"

static void check(bool holds) {
    if (!holds)
        abort();
}

static void take_line(void *data, const char *line, size_t size) {
    collector_take(data, line, size);
}

static void take_violation(void *data, const struct violation *violation) {
    (void)data;
    check(violation->id < VIOLATION_IDS && violation->operation[0] != '\0' && violation->process != NULL);
}

/* In a heap block of exactly their size, so that an over-read shows. */
static void feed(struct tail *tail, const uint8_t *data, size_t size) {
    char *copy = malloc(size == 0 ? 1 : size);
    check(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    tail_feed(tail, copy, size);
    free(copy);
}

/* One pair of tags, whole lines of text that can be seen between them. */
static void check_block(const char *block) {
    size_t length = strlen(block);
    size_t lines = 0;
    check(length > strlen(OPEN CLOSE) && strncmp(block, OPEN, strlen(OPEN)) == 0 &&
          strcmp(block + length - strlen(CLOSE), CLOSE) == 0);
    check(strstr(block + 1, "<sandbox_violations") == NULL &&
          strstr(block, "</sandbox_violations") == block + length - strlen(CLOSE) + 1);
    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t taken = utf8_decode(block + at, length - at, &point);
        check(taken > 0 && (point == '\n' || (point >= 0x20 && (point < 0x7f || point > 0x9f))));
        check(point != 0x2028 && point != 0x2029 && (point < 0x202a || point > 0x202e));
        lines += point == '\n';
        if (point == '\n')
            check(block[at + 1] == '(' || block[at + 1] == '<' || strncmp(block + at + 1, "deny ", 5) == 0);
        at += taken;
    }
    check(lines <= BLOCK_LINES_MAX + 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct collector collector;
    collector.on_violation = take_violation;
    struct tail tail = {.on_line = take_line, .data = &collector};
    size_t split = size == 0 ? 0 : data[0] % size;
    feed(&tail, data, split);
    feed(&tail, data + split, size - split);
    tail_end(&tail);
    char *block = collector_block(&collector);
    check((block == NULL) == (collector.kept_count == 0 && collector.dropped == 0 && collector.unkept == 0));
    if (block != NULL)
        check_block(block);
    free(block);
    tail_clear(&tail);
    collector_clear(&collector);
    return 0;
}
