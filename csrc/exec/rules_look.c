#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_BASIC_STATS
#include <linux/stat.h>
#endif

#include "base/cleanup.h"
#include "exec/git_check.h"
#include "exec/rules_internal.h"

static int open_strictly(int folder, const char *path, uint64_t resolve) {
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | resolve};
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}

int rules_open(const struct rules *rules, const char *path, size_t length) {
    char own[PATH_MAX];
    if (length >= sizeof own)
        return -ENAMETOOLONG;
    memcpy(own, path, length);
    own[length] = '\0';
    return open_strictly(rules->root, length == 0 ? "/" : own, RESOLVE_IN_ROOT);
}

uint64_t file_identity_hash(int fd) {
    struct statx facts;
    memset(&facts, 0, sizeof facts);
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &facts) != 0)
        return 0;
    const uint64_t numbers[] = {facts.stx_dev_major, facts.stx_dev_minor, facts.stx_ino,
                                (uint64_t)facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec};
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        hash = (hash ^ numbers[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_absence(int error) {
    return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

bool folder_has(int folder, const char *path) {
    cleanup_fd int fd = open_strictly(folder, path, RESOLVE_BENEATH);
    return fd >= 0 || !is_absence(-fd);
}

/* A dangling symlink counts: git follows it, and what it leads to may be made at any time. */
static bool has_entry(struct git_look *look, const char *name) {
    struct stat facts;
    if (fstatat(look->fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    look->unseen = look->unseen || !is_absence(errno);
    return !is_absence(errno);
}

/* is_git_directory() in git's setup.c */
static void look(struct git_look *out) {
    struct stat facts;
    if (fstat(out->fd, &facts) != 0)
        return;
    out->device = facts.st_dev;
    out->inode = facts.st_ino;
    out->unseen = false;
    bool objects = has_entry(out, "objects");
    bool refs = has_entry(out, "refs");
    bool head = has_entry(out, "HEAD");
    bool common = has_entry(out, "commondir");
    out->git = (objects && refs) || (head && common);
    out->head = git_check_head(out->fd);
}

struct git_look git_look_at(const struct rules *rules, const char *path, size_t length) {
    struct git_look found = {
        .fd = rules_open(rules, path, length), .git = true, .unseen = true, .head = GIT_HEAD_UNKNOWN};
    if (found.fd < 0)
        found.fd = -1;
    else
        look(&found);
    return found;
}

struct git_look git_look_of(int folder) {
    struct git_look found = {
        .fd = fcntl(folder, F_DUPFD_CLOEXEC, 3), .git = true, .unseen = true, .head = GIT_HEAD_UNKNOWN};
    if (found.fd < 0)
        found.fd = -1;
    else
        look(&found);
    return found;
}

static bool is_self(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

bool has_active_hooks(int folder) {
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (listing == NULL) {
        close_fd(&fd);
        return true;
    }
    const struct dirent *entry;
    bool found = false;
    errno = 0;
    while (!found && (entry = readdir(listing)) != NULL)
        found = !is_self(entry->d_name) && !git_check_is_inactive_hook(entry->d_name);
    found = found || errno != 0;
    closedir(listing);
    return found;
}
