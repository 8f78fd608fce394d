/*
 * What calls are tried on: a folder with one of everything; and what a call changed there, as the lines of a
 * listing that are gone or new. After a change the folder is made anew.
 */
#ifndef HONEST_SCENE_H
#define HONEST_SCENE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LISTING_MAX 100
#define LINE_MAX_BYTES 1024

struct listing {
    size_t count;
    char lines[LISTING_MAX][LINE_MAX_BYTES];
};

static inline void must(long result, const char *what) {
    if (result >= 0)
        return;
    perror(what);
    exit(99);
}

static inline void make_file(const char *path, mode_t mode) {
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    must(fd, path);
    must(write(fd, path, strlen(path)), path);
    must(fchmod(fd, mode), path);
    close(fd);
}

static inline void make_folder(const char *path, mode_t mode) {
    must(mkdir(path, 0700), path);
    must(chmod(path, mode), path);
}

static inline void make_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(bind(fd, (struct sockaddr *)&address, sizeof address), path);
    close(fd);
}

/* Fills the current folder. */
static inline void fill_scene(void) {
    static const struct {
        const char *path, *target;
    } links[] = {{"link", "file"},           {"link2", "link"},
                 {"dirlink", "dir"},         {"dangling", "new-target"},
                 {"danglingdir", "no/new"},  {"loop", "loop"},
                 {"uplink", "../scene/dir"}, {"cwdlink", "/proc/self/cwd/file"},
                 {"tonull", "/dev/null"},    {"slashlink", "dir/"},
                 {"dir/back", "../file"}};
    make_file("file", 0644);
    make_file("other", 0600);
    make_file("readonly", 0444);
    make_file("setuid", 06755);
    make_folder("dir", 0755);
    make_file("dir/file", 0644);
    make_folder("dir/sub", 0700);
    make_folder("empty", 0755);
    make_folder("sgid", 02775);
    make_folder("sticky", 01777);
    make_folder("rodir", 0755);
    make_file("rodir/file", 0644);
    make_folder("rodir/empty", 0755);
    must(chmod("rodir", 0555), "rodir");
    make_folder("closed", 0755);
    make_file("closed/file", 0644);
    must(chmod("closed", 0), "closed");
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        must(symlink(links[i].target, links[i].path), links[i].path);
    must(mkfifo("fifo", 0644), "fifo");
    make_socket("socket");
    must(link("file", "hard"), "hard");
    must(setxattr("other", "user.has", "x", 1, 0), "setxattr");
}

/*
 * chain/N: N links one after the other lead to a file of the scene. The kernel follows 40, and fewer when it
 * has to begin anew on the way.
 */
static inline void make_chain(void) {
    char name[32], target[32] = "../scene/file";
    must(mkdir("chain", 0755), "chain");
    for (int i = 1; i <= 41; i++) {
        snprintf(name, sizeof name, "chain/%d", i);
        must(symlink(target, name), name);
        snprintf(target, sizeof target, "%d", i);
    }
}

/* Names here are short. */
static inline void join(char path[static 1024], const char *folder, const char *name) {
    snprintf(path, 1024, "%.500s/%.500s", folder, name);
}

static inline void remove_tree(const char *folder) {
    (void)chmod(folder, 0755);
    DIR *dir = opendir(folder);
    must(dir ? 0 : -1, folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[1024];
        join(path, folder, entry->d_name);
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (entry->d_type == DT_DIR)
            remove_tree(path);
        else
            must(unlink(path), path);
    }
    closedir(dir);
    must(rmdir(folder), folder);
}

/* Enters a fresh ./scene from beside it, or from within an old one. */
static inline void renew_scene(const char *base) {
    mode_t before = umask(0);
    must(chdir(base), base);
    struct stat facts;
    if (lstat("scene", &facts) == 0)
        remove_tree("scene");
    must(mkdir("scene", 0755), "scene");
    must(chdir("scene"), "scene");
    fill_scene();
    umask(before);
}

static inline void add_line(struct listing *listing, const char *path, const struct stat *facts) {
    char *line = listing->lines[listing->count++];
    if (listing->count == LISTING_MAX) {
        fputs("the scene has more than a listing takes\n", stderr);
        exit(99);
    }
    char target[64] = "", names[64] = "";
    bool is_link = S_ISLNK(facts->st_mode);
    if (is_link)
        (void)!readlink(path, target, sizeof target - 1);
    ssize_t got = llistxattr(path, names, sizeof names - 1);
    long long size = S_ISREG(facts->st_mode) ? facts->st_size : 0;
    /* A time is shown when a call has set it. */
    long long time =
        facts->st_mtime < 1000000 ? facts->st_mtime * 1000 + facts->st_mtim.tv_nsec / 1000000 : -1;
    unsigned links = S_ISDIR(facts->st_mode) ? 0 : (unsigned)facts->st_nlink;
    snprintf(line, LINE_MAX_BYTES, "%.600s %o %u:%u %lld x%u %lld %s %s", path, facts->st_mode, facts->st_uid,
             facts->st_gid, size, links, time, target, got > 0 ? names : "");
}

static inline void list_folder(struct listing *listing, const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[1024];
        struct stat facts;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        join(path, folder, entry->d_name);
        must(lstat(path, &facts), path);
        add_line(listing, path, &facts);
        if (S_ISDIR(facts.st_mode))
            list_folder(listing, path);
    }
    closedir(dir);
}

static inline int compare_lines(const void *a, const void *b) {
    return strcmp(a, b);
}

/* Of the current folder, in the order of the names. */
static inline void list_scene(struct listing *listing) {
    listing->count = 0;
    struct stat facts;
    must(lstat(".", &facts), ".");
    add_line(listing, ".", &facts);
    list_folder(listing, ".");
    qsort(listing->lines, listing->count, sizeof listing->lines[0], compare_lines);
}

/* Prints what is in one listing only; whether there was something. */
static inline bool print_changes(const struct listing *before, const struct listing *after) {
    bool changed = false;
    for (size_t i = 0, k = 0; i < before->count || k < after->count;) {
        int order = i == before->count  ? 1
                    : k == after->count ? -1
                                        : strcmp(before->lines[i], after->lines[k]);
        changed |= order != 0;
        if (order < 0)
            printf("   - %s\n", before->lines[i]);
        if (order > 0)
            printf("   + %s\n", after->lines[k]);
        i += order <= 0;
        k += order >= 0;
    }
    return changed;
}

/* After a call: prints what it changed; whether it did, and the scene was made anew. */
static inline bool settle(const char *base, const struct listing *pristine) {
    static struct listing now;
    must(chdir(base) == 0 ? chdir("scene") : -1, "scene");
    list_scene(&now);
    bool changed = print_changes(pristine, &now);
    if (changed)
        renew_scene(base);
    return changed;
}

static inline void print_result(long result) {
    if (result < 0)
        printf("%s\n", strerrorname_np(errno));
    else
        printf("%ld\n", result);
}

#endif
