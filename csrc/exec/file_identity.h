/*
 * How the kernel names a file inside, as sock_diag(7) shows it: by its superblock's device and its own
 * number, which fstat(2) replaces by others on btrfs and overlayfs.
 */
#ifndef OS_SANDBOX_EXEC_FILE_IDENTITY_H
#define OS_SANDBOX_EXEC_FILE_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct file_identity {
    dev_t device; /* as fstat(2) says it */
    ino_t inode;  /* the kernel's (before Linux 5.14: fstat's) */
    int mount;    /* the id of its mount; -1: unknown */
    mode_t mode;
};

/* Of an open file; O_PATH will do. False with errno. */
bool file_identity(int fd, struct file_identity *out);

/* The device of a mount's superblock, as a thread in whose namespace it is sees it. False where it cannot be
 * had. */
bool superblock_device(pid_t thread, int mount, dev_t *out);

#endif
