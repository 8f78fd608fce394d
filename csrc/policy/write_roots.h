/* Which places a run may write in. */
#ifndef OS_SANDBOX_POLICY_WRITE_ROOTS_H
#define OS_SANDBOX_POLICY_WRITE_ROOTS_H

#include "policy/fs_rules.h"

/*
 * Appends a rule per write root: the cwd and the framework's task logs unless writableCwd is false, the
 * temporary directories unless they are private, allowWrite, the additional directories. One that is not
 * there is not granted; one that a command could have made lead elsewhere is not either, with a warning. 0,
 * or -1.
 */
int write_roots_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                        struct error *err);

#endif
