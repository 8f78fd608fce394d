/* An entry with glob characters, split at the folder that stands before the first of them. */
#ifndef OS_SANDBOX_POLICY_FS_PATTERN_H
#define OS_SANDBOX_POLICY_FS_PATTERN_H

#include <stddef.h>

#include "base/error.h"
#include "platform/glob_walk.h"
#include "platform/resolve.h"

struct fs_pattern {
    char *lead;                  /* the folder, as written */
    struct resolved_path folder; /* what that leads to, real as far as it exists */
    char *rest;                  /* the pattern below it, without "//" and "./" */
    char *as_written; /* the whole pattern with the lead as text; NULL: the resolved one is the same */
};

/*
 * path: an expanded entry, of which the first base bytes were put before it and are text. 0 with *out to be
 * released by fs_pattern_clear (also after a failure), or -1.
 */
int fs_pattern_split(const char *path, size_t base, struct fs_pattern *out, struct error *err);

/* The pattern below a folder, whose path is text. NULL: out of memory. The caller frees. */
char *fs_pattern_at(const struct fs_pattern *pattern, const char *folder);

void fs_pattern_clear(struct fs_pattern *pattern);

#endif
