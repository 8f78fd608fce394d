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
static bool has_entry(int folder, const char *name) {
    struct stat facts;
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 || !is_absence(errno);
}

/* validate_headref() in git's setup.c: what cannot be read counts as valid. */
static bool has_valid_head(int folder) {
    char text[64] = "";
    if (readlinkat(folder, "HEAD", text, sizeof text - 1) > 0)
        return strncmp(text, "refs/", 5) == 0;
    cleanup_fd int fd = openat(folder, "HEAD", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return !is_absence(errno);
    ssize_t length = read(fd, text, sizeof text - 1);
    if (length < 0)
        return true;
    text[length] = '\0';
    if (strncmp(text, "ref:", 4) == 0)
        return strncmp(text + 4 + strspn(text + 4, " \t\n\v\f\r"), "refs/", 5) == 0;
    return strspn(text, "0123456789abcdefABCDEF") >= 40;
}

/* is_git_directory() in git's setup.c */
static void look(struct git_look *out) {
    struct stat facts;
    if (fstat(out->fd, &facts) != 0)
        return;
    out->device = facts.st_dev;
    out->inode = facts.st_ino;
    bool has_store = has_entry(out->fd, "objects") && has_entry(out->fd, "refs");
    out->git = has_store || (has_entry(out->fd, "HEAD") && has_entry(out->fd, "commondir"));
    out->whole = out->git && has_valid_head(out->fd);
}

struct git_look git_look_at(const struct rules *rules, const char *path, size_t length) {
    struct git_look found = {.fd = rules_open(rules, path, length), .git = true, .whole = true};
    if (found.fd < 0)
        found.fd = -1;
    else
        look(&found);
    return found;
}

struct git_look git_look_of(int folder) {
    struct git_look found = {.fd = fcntl(folder, F_DUPFD_CLOEXEC, 3), .git = true, .whole = true};
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
