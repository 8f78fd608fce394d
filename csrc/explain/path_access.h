/* What is not for the rules to say of a path: the sandbox's own folders, the host's permissions, and whether
 * an entry of allowUnixSockets means it. */
#ifndef OS_SANDBOX_EXPLAIN_PATH_ACCESS_H
#define OS_SANDBOX_EXPLAIN_PATH_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/fs_rules.h"

/* A folder, or a file, of which the sandbox has one of its own. */
struct own_place {
    const char *path;
    bool readable;
    bool writable;
    const char *why;
    const char *why_read_only; /* where it is not writable */
};

/* The innermost one that the path lies in; NULL: none. */
const struct own_place *path_access_own(const char *path);

extern const char path_access_why_host[];

/* Whether this thread may, as access(2) asks; thread_rights.h makes that a command's rights. */
bool path_access_is_allowed(const char *path, int mode);

/* How much of the normal path is the first folder, or file, of it that is not there. */
size_t path_access_missing(const char *path);

/* Whether something may be made in the nearest folder above that is there. */
bool path_access_can_be_made(const char *path);

/* Whether an entry of allowUnixSockets has the real path. To be called when the run's write roots are in
 * place->memory. 0, or -1. */
int path_access_socket_entry(const char *entry, const struct fs_place *place, const char *path, bool *has,
                             struct error *err);

#endif
