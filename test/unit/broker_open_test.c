/* open, openat, creat, by the kernel alone and through the broker. */
#include "both_ways.h"

#include <sys/file.h>

static const char name_255[256] = {[0 ... 254] = 'n'}, name_256[257] = {[0 ... 255] = 'n'};

/* Descriptors below those of the test: the numbers of new ones are compared. */
static void close_others(void) {
    for (int fd = 3; fd < CHILD_FILE; fd++)
        close(fd);
}

#define OPEN(path, flags) CALL(openat, HERE, P(path), flags, 0666)

enum {
    MAKE = O_CREAT | O_WRONLY,
    NEW = O_CREAT | O_EXCL | O_RDWR,
    ANY = O_CREAT | O_RDWR | O_TRUNC,
    NAMELESS = O_TMPFILE & ~O_DIRECTORY,
};

static void creations(struct records *records) {
    RUN(OPEN("new", MAKE), OPEN("new", MAKE), OPEN("new", NEW), OPEN("newer", NEW), OPEN("any", ANY),
        OPEN("any", ANY | O_APPEND), OPEN("read-only", O_CREAT), OPEN("dir/x", MAKE | O_CLOEXEC),
        OPEN("to-dir/y", MAKE | O_SYNC), OPEN("three", O_CREAT | O_ACCMODE),
        OPEN("flags", MAKE | O_NONBLOCK | O_NOATIME | O_DSYNC | O_NOCTTY), OPEN("bit", MAKE | 0x8000000),
        CALL(openat, HERE, P("mode"), MAKE, 07777), CALL(openat, HERE, P("no-mode"), NEW, 0),
        CALL(openat, HERE, P("kind"), MAKE, S_IFDIR | 0600), OPEN(name_255, MAKE), OPEN(name_256, MAKE),
        CALL(umask, 0777), OPEN("masked", ANY), OPEN("masked", ANY), CALL(umask, 022));
    RUN(OPEN("to-file", MAKE), OPEN("to-file", NEW), OPEN("to-file", MAKE | O_NOFOLLOW),
        OPEN("dangling", MAKE | O_NOFOLLOW), OPEN("dangling", NEW), OPEN("dangling", MAKE),
        OPEN("dangling-into", ANY), OPEN("dangling-deep", MAKE), OPEN("dangling-slash", MAKE),
        OPEN("loop-a", MAKE), OPEN("loop-self", NEW), OPEN("more0", MAKE), OPEN("forty0", MAKE),
        OPEN("sticky/link", MAKE), OPEN("through-file", MAKE));
    RUN(OPEN("dir", MAKE), OPEN("dir", O_CREAT), OPEN("dir", NEW), OPEN("dir/", MAKE), OPEN(".", MAKE),
        OPEN("dir/..", O_CREAT), OPEN("dir/.", NEW), OPEN("slash/", MAKE), OPEN("file/", MAKE),
        OPEN("to-dir/", MAKE), OPEN("dangling/", MAKE), OPEN("loop-a/", MAKE), OPEN("loop-a/", NEW),
        OPEN("/", MAKE), OPEN("dir", O_CREAT | O_DIRECTORY), OPEN("new-dir", O_CREAT | O_DIRECTORY),
        OPEN("closed/x", MAKE), OPEN("closed/x/y", MAKE), OPEN("to-closed", MAKE), OPEN("missing/x", MAKE),
        OPEN("file/x", MAKE), OPEN("", MAKE), OPEN(NULL, MAKE), OPEN(long_path, MAKE),
        OPEN("/etc/passwd", MAKE), OPEN("/etc/new", MAKE));
    RUN(CALL(openat, CHILD_FOLDER, P("z"), MAKE, 0600), CALL(openat, CHILD_FILE, P("z"), MAKE, 0600),
        CALL(openat, 12345, P("z"), MAKE, 0600), OPEN("/proc/self/cwd/w", MAKE),
        OPEN("/proc/self/fd/61/v", NEW), OPEN("/proc/self/fd/60", MAKE), OPEN("/dev/fd/60", ANY),
        OPEN("/proc/self/fd/60", NEW), OPEN("/proc/self/fd/59", MAKE), OPEN("/proc/self/status", MAKE),
        OPEN("/dev/null", MAKE), OPEN("/dev/null", NEW), OPEN("/dev/full", ANY), OPEN("/dev/null/x", MAKE));
}

static void what_exists(struct records *records) {
    RUN(OPEN("file", O_WRONLY), OPEN("file", O_RDWR | O_TRUNC), OPEN("file", O_RDONLY | O_TRUNC),
        OPEN("to-file", O_RDWR | O_NOFOLLOW), OPEN("to-file", O_WRONLY), OPEN("dir", O_WRONLY),
        OPEN("dir", O_RDWR | O_DIRECTORY), OPEN("missing", O_WRONLY), OPEN("dangling/", O_WRONLY),
        OPEN("closed/file", O_WRONLY), OPEN("/etc/passwd", O_WRONLY), OPEN("", O_RDWR), OPEN(NULL, O_RDWR),
        OPEN("file", O_PATH | MAKE), OPEN("fresh", O_PATH | MAKE), OPEN("file", O_ACCMODE));
    RUN(OPEN(".", O_TMPFILE | O_RDWR), OPEN("dir", O_TMPFILE | O_WRONLY | O_EXCL),
        OPEN("file", O_TMPFILE | O_RDWR), OPEN("missing", O_TMPFILE | O_RDWR), OPEN(".", O_TMPFILE),
        OPEN("missing/x", O_TMPFILE), OPEN(NULL, O_TMPFILE | O_TRUNC), OPEN(".", NAMELESS | O_RDWR),
        OPEN("missing/x", NAMELESS | O_RDWR), OPEN(NULL, NAMELESS), OPEN("new", O_CREAT | NAMELESS | O_RDWR),
        OPEN(NULL, O_CREAT | O_TMPFILE | O_RDWR), OPEN("closed/x", O_TMPFILE | O_RDWR));
}

static void what_is_frozen(struct records *records) {
    RUN(OPEN("frozen/new", MAKE), OPEN("frozen/new", NEW), OPEN("frozen/file", MAKE),
        OPEN("frozen/file", NEW), OPEN("frozen/file", O_WRONLY), OPEN("frozen/file", O_TRUNC),
        OPEN("frozen/file", O_CREAT), OPEN("frozen/file", O_RDONLY), OPEN("frozen/read", O_CREAT),
        OPEN("frozen", O_RDWR), OPEN("frozen", O_TMPFILE | O_RDWR), OPEN("frozen", O_TMPFILE),
        OPEN("frozen/inner", O_WRONLY), OPEN("frozen/to-file", O_WRONLY), OPEN("to-frozen", O_RDWR),
        OPEN("frozen-file", O_WRONLY), OPEN("frozen-file", MAKE), OPEN("frozen-file", NEW),
        OPEN("frozen/missing/x", MAKE), OPEN("frozen/missing", O_WRONLY), OPEN("frozen/slash/", MAKE),
        OPEN("frozen/file/", O_WRONLY), OPEN("frozen/file/x", MAKE), OPEN("covered", O_RDONLY),
        OPEN("covered/x", MAKE), OPEN("covered/file", O_WRONLY), OPEN("covered-file", O_RDONLY),
        OPEN("covered-file", O_WRONLY), OPEN("covered-file", NEW));
}

/* No number is free: nothing is left behind, as the next record shows. */
static void without_numbers(void) {
    struct rlimit limit, none;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool refused = open("too-many", MAKE, 0600) < 0 && errno == EMFILE && open("file", MAKE) < 0 &&
                   errno == EMFILE && open("file", O_WRONLY | O_TRUNC) < 0 && errno == EMFILE;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (!refused)
        _exit(116);
}

/* Who has closed a new file finds nobody else with it. */
static void unshared(void) {
    char name[32];
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "lock%d", i);
        int fd = open(name, MAKE | O_EXCL, 0600);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || close(fd) != 0 || (fd = open(name, O_RDONLY)) < 0 ||
            flock(fd, LOCK_EX | LOCK_NB) != 0 || close(fd) != 0 || unlink(name) != 0)
            _exit(115);
    }
}

static int make_calls(void *argument) {
    struct records *records = argument;
    close_others();
    creations(records);
    what_exists(records);
    what_is_frozen(records);
    without_numbers();
    unshared();
    RUN(OPEN("last", MAKE));
#ifdef __NR_open
    RUN(CALL(open, P("older"), MAKE, 0660), CALL(open, P("older"), NEW, 0660),
        CALL(open, P("frozen/older"), MAKE, 0660), CALL(open, P("missing"), O_RDWR),
        CALL(creat, P("created"), 0606), CALL(creat, P("created"), 0600), CALL(creat, P("dir"), 0600),
        CALL(creat, P("frozen/file"), 0600), CALL(creat, P("frozen/created"), 0600));
#endif
    return 0;
}

static const int notified_numbers[] = {
    __NR_openat,
    __NR_umask,
#ifdef __NR_open
    __NR_open,
    __NR_creat,
#endif
};

static bool answer_opens(struct call *call, struct answer *answer) {
    return broker_open(call, answer) || broker_objects(call, answer);
}

static void reports(struct brokering *how) {
    static const char *const made[] = {"new", "read"};
    static const char *const written[] = {"frozen/file", "frozen-file"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char path[64];
        snprintf(path, sizeof path, "frozen/%s", made[i]);
        is_reported(how, "file-write-create", path);
    }
    is_reported(how, "file-write-create", "frozen");
    is_reported(how, "file-write-create", "covered/x");
    is_reported(how, "file-write-data", "covered/file");
    is_reported(how, "file-write-data", "covered-file");
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        is_reported(how, "file-write-data", written[i]);
#ifdef __NR_open
    is_reported(how, "file-write-create", "frozen/older");
    is_reported(how, "file-write-create", "frozen/created");
#endif
    nothing_else_is_reported(how);
}

/* --- what the rules refuse --- */

/* The name is the rules' own, here and elsewhere; what is there already is another thing. */
static int write_protected(void *unused) {
    (void)unused;
    return open(".bashrc", MAKE, 0600) < 0 && errno == EACCES && open("dir/../.bashrc", NEW, 0600) < 0 &&
                   errno == EACCES && open("to-dir/.bashrc", MAKE, 0600) < 0 && errno == EACCES &&
                   access(".bashrc", F_OK) != 0 && access("dir/.bashrc", F_OK) != 0 &&
                   open("missing/.bashrc", MAKE, 0600) < 0 && errno == ENOENT &&
                   open(".bashrc", O_WRONLY) < 0 && errno == ENOENT && open("frozen/.bashrc", MAKE, 0600) < 0
               ? 0
               : 1;
}

/* The tree has the file before. */
static void make_protected(void) {
    close(open("sticky/.bashrc", O_CREAT | O_WRONLY, 0600));
    if (symlink("sticky/.bashrc", "to-protected") != 0)
        abort();
}

static int write_existing(void *unused) {
    (void)unused;
    const int flags[] = {O_WRONLY,         O_RDWR, MAKE, O_TRUNC, O_WRONLY | O_APPEND | O_NOFOLLOW,
                         O_CREAT | O_TRUNC};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (open("sticky/.bashrc", flags[i], 0600) >= 0 || errno != EACCES ||
            (open("to-protected", flags[i] & ~O_NOFOLLOW, 0600) >= 0 || errno != EACCES))
            return 1;
    return open("sticky/.bashrc", NEW, 0600) < 0 && errno == EEXIST &&
                   open("sticky/.bashrc", O_RDONLY) >= 0 && open("to-protected", O_CREAT, 0600) >= 0
               ? 0
               : 2;
}

/* --- reads, where they are asked for --- */

static int read_what_is_covered(void *unused) {
    (void)unused;
    return open("covered", O_RDONLY) < 0 && open("covered/file", O_RDONLY) < 0 &&
                   open("covered-file", O_RDONLY) < 0 && open("file", O_RDONLY) >= 0 &&
                   open("frozen/file", O_RDONLY) >= 0 && open("closed/file", O_RDONLY) < 0 &&
                   open("missing", O_RDONLY) < 0
               ? 0
               : 1;
}

int main(void) {
    static struct brokering how = {.broker = answer_opens,
                                   .numbers = notified_numbers,
                                   .count = sizeof notified_numbers / sizeof *notified_numbers};
    if (!both_ways(&how, make_calls))
        return done_testing();
    reports(&how);
    how.ruled = true;
    is_int(brokered_run(&how, write_protected, NULL), 0, "no file gets a protected name");
    is_int(how.continued, 0, "and the kernel is asked for none");
    is_reported(&how, "file-write-create", ".bashrc");
    is_reported(&how, "file-write-create", "dir/.bashrc");
    is_reported(&how, "file-write-create", "frozen/.bashrc");
    nothing_else_is_reported(&how);
    how.prepare = make_protected;
    is_int(brokered_run(&how, write_existing, NULL), 0, "no protected file is opened to be written");
    is_reported(&how, "file-write-data", "sticky/.bashrc");
    nothing_else_is_reported(&how);
    how.prepare = NULL;
    how.payload.supervision |= SUPERVISE_READS;
    is_int(brokered_run(&how, read_what_is_covered, NULL), 0, "what is covered cannot be read");
    is_reported(&how, "file-read-data", "covered");
    is_reported(&how, "file-read-data", "covered/file");
    is_reported(&how, "file-read-data", "covered-file");
    nothing_else_is_reported(&how);
    return done_testing();
}
