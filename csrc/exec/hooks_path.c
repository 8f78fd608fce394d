#include "exec/hooks_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/git_config.h"

/* git reads more; nobody writes it. */
#define CONFIG_MAX (1u << 20)
/* A ".git" file, or "commondir": one path. */
#define LINK_FILE_MAX (PATH_MAX + 16)
/* git's own limit of includes within includes is 10 (config.c). */
#define INCLUDES_MAX 10
/* What commands write into configuration must not keep the indexer busy, nor fill the index. */
#define VALUES_MAX 64
#define BYTES_MAX (4u << 20)
/* path_resolution(7) */
#define SYMLINKS_MAX 40

/* --- real paths --- */

typedef void on_link(void *data, const char *path);

static bool real_path_of(int fd, char *real) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, real, PATH_MAX - 1);
    if (length <= 0 || real[0] != '/')
        return false;
    real[length] = '\0';
    return true;
}

/* "folder/name" for a name that may be the root's. False: too long. */
static bool join(char *out, const char *folder, const char *rest) {
    int length = snprintf(out, PATH_MAX, "%s%s%s", folder[1] == '\0' ? "" : folder,
                          rest[0] == '/' || rest[0] == '\0' ? "" : "/", rest);
    return length > 0 && length < PATH_MAX;
}

/* Of "/" it is "/" itself. */
static void go_up(char *folder) {
    char *slash = strrchr(folder, '/');
    slash[slash == folder ? 1 : 0] = '\0';
}

/* Path_resolution(7) on the way; the real path is of what was resolved, todo of what is still to be. */
struct resolving {
    char real[PATH_MAX];
    char todo[PATH_MAX];
    int links;
};

/* What a symlink says comes before the rest. False: too much. */
static bool follow(struct resolving *at, const char *target, const char *rest) {
    char todo[PATH_MAX];
    int length = snprintf(todo, sizeof todo, "%s%s", target, rest);
    if (length < 0 || length >= PATH_MAX || ++at->links > SYMLINKS_MAX)
        return false;
    memcpy(at->todo, todo, (size_t)length + 1);
    if (target[0] == '/')
        memcpy(at->real, "/", 2);
    return true;
}

/* One component; of a symlink, links hears the path (it may be NULL). False: there is no such path. */
static bool resolve_next(struct resolving *at, on_link *links, void *data) {
    char name[NAME_MAX + 1];
    char next[PATH_MAX];
    char target[PATH_MAX];
    const char *begin = at->todo + strspn(at->todo, "/");
    size_t length = strcspn(begin, "/");
    if (length > NAME_MAX)
        return false;
    memcpy(name, begin, length);
    name[length] = '\0';
    const char *rest = begin + length;
    ssize_t size = -1;
    if (strcmp(name, "..") == 0) {
        go_up(at->real);
    } else if (length > 0 && strcmp(name, ".") != 0) {
        if (!join(next, at->real, name))
            return false;
        size = readlink(next, target, sizeof target - 1);
        if (size < 0)
            memcpy(at->real, next, strlen(next) + 1);
    }
    if (size < 0) {
        memmove(at->todo, rest, strlen(rest) + 1);
        return true;
    }
    target[size] = '\0';
    if (links != NULL)
        links(data, next);
    return follow(at, target, rest);
}

static bool resolve(const char *path, char *real, on_link *links, void *data) {
    struct resolving at = {.real = "/"};
    if (path[0] != '/' || strlen(path) >= sizeof at.todo)
        return false;
    memcpy(at.todo, path, strlen(path) + 1);
    while (at.todo[0] != '\0')
        if (!resolve_next(&at, links, data))
            return false;
    memcpy(real, at.real, strlen(at.real) + 1);
    return true;
}

bool real_path_so_far(const char *path, char *real) {
    return resolve(path, real, NULL, NULL);
}

/* --- small files --- */

/*
 * A regular file's text, one NUL behind it, for the caller to free; NULL: not there, or none that git would
 * read. Symlinks are followed, as git does; nothing that was put there can hold up the reader.
 */
static char *read_text(int folder, const char *name, size_t limit, size_t *length) {
    cleanup_fd int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > (off_t)limit)
        return NULL;
    size_t size = (size_t)facts.st_size;
    char *text = malloc(size + 1);
    if (text == NULL)
        return NULL;
    *length = 0;
    for (ssize_t got; *length < size && (got = read(fd, text + *length, size - *length)) > 0;)
        *length += (size_t)got;
    text[*length] = '\0';
    return text;
}

/* The path that a ".git" file or a commondir file holds, behind the prefix; NULL: it holds none. */
static char *read_link_file(int folder, const char *name, const char *prefix) {
    size_t length = 0;
    char *text = read_text(folder, name, LINK_FILE_MAX, &length);
    if (text == NULL)
        return NULL;
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r'))
        text[--length] = '\0';
    size_t skipped = strlen(prefix);
    if (strncmp(text, prefix, skipped) != 0 || strlen(text) != length || length == skipped) {
        free(text);
        return NULL;
    }
    memmove(text, text + skipped, length - skipped + 1);
    return text;
}

/* --- configuration --- */

/* A file of configuration that is being read. */
struct config_file {
    struct hooks_paths *paths;
    struct hooks_paths *begin; /* the user's own: relative paths are kept here; else NULL */
    const char *worktree;      /* real: what core.hooksPath is relative to; NULL: unknown */
    const char *folder;        /* real: what include.path is relative to */
    int depth;
};

static void read_config(const struct config_file *file, int folder, const char *name);

/* The path that a value means; false: none, or one that cannot be told. */
static bool expand(struct hooks_paths *paths, const char *base, const char *value, char *out) {
    if (value[0] == '~' && value[1] == '/')
        return paths->home != NULL && join(out, paths->home, value + 1);
    if (value[0] == '~' || strncmp(value, "%(", 2) == 0 || value[0] == '\0')
        return false;
    if (value[0] == '/')
        return snprintf(out, PATH_MAX, "%s", value) < PATH_MAX;
    return base != NULL && join(out, base, value);
}

/* The rules hold there already, by name. */
static bool is_below_hooks(const char *real) {
    static const char hooks[] = "/.git/hooks";
    const char *at = strstr(real, hooks);
    return at != NULL && (at[sizeof hooks - 1] == '\0' || at[sizeof hooks - 1] == '/');
}

static void add_real(struct hooks_paths *paths, const char *real) {
    size_t size = strlen(real) + 1;
    if (!is_below_hooks(real) && paths->bytes + size <= BYTES_MAX &&
        session_index_add(paths->index, INDEX_HOOKS, real) == 0)
        paths->bytes += size;
}

static void add_symlink(void *data, const char *path) {
    add_real(data, path);
}

/* The symlinks on the way to a folder that may change, but not become another. */
static void hold_way(struct hooks_paths *paths, const char *folder, const char *name) {
    char path[PATH_MAX];
    char real[PATH_MAX];
    if (name[0] == '/' || join(path, folder, name))
        resolve(name[0] == '/' ? name : path, real, add_symlink, paths);
}

/*
 * Adds what the path leads to and the symlinks on the way, which could be turned; not what would take the
 * worktree itself from the commands. False: it leads nowhere.
 */
static bool add(struct hooks_paths *paths, const char *path, const char *worktree, char *real) {
    if (!resolve(path, real, add_symlink, paths))
        return false;
    if (real[1] != '\0' && (worktree == NULL || !path_is_within(worktree, real)))
        add_real(paths, real);
    return true;
}

static void add_hooks_path(const struct config_file *file, const char *value) {
    char path[PATH_MAX];
    char real[PATH_MAX];
    bool relative = value[0] != '/' && value[0] != '~' && value[0] != '%' && value[0] != '\0';
    if (file->begin != NULL && relative) {
        struct hooks_paths *begin = file->begin;
        if (begin->everywhere_count < sizeof begin->everywhere / sizeof begin->everywhere[0] &&
            (begin->everywhere[begin->everywhere_count] = strdup(value)) != NULL)
            begin->everywhere_count++;
    } else if (expand(file->paths, file->worktree, value, path)) {
        add(file->paths, path, file->worktree, real);
    }
}

/* What is included is configuration as well, wherever it lies. */
static void include(const struct config_file *file, const char *value) {
    char path[PATH_MAX];
    char real[PATH_MAX];
    if (file->depth >= INCLUDES_MAX || !expand(file->paths, file->folder, value, path) ||
        !add(file->paths, path, file->worktree, real))
        return;
    char folder[PATH_MAX];
    memcpy(folder, real, strlen(real) + 1);
    go_up(folder);
    struct config_file included = *file;
    included.folder = folder;
    included.depth++;
    read_config(&included, AT_FDCWD, real);
}

static bool is_include(const char *key) {
    size_t length = strlen(key);
    return strcmp(key, "include.path") == 0 ||
           (strncmp(key, "includeif.", 10) == 0 && length > 15 && strcmp(key + length - 5, ".path") == 0);
}

static bool read_entry(const struct git_config_entry *entry, void *data) {
    const struct config_file *file = data;
    bool is_hooks_path = strcmp(entry->key, "core.hookspath") == 0;
    if (entry->value == NULL || (!is_hooks_path && !is_include(entry->key)))
        return true;
    if (file->paths->values == VALUES_MAX)
        return false;
    file->paths->values++;
    if (is_hooks_path)
        add_hooks_path(file, entry->value);
    else
        include(file, entry->value);
    return true;
}

/* Every value counts, not the last alone: what a condition or a later file takes back may come again. */
static void read_config(const struct config_file *file, int folder, const char *name) {
    size_t length = 0;
    cleanup_free char *text = read_text(folder, name, CONFIG_MAX, &length);
    if (text != NULL)
        git_config_read(text, length, read_entry, (void *)(uintptr_t)file);
}

/* --- git directories --- */

/* What a symlink of a git directory leads to is as much a part of it. */
static void add_link(struct hooks_paths *paths, int directory, const char *real, const char *name,
                     const char *worktree) {
    char target[PATH_MAX];
    char path[PATH_MAX];
    char leads_to[PATH_MAX];
    ssize_t length = readlinkat(directory, name, target, sizeof target - 1);
    if (length <= 0)
        return;
    target[length] = '\0';
    if (target[0] == '/' || join(path, real, target))
        add(paths, target[0] == '/' ? target : path, worktree, leads_to);
}

/* directory: the worktree's own; common: the one with hooks and config, mostly the same. */
static void look_at(struct hooks_paths *paths, int directory, int common, const char *worktree) {
    char real[PATH_MAX];
    char real_common[PATH_MAX];
    if (!real_path_of(directory, real) || !real_path_of(common, real_common))
        return;
    paths->values = 0;
    add_link(paths, common, real_common, "hooks", worktree);
    add_link(paths, common, real_common, "config", worktree);
    struct config_file file = {.paths = paths, .worktree = worktree, .folder = real_common};
    read_config(&file, common, "config");
    file.folder = real;
    read_config(&file, directory, "config.worktree");
    char path[PATH_MAX];
    char leads_to[PATH_MAX];
    for (size_t i = 0; worktree != NULL && i < paths->everywhere_count; i++)
        if (join(path, worktree, paths->everywhere[i]))
            add(paths, path, worktree, leads_to);
}

static int open_folder(int folder, const char *name) {
    return openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void look_at_linked(struct hooks_paths *paths, int directory, const char *worktree) {
    cleanup_free char *link = read_link_file(directory, "commondir", "");
    cleanup_fd int common = link == NULL ? -1 : open_folder(directory, link);
    char real[PATH_MAX];
    if (link != NULL && real_path_of(directory, real))
        hold_way(paths, real, link);
    look_at(paths, directory, common >= 0 ? common : directory, worktree);
}

bool hooks_paths_of_worktree(struct hooks_paths *paths, int worktree) {
    char real[PATH_MAX];
    if (!real_path_of(worktree, real))
        return false;
    hold_way(paths, real, ".git");
    cleanup_fd int directory = open_folder(worktree, ".git");
    if (directory < 0) {
        cleanup_free char *link = read_link_file(worktree, ".git", "gitdir: ");
        directory = link == NULL ? -1 : open_folder(worktree, link);
        if (link != NULL)
            hold_way(paths, real, link);
    }
    if (directory < 0)
        return false;
    look_at_linked(paths, directory, real);
    return true;
}

void hooks_paths_of_directory(struct hooks_paths *paths, int directory) {
    char real[PATH_MAX];
    size_t length = 0;
    if (!real_path_of(directory, real))
        return;
    cleanup_free char *text = read_text(directory, "config", CONFIG_MAX, &length);
    cleanup_free char *value = text == NULL ? NULL : git_config_value(text, length, "core.worktree");
    cleanup_fd int worktree = value == NULL ? -1 : open_folder(directory, value);
    if (worktree >= 0 && !real_path_of(worktree, real))
        return;
    /* A write root may be the ".git" of a worktree that is none. */
    size_t end = strlen(real);
    if (worktree < 0 && end > 5 && strcmp(real + end - 5, "/.git") == 0)
        real[end - 5] = '\0';
    look_at_linked(paths, directory, real);
}

static size_t bytes_of(const struct session_index *index) {
    size_t position = 0;
    size_t number;
    enum index_kind kind;
    const char *path;
    size_t bytes = 0;
    while (session_index_next(index, &position, &kind, &path, &number))
        bytes += kind == INDEX_HOOKS ? strlen(path) + 1 : 0;
    return bytes;
}

void hooks_paths_begin(struct hooks_paths *paths, struct session_index *index, const char *home) {
    static const char *const users[] = {".gitconfig", ".config/git/config"};
    *paths = (struct hooks_paths){.index = index, .home = home, .bytes = bytes_of(index)};
    struct config_file file = {.paths = paths, .begin = paths, .folder = "/etc"};
    read_config(&file, AT_FDCWD, "/etc/gitconfig");
    for (size_t i = 0; home != NULL && i < sizeof users / sizeof users[0]; i++) {
        char path[PATH_MAX];
        char folder[PATH_MAX];
        if (!join(path, home, users[i]))
            continue;
        snprintf(folder, sizeof folder, "%s", path);
        *strrchr(folder, '/') = '\0';
        file.folder = folder;
        read_config(&file, AT_FDCWD, path);
    }
}

void hooks_paths_end(struct hooks_paths *paths) {
    for (size_t i = 0; i < paths->everywhere_count; i++)
        free(paths->everywhere[i]);
    paths->everywhere_count = 0;
}
