/* The lines of a run's event pipe, as they come. */
#ifndef OS_SANDBOX_VIOLATIONS_TAIL_H
#define OS_SANDBOX_VIOLATIONS_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer line is skipped. */
#define TAIL_LINE_MAX ((size_t)64 << 10)

/* The line without its end; it holds until the function returns. */
typedef void (*tail_line_fn)(void *data, const char *line, size_t size);

/* All-zero but for what is called: nothing was read yet. */
struct tail {
    tail_line_fn on_line;
    void *data;
    char *begun; /* of a line whose end has not come yet */
    size_t begun_size;
    bool skipping;  /* up to the next end of line */
    uint64_t bytes; /* all that was fed */
    uint64_t lost;  /* lines that were too long, that memory was missing for, or that were never ended */
};

/* Bytes as they were read. */
void tail_feed(struct tail *tail, const char *bytes, size_t size);

/* Reads what is there, at most so much. False at the end of the pipe or on an error. */
bool tail_read(struct tail *tail, int fd, size_t most);

/* Nothing comes any more: what was begun is lost. */
void tail_end(struct tail *tail);

void tail_clear(struct tail *tail);

#endif
