#include "platform/glob_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "platform/linux/glob_memo.h"

#define MATCHES_MAX 5000
#define ENTRIES_MAX 5000000
/* A folder that changed so shortly before it was listed may change again in the same tick of its file
 * system's clock: no time would tell. */
#define SETTLED_AFTER_S 2

struct walk {
    struct pattern_memo *memo;
    const char *pattern;
    int top;             /* O_PATH of the folder the walk begins in */
    char path[PATH_MAX]; /* real, of what is being looked at */
    size_t length;       /* of it */
    size_t relative;     /* where its part below the top begins */
    char *entries;       /* of the listing that is being made, as in a folder_memo */
    size_t entries_size;
    size_t entries_room;
    unsigned char *state; /* room for one */
    size_t looked_at;
    size_t matches;
    struct strvec *found;
    struct error *err;
};

/* --- paths --- */

static const char *below_top(const struct walk *walk) {
    return walk->length < walk->relative ? "." : walk->path + walk->relative;
}

/* False: longer than any path that could be named. */
static bool push_name(struct walk *walk, const char *name) {
    size_t length = strlen(name);
    size_t slash = walk->length > 1;
    if (walk->length + slash + length >= sizeof walk->path)
        return false;
    if (slash)
        walk->path[walk->length] = '/';
    memcpy(walk->path + walk->length + slash, name, length + 1);
    walk->length += slash + length;
    return true;
}

static void pop_name(struct walk *walk, size_t length) {
    walk->length = length;
    walk->path[length] = '\0';
}

static int found(struct walk *walk) {
    if (++walk->matches > MATCHES_MAX)
        return error_set(walk->err, ERROR_HOST, 0, "%s matches more than 5,000 files", walk->pattern);
    return strvec_push(walk->found, walk->path) == 0 ? 0 : error_memory(walk->err);
}

/* The commands' own, made anew for every run. */
static bool is_kernels(const char *path) {
    return strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 || strcmp(path, "/dev") == 0;
}

/* Whether an error of a folder means that there is nothing to be found in it: the commands cannot get at it
 * either. */
static bool is_nothing(int errnum) {
    return errnum == ENOENT || errnum == ENOTDIR || errnum == EACCES || errnum == EPERM || errnum == ELOOP ||
           errnum == ENAMETOOLONG || errnum == ENOTCONN || errnum == ESTALE;
}

static int failed(const struct walk *walk, int errnum) {
    if (is_nothing(errnum))
        return 0;
    error_set(walk->err, ERROR_HOST, errnum, "%s", walk->path);
    return error_wrap(walk->err, "%s cannot be looked for", walk->pattern);
}

/* --- one folder --- */

static int keep_entry(struct walk *walk, uint16_t what, const char *name) {
    size_t length = strlen(name) + 1;
    size_t size = walk->entries_size + sizeof what + length;
    if (size > walk->entries_room) {
        char *entries = realloc(walk->entries, 2 * size);
        if (entries == NULL)
            return error_memory(walk->err);
        walk->entries = entries;
        walk->entries_room = 2 * size;
    }
    memcpy(walk->entries + walk->entries_size, &what, sizeof what);
    memcpy(walk->entries + walk->entries_size + sizeof what, name, length);
    walk->entries_size = size;
    return 0;
}

static bool is_folder(int folder, const struct dirent *entry) {
    struct stat facts;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(facts.st_mode);
}

static int look_at_entry(struct walk *walk, int folder, uint16_t state, const struct dirent *entry) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return 0;
    if (++walk->looked_at > ENTRIES_MAX)
        return error_set(walk->err, ERROR_HOST, 0, "%s: more than 5,000,000 files to look at", walk->pattern);
    unsigned outcome = glob_enter(pattern_memo_glob(walk->memo), pattern_memo_state_at(walk->memo, state),
                                  name, walk->state);
    if (outcome & GLOB_MATCHES)
        return keep_entry(walk, MEMO_MATCHES, name);
    if ((outcome & GLOB_GOES_ON) == 0 || !is_folder(folder, entry))
        return 0;
    int below = pattern_memo_state(walk->memo, walk->state);
    if (below < 0)
        return error_set(walk->err, ERROR_HOST, 0, "%s is too complex a pattern", walk->pattern);
    return keep_entry(walk, (uint16_t)below, name);
}

static int read_entries(struct walk *walk, DIR *folder, uint16_t state) {
    walk->entries_size = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (entry == NULL)
            return errno == 0 ? 0 : failed(walk, errno);
        if (look_at_entry(walk, dirfd(folder), state, entry) != 0)
            return -1;
    }
}

static bool has_settled(const struct stat *facts, const struct timespec *now) {
    return now->tv_sec - facts->st_mtim.tv_sec > SETTLED_AFTER_S &&
           now->tv_sec - facts->st_ctim.tv_sec > SETTLED_AFTER_S;
}

/* 0: *out is to be released, or NULL: there is nothing in it. */
static int list_folder(struct walk *walk, uint16_t state, struct folder_memo **out) {
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, walk->top, below_top(walk), &how, sizeof how);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct stat facts;
    struct timespec now;
    *out = NULL;
    if (folder == NULL || fstat(fd, &facts) != 0) {
        int errnum = errno;
        if (folder != NULL)
            closedir(folder);
        else
            close_fd(&fd);
        return failed(walk, errnum);
    }
    clock_gettime(CLOCK_REALTIME, &now);
    int result = read_entries(walk, folder, state);
    closedir(folder);
    if (result != 0)
        return -1;
    *out = pattern_memo_add(walk->memo, &facts, state, walk->entries, walk->entries_size,
                            has_settled(&facts, &now));
    return *out == NULL ? error_memory(walk->err) : 0;
}

/* --- the tree --- */

static int walk_folder(struct walk *walk, uint16_t state);

static int walk_entries(struct walk *walk, const struct folder_memo *folder) {
    size_t length = walk->length;
    for (size_t at = 0; at < folder->size;) {
        uint16_t what;
        memcpy(&what, folder->entries + at, sizeof what);
        const char *name = folder->entries + at + sizeof what;
        at += sizeof what + strlen(name) + 1;
        if (!push_name(walk, name))
            continue;
        int result = what == MEMO_MATCHES ? found(walk) : walk_folder(walk, what);
        pop_name(walk, length);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* Nobody can look into the folder now, but a command could open it by chmod: it is taken as a whole. */
static bool is_shut(const struct walk *walk, const struct stat *facts) {
    return facts->st_uid == geteuid() && (facts->st_mode & 0500) != 0500 &&
           faccessat(walk->top, below_top(walk), R_OK | X_OK, AT_EACCESS) != 0;
}

/* The depth is bounded by the length of a path. */
static int walk_folder(struct walk *walk, uint16_t state) {
    struct stat facts;
    struct folder_memo *folder;
    if (is_kernels(walk->path))
        return 0;
    if (fstatat(walk->top, below_top(walk), &facts, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
        return failed(walk, errno);
    if (!S_ISDIR(facts.st_mode))
        return 0;
    if (is_shut(walk, &facts))
        return found(walk);
    folder = pattern_memo_find(walk->memo, &facts, state);
    if (folder == NULL && list_folder(walk, state, &folder) != 0)
        return -1;
    if (folder == NULL)
        return 0;
    int result = walk_entries(walk, folder);
    folder_memo_release(folder);
    return result;
}

/* --- where it begins --- */

/*
 * In as many bytes as the pattern has: its text without its backslashes, up to the first special character;
 * *whole says that there is none. NULL: out of memory.
 */
static char *literal_part(const char *pattern, bool *whole) {
    char *literal = malloc(strlen(pattern) + 1);
    size_t length = 0;
    const char *at = pattern;
    if (literal == NULL)
        return NULL;
    for (; *at != '\0' && strchr("*?[{", *at) == NULL; at++) {
        at += *at == '\\' && at[1] != '\0';
        literal[length++] = *at;
    }
    literal[length] = '\0';
    *whole = *at == '\0';
    return literal;
}

/* Opens a folder and tells its real path, symlinks on the way followed. 1: there is none. */
static int enter_top(struct walk *walk, const char *folder) {
    char link[64];
    walk->top = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk->top < 0)
        return is_nothing(errno) ? 1 : error_set(walk->err, ERROR_HOST, errno, "%s", folder);
    snprintf(link, sizeof link, "/proc/self/fd/%d", walk->top);
    ssize_t length = readlink(link, walk->path, sizeof walk->path - 1);
    if (length <= 0)
        return error_set(walk->err, ERROR_HOST, errno, "%s", link);
    walk->length = (size_t)length;
    walk->path[length] = '\0';
    if (!path_is_normal(walk->path))
        return 1;
    walk->relative = walk->length + (walk->length > 1);
    return 0;
}

/* One path that the pattern means, there or not. */
static int find_literal(struct walk *walk, char *path) {
    struct stat facts;
    if (!path_is_normal(path))
        return 0;
    if (strcmp(path, "/") == 0)
        return strvec_push(walk->found, path) == 0 ? 0 : error_memory(walk->err);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int outcome = enter_top(walk, slash == path ? "/" : path);
    if (outcome != 0)
        return outcome < 0 ? -1 : 0;
    if (!push_name(walk, slash + 1))
        return 0;
    if (fstatat(walk->top, below_top(walk), &facts, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
        return failed(walk, errno);
    return found(walk);
}

/* The state of a folder that is spelled so. False: nothing matches below it. */
static bool enter_literal(struct walk *walk, char *folder) {
    const struct glob *glob = pattern_memo_glob(walk->memo);
    cleanup_free unsigned char *above = malloc(glob_state_size(glob));
    if (above == NULL)
        return false;
    glob_begin(glob, walk->state);
    char *rest;
    for (char *name = strtok_r(folder, "/", &rest); name != NULL; name = strtok_r(NULL, "/", &rest)) {
        memcpy(above, walk->state, glob_state_size(glob));
        if ((glob_enter(glob, above, name, walk->state) & GLOB_GOES_ON) == 0)
            return false;
    }
    return true;
}

/* folder: what comes before the first component with a special character. */
static int find_below(struct walk *walk, char *folder) {
    walk->state = malloc(glob_state_size(pattern_memo_glob(walk->memo)));
    if (walk->state == NULL)
        return error_memory(walk->err);
    int outcome = enter_top(walk, folder);
    if (outcome != 0)
        return outcome < 0 ? -1 : 0;
    if (glob_match(walk->pattern, folder))
        return found(walk);
    if (!enter_literal(walk, folder))
        return 0;
    int state = pattern_memo_state(walk->memo, walk->state);
    return state < 0 ? error_memory(walk->err) : walk_folder(walk, (uint16_t)state);
}

static int find(struct walk *walk, struct glob_cache *cache) {
    bool whole;
    cleanup_free char *literal = literal_part(walk->pattern, &whole);
    if (literal == NULL)
        return error_memory(walk->err);
    walk->memo = pattern_memo_take(cache, walk->pattern);
    if (walk->memo == NULL && errno == EINVAL) {
        strcpy(literal, walk->pattern);
        return find_literal(walk, literal);
    }
    if (walk->memo == NULL)
        return error_memory(walk->err);
    int result = 0;
    char *slash = strrchr(literal, '/');
    if (whole) {
        result = find_literal(walk, literal);
    } else if (slash != NULL) {
        slash[slash == literal ? 1 : 0] = '\0';
        result = path_is_normal(literal) ? find_below(walk, literal) : 0;
    }
    pattern_memo_give(walk->memo);
    return result;
}

static int compare(const void *left, const void *right) {
    return path_compare(*(char *const *)left, *(char *const *)right);
}

int glob_walk_find(struct glob_cache *cache, const char *pattern, struct strvec *paths, struct error *err) {
    struct walk *walk = calloc(1, sizeof *walk);
    if (walk == NULL)
        return error_memory(err);
    size_t before = paths->count;
    *walk = (struct walk){.pattern = pattern, .top = -1, .found = paths, .err = err};
    int result = find(walk, cache);
    if (paths->count > before)
        qsort(paths->items + before, paths->count - before, sizeof(char *), compare);
    close_fd(&walk->top);
    free(walk->entries);
    free(walk->state);
    free(walk);
    return result;
}
