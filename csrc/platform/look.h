/* What is in a folder or a small file. Changes nothing and follows no symlink in the last component. */
#ifndef OS_SANDBOX_PLATFORM_LOOK_H
#define OS_SANDBOX_PLATFORM_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strvec.h"

/* Appends the names in the folder, but for "." and "..". False: it is none, or may not be listed; memory that
 * runs out is such a failure too. */
bool look_at_folder(const char *path, struct strvec *names);

/* The content of a regular file of at most max bytes, with a NUL behind it; the caller frees. NULL: it is
 * none, is larger, cannot be read, or there is no memory. Never waits for a writer. */
char *look_at_file(const char *path, size_t max, size_t *length);

#endif
