/*
 * The last look at a git directory that a command made: the host's next git command must not run anything
 * that is in it. Nothing is deleted: an active hook gets a name that git does not know, entries of the
 * configuration become comments.
 */
#ifndef OS_SANDBOX_EXEC_GIT_CHECK_H
#define OS_SANDBOX_EXEC_GIT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* Told of each thing that was taken out: its path below the directory ("hooks/post-commit", "config") and
 * why. */
typedef void git_check_found(void *data, const char *name, const char *why);

/*
 * True where the folder (O_PATH) is a git directory or may easily become one: objects and refs in it, be they
 * dangling links, or HEAD and commondir. For judging what may be written.
 */
bool git_check_is_directory(int folder);

/*
 * True where git takes it for a git directory now, or for the common one of another (is_git_directory() in
 * git's setup.c): objects and refs, by links too, and a HEAD that is one, or worktrees/; or such a HEAD and
 * commondir. To be asked before git_check_disarm, where the name of the directory does not say it already.
 */
bool git_check_is_taken(int folder);

/*
 * Makes the git directory (O_PATH) harmless: hooks, config, config.worktree, commondir, and those below
 * modules/ and worktrees/. No symlink is followed: one in their place is renamed. What configuration there is
 * is in new files afterwards. 0; an errno where something could not be made so, which `found` was told as
 * well.
 */
int git_check_disarm(int directory, git_check_found *found, void *data);

/* A number that changes whenever hooks or configuration in there may have (names, contents, change times), or
 * git_check_is_taken does; never 0. */
uint64_t git_check_stamp(int directory);

/* True for a name in hooks/ that git runs nothing of: it ends in ".sample", or in what git_check_disarm
 * appends. */
bool git_check_is_inactive_hook(const char *name);

#endif
