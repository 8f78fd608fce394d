#include "exec/run_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/mount_api.h"
#include "exec/mount_check.h"
#include "exec/session_tree.h"

static int failed(char *text, size_t text_size, const char *path) {
    snprintf(text, text_size, "%s: cannot be mounted: %s", path, strerror(errno));
    return -1;
}

/*
 * A copy of the tree at the planned file, as it is before everything becomes read-only: file systems mounted
 * below a write root keep what they are. No write root of a plan lies inside another, so the order is of no
 * account.
 */
static int take_root(const struct payload_mount *mount, char *text, size_t text_size) {
    cleanup_fd int fd = mount_point_open_planned(mount, text, text_size);
    if (fd < 0)
        return -1;
    int tree = tree_clone_fd(fd, true);
    if (tree >= 0 && tree_restrict(tree, MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NODEV, true) != 0)
        close_fd(&tree);
    return tree < 0 ? failed(text, text_size, mount->path) : tree;
}

/* What is to be put over the file of fd; roots were taken before. */
static int make_tree(const struct payload_mount *mount, int fd) {
    cleanup_fd int tree = -1;
    switch ((enum mount_kind)mount->kind) {
    case MOUNT_MASK_DIR:
        return tree_clone(SESSION_MASK_DIR, false);
    case MOUNT_MASK_FILE:
        return tree_clone(SESSION_MASK_FILE, false);
    case MOUNT_READ_ONLY:
        tree = tree_clone_fd(fd, true);
        return tree < 0 || tree_restrict(tree, MOUNT_ATTRIBUTE_READ_ONLY, true) != 0 ? -1 : steal_fd(&tree);
    case MOUNT_PIN:
        return tree_clone_fd(fd, true);
    case MOUNT_WRITABLE:
    case MOUNT_KINDS:
        break;
    }
    errno = EINVAL;
    return -1;
}

static int put_mount(const struct payload_mount *mount, int root, char *text, size_t text_size) {
    cleanup_fd int fd = mount_point_open_planned(mount, text, text_size);
    if (fd < 0)
        return -1;
    cleanup_fd int made = root < 0 ? make_tree(mount, fd) : -1;
    int tree = root < 0 ? made : root;
    return tree < 0 || tree_attach(tree, fd) != 0 ? failed(text, text_size, mount->path) : 0;
}

/* What stays writable: pseudo-terminals, and /proc, where bwrap writes its id maps before it mounts one of
 * its own. */
static const char *const kept[] = {"/dev", "/proc"};
enum { KEPT = sizeof kept / sizeof kept[0] };

static int make_tree_read_only(void) {
    int places[KEPT];
    int trees[KEPT];
    for (size_t i = 0; i < KEPT; i++)
        if ((places[i] = open(kept[i], O_PATH | O_CLOEXEC)) < 0 ||
            (trees[i] = tree_clone_fd(places[i], true)) < 0)
            return -1;
    cleanup_fd int root = open("/", O_PATH | O_CLOEXEC);
    if (root < 0 ||
        tree_restrict(root, MOUNT_ATTRIBUTE_READ_ONLY | MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NODEV,
                      true) != 0)
        return -1;
    for (size_t i = 0; i < KEPT; i++)
        if (tree_attach(trees[i], places[i]) != 0)
            return -1;
    return 0;
}

static int take_roots(const struct payload *payload, int *roots, char *text, size_t text_size) {
    for (size_t i = 0; i < payload->mount_count; i++) {
        roots[i] = -1;
        if (payload->mounts[i].kind == MOUNT_WRITABLE &&
            (roots[i] = take_root(&payload->mounts[i], text, text_size)) < 0)
            return -1;
    }
    return 0;
}

int run_mounts_make(const struct payload *payload, char *text, size_t text_size) {
    /* Not freed, nor the descriptors closed: this process becomes bwrap, or ends. */
    int *roots = calloc(payload->mount_count + 1, sizeof *roots);
    if (roots == NULL)
        return failed(text, text_size, "/");
    if (take_roots(payload, roots, text, text_size) != 0)
        return -1;
    if (!payload->root_writable && make_tree_read_only() != 0)
        return failed(text, text_size, "/");
    for (size_t i = 0; i < payload->mount_count; i++)
        if (put_mount(&payload->mounts[i], roots[i], text, text_size) != 0)
            return -1;
    return 0;
}
