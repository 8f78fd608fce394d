#include "exec/run_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/mount_api.h"
#include "exec/mount_check.h"
#include "exec/private_folder.h"
#include "exec/session_cache.h"
#include "exec/session_tree.h"
#include "exec/skeleton.h"
#include "exec/statx.h"

static int failed(char *text, size_t text_size, const char *path) {
    snprintf(text, text_size, "%s: cannot be mounted: %s", path, strerror(errno));
    return -1;
}

/* What the plan's mounts need before the first of them covers anything. */
struct taken {
    int tree;      /* a copy of what is to be mounted; -1: it is made when its turn comes */
    size_t around; /* the nearest mount of the plan around this one; itself: none */
};

struct run_mounts {
    const struct payload *payload;
    struct taken *taken;         /* as many as there are mounts */
    struct skeleton_hole *holes; /* the mounts right below a skeleton's, or a private folder's */
    size_t hole_count;
};

/* A copy of the tree at a file, with all that is mounted in it, as the plan wants it. */
static int copy_tree(enum mount_kind kind, int fd) {
    /* File systems mounted below a write root keep what they are. */
    uint64_t attributes = MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NODEV;
    if (kind == MOUNT_READ_ONLY)
        attributes |= MOUNT_ATTRIBUTE_READ_ONLY;
    cleanup_fd int tree = tree_clone_fd(fd, true);
    return tree < 0 || tree_restrict(tree, attributes, true) != 0 ? -1 : steal_fd(&tree);
}

/* What is to be put over the file of fd. */
static int make_tree(enum mount_kind kind, int fd) {
    switch (kind) {
    case MOUNT_MASK_DIR:
        return tree_clone(SESSION_MASK_DIR, false);
    case MOUNT_MASK_FILE:
        return tree_clone(SESSION_MASK_FILE, false);
    case MOUNT_READ_ONLY:
        return copy_tree(kind, fd);
    case MOUNT_PIN:
        return tree_clone_fd(fd, true);
    case MOUNT_WRITABLE:    /* taken before everything became read-only */
    case MOUNT_MASK_HOLES:  /* and before anything was covered */
    case MOUNT_PRIVATE_TMP: /* taken as well */
    case MOUNT_PRIVATE_COPY:
    case MOUNT_PRIVATE_EMPTY:
    case MOUNT_LINK: /* in the skeleton */
    case MOUNT_FOLDER:
    case MOUNT_KINDS:
        break;
    }
    errno = EINVAL;
    return -1;
}

static bool masks(const struct payload_mount *mount) {
    return mount->kind == MOUNT_MASK_DIR || mount->kind == MOUNT_MASK_FILE || mount->kind == MOUNT_MASK_HOLES;
}

/* Parents come before what lies below them: the last one that fits is the nearest. */
static size_t find_around(const struct payload *payload, size_t number) {
    const char *path = payload->mounts[number].path;
    for (size_t i = number; i-- > 0;)
        if (payload->mounts[i].kind != MOUNT_FOLDER && path_is_within(path, payload->mounts[i].path))
            return i;
    return number;
}

static bool is_hole(const struct run_mounts *mounts, size_t number) {
    size_t around = mounts->taken[number].around;
    return around != number && mount_kind_has_holes((enum mount_kind)mounts->payload->mounts[around].kind);
}

static void find_arounds(struct run_mounts *mounts) {
    const struct payload *payload = mounts->payload;
    bool any_holes = false;
    for (size_t i = 0; i < payload->mount_count; i++) {
        any_holes = any_holes || mount_kind_has_holes((enum mount_kind)payload->mounts[i].kind);
        mounts->taken[i] = (struct taken){.tree = -1, .around = any_holes ? find_around(payload, i) : i};
        if (is_hole(mounts, i))
            mounts->holes[mounts->hole_count++] =
                (struct skeleton_hole){.path = payload->mounts[i].path,
                                       .region = mounts->taken[i].around,
                                       .link = payload->mounts[i].kind == MOUNT_LINK,
                                       .folder = payload->mounts[i].kind == MOUNT_FOLDER};
    }
}

static struct skeleton_hole *hole_of(const struct run_mounts *mounts, const struct payload_mount *mount) {
    for (size_t i = 0; i < mounts->hole_count; i++)
        if (mounts->holes[i].path == mount->path)
            return &mounts->holes[i];
    return NULL;
}

/* Of a hole, whether it is a folder: so must its mount point be. */
static int take_kind(const struct run_mounts *mounts, const struct payload_mount *mount, int fd) {
    struct file_facts facts;
    struct skeleton_hole *hole = hole_of(mounts, mount);
    if (fd >= 0 && file_facts_of(fd, &facts) != 0)
        return -1;
    if (hole != NULL)
        hole->directory = fd >= 0 ? S_ISDIR(facts.mode) : mount->kind != MOUNT_MASK_FILE;
    return 0;
}

static int take_private(const struct run_mounts *mounts, size_t number, char *text, size_t text_size) {
    const struct payload_mount *mount = &mounts->payload->mounts[number];
    int tree = mount->kind == MOUNT_PRIVATE_TMP ? tree_clone(SESSION_PRIVATE_TMP, false)
                                                : session_cache_clone(mount);
    mounts->taken[number].tree = tree;
    return tree < 0 ? failed(text, text_size, mount->path) : take_kind(mounts, mount, -1);
}

/* Write roots, before everything becomes read-only, and holes, before they are covered. */
static int take_tree(const struct run_mounts *mounts, size_t number, char *text, size_t text_size) {
    const struct payload_mount *mount = &mounts->payload->mounts[number];
    bool hole = is_hole(mounts, number);
    if (mount->kind == MOUNT_LINK || mount->kind == MOUNT_FOLDER)
        return 0;
    if (mount_kind_is_private((enum mount_kind)mount->kind))
        return take_private(mounts, number, text, text_size);
    if (masks(mount))
        return hole ? take_kind(mounts, mount, -1) : 0;
    if (mount->kind != MOUNT_WRITABLE && !hole)
        return 0;
    cleanup_fd int fd = hole ? mount_source_open_planned(mount, text, text_size)
                             : mount_point_open_planned(mount, text, text_size);
    if (fd < 0)
        return -1;
    mounts->taken[number].tree = copy_tree((enum mount_kind)mount->kind, fd);
    if (mounts->taken[number].tree < 0 || (hole && take_kind(mounts, mount, fd) != 0))
        return failed(text, text_size, mount->path);
    return 0;
}

/* After all holes are known. */
static int take_skeleton(struct run_mounts *mounts, size_t number, char *text, size_t text_size) {
    const struct payload_mount *mount = &mounts->payload->mounts[number];
    if (mount->kind != MOUNT_MASK_HOLES)
        return 0;
    cleanup_fd int fd = mount_point_open_planned(mount, text, text_size);
    if (fd < 0)
        return -1;
    const struct skeleton skeleton = {.folder = fd,
                                      .path = mount->path,
                                      .region = number,
                                      .holes = mounts->holes,
                                      .hole_count = mounts->hole_count};
    mounts->taken[number].tree = skeleton_make(&skeleton);
    return mounts->taken[number].tree < 0 ? failed(text, text_size, mount->path) : 0;
}

static int take_all(struct run_mounts *mounts, char *text, size_t text_size) {
    for (size_t i = 0; i < mounts->payload->mount_count; i++)
        if (take_tree(mounts, i, text, text_size) != 0)
            return -1;
    for (size_t i = 0; i < mounts->payload->mount_count; i++)
        if (take_skeleton(mounts, i, text, text_size) != 0)
            return -1;
    return 0;
}

/* The path of a hole from what is around it on. */
static const char *way_of(const struct run_mounts *mounts, size_t number) {
    size_t around = mounts->taken[number].around;
    return mounts->payload->mounts[number].path + strlen(mounts->payload->mounts[around].path) + 1;
}

/* In a private folder; NULL where it lies in none. */
static const struct taken *private_around(const struct run_mounts *mounts, size_t number) {
    size_t around = mounts->taken[number].around;
    bool within = is_hole(mounts, number) && mounts->payload->mounts[around].kind != MOUNT_MASK_HOLES;
    return within ? &mounts->taken[around] : NULL;
}

/* What is not mounted: a skeleton has it already. */
static int put_entry(const struct run_mounts *mounts, size_t number, char *text, size_t text_size) {
    const struct payload_mount *mount = &mounts->payload->mounts[number];
    const struct taken *around = private_around(mounts, number);
    if (around == NULL)
        return 0;
    cleanup_fd int folder =
        mount->kind == MOUNT_FOLDER ? private_folder_open(around->tree, way_of(mounts, number), true) : -1;
    if (mount->kind == MOUNT_FOLDER)
        return folder < 0 ? failed(text, text_size, mount->path) : 0;
    return private_folder_link(around->tree, way_of(mounts, number), mount->path) != 0
               ? failed(text, text_size, mount->path)
               : 0;
}

/* Where a mount goes: the planned file, or for a hole the mount point that what is around it has. */
static int open_place(const struct run_mounts *mounts, size_t number, char *text, size_t text_size) {
    const struct payload_mount *mount = &mounts->payload->mounts[number];
    const struct skeleton_hole *hole = hole_of(mounts, mount);
    if (hole == NULL)
        return mount_point_open_planned(mount, text, text_size);
    size_t around = mounts->taken[number].around;
    const struct taken *private = private_around(mounts, number);
    int fd = private != NULL ? private_folder_open(private->tree, way_of(mounts, number), hole->directory)
                             : skeleton_open(mounts->taken[around].tree, mounts->payload->mounts[around].path,
                                             mount->path);
    return fd < 0 ? failed(text, text_size, mount->path) : fd;
}

static int put_mount(const struct run_mounts *mounts, size_t number, char *text, size_t text_size) {
    const struct payload_mount *mount = &mounts->payload->mounts[number];
    if (mount->kind == MOUNT_LINK || mount->kind == MOUNT_FOLDER)
        return put_entry(mounts, number, text, text_size);
    cleanup_fd int place = open_place(mounts, number, text, text_size);
    if (place < 0)
        return -1;
    int taken = mounts->taken[number].tree;
    cleanup_fd int made = taken < 0 ? make_tree((enum mount_kind)mount->kind, place) : -1;
    int tree = taken < 0 ? made : taken;
    return tree < 0 || tree_attach(tree, place) != 0 ? failed(text, text_size, mount->path) : 0;
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

int run_mounts_make(const struct payload *payload, char *text, size_t text_size) {
    /* Not freed, nor the descriptors closed: this process becomes bwrap, or ends. */
    struct run_mounts mounts = {.payload = payload,
                                .taken = calloc(payload->mount_count + 1, sizeof *mounts.taken),
                                .holes = calloc(payload->mount_count + 1, sizeof *mounts.holes)};
    if (mounts.taken == NULL || mounts.holes == NULL)
        return failed(text, text_size, "/");
    find_arounds(&mounts);
    if (take_all(&mounts, text, text_size) != 0)
        return -1;
    if (!payload->root_writable && make_tree_read_only() != 0)
        return failed(text, text_size, "/");
    for (size_t i = 0; i < payload->mount_count; i++)
        if (put_mount(&mounts, i, text, text_size) != 0)
            return -1;
    return 0;
}
