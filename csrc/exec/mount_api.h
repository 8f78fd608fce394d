/*
 * The kernel's mount calls by descriptor: open_tree, move_mount and fsopen (Linux 5.2), mount_setattr (5.12).
 * Numbers and flags of linux/mount.h, which does not go with the C library's own header.
 */
#ifndef OS_SANDBOX_EXEC_MOUNT_API_H
#define OS_SANDBOX_EXEC_MOUNT_API_H

#include <stdbool.h>
#include <stdint.h>

enum mount_attribute {
    MOUNT_ATTRIBUTE_READ_ONLY = 1,
    MOUNT_ATTRIBUTE_NOSUID = 2,
    MOUNT_ATTRIBUTE_NODEV = 4,
    MOUNT_ATTRIBUTE_NOEXEC = 8,
};

/* A copy of the mount at the path that is attached nowhere yet, with everything mounted below it or without.
 * -1 with errno. */
int tree_clone(const char *path, bool recursive);

/* The same of the file that fd (O_PATH) stands for. */
int tree_clone_fd(int fd, bool recursive);

/* Attaches a cloned tree on top of what fd stands for; no name is looked up. 0, or -1 with errno. */
int tree_attach(int tree, int fd);

/* Sets attributes, on the tree or mount of fd and with recursive on all below it. 0, or -1 with errno. */
int tree_restrict(int fd, uint64_t attributes, bool recursive);

/* A new tmpfs whose root has the mode, nosuid, nodev and noexec, attached nowhere yet. -1 with errno. */
int tree_make_tmpfs(unsigned mode);

#endif
