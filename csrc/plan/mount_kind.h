/* The kinds of mounts in a plan: what the addon plans, what the helper mounts and checks. */
#ifndef OS_SANDBOX_PLAN_MOUNT_KIND_H
#define OS_SANDBOX_PLAN_MOUNT_KIND_H

#include <stdbool.h>

enum mount_kind {
    MOUNT_WRITABLE,   /* bound onto itself, writable where the file system is */
    MOUNT_READ_ONLY,  /* bound onto itself, read-only */
    MOUNT_MASK_DIR,   /* an empty read-only directory without permissions */
    MOUNT_MASK_FILE,  /* an empty read-only file without permissions */
    MOUNT_MASK_HOLES, /* as MOUNT_MASK_DIR, but it can be passed through (0111): the plan has more mounts
                         below it, whose mount points are made in it */
    MOUNT_PIN,    /* a directory above one of those, bound onto itself, so that it cannot be renamed away */
    MOUNT_LINK,   /* no mount: a symlink in the nearest MOUNT_MASK_HOLES above, which shows it as it is */
    MOUNT_FOLDER, /* no mount: an empty folder in the nearest MOUNT_MASK_HOLES or private one above, which
                     can be entered */
    MOUNT_PRIVATE_TMP,  /* the session's own temporary directory; as in MOUNT_MASK_HOLES, mount points of what
                           the plan has below it are made in it */
    MOUNT_PRIVATE_COPY, /* what is there, to be changed by the session alone */
    MOUNT_PRIVATE_EMPTY, /* an empty directory of the session's own */
    MOUNT_KINDS,
};

static inline bool mount_kind_is_private(enum mount_kind kind) {
    return kind == MOUNT_PRIVATE_TMP || kind == MOUNT_PRIVATE_COPY || kind == MOUNT_PRIVATE_EMPTY;
}

/* Covers what is below it, and has the mount points for what of that is shown all the same. */
static inline bool mount_kind_has_holes(enum mount_kind kind) {
    return kind == MOUNT_MASK_HOLES || mount_kind_is_private(kind);
}

#endif
