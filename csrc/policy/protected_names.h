/*
 * Names that no command may write, wherever they are in a write root and whether they exist or not: programs
 * of the host read them and run what they say. Pure; the addon and the supervisor share it.
 */
#ifndef OS_SANDBOX_POLICY_PROTECTED_NAMES_H
#define OS_SANDBOX_POLICY_PROTECTED_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protected_name {
    const char *path;    /* one or more components, relative: ".bashrc", ".claude/commands" */
    bool folder;         /* written with a slash behind it: everything below is protected as well */
    const char *why;     /* a violation's words, as "protected: shell start-up file" */
    const char *read_by; /* what runs it: the source of the row */
};

extern const struct protected_name protected_names[];
extern const size_t protected_name_count; /* at most 64: sets of rows are bits of a uint64_t */

/* The row that an entry of allowProtected names, a slash behind it or not; -1: none. */
int protected_name_find(const char *entry);

/*
 * The row that protects an absolute, normal path: one whose name the path ends with or passes through.
 * freed: rows that do not count. fold: ASCII letters compare without case. NULL: none.
 */
const struct protected_name *protected_name_of(const char *path, uint64_t freed, bool fold);

/*
 * The rows that protect an entry of the folder at the path without protecting the folder itself: *child is
 * the path below the folder (".claude" gives "commands", …). To be called with *at = 0 at first, until it
 * gives false.
 */
bool protected_name_below(const char *folder, uint64_t freed, bool fold, size_t *at, const char **child);

/* --- git directories --- */

enum git_part {
    GIT_PART_HOOKS,  /* hooks/, and all below it */
    GIT_PART_CONFIG, /* config, config.worktree */
    GIT_PART_LINK,   /* commondir, gitdir */
};

struct git_candidate {
    enum git_part part;
    size_t directory;  /* the length of the path of what would be the git directory */
    bool is_directory; /* it is one by its name: .git, below .git/modules, .git/worktrees/NAME; else by what
                          is in it */
    bool whole;        /* the path is hooks/ itself, or the file; else it lies below hooks/ */
};

/*
 * Where a path may be a protected part of a git directory: each candidate from the left. To be called with
 * *at = 0 at first, until it gives false.
 */
bool git_candidate_next(const char *path, bool fold, size_t *at, struct git_candidate *out);

/* The parts by their names, each as it is spelled in lower case; NULL past the end. */
const char *git_part_name(size_t index, enum git_part *part);

/* What holds data in a git directory: below it no name is a part of one. NULL past the end. */
const char *git_data_name(size_t index);

/* True where a path of so many bytes is one of those by its name. */
bool git_is_directory_name(const char *path, size_t length, bool fold);

/* The same for .git/worktrees/NAME alone. */
bool git_is_worktree_name(const char *path, size_t length, bool fold);

/* True where the last component is .git itself. */
bool git_is_dot_git(const char *path, bool fold);

/* True for a name whose appearance can make its folder a git directory, or belongs to one: HEAD, objects,
 * refs, hooks, config, config.worktree, commondir, gitdir, .git. */
bool git_marks_directory(const char *name, bool fold);

#endif
