/*
 * Protected names that are there when a run starts, at the top of each write root: they are mounted. What
 * lies deeper, or comes later, is held by name by the supervisor (protected_names.h).
 */
#ifndef OS_SANDBOX_POLICY_PROTECTED_PATHS_H
#define OS_SANDBOX_POLICY_PROTECTED_PATHS_H

#include "policy/fs_rules.h"

/*
 * When the write roots are in *out: a rule for each protected name in one that allowProtected does not free,
 * and for the parts of its repository (its .git, or it is a bare one) from which the host's git takes
 * configuration or programs, the folder that core.hooksPath names included. A symlink's target counts where
 * it lies in a write root and is not above one. 0, or -1.
 */
int protected_paths_resolve(const struct fs_options *options, const struct fs_place *place,
                            struct fs_rules *out, struct error *err);

#endif
