/* One walk of the indexer: a folder and all below it, for what names folders of hooks. Changes nothing. */
#ifndef OS_SANDBOX_EXEC_INDEX_WALK_H
#define OS_SANDBOX_EXEC_INDEX_WALK_H

#include <stddef.h>

#include "exec/session_index.h"

struct index_walked {
    size_t entries;
    size_t git_directories;
};

/*
 * Walks the folder's tree on its own file system, without following symlinks: at most 5 million entries, 128
 * folders deep. What a git directory of it, its configuration or the user's names is added to the index:
 * folders of hooks (core.hooksPath), what the symlinks "hooks" and "config" lead to, files of configuration
 * that are included. The descriptor stays the caller's. home: as for index_scan_want.
 */
struct index_walked index_walk(struct session_index *index, int folder, const char *home);

#endif
