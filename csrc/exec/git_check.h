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

enum git_head {
    GIT_HEAD_NONE, /* none, or one that git does not take: the directory can only be another's common one */
    GIT_HEAD_VALID,
    GIT_HEAD_UNKNOWN, /* it cannot be read */
};

/* Whether git takes HEAD (validate_headref() of git's refs.c). */
enum git_head git_check_head(int folder);

/*
 * Makes the git directory (O_PATH) harmless: hooks, config, config.worktree, commondir; not those of other
 * git directories below it, which may be another's. No symlink is followed: one in their place is renamed.
 * What configuration there is is in new files afterwards. 0; an errno where something could not be made so,
 * which `found` was told as well.
 */
int git_check_disarm(int directory, git_check_found *found, void *data);

/*
 * For a directory without a HEAD that git takes, which is left as it is: sees to it that it gets one only by
 * a name that is made, or a file that is opened, in there; and is nobody's common directory. 0 or an errno.
 */
int git_check_close(int directory, git_check_found *found, void *data);

/* True for a name in hooks/ that git runs nothing of: it ends in ".sample", or in what git_check_disarm
 * appends. */
bool git_check_is_inactive_hook(const char *name);

/* True for a name that git_check_disarm gives a file which it has not put in its place yet. */
bool git_check_is_own_name(const char *name);

#endif
