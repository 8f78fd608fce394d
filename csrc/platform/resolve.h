/*
 * From a path as people write it to the file as the kernel knows it. Looks at the file system, changes
 * nothing; made for a thread of the pool, since a path may lie on a network file system that does not answer.
 */
#ifndef OS_SANDBOX_PLATFORM_RESOLVE_H
#define OS_SANDBOX_PLATFORM_RESOLVE_H

#include <stdint.h>

#include "base/error.h"
#include "base/strvec.h"

struct resolved_path {
    char *path; /* normal and free of symlinks; owned */
    uint64_t device;
    uint64_t inode;
    uint32_t mode; /* as st_mode */
    uint32_t owner;
    struct strvec link_folders; /* the real folders in which symlinks were followed on the way */
    struct strvec links;        /* those symlinks' own real paths, in the same order */
};

enum resolve_outcome {
    RESOLVE_FOUND,
    RESOLVE_ABSENT,      /* nothing is there, or the way leads through a file or a loop of symlinks: *out is
                            the path as it would be, real as far as it exists, and the links on the way */
    RESOLVE_UNREACHABLE, /* a folder on the way may not be searched by this thread: *out is that folder */
    RESOLVE_FAILED,      /* err says why */
};

/* Follows an absolute path to its file, symlinks and all. *out is to be released with resolved_path_clear,
 * whatever the outcome; device, inode, mode and owner are those of what is there. */
enum resolve_outcome path_resolve(const char *path, struct resolved_path *out, struct error *err);

void resolved_path_clear(struct resolved_path *resolved);

#endif
