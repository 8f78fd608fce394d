#include "exec/session_tree.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/mount_api.h"

static const char *const nodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                    "/dev/random", "/dev/urandom", "/dev/tty"};
enum { NODES = sizeof nodes / sizeof nodes[0] };

static const struct {
    const char *name;
    const char *target;
} links[] = {
    {"/dev/fd", "/proc/self/fd"},       {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
    {"/dev/stderr", "/proc/self/fd/2"}, {"/dev/core", "/proc/kcore"},      {"/dev/ptmx", "pts/ptmx"},
};

/*
 * The host's node as a mount that is not attached anywhere yet. Read-only: root owns the nodes and could
 * change their modes; writing to a device goes on.
 */
static int take_node(const char *path) {
    cleanup_fd int tree = tree_clone(path, false);
    if (tree < 0 ||
        tree_restrict(tree, MOUNT_ATTRIBUTE_READ_ONLY | MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NOEXEC,
                      false) != 0)
        return -1;
    return steal_fd(&tree);
}

static int make_file(const char *path, mode_t mode) {
    return open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

static int put_node(int tree, const char *path) {
    cleanup_fd int place = make_file(path, 0666);
    return place < 0 ? -1 : tree_attach(tree, place);
}

static int make_read_only(const char *path) {
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* By the calls that skeletons are made with: where they are refused there is no session's tree either. */
static int put_tmpfs(const char *path) {
    cleanup_fd int tree = tree_make_tmpfs(0755);
    cleanup_fd int place = open(path, O_PATH | O_CLOEXEC);
    return tree < 0 || place < 0 ? -1 : tree_attach(tree, place);
}

static int put_masks(void) {
    if (mkdir("/dev/shm", 0755) != 0 || put_tmpfs("/dev/shm") != 0 || mkdir(SESSION_MASK_DIR, 0) != 0)
        return -1;
    cleanup_fd int file = make_file(SESSION_MASK_FILE, 0);
    return file < 0 || mkdir(SESSION_PRIVATE, 0755) != 0 ? -1 : make_read_only("/dev/shm");
}

/* Programs may be started from it, as from any temporary directory. What it may take of the host's memory
 * stays taken when the command that filled it is killed for want of some (tmpfs(5)). */
static int put_private(void) {
    if (mount("tmpfs", SESSION_PRIVATE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=25%,nr_inodes=256k") !=
        0)
        return -1;
    return mkdir(SESSION_PRIVATE_TMP, 01777);
}

static int fill(const int *trees) {
    for (size_t i = 0; i < NODES; i++)
        if (put_node(trees[i], nodes[i]) != 0)
            return -1;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (symlink(links[i].target, links[i].name) != 0)
            return -1;
    if (put_masks() != 0 || put_private() != 0 || mkdir("/dev/pts", 0755) != 0)
        return -1;
    return mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620");
}

static int forbid_devices(void) {
    cleanup_fd int root = open("/", O_PATH | O_CLOEXEC);
    return root < 0 ? -1 : tree_restrict(root, MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NODEV, true);
}

int session_tree_make(void) {
    int trees[NODES];
    size_t taken = 0;
    int result = -1;
    mode_t mask = umask(0);
    while (taken < NODES && (trees[taken] = take_node(nodes[taken])) >= 0)
        taken++;
    if (taken == NODES && forbid_devices() == 0 &&
        mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=64k") == 0 && fill(trees) == 0)
        result = make_read_only("/dev");
    umask(mask);
    for (size_t i = 0; i < taken; i++)
        close_fd(&trees[i]);
    return result;
}
