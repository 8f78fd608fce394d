#include "platform/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

/* path_resolution(7): the kernel's own limit. */
#define SYMLINKS_MAX 40

/* The walk's state: where it is, as a descriptor and as text, and what is still to be walked. */
struct walk {
    int at;
    char *real;
    char *rest;              /* without a leading slash */
    char name[NAME_MAX + 1]; /* of the component that is walked */
    struct strvec link_folders;
    struct strvec links;
    int link_count;
};

static void walk_clear(struct walk *walk) {
    close_fd(&walk->at);
    free(walk->real);
    free(walk->rest);
    strvec_clear(&walk->link_folders);
    strvec_clear(&walk->links);
}

static int walk_to_root(struct walk *walk) {
    close_fd(&walk->at);
    free(walk->real);
    walk->real = strdup("/");
    walk->at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return walk->at < 0 || walk->real == NULL ? -1 : 0;
}

/* The text of a real path's parent; that of "/" is "/". */
static void cut_last(char *real) {
    char *slash = strrchr(real, '/');
    if (slash != NULL)
        slash[slash == real ? 1 : 0] = '\0';
}

static int walk_up(struct walk *walk) {
    int parent = openat(walk->at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return -1;
    close_fd(&walk->at);
    walk->at = parent;
    cut_last(walk->real);
    return 0;
}

/* The path of an entry of the folder where the walk is. NULL: out of memory. */
static char *child_of(const char *real, const char *name) {
    return path_join(real[1] == '\0' ? "" : real, name);
}

/* Puts the symlink's target before the rest; an absolute one starts again at the root. */
static int walk_link(struct walk *walk, int link) {
    char target[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof target - 1);
    if (length < 0)
        return -1;
    target[length] = '\0';
    if (++walk->link_count > SYMLINKS_MAX) {
        errno = ELOOP;
        return -1;
    }
    size_t size = (size_t)length + 1 + strlen(walk->rest) + 1;
    char *rest = malloc(size);
    if (rest == NULL || strvec_push(&walk->link_folders, walk->real) != 0 ||
        strvec_push_owned(&walk->links, child_of(walk->real, walk->name)) != 0) {
        free(rest);
        return -1;
    }
    snprintf(rest, size, "%s/%s", target, walk->rest);
    free(walk->rest);
    walk->rest = rest;
    return target[0] == '/' ? walk_to_root(walk) : 0;
}

/* One component, by descriptors: what was looked at is what is entered, whoever swaps names meanwhile. */
static int walk_step(struct walk *walk, const char *name) {
    cleanup_fd int next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts;
    if (next < 0 || fstat(next, &facts) != 0)
        return -1;
    if (S_ISLNK(facts.st_mode))
        return walk_link(walk, next);
    char *real = child_of(walk->real, name);
    if (real == NULL)
        return -1;
    free(walk->real);
    walk->real = real;
    close_fd(&walk->at);
    walk->at = steal_fd(&next);
    return 0;
}

/* Takes the next component off the rest, into walk->name. 0, or -1 where it is longer than any name. */
static int next_name(struct walk *walk) {
    size_t length = strcspn(walk->rest, "/");
    if (length > NAME_MAX) {
        walk->name[0] = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(walk->name, walk->rest, length);
    walk->name[length] = '\0';
    size_t used = length + strspn(walk->rest + length, "/");
    memmove(walk->rest, walk->rest + used, strlen(walk->rest + used) + 1);
    return 0;
}

static bool is_nothing(const char *name) {
    return name[0] == '\0' || strcmp(name, ".") == 0;
}

static int walk_all(struct walk *walk) {
    while (walk->rest[0] != '\0') {
        const char *name = walk->name;
        if (next_name(walk) != 0)
            return -1;
        if (is_nothing(name))
            continue;
        if ((strcmp(name, "..") == 0 ? walk_up(walk) : walk_step(walk, name)) != 0)
            return -1;
    }
    return 0;
}

/* One component more, as text: nothing is there any more that ".." could lead out of another way. */
static int append_name(struct walk *walk) {
    if (is_nothing(walk->name))
        return 0;
    if (strcmp(walk->name, "..") == 0) {
        cut_last(walk->real);
        return 0;
    }
    char *real = child_of(walk->real, walk->name);
    if (real == NULL)
        return -1;
    free(walk->real);
    walk->real = real;
    return 0;
}

/* Where the walk would have gone: from where it ended, the rest as it is written. */
static enum resolve_outcome absent(struct walk *walk, struct resolved_path *out, struct error *err) {
    int result = walk->name[0] == '\0' ? 0 : append_name(walk);
    while (result == 0 && walk->rest[0] != '\0') {
        if (next_name(walk) != 0)
            break;
        result = append_name(walk);
    }
    if (result != 0) {
        error_memory(err);
        return RESOLVE_FAILED;
    }
    out->path = walk->real;
    walk->real = NULL;
    return RESOLVE_ABSENT;
}

static enum resolve_outcome refused(int errnum, const char *path, struct error *err) {
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return RESOLVE_ABSENT;
    case EACCES:
    case EPERM:
        return RESOLVE_UNREACHABLE;
    default:
        error_set(err, ERROR_HOST, errnum, "%s", path);
        return RESOLVE_FAILED;
    }
}

static enum resolve_outcome found(int fd, char **path, struct resolved_path *out, struct error *err) {
    struct stat facts;
    if (*path == NULL || fstat(fd, &facts) != 0)
        return refused(*path == NULL ? ENOMEM : errno, *path == NULL ? "resolving a path" : *path, err);
    *out = (struct resolved_path){.path = *path,
                                  .device = facts.st_dev,
                                  .inode = facts.st_ino,
                                  .mode = facts.st_mode,
                                  .owner = facts.st_uid};
    *path = NULL;
    return RESOLVE_FOUND;
}

/* One call tells that the text is the truth already: no symlink on the way, the last component included.
 * True: that was so, and *outcome says what is there. A container's filter may refuse the call itself (EPERM,
 * ENOSYS): then the walk tells. */
static bool resolve_at_once(const char *path, struct resolved_path *out, enum resolve_outcome *outcome,
                            struct error *err) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_NO_SYMLINKS};
    struct stat facts;
    if (!path_is_normal(path))
        return false;
    cleanup_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd < 0 && (errno == ELOOP || errno == EACCES || errno == EPERM || errno == ENOSYS))
        return false;
    if (fd >= 0 && (fstat(fd, &facts) != 0 || S_ISLNK(facts.st_mode)))
        return false;
    const int errnum = errno;
    char *copy = strdup(path);
    *outcome = fd >= 0 || copy == NULL ? found(fd, &copy, out, err) : refused(errnum, path, err);
    if (*outcome == RESOLVE_ABSENT) {
        out->path = copy;
        copy = NULL;
    }
    free(copy);
    return true;
}

static void keep_links(struct walk *walk, struct resolved_path *out) {
    out->link_folders = walk->link_folders;
    out->links = walk->links;
    walk->link_folders = walk->links = (struct strvec){0};
}

static enum resolve_outcome resolve_once(const char *path, struct resolved_path *out, int *links,
                                         struct error *err) {
    enum resolve_outcome outcome;
    *out = (struct resolved_path){0};
    if (resolve_at_once(path, out, &outcome, err))
        return outcome;
    struct walk walk = {.at = -1, .rest = strdup(path)};
    if (walk.rest == NULL) {
        error_memory(err);
        return RESOLVE_FAILED;
    }
    if (walk_to_root(&walk) != 0 || walk_all(&walk) != 0)
        outcome = refused(errno, path, err);
    else
        outcome = found(walk.at, &walk.real, out, err);
    *links = walk.link_count;
    if (outcome == RESOLVE_UNREACHABLE && found(walk.at, &walk.real, out, err) != RESOLVE_FOUND)
        outcome = RESOLVE_FAILED;
    if (outcome == RESOLVE_ABSENT)
        outcome = absent(&walk, out, err);
    if (outcome == RESOLVE_FOUND || outcome == RESOLVE_ABSENT)
        keep_links(&walk, out);
    walk_clear(&walk);
    return outcome;
}

/* Names that are exchanged during the walk can lead to nothing although each of them always leads to
 * something. */
#define TRIES 5

enum resolve_outcome path_resolve(const char *path, struct resolved_path *out, struct error *err) {
    int links = 0;
    enum resolve_outcome outcome = resolve_once(path, out, &links, err);
    for (int tries = 1; tries < TRIES && links > 0 && outcome == RESOLVE_ABSENT; tries++) {
        resolved_path_clear(out);
        links = 0;
        outcome = resolve_once(path, out, &links, err);
    }
    return outcome;
}

void resolved_path_clear(struct resolved_path *resolved) {
    free(resolved->path);
    strvec_clear(&resolved->link_folders);
    strvec_clear(&resolved->links);
    *resolved = (struct resolved_path){0};
}
