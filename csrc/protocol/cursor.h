/* A bounds-checked cursor over bytes: what every parser of this folder reads with. */
#ifndef OS_SANDBOX_PROTOCOL_CURSOR_H
#define OS_SANDBOX_PROTOCOL_CURSOR_H

#include <stddef.h>
#include <stdint.h>

/* How a parser came out over what has arrived so far. */
enum parse_state {
    PARSE_MORE,    /* all of it fits so far */
    PARSE_DONE,    /* whole */
    PARSE_INVALID, /* can become nothing valid any more, or is over its bound */
};

#endif
