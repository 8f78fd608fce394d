/* The violations of one run: which of them count, how often, and the block about them. Bounded, whatever
 * comes. */
#ifndef OS_SANDBOX_VIOLATIONS_COLLECTOR_H
#define OS_SANDBOX_VIOLATIONS_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "violations/annotate.h"
#include "violations/ignore.h"
#include "violations/tail.h"
#include "violations/violation.h"

/* Lines of the block; of the rest there is a number. */
#define BLOCK_LINES_MAX 100

/* Kinds of violations that collector_note tells apart; of more there is a number. */
#define NOTES_MAX 256

/* A violation that is neither noise nor ignored, once for each. It holds until the function returns. */
typedef void (*violation_fn)(void *data, const struct violation *violation);

/* A kind of violation that no event pipe tells of, and that was given on. */
struct note {
    char *operation;
    char *host;
    char *why;
    uint16_t port;
    uint64_t count;
    size_t repeated; /* where its count is, once it has happened again */
};

/* All-zero but for ignore and what is called: nothing came yet. */
struct collector {
    struct ignore_list ignore;
    violation_fn on_violation; /* or NULL */
    void *data;
    struct kept_line {
        uint32_t id;
        char *text;
        uint64_t count;
    } kept[BLOCK_LINES_MAX];
    size_t kept_count;
    uint64_t unkept;                  /* violations beyond these */
    uint8_t shown[VIOLATION_IDS / 8]; /* by id: it was given on */
    struct violation_count *repeated; /* those given on that happened more than once */
    size_t repeated_count;
    struct note
        *notes; /* NOTES_MAX of them, from the first one on; the one at i has the id VIOLATION_IDS + i */
    size_t note_count;
    uint64_t dropped; /* refusals, or lines, that were lost on the way here */
};

/* One line of the event pipe; one that is not understood counts as dropped. */
void collector_take(struct collector *collector, const char *line, size_t size);

/*
 * A violation that the network reports (its id means nothing): operation, host, port and why tell one kind
 * from another. The first of a kind is given on with an id from VIOLATION_IDS up, the others are counted.
 */
void collector_note(struct collector *collector, const struct violation *violation);

/* The block (violations_block), or NULL: there is nothing to say, or no memory. The caller frees. */
char *collector_block(const struct collector *collector);

void collector_clear(struct collector *collector);

#endif
