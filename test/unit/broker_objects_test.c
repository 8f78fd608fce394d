/*
 * The same calls twice: by the kernel alone, and through the broker. Results and files must be the same. Both
 * in a user namespace with one id, as a run's, with a read-only mount.
 */
#include "exec/broker.h"
#include "exec/report.h"
#include "walk_tree.h"

#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <utime.h>

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

enum { CHILD_O_PATH = 63, CHILD_FROZEN = 64, CHILD_LINK = 65 };

/* One call, as the kernel gets it. */
struct attempt {
    const char *name;
    long number;
    uint64_t arguments[5];
};

struct state {
    unsigned mode;
    long long size;
    long long times[2];
};

static const char *const watched[] = {"file",   "dir",         "dir/file",   "to-file",
                                      "frozen", "frozen/file", "frozen-file"};
enum { WATCHED = sizeof watched / sizeof *watched };

#define ATTEMPTS_MAX 256
struct record {
    char name[96];
    int result; /* or a negative errno */
    struct state states[WATCHED];
};

/* Of both ways, shared with the children. */
struct records {
    size_t count;
    struct record list[ATTEMPTS_MAX];
};
static struct records *plain, *brokered;

static void record(struct records *records, const struct attempt *attempt) {
    struct record *out = &records->list[records->count];
    const uint64_t *a = attempt->arguments;
    if (records->count++ == ATTEMPTS_MAX)
        abort();
    long result = syscall(attempt->number, a[0], a[1], a[2], a[3], a[4]);
    out->result = result < 0 ? -errno : (int)result;
    snprintf(out->name, sizeof out->name, "%s", attempt->name);
    for (size_t i = 0; i < WATCHED; i++) {
        struct stat facts;
        if (lstat(watched[i], &facts) != 0)
            abort();
        /* Times of now differ, those that were set do not. */
        out->states[i] = (struct state){.mode = facts.st_mode,
                                        .size = S_ISREG(facts.st_mode) ? (long long)facts.st_size : 0,
                                        .times = {facts.st_atim.tv_sec, facts.st_mtim.tv_sec}};
        for (int which = 0; which < 2; which++)
            if (out->states[i].times[which] > 1000000)
                out->states[i].times[which] = -1;
    }
}

/* --- the calls --- */

#define P(pointer) ((uint64_t)(uintptr_t)(pointer))
#define CALL(call, ...)                                                                                      \
    {                                                                                                        \
#call " " #__VA_ARGS__, __NR_##call, {                                                               \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define RUN(...)                                                                                             \
    do {                                                                                                     \
        const struct attempt attempts[] = {__VA_ARGS__};                                                     \
        for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++)                                      \
            record(records, &attempts[i]);                                                                   \
    } while (0)

static const char long_path[5000] = {[0 ... 4998] = 'x'};

static void modes(struct records *records) {
    const uint64_t here = (uint64_t)AT_FDCWD, nofollow = AT_SYMLINK_NOFOLLOW, empty = AT_EMPTY_PATH;
    RUN(CALL(fchmodat, here, P("file"), 0640), CALL(fchmodat, here, P("to-file"), 0600),
        CALL(fchmodat, here, P("dir/"), 01755), CALL(fchmodat, here, P("dangling"), 0600),
        CALL(fchmodat, here, P("loop-a"), 0600), CALL(fchmodat, here, P("file/"), 0600),
        CALL(fchmodat, here, P(""), 0600), CALL(fchmodat, here, P(NULL), 0600),
        CALL(fchmodat, here, P(long_path), 0600), CALL(fchmodat, CHILD_FOLDER, P("file"), 0644),
        CALL(fchmodat, CHILD_FOLDER, P("to-file"), 0604), CALL(fchmodat, 12345, P("file"), 0600),
        CALL(fchmodat, CHILD_FILE, P("file"), 0600), CALL(fchmodat, here, P("file"), 0107777),
        CALL(fchmodat, here, P("closed/file"), 0600), CALL(fchmodat, here, P("/etc/passwd"), 0600),
        CALL(fchmodat, here, P("/proc/self/fd/60"), 0620), CALL(fchmodat, here, P("/dev/fd/61"), 0710));
    RUN(CALL(fchmodat2, here, P("file"), 0600, 0), CALL(fchmodat2, here, P("to-file"), 0640, nofollow),
        CALL(fchmodat2, here, P("file"), 0641, nofollow), CALL(fchmodat2, CHILD_FILE, P(""), 0642, empty),
        CALL(fchmodat2, CHILD_O_PATH, P(""), 0643, empty), CALL(fchmodat2, CHILD_LINK, P(""), 0643, empty),
        CALL(fchmodat2, here, P(""), 0711, empty), CALL(fchmodat2, here, P(""), 0700, 0),
        CALL(fchmodat2, here, P("file"), 0600, 0x8000));
    RUN(CALL(fchmod, CHILD_FILE, 0600), CALL(fchmod, CHILD_FOLDER, 0700), CALL(fchmod, CHILD_O_PATH, 0700),
        CALL(fchmod, 12345, 0700), CALL(fchmod, (uint64_t)-1, 0700));
    RUN(CALL(fchmodat, here, P("frozen/file"), 0640), CALL(fchmodat, here, P("to-frozen"), 0640),
        CALL(fchmodat, here, P("frozen"), 0750), CALL(fchmodat, here, P("frozen/missing"), 0640),
        CALL(fchmodat, here, P("frozen/to-file"), 0610), CALL(fchmodat, here, P("frozen-file"), 0640),
        CALL(fchmod, CHILD_FROZEN, 0640), CALL(fchmodat2, here, P("frozen/to-file"), 0640, nofollow));
}

static void owners(struct records *records) {
    const uint64_t here = (uint64_t)AT_FDCWD, nofollow = AT_SYMLINK_NOFOLLOW, empty = AT_EMPTY_PATH,
                   same = ~0ull;
    const uint64_t uid = geteuid(), gid = getegid();
    RUN(CALL(fchownat, here, P("file"), same, same, 0), CALL(fchownat, here, P("file"), uid, gid, 0),
        CALL(fchownat, here, P("to-file"), uid, same, nofollow),
        CALL(fchownat, here, P("dangling"), uid, gid, 0),
        CALL(fchownat, here, P("dangling"), uid, gid, nofollow),
        CALL(fchownat, here, P("to-dir/"), uid, gid, nofollow),
        CALL(fchownat, here, P("dangling/"), uid, gid, nofollow),
        CALL(fchownat, here, P("file"), 12345, same, 0), CALL(fchownat, here, P("file"), same, 12345, 0),
        CALL(fchownat, here, P("missing"), 12345, same, 0),
        CALL(fchownat, here, P("/etc/passwd"), uid, same, 0),
        CALL(fchownat, CHILD_FILE, P(""), uid, gid, empty),
        CALL(fchownat, CHILD_O_PATH, P(""), uid, gid, empty),
        CALL(fchownat, CHILD_LINK, P(""), uid, gid, empty), CALL(fchownat, here, P("file"), uid, gid, 1),
        CALL(fchownat, here, P(NULL), uid, gid, 0));
    RUN(CALL(fchown, CHILD_FILE, uid, gid), CALL(fchown, CHILD_FILE, 12345, gid),
        CALL(fchown, CHILD_FILE, same, same), CALL(fchown, CHILD_O_PATH, uid, gid),
        CALL(fchown, 12345, uid, gid));
    RUN(CALL(fchownat, here, P("frozen/file"), uid, gid, 0),
        CALL(fchownat, here, P("frozen/file"), 12345, gid, 0),
        CALL(fchownat, here, P("frozen/to-file"), uid, gid, nofollow), CALL(fchown, CHILD_FROZEN, uid, gid),
        CALL(fchown, CHILD_FROZEN, 12345, gid));
}

static void times(struct records *records) {
    const uint64_t here = (uint64_t)AT_FDCWD, nofollow = AT_SYMLINK_NOFOLLOW, empty = AT_EMPTY_PATH;
    const struct timespec set[2] = {{1000, 5}, {2000, 6}}, wrong[2] = {{1, 1000000000}, {1, 0}},
                          omit[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}},
                          half[2] = {{3000, 0}, {0, UTIME_OMIT}}, now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    RUN(CALL(utimensat, here, P("file"), P(set), 0), CALL(utimensat, here, P("file"), P(half), 0),
        CALL(utimensat, here, P("to-file"), P(set), nofollow), CALL(utimensat, here, P("file"), P(now), 0),
        CALL(utimensat, here, P("file"), P(set), 0), CALL(utimensat, here, P("file"), P(NULL), 0),
        CALL(utimensat, here, P("file"), P(wrong), 0), CALL(utimensat, here, P("missing"), P(omit), 0),
        CALL(utimensat, here, P("missing"), P(set), 0), CALL(utimensat, here, P("file"), 8, 0),
        CALL(utimensat, here, P("file"), P(set), 1), CALL(utimensat, CHILD_FOLDER, P("file"), P(set), 0),
        CALL(utimensat, CHILD_FILE, P(NULL), P(half), 0), CALL(utimensat, CHILD_O_PATH, P(NULL), P(set), 0),
        CALL(utimensat, CHILD_FILE, P(NULL), P(set), nofollow),
        CALL(utimensat, CHILD_FILE, P(NULL), P(NULL), 0), CALL(utimensat, here, P(NULL), P(set), 0),
        CALL(utimensat, CHILD_O_PATH, P(""), P(set), empty),
        CALL(utimensat, CHILD_LINK, P(""), P(half), empty),
        CALL(utimensat, here, P("/etc/passwd"), P(set), 0),
        CALL(utimensat, here, P("/etc/passwd"), P(NULL), 0));
    RUN(CALL(utimensat, here, P("frozen/file"), P(set), 0),
        CALL(utimensat, here, P("frozen/to-file"), P(set), nofollow),
        CALL(utimensat, CHILD_FROZEN, P(NULL), P(set), 0));
}

static void sizes(struct records *records) {
    RUN(CALL(truncate, P("file"), 100), CALL(truncate, P("to-file"), 10),
        CALL(truncate, P("file"), (uint64_t)-1), CALL(truncate, P("dir"), 0), CALL(truncate, P("missing"), 0),
        CALL(truncate, P("file"), 1ull << 20), CALL(truncate, P("file"), (1ull << 20) + 1),
        CALL(truncate, P("/etc/passwd"), 0), CALL(truncate, P("/proc/self/fd/60"), 7),
        CALL(truncate, P("/proc/self/fd/62"), 7), CALL(truncate, P(NULL), 7),
        CALL(truncate, P("frozen/file"), 0), CALL(truncate, P("frozen-file"), 1),
        CALL(truncate, P("to-frozen"), 1));
}

static void attributes(struct records *records) {
    char name[300] = "user.";
    static char large[65537], got[8];
    memset(name + 5, 'n', sizeof name - 6);
    RUN(CALL(setxattr, P("file"), P("user.a"), P("1"), 1, 0),
        CALL(getxattr, P("file"), P("user.a"), P(got), 8),
        CALL(setxattr, P("to-file"), P("user.a"), P("22"), 2, 2),
        CALL(getxattr, P("file"), P("user.a"), P(got), 8),
        CALL(setxattr, P("file"), P("user.a"), P("1"), 1, 1),
        CALL(setxattr, P("file"), P("user.b"), P("1"), 1, 2),
        CALL(setxattr, P("file"), P("user.a"), P("1"), 1, 8),
        CALL(setxattr, P("file"), P(name), P("1"), 1, 0), CALL(setxattr, P("file"), P(""), P("1"), 1, 0),
        CALL(setxattr, P("file"), P(NULL), P("1"), 1, 0),
        CALL(setxattr, P("file"), P("user.a"), P(large), sizeof large, 0),
        CALL(setxattr, P("file"), P("user.a"), P(NULL), 5, 0),
        CALL(setxattr, P("file"), P("user.e"), P(NULL), 0, 0),
        CALL(setxattr, P("file"), P("security.x"), P("1"), 1, 0),
        CALL(setxattr, P("file"), P("trusted.x"), P("1"), 1, 0),
        CALL(setxattr, P("file"), P("what.x"), P("1"), 1, 0),
        CALL(setxattr, P("file"), P("system.posix_acl_access"), P("1"), 1, 0),
        CALL(setxattr, P("missing"), P("user.a"), P("1"), 1, 0),
        CALL(lsetxattr, P("file"), P("user.l"), P("1"), 1, 0),
        CALL(lsetxattr, P("to-file"), P("user.l"), P("1"), 1, 0),
        CALL(lsetxattr, P("dangling"), P("user.l"), P("1"), 1, 0),
        CALL(fsetxattr, CHILD_FILE, P("user.f"), P("1"), 1, 0),
        CALL(fsetxattr, CHILD_O_PATH, P("user.f"), P("1"), 1, 0),
        CALL(fsetxattr, 12345, P("user.f"), P("1"), 1, 0));
    RUN(CALL(removexattr, P("to-file"), P("user.a")), CALL(getxattr, P("file"), P("user.a"), P(got), 8),
        CALL(removexattr, P("file"), P("user.a")), CALL(lremovexattr, P("file"), P("user.l")),
        CALL(lremovexattr, P("to-file"), P("user.l")), CALL(fremovexattr, CHILD_FILE, P("user.f")),
        CALL(fremovexattr, CHILD_FILE, P("user.f")),
        CALL(fremovexattr, CHILD_FILE, P("security.capability")));
    RUN(CALL(setxattr, P("frozen/file"), P("user.a"), P("1"), 1, 0),
        CALL(setxattr, P("frozen/file"), P("security.x"), P("1"), 1, 0),
        CALL(fsetxattr, CHILD_FROZEN, P("user.a"), P("1"), 1, 0),
        CALL(removexattr, P("frozen/file"), P("user.a")), CALL(fremovexattr, CHILD_FROZEN, P("user.a")),
        CALL(lsetxattr, P("frozen/to-file"), P("user.a"), P("1"), 1, 0));
}

#ifdef __NR_chmod
static void older_calls(struct records *records) {
    const struct timeval set[2] = {{4000, 5}, {5000, 6}}, wrong[2] = {{1, 1000000}, {1, 0}},
                         less[2] = {{1, 0}, {1, -1}};
    const struct utimbuf seconds = {6000, 7000};
    const uint64_t uid = geteuid(), gid = getegid();
    RUN(CALL(chmod, P("to-file"), 0611), CALL(chmod, P("frozen/file"), 0611), CALL(chmod, P("missing"), 0611),
        CALL(chown, P("to-file"), uid, gid), CALL(chown, P("file"), 1, gid),
        CALL(lchown, P("dangling"), uid, gid), CALL(chown, P("dangling"), uid, gid),
        CALL(chown, P("frozen/file"), uid, gid), CALL(lchown, P("frozen/to-file"), uid, gid));
    RUN(CALL(utime, P("file"), P(&seconds)), CALL(utime, P("file"), P(NULL)), CALL(utime, P("file"), 8),
        CALL(utime, P(NULL), P(&seconds)), CALL(utimes, P("to-file"), P(set)),
        CALL(utimes, P("file"), P(wrong)), CALL(utimes, P("file"), P(less)), CALL(utimes, P("file"), P(NULL)),
        CALL(futimesat, CHILD_FOLDER, P("file"), P(set)), CALL(futimesat, CHILD_FILE, P(NULL), P(set)),
        CALL(futimesat, (uint64_t)AT_FDCWD, P(NULL), P(set)), CALL(utime, P("frozen/file"), P(&seconds)),
        CALL(utimes, P("frozen/file"), P(set)));
}
#endif

/* --- both ways --- */

static void enter_run(void *unused) {
    const struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    unshare_as_run(CLONE_NEWNS);
    freeze("frozen");
    freeze("frozen-file");
    /* The mounts are there now. */
    char above[128];
    snprintf(above, sizeof above, "%s", top);
    if (chdir("/") != 0 || chdir(above) != 0)
        _exit(119);
    open_descriptors(unused);
    if (dup2(open("file", O_PATH), CHILD_O_PATH) < 0 ||
        dup2(open("frozen/file", O_RDONLY), CHILD_FROZEN) < 0 ||
        dup2(open("to-file", O_PATH | O_NOFOLLOW), CHILD_LINK) < 0)
        _exit(118);
    signal(SIGXFSZ, SIG_IGN);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || syscall(SYS_capset, &header, none) != 0)
        _exit(117);
}

static int make_calls(void *argument) {
    struct records *records = argument;
    modes(records);
    owners(records);
    times(records);
    sizes(records);
    attributes(records);
#ifdef __NR_chmod
    older_calls(records);
#endif
    return 0;
}

static const int notified_numbers[] = {
    __NR_truncate,    __NR_fchmod,       __NR_fchmodat,     __NR_fchmodat2,
    __NR_fchown,      __NR_fchownat,     __NR_utimensat,    __NR_setxattr,
    __NR_lsetxattr,   __NR_fsetxattr,    __NR_umask,        __NR_landlock_restrict_self,
    __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr,
#ifdef __NR_chmod
    __NR_chmod,       __NR_chown,        __NR_lchown,       __NR_utime,
    __NR_utimes,      __NR_futimesat,
#endif
};
enum { NOTIFIED = sizeof notified_numbers / sizeof *notified_numbers };

static bool plainly(void) {
    int status = -1;
    make_tree();
    pid_t pid = fork();
    if (pid == 0) {
        enter_run(NULL);
        _exit(make_calls(plain));
    }
    waitpid(pid, &status, 0);
    remove_tree();
    return ok(status == 0, "the calls are made without a supervisor");
}

/*
 * Runs body under the broker. What was reported is put into text, how many calls went on into *continued.
 * Returns the child's wait status.
 */
static int brokered_run(int (*body)(void *), void *argument, char *text, size_t size, int *continued) {
    static const struct payload nothing;
    struct notified child;
    struct answer answer;
    int events[2];
    make_tree();
    if (pipe2(events, O_NONBLOCK | O_CLOEXEC) != 0 ||
        !notified_start(&child, notified_numbers, NOTIFIED, enter_run, body, argument))
        return -1;
    child.supervisor.report = report_new(events[1], &nothing);
    for (*continued = 0; notified_next(&child); *continued += answer.kind == ANSWER_CONTINUE)
        if (ok(broker_objects(&child.call, &answer), "call %d has an answer", child.notification.data.nr))
            notified_answer(&child, answer);
    report_flush(child.supervisor.report);
    ssize_t length = read(events[0], text, size - 1);
    text[length < 0 ? 0 : length] = '\0';
    close(events[0]);
    close(events[1]);
    free(child.supervisor.report);
    int status = notified_end(&child, false);
    remove_tree();
    return status;
}

static bool same_state(const struct state *one, const struct state *other) {
    return one->mode == other->mode && one->size == other->size && one->times[0] == other->times[0] &&
           one->times[1] == other->times[1];
}

static void compare(void) {
    is_int((long long)brokered->count, (long long)plain->count, "as many calls were made");
    for (size_t i = 0; i < plain->count; i++) {
        const struct record *one = &plain->list[i], *other = &brokered->list[i];
        if (!ok(one->result == other->result, "%s: the same result", one->name))
            printf("#   wanted: %d\n#   got: %d\n", one->result, other->result);
        for (size_t k = 0; k < WATCHED; k++)
            if (!same_state(&one->states[k], &other->states[k]))
                ok(false, "%s: the same %s afterwards", one->name, watched[k]);
    }
}

/* --- what was reported --- */

static void is_reported(char *text, const char *operation, const char *path) {
    char wanted[256];
    snprintf(wanted, sizeof wanted, "\"operation\":\"%s\",\"path\":\"%s/%s\"", operation, top, path);
    char *found = strstr(text, wanted);
    if (ok(found != NULL, "%s of %s is reported", operation, path))
        found[0] = '!';
}

static void reports(char *text) {
    static const char *const operations[] = {"file-write-mode", "file-write-owner", "file-write-times",
                                             "file-write-xattr", "file-write-data"};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        is_reported(text, operations[i], "frozen/file");
    is_reported(text, "file-write-mode", "frozen");
    is_reported(text, "file-write-mode", "frozen-file");
    is_reported(text, "file-write-data", "frozen-file");
    for (size_t i = 0; i < 4; i++)
        is_reported(text, operations[i], "frozen/to-file");
    const char *more = strstr(text, "\"operation\"");
    ok(more == NULL, "and nothing else is");
    if (more != NULL)
        diag("reported", more);
}

/* --- a process that restricts itself --- */

static int restrict_itself(void *unused) {
    (void)unused;
    bool as_before = chmod("file", 0640) == 0 && syscall(__NR_landlock_restrict_self, -1, 0) < 0;
    umask(031);
    return as_before && chmod("file", 0600) == 0 && chmod("frozen/file", 0600) != 0 && errno == EROFS &&
                   umask(0) == 031
               ? 0
               : 1;
}

int main(void) {
    static char text[65536];
    int continued;
    plain = mmap(NULL, sizeof *plain, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    brokered = mmap(NULL, sizeof *brokered, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!ok(plain != MAP_FAILED && brokered != MAP_FAILED && become_plain_user(),
            "the test runs as a plain user") ||
        !plainly())
        return done_testing();
    is_int(brokered_run(make_calls, brokered, text, sizeof text, &continued), 0,
           "the calls are made through the broker");
    compare();
    reports(text);
    is_int(brokered_run(restrict_itself, NULL, text, sizeof text, &continued), 0,
           "a process that restricts itself goes on");
    is_int(continued, 4,
           "from then on the kernel makes what is allowed, beside the calls that change the rules");
    is_reported(text, "file-write-mode", "frozen/file");
    return done_testing();
}
