/* Paths as text: no file is touched. */
#ifndef OS_SANDBOX_BASE_PATH_H
#define OS_SANDBOX_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* "base/path", or a copy of path where it is absolute. NULL: out of memory. The caller frees. */
char *path_join(const char *base, const char *path);

/* True where path is ancestor itself or lies below it. Both absolute, without "//", ".", ".." or a trailing
 * slash. */
bool path_is_within(const char *path, const char *ancestor);

/* Order in which a directory comes right before what lies below it ('/' sorts before every other byte). As
 * strcmp. */
int path_compare(const char *left, const char *right);

/* True where the text needs no normalising: absolute, no "//", no "." or ".." component, no trailing slash
 * but for "/". */
bool path_is_normal(const char *path);

#endif
