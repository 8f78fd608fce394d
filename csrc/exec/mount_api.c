#include "exec/mount_api.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TREE_CLONE 1u
#define TREE_CLOEXEC ((unsigned)O_CLOEXEC)
#define FROM_EMPTY_PATH 0x04u
#define TO_EMPTY_PATH 0x40u
#define RECURSIVE 0x8000u
#define CONTEXT_CLOEXEC 1u
#define CONTEXT_SET_STRING 1u
#define CONTEXT_CREATE 6u
#define MOUNT_CLOEXEC 1u

struct mount_attributes {
    uint64_t set;
    uint64_t clear;
    uint64_t propagation;
    uint64_t user_namespace;
};

static int clone_tree(int folder, const char *path, unsigned flags, bool recursive) {
    return (int)syscall(SYS_open_tree, folder, path,
                        TREE_CLONE | TREE_CLOEXEC | flags | (recursive ? RECURSIVE : 0));
}

int tree_clone(const char *path, bool recursive) {
    return clone_tree(AT_FDCWD, path, 0, recursive);
}

int tree_clone_fd(int fd, bool recursive) {
    return clone_tree(fd, "", AT_EMPTY_PATH, recursive);
}

int tree_attach(int tree, int fd) {
    return (int)syscall(SYS_move_mount, tree, "", fd, "", FROM_EMPTY_PATH | TO_EMPTY_PATH);
}

int tree_restrict(int fd, uint64_t attributes, bool recursive) {
    struct mount_attributes request = {.set = attributes};
    return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | (recursive ? RECURSIVE : 0), &request,
                        sizeof request);
}

int tree_make_tmpfs(unsigned mode) {
    char text[16];
    snprintf(text, sizeof text, "%04o", mode);
    cleanup_fd int context = (int)syscall(SYS_fsopen, "tmpfs", CONTEXT_CLOEXEC);
    if (context < 0 || syscall(SYS_fsconfig, context, CONTEXT_SET_STRING, "mode", text, 0) != 0 ||
        syscall(SYS_fsconfig, context, CONTEXT_CREATE, NULL, NULL, 0) != 0)
        return -1;
    return (int)syscall(SYS_fsmount, context, MOUNT_CLOEXEC,
                        MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NODEV | MOUNT_ATTRIBUTE_NOEXEC);
}
