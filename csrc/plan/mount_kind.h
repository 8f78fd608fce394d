/* The kinds of mounts in a plan: what the addon plans, what the helper mounts and checks. */
#ifndef OS_SANDBOX_PLAN_MOUNT_KIND_H
#define OS_SANDBOX_PLAN_MOUNT_KIND_H

enum mount_kind {
    MOUNT_WRITABLE,   /* bound onto itself, writable where the file system is */
    MOUNT_READ_ONLY,  /* bound onto itself, read-only */
    MOUNT_MASK_DIR,   /* an empty read-only directory without permissions */
    MOUNT_MASK_FILE,  /* an empty read-only file without permissions */
    MOUNT_MASK_HOLES, /* as MOUNT_MASK_DIR, but it can be passed through (0111): the plan has more mounts
                         below it, whose mount points are made in it */
    MOUNT_PIN,  /* a directory above one of those, bound onto itself, so that it cannot be renamed away */
    MOUNT_LINK, /* no mount: a symlink in the nearest MOUNT_MASK_HOLES above, which shows it as it is */
    MOUNT_KINDS,
};

#endif
