/*
 * The mount plan, mounted by descriptors: in a mount namespace of the run's own, before bwrap takes the tree
 * as it is. Nothing is created and no name is followed twice, so there is nothing that could be swapped
 * meanwhile.
 */
#ifndef OS_SANDBOX_EXEC_RUN_MOUNTS_H
#define OS_SANDBOX_EXEC_RUN_MOUNTS_H

#include <stddef.h>

#include "exec/payload.h"

/*
 * Mounts the plan in this mount namespace, a copy of the session's (session_tree.h): everything read-only,
 * then the plan's mounts in their order, each on a descriptor of the planned file, or of the mount point that
 * a skeleton (skeleton.h) has for it. 0, or -1 with the reason
 * in text; the process is then good for nothing but an exit.
 */
int run_mounts_make(const struct payload *payload, char *text, size_t text_size);

#endif
