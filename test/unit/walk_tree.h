/* A folder full of symlinks, a process that stands in it, and what the kernel says of its paths. */
#ifndef OS_SANDBOX_TEST_WALK_TREE_H
#define OS_SANDBOX_TEST_WALK_TREE_H

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "exec/walk.h"
#include "notified.h"
#include "tap.h"

/* The folder of the test, absolute and real; the test and its child stand in it. */
static char top[64];

/* Descriptors of the child. */
enum { CHILD_FILE = 60, CHILD_FOLDER = 61, CHILD_PIPE = 62 };

static const int waiting_call[] = {__NR_getpgid};

static inline int wait_for_ever(void *unused) {
    (void)unused;
    syscall(__NR_getpgid, 0);
    return 0;
}

static inline void open_descriptors(void *unused) {
    int ends[2];
    (void)unused;
    bool fine = dup2(open("file", O_RDONLY), CHILD_FILE) >= 0 &&
                dup2(open("dir", O_RDONLY | O_DIRECTORY), CHILD_FOLDER) >= 0 && pipe(ends) == 0 &&
                dup2(ends[0], CHILD_PIPE) >= 0;
    if (!fine)
        _exit(124);
}

/* --- the tree --- */

struct node {
    const char *name;
    const char *text; /* a symlink's; NULL: a folder; FILE_NODE: a file */
};

#define FILE_NODE "\n"

static const struct node nodes[] = {
    {"file", FILE_NODE},
    {"dir", NULL},
    {"dir/file", FILE_NODE},
    {"dir/sub", NULL},
    {"dir/sub/deep", FILE_NODE},
    {"dir/up", ".."},
    {"dir/round", "../dir/../file"},
    {"dir/to-file", "file"},
    {"to-file", "file"},
    {"to-dir", "dir"},
    {"to-dir-slash", "dir/"},
    {"to-dir-slashes", ".//dir///"},
    {"to-file-slash", "file/"},
    {"to-link", "to-dir"},
    {"to-dot", "."},
    {"to-dots", "dir/.."},
    {"to-root", "/"},
    {"to-above", "../../../../../../../.."},
    {"dangling", "missing"},
    {"dangling-deep", "missing/x"},
    {"dangling-slash", "missing/"},
    {"dangling-into", "dir/missing"},
    {"loop-a", "loop-b"},
    {"loop-b", "loop-a"},
    {"loop-self", "loop-self"},
    {"through-file", "file/x"},
    {"sticky", NULL},
    {"sticky/link", "../file"},
    {"closed", NULL},
    {"closed/file", FILE_NODE},
    {"to-closed", "closed/file"},
    {"frozen", NULL}, /* to be a read-only mount, with a writable one in it */
    {"frozen/inner", NULL},
    {"frozen/file", FILE_NODE},
    {"frozen/to-file", "../file"},
    {"to-frozen", "frozen/file"},
    {"frozen-file", FILE_NODE},
    {"covered", NULL}, /* to be read-only mounts without any permission, as what may not be read */
    {"covered/file", FILE_NODE},
    {"covered-file", FILE_NODE},
    {"flipping", NULL},
    {"flipping/frozen", FILE_NODE}, /* to be a read-only mount */
    {"outer", NULL},                /* the procfs outside, see enter_namespaces */
};

static inline void make_chain(const char *prefix, unsigned links) {
    char from[64], to[64];
    for (unsigned i = 0; i < links; i++) {
        snprintf(from, sizeof from, "%s%u", prefix, i);
        snprintf(to, sizeof to, "%s%u", prefix, i + 1);
        if (symlink(to, from) != 0)
            abort();
    }
    snprintf(to, sizeof to, "%s%u", prefix, links);
    close(open(to, O_CREAT | O_WRONLY, 0600));
}

static inline void make_tree(void) {
    char target[128];
    snprintf(top, sizeof top, "/tmp/walk-test-XXXXXX");
    if (mkdtemp(top) == NULL || chdir(top) != 0)
        abort();
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        const struct node *node = &nodes[i];
        int result = node->text == NULL                   ? mkdir(node->name, 0700)
                     : strcmp(node->text, FILE_NODE) == 0 ? close(open(node->name, O_CREAT | O_WRONLY, 0600))
                                                          : symlink(node->text, node->name);
        if (result != 0)
            abort();
    }
    snprintf(target, sizeof target, "%s/dir/sub", top);
    if (symlink(target, "absolute") != 0 || chmod("sticky", 01777) != 0 || chmod("closed", 0) != 0)
        abort();
    make_chain("fifteen", 15);
    make_chain("forty", 40);
    make_chain("more", 41);
}

static inline int remove_one(const char *path, const struct stat *facts, int type, struct FTW *where) {
    (void)facts;
    (void)type;
    (void)where;
    return remove(path);
}

static inline void remove_tree(void) {
    chmod("closed", 0700);
    chmod("covered", 0700);
    nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- what is compared --- */

/* Two results of open: the same errno, or the same file. The descriptors are closed. */
static inline bool same_result(int got, int got_errno, int wanted, int wanted_errno) {
    struct stat one, other;
    bool same = got >= 0 && wanted >= 0 ? fstat(got, &one) == 0 && fstat(wanted, &other) == 0 &&
                                              one.st_dev == other.st_dev && one.st_ino == other.st_ino
                                        : got < 0 && wanted < 0 && got_errno == wanted_errno;
    if (!same)
        printf("#   wanted: %s\n#   got: %s\n", wanted >= 0 ? "a file" : strerror(wanted_errno),
               got >= 0 ? "a file" : strerror(got_errno));
    if (got >= 0)
        close(got);
    if (wanted >= 0)
        close(wanted);
    return same;
}

static inline void leads_to(struct call *call, int dirfd, const char *path, const char *wanted_path) {
    struct place place;
    int wanted = wanted_path == NULL ? -1 : open(wanted_path, O_PATH | O_CLOEXEC);
    int got = walk_to_object(call, dirfd, path, true, &place);
    place_clear(&place);
    ok(same_result(got, -got, wanted, errno), "%s leads to %s", path, wanted_path);
}

static inline void fails_with(struct call *call, int dirfd, const char *path, int error) {
    struct place place;
    int got = walk_to_object(call, dirfd, path, true, &place);
    place_clear(&place);
    if (got >= 0)
        close(got);
    is_int(got, -error, path);
}

/* --- namespaces --- */

static inline void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        _exit(123);
    close(fd);
}

/* New namespaces for the process, a user namespace among them that has its own ids alone, as a run's. */
static inline void unshare_as_run(int flags) {
    char map[64];
    unsigned uid = geteuid(), gid = getegid();
    if (unshare(CLONE_NEWUSER | flags) != 0)
        _exit(122);
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", uid, uid);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", gid, gid);
    write_file("/proc/self/gid_map", map);
}

/* A read-only mount of the file or folder on itself. */
static inline void freeze(const char *path) {
    struct statvfs volume;
    /* What is locked in a mount may not be dropped (mount_namespaces(7)). */
    if (mount(path, path, NULL, MS_BIND, NULL) != 0 || statvfs(path, &volume) != 0 ||
        mount(NULL, path, NULL,
              MS_REMOUNT | MS_BIND | MS_RDONLY | (volume.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)),
              NULL) != 0)
        _exit(120);
}

static inline void cover(const char *path) {
    if (chmod(path, 0) != 0)
        _exit(119);
    freeze(path);
}

#endif
