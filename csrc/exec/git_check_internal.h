/* What the parts of git_check.h share: where a check is, and what it says. */
#ifndef OS_SANDBOX_EXEC_GIT_CHECK_INTERNAL_H
#define OS_SANDBOX_EXEC_GIT_CHECK_INTERNAL_H

#include <limits.h>
#include <stddef.h>

#include "exec/git_check.h"

struct check {
    git_check_found *found;
    void *data;
    int result; /* the first errno */
    size_t length;
    char path[PATH_MAX]; /* of the folder that is looked at, below the git directory, a slash at its end */
};

/* Goes into a folder, as far as names are concerned; gives what check_leave wants to go back. */
size_t check_enter(struct check *check, const char *name);
void check_leave(struct check *check, size_t before);

/* Of a name in the folder that is looked at. */
void check_say(struct check *check, const char *name, const char *why);
void check_failed(struct check *check, const char *name, int error);

/* Gives it a name that git does not know. 0 or errno. */
int check_set_aside(int folder, const char *name);

/* The same, and says why, or that it failed. */
void check_remove(struct check *check, int folder, const char *name, const char *why);

#endif
