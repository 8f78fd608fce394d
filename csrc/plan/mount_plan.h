/*
 * The mount plan: what a run's file rules become on Linux, in the order in which it is to be mounted over a read-only
 * tree. Pure: the rules are resolved already, nothing is looked at here.
 */
#ifndef OS_SANDBOX_PLAN_MOUNT_PLAN_H
#define OS_SANDBOX_PLAN_MOUNT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/fs_rules.h"

enum mount_kind {
    MOUNT_WRITABLE,  /* bound onto itself, writable */
    MOUNT_READ_ONLY, /* bound onto itself, read-only */
    MOUNT_MASK_DIR,  /* an empty read-only directory without permissions */
    MOUNT_MASK_FILE, /* an empty read-only file without permissions */
    MOUNT_PIN,       /* a directory above one of those, bound onto itself, so that it cannot be renamed away */
};

struct mount {
    enum mount_kind kind;
    char *path;
    uint64_t device; /* of the file that the rule was resolved to; for pins 0 until mount_plan_identify */
    uint64_t inode;
};

struct mount_plan {
    bool root_writable; /* a write root is "/" itself */
    struct mount *items;
    size_t count;
    size_t capacity;
};

/*
 * Orders the rules: denyRead > denyWrite > grants, parents before what lies below them. Nothing redundant is in the
 * plan: no grant inside a writable tree, no denial inside one that holds already. Paths below /dev and /proc make no
 * mount, since the sandbox has its own. 0, or -1 with *out empty.
 */
int mount_plan_build(const struct fs_rules *rules, struct mount_plan *out, struct error *err);

void mount_plan_clear(struct mount_plan *plan);

#endif
