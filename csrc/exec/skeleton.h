/*
 * Skeletons: what is mounted over a denied folder below which something stays open. Empty but for the ways to
 * its holes, passed through by who knows a name, listed by nobody.
 */
#ifndef OS_SANDBOX_EXEC_SKELETON_H
#define OS_SANDBOX_EXEC_SKELETON_H

#include <stdbool.h>
#include <stddef.h>

/* Of a skeleton and of the folders in it. */
#define SKELETON_MODE 0111

/* A mount of the plan right below a skeleton's: nothing else of the plan lies between the two. */
struct skeleton_hole {
    const char *path; /* absolute */
    size_t region;    /* whose it is: a number of the caller's */
    bool directory;
    bool link;   /* not mounted: the symlink is put there as it is */
    bool folder; /* not mounted: what can be entered, and has no hole itself */
};

struct skeleton {
    int folder;       /* what is denied, O_PATH, not covered yet */
    const char *path; /* its own, real */
    size_t region;
    const struct skeleton_hole *holes; /* of all regions */
    size_t hole_count;
};

/*
 * A tmpfs (mode 0111, read-only) that is attached nowhere yet, with a mount point for every hole of the
 * region, the folders between, and in all of these folders, for up to 1,000 of the names that are really
 * there, an empty file or folder without permissions: EACCES, not ENOENT. A symlink whose text leads to a
 * hole of any region, or to a folder above one, stays a symlink. In the mount namespace where it is to be
 * attached, of a user namespace that the caller rules. The mount's descriptor, or -1 with errno.
 */
int skeleton_make(const struct skeleton *skeleton);

/* Opens (O_PATH) a hole's mount point in a skeleton that was attached meanwhile: -1 with errno. */
int skeleton_open(int tree, const char *path, const char *hole);

#endif
