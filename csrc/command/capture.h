/* What a command wrote to one stream: kept up to a cap, given on in whole UTF-8 characters. */
#ifndef OS_SANDBOX_COMMAND_CAPTURE_H
#define OS_SANDBOX_COMMAND_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

/* V8's longest string (2^29 - 24 characters): more could not become a result. */
#define CAPTURE_MAX ((size_t)536870888)

struct capture {
    char *data;
    size_t size;
    size_t capacity;
    size_t cap;
    size_t given; /* bytes that capture_next has handed out */
    bool truncated;
};

/* Room for the next read, *room bytes long. *room is 0 once the cap is reached, or where there is no memory.
 */
char *capture_reserve(struct capture *capture, size_t *room);

/* Counts bytes that were read into the reserved room. */
void capture_commit(struct capture *capture, size_t size);

/* Says that bytes were read and dropped, because there was no room. */
void capture_drop(struct capture *capture, size_t size);

/*
 * The bytes not yet handed out, up to the last whole character; with final, all of them. *size is 0 where
 * there are none. The pointer holds until the next capture_reserve.
 */
const char *capture_next(struct capture *capture, bool final, size_t *size);

void capture_clear(struct capture *capture);

#endif
