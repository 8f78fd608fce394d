#include "exec/session_dev.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of linux/mount.h, which musl's and glibc's own headers do not go with. */
#define TREE_CLONE 1u
#define TREE_CLOEXEC ((unsigned)O_CLOEXEC)
#define FROM_EMPTY_PATH 4u
#define ATTR_NOSUID 2ull
#define ATTR_NOEXEC 8ull

struct mount_attributes {
    uint64_t set;
    uint64_t clear;
    uint64_t propagation;
    uint64_t user_namespace;
};

static const char *const nodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/tty"};
enum { NODES = sizeof nodes / sizeof nodes[0] };

static const struct {
    const char *name;
    const char *target;
} links[] = {
    {"/dev/fd", "/proc/self/fd"},         {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"},   {"/dev/stderr", "/proc/self/fd/2"},
    {"/dev/core", "/proc/kcore"},         {"/dev/ptmx", "pts/ptmx"},
};

/* The host's node as a mount that is not attached anywhere yet. */
static int take_node(const char *path) {
    struct mount_attributes attributes = {.set = ATTR_NOSUID | ATTR_NOEXEC};
    cleanup_fd int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, TREE_CLONE | TREE_CLOEXEC);
    if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0)
        return -1;
    return steal_fd(&tree);
}

static int put_node(int tree, const char *path) {
    cleanup_fd int place = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (place < 0)
        return -1;
    return (int)syscall(SYS_move_mount, tree, "", AT_FDCWD, path, FROM_EMPTY_PATH);
}

static int fill(const int *trees) {
    for (size_t i = 0; i < NODES; i++)
        if (put_node(trees[i], nodes[i]) != 0)
            return -1;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (symlink(links[i].target, links[i].name) != 0)
            return -1;
    if (mkdir("/dev/shm", 0755) != 0 || mkdir("/dev/pts", 0755) != 0)
        return -1;
    return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
}

int session_dev_mount(void) {
    int trees[NODES];
    size_t taken = 0;
    int result = -1;
    while (taken < NODES && (trees[taken] = take_node(nodes[taken])) >= 0)
        taken++;
    if (taken == NODES && mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") == 0 &&
        fill(trees) == 0)
        result = mount(NULL, "/dev", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL);
    for (size_t i = 0; i < taken; i++)
        close_fd(&trees[i]);
    return result;
}
