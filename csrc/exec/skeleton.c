#include "exec/skeleton.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/mount_api.h"

/* In one folder: names beyond these are not there, as any other that does not exist. */
#define PLACEHOLDERS_MAX 1000

static int open_below(int folder, const char *path, int flags, unsigned resolve) {
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | resolve};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/* The hole's path from its region's folder on. */
static const char *way_to(const char *region, const char *hole) {
    return hole + strlen(region) + 1;
}

int skeleton_open(int tree, const char *path, const char *hole) {
    return open_below(tree, way_to(path, hole), O_PATH, RESOLVE_NO_XDEV);
}

static int made(int result) {
    return result == 0 || errno == EEXIST ? 0 : -1;
}

static int make_empty(int folder, const char *name, bool directory) {
    return made(directory ? mkdirat(folder, name, 0) : mknodat(folder, name, S_IFREG, 0));
}

/* A part of a path as a string. False: too long for the kernel as well. */
static bool copy_part(char *out, size_t size, const char *path, size_t length) {
    if (length >= size)
        return false;
    memcpy(out, path, length);
    out[length] = '\0';
    return true;
}

/* What is no symlink any more is denied as everything else there. */
static int copy_link(int real, int tree, const char *way) {
    char text[PATH_MAX];
    cleanup_fd int link = open_below(real, way, O_PATH | O_NOFOLLOW, 0);
    ssize_t length = link < 0 ? -1 : readlinkat(link, "", text, sizeof text - 1);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    return made(symlinkat(text, tree, way));
}

/* The folders on the way, and the mount point itself. */
static int make_way(const struct skeleton *skeleton, int tree, const struct skeleton_hole *hole) {
    const char *way = way_to(skeleton->path, hole->path);
    char folder[PATH_MAX];
    for (const char *slash = strchr(way, '/'); slash != NULL; slash = strchr(slash + 1, '/'))
        if (!copy_part(folder, sizeof folder, way, (size_t)(slash - way)) ||
            made(mkdirat(tree, folder, SKELETON_MODE)) != 0)
            return -1;
    if (hole->folder)
        return made(mkdirat(tree, way, SKELETON_MODE));
    return hole->link ? copy_link(skeleton->folder, tree, way) : make_empty(tree, way, hole->directory);
}

/* Puts the text behind a folder's path, "." and ".." taken as words: what it says, not what it leads to. */
static bool append_words(char *path, size_t size, const char *text) {
    size_t length = strlen(path);
    while (*text != '\0') {
        size_t word = strcspn(text, "/");
        if (word == 2 && memcmp(text, "..", 2) == 0) {
            while (length > 0 && path[--length] != '/')
                ;
        } else if (word > 0 && !(word == 1 && text[0] == '.')) {
            if (length + 1 + word >= size)
                return false;
            path[length] = '/';
            memcpy(path + length + 1, text, word);
            length += 1 + word;
        }
        path[length] = '\0';
        text += word + strspn(text + word, "/");
    }
    return true;
}

/* In a hole, or above one: only names are compared, since a look could wait for a remote file system. */
static bool leads_to_hole(const struct skeleton *skeleton, const char *folder, const char *text) {
    char target[PATH_MAX] = "";
    bool relative = text[0] != '/';
    if (relative && (!append_words(target, sizeof target, skeleton->path) ||
                     !append_words(target, sizeof target, folder)))
        return false;
    if (!append_words(target, sizeof target, text) || target[0] == '\0')
        return false;
    for (size_t i = 0; i < skeleton->hole_count; i++)
        if (path_is_within(target, skeleton->holes[i].path) ||
            path_is_within(skeleton->holes[i].path, target))
            return true;
    return false;
}

/* False: it leads elsewhere, and its text is nobody's business either. */
static bool keep_link(const struct skeleton *skeleton, const char *folder, int real, int copy,
                      const char *name) {
    char text[PATH_MAX];
    ssize_t length = readlinkat(real, name, text, sizeof text - 1);
    if (length <= 0)
        return false;
    text[length] = '\0';
    return leads_to_hole(skeleton, folder, text) && made(symlinkat(text, copy, name)) == 0;
}

static unsigned char kind_of(int folder, const struct dirent *entry) {
    struct stat facts;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0)
        return DT_REG;
    return S_ISDIR(facts.st_mode) ? DT_DIR : S_ISLNK(facts.st_mode) ? DT_LNK : DT_REG;
}

static void put_placeholder(const struct skeleton *skeleton, const char *folder, int real, int copy,
                            const struct dirent *entry) {
    const char *name = entry->d_name;
    unsigned char kind = kind_of(real, entry);
    if (kind != DT_LNK || !keep_link(skeleton, folder, real, copy, name))
        make_empty(copy, name, kind == DT_DIR);
}

/* What cannot be read or made here only changes which error a name gives: it is denied either way. */
static void put_placeholders(const struct skeleton *skeleton, int tree, const char *folder) {
    cleanup_fd int copy = open_below(tree, folder[0] == '\0' ? "." : folder, O_PATH | O_DIRECTORY, 0);
    int real = open_below(skeleton->folder, folder[0] == '\0' ? "." : folder, O_RDONLY | O_DIRECTORY, 0);
    DIR *names = real < 0 ? NULL : fdopendir(real);
    if (names == NULL)
        close_fd(&real);
    const struct dirent *entry;
    for (size_t count = 0;
         copy >= 0 && names != NULL && count < PLACEHOLDERS_MAX && (entry = readdir(names)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            put_placeholder(skeleton, folder, dirfd(names), copy, entry);
            count++;
        }
    if (names != NULL)
        closedir(names);
}

/* Whether one of the first holes has its way through the folder, too: it is filled already. */
static bool is_filled(const struct skeleton *skeleton, size_t count, const char *folder, size_t length) {
    for (size_t i = 0; i < count; i++) {
        const struct skeleton_hole *hole = &skeleton->holes[i];
        if (hole->region != skeleton->region)
            continue;
        const char *way = way_to(skeleton->path, hole->path);
        if (strncmp(way, folder, length) == 0 && way[length] == '/')
            return true;
    }
    return false;
}

static void fill_way(const struct skeleton *skeleton, int tree, size_t number) {
    char folder[PATH_MAX];
    const char *way = way_to(skeleton->path, skeleton->holes[number].path);
    for (const char *slash = strchr(way, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        size_t length = (size_t)(slash - way);
        if (!is_filled(skeleton, number, way, length) && copy_part(folder, sizeof folder, way, length))
            put_placeholders(skeleton, tree, folder);
    }
    if (skeleton->holes[number].folder)
        put_placeholders(skeleton, tree, way);
}

static int fill(const struct skeleton *skeleton, int tree) {
    for (size_t i = 0; i < skeleton->hole_count; i++) {
        const struct skeleton_hole *hole = &skeleton->holes[i];
        if (hole->region == skeleton->region && make_way(skeleton, tree, hole) != 0)
            return -1;
    }
    /* After all ways: what is on one is no placeholder. */
    put_placeholders(skeleton, tree, "");
    for (size_t i = 0; i < skeleton->hole_count; i++)
        if (skeleton->holes[i].region == skeleton->region)
            fill_way(skeleton, tree, i);
    return 0;
}

int skeleton_make(const struct skeleton *skeleton) {
    cleanup_fd int tree = tree_make_tmpfs(SKELETON_MODE);
    if (tree < 0)
        return -1;
    mode_t mask = umask(0);
    int result = fill(skeleton, tree);
    umask(mask);
    return result == 0 && tree_restrict(tree, MOUNT_ATTRIBUTE_READ_ONLY, false) == 0 ? steal_fd(&tree) : -1;
}
