/* Calls that change what exists, by the kernel alone and through the broker. */
#include "both_ways.h"

#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif

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
        CALL(setxattr, P("missing"), P("user.a"), P("1"), 1, 8),
        CALL(setxattr, P("missing"), P(""), P("1"), 1, 0),
        CALL(setxattr, P(NULL), P("user.a"), P(large), sizeof large, 0),
        CALL(setxattr, P("missing"), P("user.a"), P(NULL), 5, 0), CALL(removexattr, P("missing"), P("")),
        CALL(fsetxattr, 12345, P(""), P("1"), 1, 0), CALL(lsetxattr, P("file"), P("user.l"), P("1"), 1, 0),
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
    __NR_truncate,     __NR_fchmod,       __NR_fchmodat,  __NR_fchmodat2, __NR_fchown, __NR_fchownat,
    __NR_utimensat,    __NR_setxattr,     __NR_lsetxattr, __NR_fsetxattr, __NR_umask,  __NR_removexattr,
    __NR_lremovexattr, __NR_fremovexattr,
#ifdef __NR_chmod
    __NR_chmod,        __NR_chown,        __NR_lchown,    __NR_utime,     __NR_utimes, __NR_futimesat,
#endif
};
enum { NOTIFIED = sizeof notified_numbers / sizeof *notified_numbers };

/* --- what was reported --- */

static void reports(struct brokering *how) {
    static const char *const operations[] = {"file-write-mode", "file-write-owner", "file-write-times",
                                             "file-write-xattr", "file-write-data"};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        is_reported(how, operations[i], "frozen/file");
    is_reported(how, "file-write-mode", "frozen");
    is_reported(how, "file-write-mode", "frozen-file");
    is_reported(how, "file-write-data", "frozen-file");
    for (size_t i = 0; i < 4; i++)
        is_reported(how, operations[i], "frozen/to-file");
    nothing_else_is_reported(how);
}

/* --- what the rules refuse --- */

static void make_protected(void) {
    close(open("sticky/.bashrc", O_CREAT | O_WRONLY, 0600));
}

#define REFUSED(call) ((call) != 0 && errno == EACCES)

static int change_protected(void *unused) {
    (void)unused;
    int fd = open("sticky/.bashrc", O_RDONLY);
    return REFUSED(truncate("sticky/.bashrc", 0)) && REFUSED(chmod("sticky/.bashrc", 0700)) &&
                   REFUSED(fchmod(fd, 0700)) && REFUSED(chown("sticky/.bashrc", geteuid(), getegid())) &&
                   REFUSED(futimens(fd, NULL)) && REFUSED(setxattr("sticky/.bashrc", "user.a", "1", 1, 0)) &&
                   REFUSED(fremovexattr(fd, "user.a"))
               ? 0
               : 1;
}

int main(void) {
    static struct brokering how = {.broker = broker_objects, .numbers = notified_numbers, .count = NOTIFIED};
    if (!both_ways(&how, make_calls))
        return done_testing();
    reports(&how);
    how.ruled = true;
    how.prepare = make_protected;
    is_int(brokered_run(&how, change_protected, NULL), 0, "nothing of a protected file changes");
    is_reported(&how, "file-write-data", "sticky/.bashrc");
    is_reported(&how, "file-write-mode", "sticky/.bashrc");
    is_reported(&how, "file-write-owner", "sticky/.bashrc");
    is_reported(&how, "file-write-times", "sticky/.bashrc");
    is_reported(&how, "file-write-xattr", "sticky/.bashrc");
    nothing_else_is_reported(&how);
    return done_testing();
}
