/* The option ignoreViolations, for one command. Pure. */
#ifndef OS_SANDBOX_VIOLATIONS_IGNORE_H
#define OS_SANDBOX_VIOLATIONS_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/options.h"

/* The substrings of lines that are ignored; they belong to the options. All-zero: none. */
struct ignore_list {
    const char **lines;
    size_t count;
};

/* The rules that hold for the command: those of "*", and those whose key is in it. 0, or -1: out of memory.
 */
int ignore_list_build(const struct options *options, const char *command, struct ignore_list *out);

/* True where the line (violation_line) is one of them. */
bool ignore_list_has(const struct ignore_list *list, const char *line);

void ignore_list_clear(struct ignore_list *list);

#endif
