/* Calls that change what exists: its size, mode, owner, times, extended attributes. And two that change the
 * rules. */
#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/target.h"
#include "exec/walk.h"

#ifndef XATTR_NAME_MAX
#define XATTR_NAME_MAX 255 /* linux/limits.h */
#define XATTR_SIZE_MAX 65536
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* Linux 6.6, the same number everywhere */
#endif

/* Instead of an errno: nothing but the kernel's own rules decides, or they say it better. */
#define GO_ON (-1)

/* The supervisor's copy of what a call wants. */
struct change {
    mode_t mode;
    uid_t uid;
    gid_t gid;
    int64_t length;
    bool now;
    struct timespec times[2];
    char name[XATTR_NAME_MAX + 1];
    void *value; /* owned */
    size_t size;
    int flags;
};

/* A way to change: reads its arguments (from position at on), and makes the change. 0, an errno, or GO_ON. */
struct kind {
    const char *operation;
    int (*read)(const struct call *call, unsigned at, struct change *change);
    int (*apply)(int object, const struct change *change);          /* O_PATH */
    int (*apply_open)(int descriptor, const struct change *change); /* the command's own, duplicated */
    bool of_links;                                                  /* symlinks have it, too */
};

static int result_of(long result) {
    return result == 0 ? 0 : errno;
}

struct own_path {
    char text[32];
};

/* The object by a path that follows nothing but our own descriptor. */
static struct own_path own_path(int object) {
    struct own_path path;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", object);
    return path;
}

/* --- size --- */

/* SIGXFSZ would be the supervisor's, so what is beyond either's limit goes on. */
static bool is_beyond_limit(pid_t process, int64_t length) {
    struct rlimit limit;
    return prlimit(process, RLIMIT_FSIZE, NULL, &limit) != 0 ||
           (limit.rlim_cur != RLIM_INFINITY && (rlim_t)length > limit.rlim_cur);
}

static int read_length(const struct call *call, unsigned at, struct change *change) {
    change->length = (int64_t)call->data->args[at];
    bool goes_on = change->length < 0 ||
                   (change->length > 0 &&
                    (is_beyond_limit(call->thread, change->length) || is_beyond_limit(0, change->length)));
    return goes_on ? GO_ON : 0;
}

static int apply_length(int object, const struct change *change) {
    return result_of(truncate(own_path(object).text, change->length));
}

/* --- mode --- */

static int read_mode(const struct call *call, unsigned at, struct change *change) {
    change->mode = (mode_t)call->data->args[at] & 07777;
    return 0;
}

static int apply_mode(int object, const struct change *change) {
    return result_of(chmod(own_path(object).text, change->mode));
}

static int apply_mode_open(int descriptor, const struct change *change) {
    return result_of(syscall(SYS_fchmod, descriptor, change->mode)); /* musl's own takes O_PATH as well */
}

/* --- owner --- */

static int read_owner(const struct call *call, unsigned at, struct change *change) {
    change->uid = (uid_t)call->data->args[at];
    change->gid = (gid_t)call->data->args[at + 1];
    return 0;
}

/* The run's user namespace has the caller's own ids and no others (user_namespaces(7)). */
static bool is_mapped(const struct change *change) {
    return (change->uid == (uid_t)-1 || change->uid == geteuid()) &&
           (change->gid == (gid_t)-1 || change->gid == getegid());
}

static int apply_owner(int object, const struct change *change) {
    if (!is_mapped(change) && !is_on_read_only_mount(object))
        return EINVAL;
    return result_of(fchownat(object, "", change->uid, change->gid, AT_EMPTY_PATH));
}

static int apply_owner_open(int descriptor, const struct change *change) {
    if (!is_mapped(change) && !is_on_read_only_mount(descriptor))
        return EINVAL;
    return result_of(syscall(SYS_fchown, descriptor, change->uid, change->gid)); /* as with fchmod */
}

/* --- times --- */

static int read_timespecs(const struct call *call, unsigned at, struct change *change) {
    uint64_t address = call->data->args[at];
    change->now = address == 0;
    int error = change->now ? 0 : target_read(call, address, change->times, sizeof change->times);
    /* Where both are left alone the kernel does not even look at the path. */
    bool nothing =
        !change->now && change->times[0].tv_nsec == UTIME_OMIT && change->times[1].tv_nsec == UTIME_OMIT;
    return error == 0 && nothing ? GO_ON : error;
}

static int read_timevals(const struct call *call, unsigned at, struct change *change) {
    struct timeval times[2];
    uint64_t address = call->data->args[at];
    change->now = address == 0;
    int error = change->now ? 0 : target_read(call, address, times, sizeof times);
    for (size_t i = 0; i < 2 && error == 0 && !change->now; i++) {
        if (times[i].tv_usec < 0 || times[i].tv_usec >= 1000000)
            error = EINVAL;
        change->times[i] = (struct timespec){.tv_sec = times[i].tv_sec, .tv_nsec = times[i].tv_usec * 1000};
    }
    return error;
}

static int read_seconds(const struct call *call, unsigned at, struct change *change) {
    struct utimbuf times = {0};
    uint64_t address = call->data->args[at];
    change->now = address == 0;
    int error = change->now ? 0 : target_read(call, address, &times, sizeof times);
    change->times[0].tv_sec = times.actime;
    change->times[1].tv_sec = times.modtime;
    return error;
}

static int apply_times(int object, const struct change *change) {
    return result_of(syscall(SYS_utimensat, object, "", change->now ? NULL : change->times,
                             AT_EMPTY_PATH)); /* Linux 5.8 */
}

static int apply_times_open(int descriptor, const struct change *change) {
    return result_of(syscall(SYS_utimensat, descriptor, NULL, change->now ? NULL : change->times, 0));
}

/* --- extended attributes --- */

/* What is wrong with the arguments goes on: before Linux 6.13 the kernel looked at the path first. */
static int read_xattr_name(const struct call *call, unsigned at, struct change *change) {
    int error = target_read_string(call, call->data->args[at], change->name, sizeof change->name);
    return error == 0 && change->name[0] != '\0' ? 0 : GO_ON;
}

static int read_xattr(const struct call *call, unsigned at, struct change *change) {
    const __u64 *args = call->data->args;
    change->size = args[at + 2];
    change->flags = (int)args[at + 3];
    bool wrong = (change->flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0 || change->size > XATTR_SIZE_MAX;
    if (wrong || read_xattr_name(call, at, change) != 0)
        return GO_ON;
    if (change->size == 0)
        return 0;
    change->value = malloc(change->size);
    if (change->value == NULL)
        return ENOMEM;
    return target_read(call, args[at + 1], change->value, change->size) == 0 ? 0 : GO_ON;
}

/* Values with ids of the run's user namespace in them, and rights that depend on it. */
static bool belongs_to_namespace(int fd, const struct change *change) {
    static const char *const prefixes[] = {"system.posix_acl_", "security."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(change->name, prefixes[i], strlen(prefixes[i])) == 0)
            return !is_on_read_only_mount(fd);
    return false;
}

static int apply_xattr(int object, const struct change *change) {
    if (belongs_to_namespace(object, change))
        return GO_ON;
    return result_of(
        setxattr(own_path(object).text, change->name, change->value, change->size, change->flags));
}

static int apply_xattr_open(int descriptor, const struct change *change) {
    if (belongs_to_namespace(descriptor, change))
        return GO_ON;
    return result_of(fsetxattr(descriptor, change->name, change->value, change->size, change->flags));
}

static int apply_xattr_removal(int object, const struct change *change) {
    if (belongs_to_namespace(object, change))
        return GO_ON;
    return result_of(removexattr(own_path(object).text, change->name));
}

static int apply_xattr_removal_open(int descriptor, const struct change *change) {
    if (belongs_to_namespace(descriptor, change))
        return GO_ON;
    return result_of(fremovexattr(descriptor, change->name));
}

/* --- the calls --- */

enum kind_name { SIZE, MODE, OWNER, TIMES, TIMEVALS, SECONDS, XATTR, XATTR_REMOVAL };

static const struct kind kinds[] = {
    [SIZE] = {"file-write-data", read_length, apply_length, NULL, false},
    [MODE] = {"file-write-mode", read_mode, apply_mode, apply_mode_open, false},
    [OWNER] = {"file-write-owner", read_owner, apply_owner, apply_owner_open, true},
    [TIMES] = {"file-write-times", read_timespecs, apply_times, apply_times_open, true},
    [TIMEVALS] = {"file-write-times", read_timevals, apply_times, apply_times_open, true}, /* utimes(2) */
    [SECONDS] = {"file-write-times", read_seconds, apply_times, NULL, true},               /* utime(2) */
    [XATTR] = {"file-write-xattr", read_xattr, apply_xattr, apply_xattr_open, false},
    [XATTR_REMOVAL] = {"file-write-xattr", read_xattr_name, apply_xattr_removal, apply_xattr_removal_open,
                       false},
};

#define NONE 255

/* Where the arguments are: NONE, or a position. */
struct row {
    int number;
    enum kind_name kind;
    uint8_t dirfd; /* or the descriptor, where there is no path */
    uint8_t path;
    uint8_t own; /* the first one of the kind */
    uint8_t flags;
    bool follow;
};

static const struct row rows[] = {
    {__NR_truncate, SIZE, NONE, 0, 1, NONE, true},
    {__NR_fchmod, MODE, 0, NONE, 1, NONE, true},
    {__NR_fchmodat, MODE, 0, 1, 2, NONE, true},
    {__NR_fchmodat2, MODE, 0, 1, 2, 3, true},
    {__NR_fchown, OWNER, 0, NONE, 1, NONE, true},
    {__NR_fchownat, OWNER, 0, 1, 2, 4, true},
    {__NR_utimensat, TIMES, 0, 1, 2, 3, true},
    {__NR_setxattr, XATTR, NONE, 0, 1, NONE, true},
    {__NR_lsetxattr, XATTR, NONE, 0, 1, NONE, false},
    {__NR_fsetxattr, XATTR, 0, NONE, 1, NONE, true},
    {__NR_removexattr, XATTR_REMOVAL, NONE, 0, 1, NONE, true},
    {__NR_lremovexattr, XATTR_REMOVAL, NONE, 0, 1, NONE, false},
    {__NR_fremovexattr, XATTR_REMOVAL, 0, NONE, 1, NONE, true},
#ifdef __NR_chmod /* x86_64 has these as well */
    {__NR_chmod, MODE, NONE, 0, 1, NONE, true},
    {__NR_chown, OWNER, NONE, 0, 1, NONE, true},
    {__NR_lchown, OWNER, NONE, 0, 1, NONE, false},
    {__NR_utime, SECONDS, NONE, 0, 1, NONE, true},
    {__NR_utimes, TIMEVALS, NONE, 0, 1, NONE, true},
    {__NR_futimesat, TIMEVALS, 0, 1, 2, NONE, true},
#endif
};

/* The answer to what reading or changing gave. */
static struct answer answer_of(struct call *call, const struct kind *kind, int object, int error) {
    if (error == GO_ON)
        return answer_continue();
    return error == 0 ? answer_value(0) : explain_object(call, kind->operation, object, error);
}

/* A process that cannot be read: the kernel reads it, and the mounts still hold. */
static struct answer unread(int error) {
    return error == GO_ON || error == EPERM ? answer_continue() : answer_errno(error);
}

static struct answer change_open(struct call *call, const struct row *row, const struct change *change) {
    cleanup_fd int descriptor = target_duplicate(call, (int)call->data->args[row->dirfd]);
    if (descriptor < 0)
        return unread(-descriptor);
    if (is_left_to_kernel(call, descriptor))
        return answer_continue();
    return answer_of(call, &kinds[row->kind], descriptor, kinds[row->kind].apply_open(descriptor, change));
}

static struct answer change_object(struct call *call, const struct row *row, const struct change *change,
                                   int object) {
    struct stat facts;
    bool link = fstat(object, &facts) == 0 && S_ISLNK(facts.st_mode);
    bool lacking = link && !kinds[row->kind].of_links;
    if (is_left_to_kernel(call, object) || (lacking && !is_on_read_only_mount(object)))
        return answer_continue();
    return answer_of(call, &kinds[row->kind], object, kinds[row->kind].apply(object, change));
}

static struct answer change_path(struct call *call, const struct row *row, const struct change *change) {
    char path[PATH_MAX];
    struct place place;
    const __u64 *args = call->data->args;
    int dirfd = row->dirfd == NONE ? AT_FDCWD : (int)args[row->dirfd];
    int flags = row->flags == NONE ? 0 : (int)args[row->flags];
    int error = target_read_path(call, args[row->path], path, sizeof path);
    if (error != 0)
        return unread(error);
    if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
        cleanup_fd int itself = target_folder(call, dirfd);
        return itself < 0 ? answer_errno(-itself) : change_object(call, row, change, itself);
    }
    bool follow = row->follow && (flags & AT_SYMLINK_NOFOLLOW) == 0;
    cleanup_fd int object = walk_to_object(call, dirfd, path, follow, &place);
    struct answer answer = object < 0 ? explain_place(call, kinds[row->kind].operation, &place, -object)
                                      : change_object(call, row, change, object);
    place_clear(&place);
    return answer;
}

/* What the kernel refuses by its registers alone: unknown flags, a NULL that does not mean the descriptor. */
static bool is_malformed(const struct row *row, int dirfd, int flags, bool no_path) {
    bool null_is_descriptor = (row->kind == TIMES || row->kind == TIMEVALS) && dirfd != AT_FDCWD;
    return (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0 ||
           (no_path && (flags != 0 || !null_is_descriptor));
}

/* Without a path the descriptor is meant: always (fchmod), or by a NULL (utimensat(2)). */
static struct answer change(struct call *call, const struct row *row) {
    const __u64 *args = call->data->args;
    int dirfd = row->dirfd == NONE ? AT_FDCWD : (int)args[row->dirfd];
    int flags = row->flags == NONE ? 0 : (int)args[row->flags];
    bool no_path = row->path != NONE && args[row->path] == 0;
    struct change wanted = {0};
    if (is_malformed(row, dirfd, flags, no_path))
        return answer_continue();
    int error = kinds[row->kind].read(call, row->own, &wanted);
    struct answer answer = error != 0                     ? unread(error)
                           : no_path || row->path == NONE ? change_open(call, row, &wanted)
                                                          : change_path(call, row, &wanted);
    free(wanted.value);
    return answer;
}

/* --- calls that change the rules, and go on --- */

static bool changes_rules(const struct call *call) {
    switch (call->data->nr) {
    case __NR_umask:
        target_umask_changes(call, (mode_t)call->data->args[0]);
        return true;
    case __NR_landlock_restrict_self:
        atomic_store(&call->supervisor->own_domain, true);
        return true;
    default:
        return false;
    }
}

bool broker_objects(struct call *call, struct answer *answer) {
    if (changes_rules(call)) {
        *answer = answer_continue();
        return true;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].number == call->data->nr) {
            *answer = change(call, &rows[i]);
            return true;
        }
    }
    return false;
}
