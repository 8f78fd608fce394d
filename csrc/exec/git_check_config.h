/* git_check.h for the files that git takes configuration from, or that say where it is. */
#ifndef OS_SANDBOX_EXEC_GIT_CHECK_CONFIG_H
#define OS_SANDBOX_EXEC_GIT_CHECK_CONFIG_H

#include "exec/git_check_internal.h"

/*
 * config or config.worktree of a git directory: entries that execute become comments, and so does a
 * core.worktree that leads to a folder which is not the directory's own: the next checkout would write there.
 * What is no regular file, cannot be read, or is larger than 4 MiB, gets another name. The file is a new one
 * afterwards, whatever is in it.
 */
void check_config(struct check *check, int directory, const char *name);

/* commondir says where configuration and hooks are (gitrepository-layout(5)); git writes "../.." only. */
void check_common_directory(struct check *check, int directory);

/* HEAD, the same bytes in a new file: no other name of it, and nobody who has it open, makes it another. */
void check_head(struct check *check, int directory);

#endif
