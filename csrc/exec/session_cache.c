#include "exec/session_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/mount_api.h"
#include "exec/mount_check.h"
#include "exec/session_tree.h"
#include "exec/statx.h"

/* Known by what it is a copy of: a folder that is made anew is another one. */
struct cache {
    char folder[96];
    char shown[128];
    char upper[128];
    char work[128];
};

static struct cache cache_of(const struct payload_mount *mount) {
    struct cache cache;
    snprintf(cache.folder, sizeof cache.folder, SESSION_PRIVATE "/%s-%llx-%llx",
             mount->kind == MOUNT_PRIVATE_COPY ? "copy" : "empty", (unsigned long long)mount->device,
             (unsigned long long)mount->inode);
    snprintf(cache.shown, sizeof cache.shown, "%s/shown", cache.folder);
    snprintf(cache.upper, sizeof cache.upper, "%s/upper", cache.folder);
    snprintf(cache.work, sizeof cache.work, "%s/work", cache.folder);
    return cache;
}

static int make_folder(const char *path) {
    return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -1;
}

static bool is_mounted(const char *path) {
    struct file_facts facts;
    cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
    return fd >= 0 && file_facts_of(fd, &facts) == 0 && facts.mount_root;
}

/* overlayfs(5); userxattr, as the session's user namespace has no right to others. The folder by its
 * descriptor: no character of its name means anything, and it is the planned one. */
static int mount_copy(const struct cache *cache, int folder) {
    char options[512];
    snprintf(options, sizeof options, "lowerdir=/proc/self/fd/%d,upperdir=%s,workdir=%s,userxattr", folder,
             cache->upper, cache->work);
    return mount("overlay", cache->shown, "overlay", MS_NOSUID | MS_NODEV, options);
}

static int make_cache(const struct payload_mount *mount, char *text, size_t text_size) {
    struct cache cache = cache_of(mount);
    const char *step = cache.folder;
    if (make_folder(cache.folder) == 0 && make_folder(cache.shown) == 0) {
        if (mount->kind == MOUNT_PRIVATE_EMPTY || is_mounted(cache.shown))
            return 0;
        cleanup_fd int folder = mount_point_open_planned(mount, text, text_size);
        if (folder < 0)
            return -1;
        step = "overlayfs";
        if (make_folder(cache.upper) == 0 && make_folder(cache.work) == 0 && mount_copy(&cache, folder) == 0)
            return 0;
    }
    snprintf(text, text_size, "%s: %s", step, strerror(errno));
    return -1;
}

int session_cache_make(const struct payload *payload, char *text, size_t text_size) {
    cleanup_fd int lock = -1;
    int result = 0;
    for (size_t i = 0; i < payload->mount_count; i++) {
        const struct payload_mount *mount = &payload->mounts[i];
        if (mount->kind != MOUNT_PRIVATE_COPY && mount->kind != MOUNT_PRIVATE_EMPTY)
            continue;
        /* Runs that start at once would each make it. */
        if (lock < 0 &&
            ((lock = open(SESSION_PRIVATE, O_RDONLY | O_CLOEXEC)) < 0 || flock(lock, LOCK_EX) != 0)) {
            snprintf(text, text_size, "%s: %s", SESSION_PRIVATE, strerror(errno));
            return -1;
        }
        if (make_cache(mount, text, text_size) != 0)
            result = -1;
    }
    return result;
}

int session_cache_clone(const struct payload_mount *mount) {
    struct cache cache = cache_of(mount);
    return tree_clone(cache.shown, false);
}
