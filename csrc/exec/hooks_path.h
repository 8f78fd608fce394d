/* Which folders and files a git directory's configuration leads git to. */
#ifndef OS_SANDBOX_EXEC_HOOKS_PATH_H
#define OS_SANDBOX_EXEC_HOOKS_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "exec/session_index.h"

struct hooks_paths {
    struct session_index *index;
    const char *home;     /* absolute; NULL: not known */
    char *everywhere[16]; /* relative paths that the user's own configuration gives every worktree; owned */
    size_t everywhere_count;
    size_t values; /* that were looked at of one git directory, or of the user */
    size_t bytes;  /* of all paths in the index */
};

/* Reads the user's and the system's configuration (git-config(1), "FILES"): before any git directory. */
void hooks_paths_begin(struct hooks_paths *paths, struct session_index *index, const char *home);
void hooks_paths_end(struct hooks_paths *paths);

/*
 * The git directory that belongs to a worktree's folder: ".git" in it, a folder, a symlink, or a file that
 * says where it is (gitrepository-layout(5)). True where there is one.
 */
bool hooks_paths_of_worktree(struct hooks_paths *paths, int worktree);

/* A git directory without a worktree around it: a bare one, or one of a submodule's. */
void hooks_paths_of_directory(struct hooks_paths *paths, int directory);

/* The real path as far as it exists, what is missing behind it as text, symlinks that lead nowhere followed
 * too. false: there is none. real has PATH_MAX bytes. */
bool real_path_so_far(const char *path, char *real);

#endif
