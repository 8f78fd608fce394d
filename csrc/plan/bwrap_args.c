#include "plan/bwrap_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"

/*
 * --unshare-user also for root, who would keep capabilities otherwise. No --new-session: the stage calls
 * setsid(). No
 * --die-with-parent: the stage ends when its socket does, and a bwrap that dies between its clone and its id
 * maps leaves a child behind that waits for ever.
 */
static const char *const isolation[] = {
    "--unshare-user",       "--unshare-pid", "--unshare-ipc", "--unshare-uts",
    "--unshare-cgroup-try", "--as-pid-1",    "--cap-drop",    "ALL",
};
/* A tmpfs of bwrap's: closed after /dev/shm was mounted in it. */
static const char *const own_dev[] = {"--dev",   "/dev",     "--perms",      "1777",
                                      "--tmpfs", "/dev/shm", "--remount-ro", "/dev"};
static const char *const tree_as_it_is[] = {"--dev-bind", "/", "/", "--perms", "1777", "--tmpfs", "/dev/shm"};
/* A writable /proc holds core_pattern and sysrq for root: nothing in it may be written. */
static const char *const own_proc[] = {"--proc", "/proc", "--remount-ro", "/proc"};
static const char *const host_proc[] = {"--ro-bind", "/proc", "/proc"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int push(struct strvec *out, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strvec_push(out, words[i]) != 0)
            return -1;
    return 0;
}

static int push_mount(const struct mount *mount, int mask_fd, struct strvec *out) {
    char fd[16];
    snprintf(fd, sizeof fd, "%d", mask_fd);
    const char *path = mount->path;
    switch (mount->kind) {
    case MOUNT_WRITABLE:
    case MOUNT_PIN:
        return push(out, (const char *const[]){"--bind", path, path}, 3);
    case MOUNT_READ_ONLY:
        return push(out, (const char *const[]){"--ro-bind", path, path}, 3);
    case MOUNT_MASK_DIR:
        return push(out, (const char *const[]){"--perms", "0000", "--tmpfs", path, "--remount-ro", path}, 6);
    case MOUNT_MASK_HOLES:
        return push(out, (const char *const[]){"--perms", "0111", "--tmpfs", path}, 4);
    case MOUNT_MASK_FILE:
        return push(out, (const char *const[]){"--perms", "0000", "--ro-bind-data", fd, path}, 5);
    case MOUNT_FOLDER:
        return push(out, (const char *const[]){"--perms", "0111", "--dir", path}, 4);
    case MOUNT_PRIVATE_TMP:
        return push(out, (const char *const[]){"--perms", "1777", "--tmpfs", path}, 4);
    case MOUNT_PRIVATE_COPY: /* bwrap before 0.11 has no overlays */
    case MOUNT_PRIVATE_EMPTY:
        return push(out, (const char *const[]){"--perms", "0755", "--tmpfs", path}, 4);
    case MOUNT_LINK: /* its text is not known here; what it leads to is open by its real path */
        return 0;
    case MOUNT_KINDS:
        break;
    }
    return -1;
}

/* The mounts around the one whose turn it is, outermost first, and what was made last in each. */
struct around {
    const struct mount *mount;
    const char *last_hole; /* right below it; NULL: none yet */
};

/* Closed once everything below it is there: mount points cannot be made in it afterwards. */
static int leave(const struct around *around, struct strvec *out) {
    if (around->mount->kind != MOUNT_MASK_HOLES)
        return 0;
    return push(out, (const char *const[]){"--remount-ro", around->mount->path}, 2);
}

/* Up to the last slash, the way that two holes have in common. */
static size_t common_way(const char *hole, const char *other) {
    size_t common = 0;
    for (size_t i = 0; other != NULL && hole[i] != '\0' && hole[i] == other[i]; i++)
        if (hole[i] == '/')
            common = i;
    return common;
}

/* The folders on a hole's way, which bwrap would make readable by itself. */
static int push_way(struct around *around, const char *hole, struct strvec *out) {
    if (around->mount->kind != MOUNT_MASK_HOLES)
        return 0;
    size_t made = common_way(hole, around->last_hole);
    size_t top = strlen(around->mount->path);
    around->last_hole = hole;
    for (const char *slash = strchr(hole + (made > top ? made : top) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        cleanup_free char *folder = strndup(hole, (size_t)(slash - hole));
        if (folder == NULL || push(out, (const char *const[]){"--perms", "0111", "--dir", folder}, 4) != 0)
            return -1;
    }
    return 0;
}

/* All mounts, in the plan's order. *mask_files counts the masked files. */
static int push_plan(const struct mount_plan *plan, int first_mask_fd, struct strvec *out,
                     unsigned *mask_files) {
    cleanup_free struct around *around = calloc(plan->count + 1, sizeof *around);
    size_t depth = 0;
    int result = around == NULL ? -1 : 0;
    for (size_t i = 0; result == 0 && i < plan->count; i++) {
        const struct mount *mount = &plan->items[i];
        while (result == 0 && depth > 0 && !path_is_within(mount->path, around[depth - 1].mount->path))
            result = leave(&around[--depth], out);
        if (result == 0 && depth > 0)
            result = push_way(&around[depth - 1], mount->path, out);
        if (result == 0)
            result = push_mount(mount, first_mask_fd + (int)*mask_files, out);
        if (mount->kind == MOUNT_MASK_FILE)
            ++*mask_files;
        /* In a folder nothing is mounted: what is below it lies in what is around that. */
        if (mount->kind != MOUNT_FOLDER)
            around[depth++] = (struct around){.mount = mount};
    }
    while (result == 0 && depth > 0)
        result = leave(&around[--depth], out);
    return result;
}

int bwrap_args_from_plan(const struct mount_plan *plan, const struct bwrap_features *features,
                         int first_mask_fd, struct strvec *out, unsigned *mask_files, struct error *err) {
    const char *const root[] = {plan->root_writable ? "--bind" : "--ro-bind", "/", "/"};
    *mask_files = 0;
    int result = push(out, isolation, COUNT(isolation));
    if (result == 0 && !features->session_network)
        result = strvec_push(out, "--unshare-net");
    if (result == 0 && features->disable_userns)
        result = strvec_push(out, "--disable-userns");
    if (result == 0)
        result = features->mounted_before ? push(out, tree_as_it_is, COUNT(tree_as_it_is))
                                          : push(out, root, COUNT(root));
    if (result == 0 && !features->mounted_before)
        result = push(out, own_dev, COUNT(own_dev));
    if (result == 0)
        result = features->fresh_proc ? push(out, own_proc, COUNT(own_proc))
                                      : push(out, host_proc, COUNT(host_proc));
    if (result == 0 && !features->mounted_before)
        result = push_plan(plan, first_mask_fd, out, mask_files);
    if (result == 0)
        result = push(out, (const char *const[]){"--chdir", "/"}, 2);
    if (result != 0)
        return error_memory(err);
    if (out->count > BWRAP_ARGUMENTS_MAX)
        return error_set(err, ERROR_HOST, 0, "the mount plan has %zu mounts, more than bwrap takes",
                         plan->count);
    return 0;
}
