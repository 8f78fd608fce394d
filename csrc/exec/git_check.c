/*
 * Everything goes by descriptors, one component at a time, no symlink followed: the directory is what a
 * command made of it. Who calls this has no capabilities, so that permissions that a command took away from
 * its own folders are given back first.
 */
#include "exec/git_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/git_check_config.h"
#include "exec/git_check_file.h"
#include "exec/git_check_internal.h"

/* Entries of hooks/ that get a name of their own. */
#define HOOKS_MAX 1000
/* Of HEAD; git reads 255 bytes. */
#define HEAD_MAX (64u << 10)
#define ATTEMPTS_MAX 8

#define INACTIVE ".os-sandbox-disabled"
#define SAMPLE ".sample"

static bool ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

bool git_check_is_inactive_hook(const char *name) {
    return ends_in(name, SAMPLE) || ends_in(name, INACTIVE);
}

bool git_check_is_own_name(const char *name) {
    return ends_in(name, CHECK_NEW);
}

/* A dangling symlink counts: git follows it, and what it leads to may be made at any time. */
static bool has(int folder, const char *name) {
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool git_check_is_directory(int folder) {
    return (has(folder, "objects") && has(folder, "refs")) ||
           (has(folder, "HEAD") && has(folder, "commondir"));
}

/* A symbolic ref, or an object's name. */
static bool is_head(const char *text) {
    if (strncmp(text, "ref:", 4) == 0) {
        text += 4 + strspn(text + 4, " \t\r\n");
        return strncmp(text, "refs/", 5) == 0;
    }
    return strspn(text, "0123456789abcdefABCDEF") >= 40;
}

enum git_head git_check_head(int folder) {
    struct stat status;
    char link[8] = "";
    size_t length;
    if (readlinkat(folder, "HEAD", link, sizeof(link) - 1) >= 0)
        return strncmp(link, "refs/", 5) == 0 ? GIT_HEAD_VALID : GIT_HEAD_NONE;
    cleanup_fd int file = check_open_file(folder, "HEAD", &status);
    if (file < 0)
        return errno == ENOENT || errno == EINVAL ? GIT_HEAD_NONE : GIT_HEAD_UNKNOWN;
    cleanup_free char *text = check_read_file(file, HEAD_MAX, &length);
    if (text == NULL)
        return GIT_HEAD_UNKNOWN;
    return is_head(text) ? GIT_HEAD_VALID : GIT_HEAD_NONE;
}

/* --- what is said --- */

size_t check_enter(struct check *check, const char *name) {
    size_t before = check->length;
    int written = snprintf(check->path + before, sizeof(check->path) - before, "%s/", name);
    size_t room = sizeof(check->path) - 1 - before;
    check->length = before + ((size_t)written < room ? (size_t)written : room);
    return before;
}

void check_leave(struct check *check, size_t before) {
    check->length = before;
    check->path[before] = '\0';
}

void check_say(struct check *check, const char *name, const char *why) {
    size_t before = check_enter(check, name);
    if (check->length > 0)
        check->path[check->length - 1] = '\0';
    check->found(check->data, check->path, why);
    check_leave(check, before);
}

void check_failed(struct check *check, const char *name, int error) {
    check_say(check, name, "could not be made harmless");
    if (check->result == 0)
        check->result = error;
}

/* --- names --- */

int check_set_aside(int folder, const char *name) {
    char aside[NAME_MAX + 1];
    /* A hook's name is short: of a longer one the beginning will do. A command may have taken every name that
     * it can guess. */
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++) {
        if (i == 0)
            snprintf(aside, sizeof(aside), "%.200s%s", name, INACTIVE);
        else
            snprintf(aside, sizeof(aside), "%.200s.%016llx%s", name, check_random(), INACTIVE);
        if (syscall(SYS_renameat2, folder, name, folder, aside, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno == EINVAL && !has(folder, aside) && renameat(folder, name, folder, aside) == 0)
            return 0; /* a file system that does not know RENAME_NOREPLACE */
        if (errno != EEXIST && errno != EINVAL)
            return errno;
    }
    return EEXIST;
}

void check_remove(struct check *check, int folder, const char *name, const char *why) {
    int error = check_set_aside(folder, name);
    if (error == 0)
        check_say(check, name, why);
    else
        check_failed(check, name, error);
}

/* --- folders --- */

/* Its owner may enter, read and change it again. */
static void allow_owner(int folder) {
    struct stat status;
    char path[32];
    if (fstat(folder, &status) != 0 || (status.st_mode & S_IRWXU) == S_IRWXU)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", folder);
    /* Where it fails, what comes next fails and is told. */
    if (chmod(path, (status.st_mode & 07777) | S_IRWXU) != 0)
        return;
}

/* The folder at the name, or "." itself, to be read; -1 with errno. */
static int open_folder(int parent, const char *name) {
    cleanup_fd int found = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0)
        return -1;
    allow_owner(found);
    return openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The directory owns the descriptor from here; NULL with errno, and it is closed. */
static DIR *list_folder(int folder) {
    if (folder < 0)
        return NULL;
    DIR *list = fdopendir(folder);
    if (list == NULL)
        close(folder);
    return list;
}

static const char *next_name(DIR *list) {
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    }
    return NULL;
}

/* --- hooks --- */

/* False: there are too many. */
static bool set_hooks_aside(struct check *check, DIR *hooks) {
    unsigned count = 0;
    size_t before = check_enter(check, "hooks");
    for (const char *name; count < HOOKS_MAX && (name = next_name(hooks)) != NULL;) {
        if (git_check_is_inactive_hook(name))
            continue;
        check_remove(check, dirfd(hooks), name, "git would run this hook");
        count++;
    }
    check_leave(check, before);
    return count < HOOKS_MAX;
}

static void check_hooks(struct check *check, int directory) {
    struct stat status;
    if (fstatat(directory, "hooks", &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT)
            check_failed(check, "hooks", errno);
        return;
    }
    if (S_ISLNK(status.st_mode)) {
        check_remove(check, directory, "hooks", "a symlink, where git looks for hooks");
        return;
    }
    if (!S_ISDIR(status.st_mode))
        return;
    DIR *hooks = list_folder(open_folder(directory, "hooks"));
    if (hooks == NULL || !set_hooks_aside(check, hooks))
        check_remove(check, directory, "hooks", "git would run hooks in there");
    if (hooks != NULL)
        closedir(hooks);
}

/* --- all --- */

int git_check_disarm(int directory, git_check_found *found, void *data) {
    struct check check = {.found = found, .data = data};
    allow_owner(directory);
    check_hooks(&check, directory);
    check_config(&check, directory, "config");
    check_config(&check, directory, "config.worktree");
    check_common_directory(&check, directory);
    return check.result;
}

int git_check_close(int directory, git_check_found *found, void *data) {
    struct check check = {.found = found, .data = data};
    allow_owner(directory);
    check_head(&check, directory);
    check_common_directory(&check, directory);
    return check.result;
}
