/*
 * Calls that make, replace and remove names, one line of "<name>: <result>" for each:
 *   denials refused OUT    every kind of them on a place that may not be written
 *   denials same           what a program may do in the current folder, and how it fails there
 *   denials own-domain     what the rules of a program's own refuse it
 *   denials flip OUT MS    threads that change a path while it is used
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack.h"

static char out[PATH_MAX / 2];

/* A path below OUT, one of a few at a time. */
static const char *at(const char *name) {
    static _Thread_local char paths[4][PATH_MAX];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", out, name);
    return path;
}

/* An open's result, without what it opened. */
static long opened(int fd) {
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int make(const char *path, mode_t mode) {
    return open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
}

/* --- refused --- */

static void refused_opens(void) {
    char path[PATH_MAX];
    int folder = open(out, O_RDONLY | O_DIRECTORY);
    report("open", opened(open(at("open"), O_WRONLY | O_CREAT, 0644)));
    report("creat", opened(creat(at("creat"), 0644)));
    report("excl", opened(make(at("excl"), 0644)));
    report("read-create", opened(open(at("read-create"), O_RDONLY | O_CREAT, 0644)));
    report("openat", opened(openat(folder, "openat", O_WRONLY | O_CREAT, 0644)));
#ifdef SYS_open
    report("sys-open", opened((int)syscall(SYS_open, at("sys-open"), O_WRONLY | O_CREAT, 0644)));
#endif
    report("link/through", opened(open("to-out/through", O_WRONLY | O_CREAT, 0644)));
    report("dangling", opened(open("dangling", O_WRONLY | O_CREAT, 0644)));
    report("dots", opened(open("../out/dots", O_WRONLY | O_CREAT, 0644)));
    report("proc-cwd", opened(open("/proc/self/cwd/../out/proc-cwd", O_WRONLY | O_CREAT, 0644)));
    snprintf(path, sizeof path, "/proc/thread-self/fd/%d/proc-fd", folder);
    report("proc-fd", opened(open(path, O_WRONLY | O_CREAT, 0644)));
    report("unnamed", opened(open(out, O_WRONLY | O_TMPFILE, 0644)));
    report("write", opened(open(at("f-write"), O_WRONLY)));
    report("read-write", opened(open(at("f-read-write"), O_RDWR)));
    report("append", opened(open(at("f-append"), O_WRONLY | O_APPEND)));
    report("truncate", opened(open(at("f-truncate"), O_RDONLY | O_TRUNC)));
    report("create-old", opened(open(at("f-create-old"), O_WRONLY | O_CREAT | O_TRUNC, 0644)));
    report("link-old", opened(open("to-out/f-link-old", O_WRONLY | O_CREAT, 0644)));
    close(folder);
}

static void refused_names(void) {
    int folder = open(out, O_RDONLY | O_DIRECTORY);
    report("mkdir", mkdir(at("mkdir"), 0755));
    report("mkdirat", mkdirat(folder, "mkdirat", 0755));
    report("mkdir-slash", mkdir("to-out/mkdir-slash/", 0755));
    report("mknod", mknod(at("mknod"), S_IFREG | 0644, 0));
    report("mkfifo", mkfifo(at("mkfifo"), 0644));
    report("mknodat", mknodat(folder, "mknodat", S_IFSOCK | 0644, 0));
    report("symlink", symlink("target", at("symlink")));
    report("symlinkat", symlinkat("target", folder, "symlinkat"));
    report("link", link("own", at("link")));
    report("linkat", linkat(AT_FDCWD, "own", folder, "linkat", AT_SYMLINK_FOLLOW));
    report("unlink", unlink(at("f-unlink")));
    report("unlinkat", unlinkat(folder, "f-unlinkat", 0));
    report("rmdir", rmdir(at("d-rmdir")));
    report("rmdirat", unlinkat(folder, "d-rmdirat", AT_REMOVEDIR));
    report("rename", rename(at("f-rename"), at("renamed")));
    report("rename-in", rename(at("f-rename-in"), "in"));
    report("rename-out", rename("own", at("rename-out")));
    report("renameat", renameat(folder, "d-renameat", folder, "renamed"));
    report("renameat2", renameat2(AT_FDCWD, "own", folder, "renameat2", RENAME_NOREPLACE));
    report("exchange", renameat2(folder, "f-exchange", AT_FDCWD, "own", RENAME_EXCHANGE));
    close(folder);
}

/* What fails also where writing is allowed. */
static void failing(void) {
    report("exists", mkdir(at("d-rmdir"), 0755));
    report("exists-excl", opened(make(at("f-write"), 0644)));
    report("missing-unlink", unlink(at("missing")));
    report("missing-rename", rename(at("missing"), "in"));
    report("missing-write", opened(open(at("missing"), O_WRONLY)));
    report("missing-folder", mkdir(at("missing/folder"), 0755));
    report("read", opened(open(at("f-write"), O_RDONLY)));
    report("path", opened(open(at("missing-path"), O_PATH | O_CREAT, 0644)));
    report("folder-write", opened(open(at("d-rmdir"), O_WRONLY)));
    report("link-in", link(at("f-write"), "in"));
    report("dot", rmdir("."));
    report("root", rmdir("/"));
}

/* --- same --- */

static void modes(void) {
    static const mode_t masks[] = {0, 022, 077, 0777};
    static const mode_t wanted[] = {0666, 04755, 02711, 01644, 0400, 0};
    struct stat facts;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        umask(masks[i]);
        for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j++) {
            int fd = open("m", O_RDWR | O_CREAT | O_TRUNC, wanted[j]);
            bool worked = fd >= 0 && write(fd, "x", 1) == 1 && fstat(fd, &facts) == 0;
            printf("mode %03o %04o: %d %04o", masks[i], wanted[j], worked, facts.st_mode & 07777);
            close(fd);
            unlink("m");
            mkdir("m", wanted[j]);
            stat("m", &facts);
            printf(" %04o", facts.st_mode & 07777);
            rmdir("m");
            mknod("m", S_IFIFO | wanted[j], 0);
            stat("m", &facts);
            printf(" %06o\n", facts.st_mode);
            unlink("m");
        }
    }
    umask(022);
}

static void flags(void) {
    static const int wanted[] = {O_CLOEXEC, O_APPEND, O_NONBLOCK, O_SYNC, O_DSYNC, O_NOFOLLOW, O_NOATIME,
                                 O_EXCL,    O_NOCTTY, O_TRUNC,    O_RDWR, O_ASYNC, 0x40000000, 3};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int fd = open("f", O_CREAT | wanted[i], 0600);
        printf("flags %x: %d %x %x\n", wanted[i], fd, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
        close(fd);
        unlink("f");
    }
    printf("lowest: %d\n", make("f", 0600));
    dup2(3, 9);
    close(3);
    printf("lowest: %d\n", open("f2", O_WRONLY | O_CREAT, 0600));
    close(3);
    close(9);
    unlink("f");
    unlink("f2");
}

static void opens(void) {
    char longer[PATH_MAX + 2];
    memset(longer, 'n', sizeof longer);
    longer[PATH_MAX + 1] = '\0';
    report("empty", opened(make("", 0600)));
    report("wild", opened(open((char *)16, O_WRONLY | O_CREAT, 0600)));
    report("path too long", opened(make(longer, 0600)));
    report("name too long", opened(make(longer + PATH_MAX - 300, 0600)));
    report("slash", opened(make("new/", 0600)));
    report("dot", opened(make(".", 0600)));
    report("folder", opened(open(".", O_RDONLY | O_CREAT, 0600)));
    report("root", opened(open("/", O_RDWR | O_CREAT, 0600)));
    report("directory", opened(open("new", O_CREAT | O_DIRECTORY, 0600)));
    report("directory nowhere", opened(open("no/new", O_CREAT | O_DIRECTORY, 0600)));
    report("nowhere", opened(make("no/new", 0600)));
    report("below a file", opened(make("/proc/self/exe/new", 0600)));
    report("bad descriptor", opened(openat(77, "new", O_WRONLY | O_CREAT, 0600)));
    report("file as folder", opened(openat(1, "new", O_WRONLY | O_CREAT, 0600)));
    report("unnamed, reading", opened(open(".", O_RDONLY | O_TMPFILE, 0600)));
    report("path only", opened(open("new", O_PATH | O_CREAT, 0600)));
    report("write missing", opened(open("new", O_WRONLY)));
    report("write folder", opened(open(".", O_WRONLY)));
    report("device", opened(open("/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600)));
    report("device new", opened(make("/dev/null", 0600)));
    report("stdout", opened(open("/dev/stdout", O_WRONLY | O_CREAT, 0600)));
    report("text busy", opened(open("/proc/self/exe", O_WRONLY)));
}

static void links(void) {
    struct stat facts;
    symlink("made", "dangling");
    symlink("dangling", "second");
    symlink("loop", "loop");
    mkdir("sub", 0700);
    symlink("sub/", "to-sub");
    symlink("../made2", "sub/up");
    report("nofollow", opened(open("dangling", O_WRONLY | O_CREAT | O_NOFOLLOW, 0600)));
    report("excl", opened(make("dangling", 0600)));
    report("dangling chain", opened(open("second", O_WRONLY | O_CREAT, 0600)));
    report("made", stat("made", &facts));
    report("through", opened(open("to-sub/up", O_WRONLY | O_CREAT, 0600)));
    report("made", stat("made2", &facts));
    report("loop", opened(open("loop", O_WRONLY | O_CREAT, 0600)));
    report("mkdir dangling", mkdir("loop", 0700));
    report("mkdir slash", mkdir("to-sub/", 0700));
    report("unlink slash", unlink("to-sub/"));
    report("unlink folder", unlink("sub"));
    report("rmdir link", rmdir("to-sub"));
    report("rmdir full", rmdir("sub"));
    report("rmdir dot", rmdir("sub/."));
    report("rmdir dots", rmdir("sub/.."));
    report("link of link", linkat(AT_FDCWD, "second", AT_FDCWD, "second2", 0));
    printf("a link: %d\n", lstat("second2", &facts) == 0 && S_ISLNK(facts.st_mode));
    report("link through link", linkat(AT_FDCWD, "second", AT_FDCWD, "hard", AT_SYMLINK_FOLLOW));
    printf("a file: %d\n", lstat("hard", &facts) == 0 && S_ISREG(facts.st_mode));
    report("link slash", linkat(AT_FDCWD, "to-sub/", AT_FDCWD, "hard2", 0));
    report("link folder", link("sub", "hard2"));
    report("link flags", linkat(AT_FDCWD, "made", AT_FDCWD, "hard2", 0x10));
    report("link missing", link("missing", "hard2"));
    report("symlink empty", symlink("", "s"));
    report("symlink old", symlink("x", "made"));
    report("symlink slash", symlink("x", "s/"));
    report("mknod folder", mknod("n", S_IFDIR | 0700, 0));
    report("mknod device", mknod("n", S_IFCHR | 0600, 1 << 8 | 3));
    report("unlinkat flags", unlinkat(AT_FDCWD, "made", 0x10));
}

static void unnamed(void) {
    char path[64];
    int fd = open(".", O_RDWR | O_TMPFILE, 0640);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    report("named by /proc", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    report("the number itself", linkat(AT_FDCWD, path, AT_FDCWD, "named2", 0));
    report("named by descriptor", linkat(fd, "", AT_FDCWD, "named3", AT_EMPTY_PATH));
    report("named again", linkat(fd, "", AT_FDCWD, "named", AT_EMPTY_PATH));
    close(fd);
    fd = open(".", O_RDWR | O_TMPFILE | O_EXCL, 0640);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    report("never named", linkat(AT_FDCWD, path, AT_FDCWD, "named4", AT_SYMLINK_FOLLOW));
    close(fd);
}

static void renames(void) {
    close(make("a", 0600));
    close(make("b", 0600));
    mkdir("d", 0700);
    mkdir("d/e", 0700);
    report("keeps", renameat2(AT_FDCWD, "a", AT_FDCWD, "b", RENAME_NOREPLACE));
    report("exchanges", renameat2(AT_FDCWD, "a", AT_FDCWD, "d", RENAME_EXCHANGE));
    report("exchanges back", renameat2(AT_FDCWD, "d", AT_FDCWD, "a", RENAME_EXCHANGE));
    report("exchanges nothing", renameat2(AT_FDCWD, "a", AT_FDCWD, "none", RENAME_EXCHANGE));
    report("flags", renameat2(AT_FDCWD, "a", AT_FDCWD, "b", 0x80));
    report("file over folder", rename("a", "d"));
    report("folder over file", rename("d", "a"));
    report("into itself", rename("d", "d/e/f"));
    report("over its own", rename("d/e", "d"));
    report("file slash", rename("a", "c/"));
    report("folder slash", rename("d/", "g/"));
    report("dot", rename(".", "h"));
    report("over dot", rename("a", "."));
    report("dots", rename("g/..", "h"));
    report("root", rename("/", "h"));
    report("over root", rename("a", "/"));
    report("replaces", rename("a", "b"));
    report("missing", rename("a", "b"));
    report("another mount", rename("b", "/dev/shm/os-sandbox-b"));
}

/* A folder with the sticky bit, one that may not be written, FIFOs that nobody reads. */
static void folders(void) {
    mkdir("sticky", 0777);
    chmod("sticky", 01777);
    close(make("sticky/own", 0644));
    report("sticky", opened(open("sticky/own", O_WRONLY | O_CREAT, 0600)));
    mkdir("closed", 0700);
    close(make("closed/old", 0600));
    chmod("closed", 0500);
    report("closed new", opened(make("closed/new", 0600)));
    report("closed old", opened(open("closed/old", O_WRONLY | O_CREAT, 0600)));
    report("closed mkdir", mkdir("closed/new", 0700));
    report("closed unlink", unlink("closed/old"));
    report("closed rename", rename("closed/old", "sticky/old"));
    chmod("closed", 0000);
    report("shut", opened(make("closed/new", 0600)));
    chmod("closed", 0700);
    close(open("read-only", O_WRONLY | O_CREAT, 0400));
    report("read-only", opened(open("read-only", O_WRONLY | O_CREAT, 0600)));
    mkfifo("fifo", 0600);
    report("fifo", opened(open("fifo", O_WRONLY | O_CREAT | O_NONBLOCK, 0600)));
    report("fifo both", opened(open("fifo", O_RDWR | O_CREAT, 0600)));
    report("fifo new", opened(make("fifo", 0600)));
}

/* The files a process may hold are counted before one is made. */
static void descriptors(void) {
    struct rlimit before, few = {.rlim_cur = 3, .rlim_max = 0};
    getrlimit(RLIMIT_NOFILE, &before);
    few.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    report("no descriptor", opened(make("none-left", 0600)));
    setrlimit(RLIMIT_NOFILE, &before);
    report("no file", access("none-left", F_OK));
    if (chdir("gone") == 0 || mkdir("gone", 0700) != 0 || chdir("gone") != 0 || rmdir("../gone") != 0)
        return;
    report("removed folder", opened(make("x", 0600)));
    report("removed mkdir", mkdir("x", 0700));
    report("above it", chdir(".."));
}

/* A file is nobody else's when its maker closed it: neither locked nor busy. */
static void handed_over(void) {
    int locked = 0;
    for (int i = 0; i < 300; i++) {
        int fd = make("lock", 0600);
        flock(fd, LOCK_EX | LOCK_NB);
        close(fd);
        fd = open("lock", O_RDONLY);
        locked += flock(fd, LOCK_EX | LOCK_NB) != 0;
        close(fd);
        unlink("lock");
    }
    printf("still locked: %d\n", locked);
}

static atomic_int made_count, found_count;

static void *make_many(void *data) {
    char path[64];
    (void)data;
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof path, "many/f%d", i);
        int fd = make(path, 0600);
        atomic_fetch_add(fd >= 0 ? &made_count : &found_count, 1);
        opened(fd);
        snprintf(path, sizeof path, "many/shared%d", i);
        if (opened(open(path, O_WRONLY | O_CREAT, 0600)) != 0)
            printf("many: %s\n", strerrorname_np(errno));
        snprintf(path, sizeof path, "many/d%d", i);
        atomic_fetch_add(mkdir(path, 0700) == 0 ? &made_count : &found_count, 1);
    }
    return NULL;
}

static void many(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    mkdir("many", 0700);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_many, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("many: %d made, %d found\n", made_count, found_count);
}

static void same(void) {
    umask(022);
    modes();
    flags();
    opens();
    links();
    unnamed();
    renames();
    folders();
    descriptors();
    handed_over();
    many();
}

/* --- own-domain --- */

/* As on a kernel where Landlock is switched off: who asks falls back. */
static void own_domain(void) {
    struct landlock_ruleset_attr attributes = {.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE};
    report("rules", syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    report("version", syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

/* --- flip --- */

static atomic_bool flipping = true;
static char changing[PATH_MAX];

/* The text of a path, between a folder of ours and OUT. */
static void *flip_text(void *data) {
    const char *paths[] = {"inside/x", data};
    for (unsigned i = 0; flipping; i++)
        strcpy(changing, paths[i % 2]);
    return NULL;
}

/* A component and a last name, between what is ours and a symlink to OUT. */
static void *flip_names(void *data) {
    (void)data;
    while (flipping) {
        renameat2(AT_FDCWD, "inside", AT_FDCWD, "to-out", RENAME_EXCHANGE);
        renameat2(AT_FDCWD, "last", AT_FDCWD, "last-link", RENAME_EXCHANGE);
    }
    return NULL;
}

/* Another thread may have put a FIFO there: not to be waited at. */
static void try_at(const char *path) {
    opened(open(path, O_WRONLY | O_NONBLOCK | O_CREAT | O_TRUNC, 0644));
    unlink(path);
    opened(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
    rename(path, "moved");
    rename("moved", path);
    unlink(path);
    mkdir(path, 0755);
    rmdir(path);
    symlink("target", path);
    unlink(path);
    link("own", path);
    unlink(path);
    mknod(path, S_IFIFO | 0644, 0);
    unlink(path);
}

static void *try_many(void *data) {
    (void)data;
    while (flipping) {
        try_at(changing);
        try_at("inside/x");
        opened(open("last", O_WRONLY | O_CREAT | O_TRUNC, 0644));
        opened(open("last", O_WRONLY | O_TRUNC));
    }
    return NULL;
}

static void flip(long milliseconds) {
    pthread_t threads[4];
    struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    char *outside = strdup(at("x"));
    pthread_create(&threads[0], NULL, flip_text, outside);
    pthread_create(&threads[1], NULL, flip_names, NULL);
    pthread_create(&threads[2], NULL, try_many, NULL);
    pthread_create(&threads[3], NULL, try_many, NULL);
    nanosleep(&pause, NULL);
    flipping = false;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    free(outside);
    puts("flipped");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (argc > 2)
        snprintf(out, sizeof out, "%s", argv[2]);
    if (strcmp(what, "refused") == 0 && argc == 3) {
        refused_opens();
        refused_names();
        failing();
    } else if (strcmp(what, "same") == 0 && argc == 2) {
        same();
    } else if (strcmp(what, "own-domain") == 0 && argc == 2) {
        own_domain();
    } else if (strcmp(what, "flip") == 0 && argc == 4) {
        flip(strtol(argv[3], NULL, 10));
    } else {
        return 2;
    }
    return 0;
}
