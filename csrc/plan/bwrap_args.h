/* The mount plan as arguments for bwrap --args (bwrap(1)). Pure. */
#ifndef OS_SANDBOX_PLAN_BWRAP_ARGS_H
#define OS_SANDBOX_PLAN_BWRAP_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strvec.h"
#include "plan/mount_plan.h"

/* What this host's bwrap and kernel can do: found out by the start's probe. */
struct bwrap_features {
    bool mounted_before;  /* the plan and /dev are mounted when bwrap starts: it takes the tree as it is */
    bool session_network; /* the run enters the session's network namespace; else bwrap makes an empty one */
    bool disable_userns;  /* --disable-userns, bwrap 0.8 */
    bool fresh_proc;      /* /proc can be mounted; else the host's is bound read-only */
};

/* bwrap refuses more (MAX_ARGS in its source). */
#define BWRAP_ARGUMENTS_MAX 9000

/*
 * Appends all options, namespaces first, then mounts in the plan's order. *mask_files is how many
 * descriptors, counting up from first_mask_fd, the arguments read as the (empty) content of masked files. 0,
 * or -1: too many, or no memory.
 */
int bwrap_args_from_plan(const struct mount_plan *plan, const struct bwrap_features *features,
                         int first_mask_fd, struct strvec *out, unsigned *mask_files, struct error *err);

#endif
