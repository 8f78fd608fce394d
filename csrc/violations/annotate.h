/* Violations as a person, or an agent, reads them. Pure. */
#ifndef OS_SANDBOX_VIOLATIONS_ANNOTATE_H
#define OS_SANDBOX_VIOLATIONS_ANNOTATE_H

#include <stdint.h>

#include "violations/violation.h"

/* "deny <operation> <path or host:port> (<why>)", escaped, without an end of line. NULL: no memory. The
 * caller frees. */
char *violation_line(const struct violation *violation);

struct block_line {
    const char *text; /* a violation_line */
    uint64_t count;
};

/*
 * The lines between the tags, " (×N)" behind one that happened N times, "(N more)" at the end where more is
 * not 0; no end of line behind the last tag. NULL: no memory. The caller frees.
 */
char *violations_block(const struct block_line *lines, size_t count, uint64_t more);

#endif
