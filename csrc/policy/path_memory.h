/*
 * What a session has granted and denied so far. A command may write in a root that was granted to it, so
 * every symlink in there may be its work: later runs must neither be granted what such a link leads to, nor
 * lose a denial because a link leads elsewhere now. Safe to use from several threads.
 */
#ifndef OS_SANDBOX_POLICY_PATH_MEMORY_H
#define OS_SANDBOX_POLICY_PATH_MEMORY_H

#include <stdbool.h>

#include "base/strvec.h"

struct path_memory;

/* NULL: out of memory. */
struct path_memory *path_memory_new(void);
void path_memory_free(struct path_memory *memory);

/* A real path was granted as a write root. 0, or -1: out of memory. */
int path_memory_grant(struct path_memory *memory, const char *root);

/* True where the real path lies within a root that was ever granted. */
bool path_memory_was_granted(struct path_memory *memory, const char *path);

/* A denied path, as written and expanded, led through symlinks to target. 0, or -1: out of memory. */
int path_memory_deny(struct path_memory *memory, const char *written, const char *target);

/* Appends every target that the written path ever led to. 0, or -1: out of memory. */
int path_memory_denied(struct path_memory *memory, const char *written, struct strvec *targets);

#endif
