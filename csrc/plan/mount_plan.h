/*
 * The mount plan: what a run's file rules become on Linux, in the order in which it is to be mounted over a
 * read-only tree. Pure: the rules are resolved already, nothing is looked at here.
 */
#ifndef OS_SANDBOX_PLAN_MOUNT_PLAN_H
#define OS_SANDBOX_PLAN_MOUNT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/mount_kind.h"
#include "policy/fs_rules.h"

struct mount {
    enum mount_kind kind;
    char *path;
    uint64_t device; /* of the file that the rule was resolved to; 0 for pins: the rules did not name them */
    uint64_t inode;
};

struct mount_plan {
    bool root_writable; /* a write root is "/" itself */
    struct mount *items;
    size_t count;
    size_t capacity;
};

/*
 * Orders the rules, parents before what lies below them. Reading: the innermost rule, on one path denyRead >
 * allowRead > the defaults. Writing, where reading is open: denyWrite > grants, wherever each stands above
 * the path. A region that is closed and has something open in it is MOUNT_MASK_HOLES, and the plan has a
 * mount for each of those. The same holds for what is private. Nothing redundant is in the plan: no grant
 * inside a writable tree, no denial inside one that holds already. Paths below /dev and /proc make no mount,
 * since the sandbox has its own. 0, or -1 with *out empty.
 */
int mount_plan_build(const struct fs_rules *rules, struct mount_plan *out, struct error *err);

/* What the plan of the rules means for a path, and the rules that say so. */
struct mount_verdict {
    bool readable;
    bool writable;
    bool own;   /* something of the session's own stands there: what it has is the session's */
    bool shown; /* it is a symlink that can be followed where nothing around it is open */
    const struct fs_rule *read_by;  /* NULL: none; reading is open */
    const struct fs_rule *write_by; /* what grants it, or denies it; NULL: no write root */
};

/* The same judgement as the plan's, of a real path that may not be there; of /dev and /proc, which are the
 * sandbox's own, it says nothing. 0, or -1: out of memory. */
int mount_plan_judge(const struct fs_rules *rules, const char *path, struct mount_verdict *out,
                     struct error *err);

/* True where a command would see what is, or comes to be, at the path. */
bool mount_plan_shows(const struct mount_plan *plan, const char *path);

void mount_plan_clear(struct mount_plan *plan);

#endif
