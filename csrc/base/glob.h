/*
 * Paths against patterns: *, ?, [...] within one component, ** over any number of them, {a,b}; a backslash
 * takes the next character as it is. Pure.
 */
#ifndef OS_SANDBOX_BASE_GLOB_H
#define OS_SANDBOX_BASE_GLOB_H

#include <stdbool.h>

/* True where the pattern has one of the characters * ? [ { */
bool glob_has_magic(const char *pattern);

/*
 * True where the whole path matches. Both absolute, the path without "//" and a trailing slash. "**" as a
 * whole component matches zero or more components; a leading dot is no exception; ? and [...] take one
 * character of UTF-8, or one byte that is none. Braces without a comma are plain. A pattern that is malformed
 * (an open bracket or brace, a backslash at the end) or has 4096 bytes or more matches only itself. Time is
 * bounded: the product of the lengths, whatever the pattern. Takes 48 KiB of stack.
 */
bool glob_match(const char *pattern, const char *path);

/* The pattern that matches exactly this path. NULL: out of memory. The caller frees. */
char *glob_escape(const char *path);

#endif
