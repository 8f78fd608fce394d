/* Calls that change what exists: its size, mode, owner, times, extended attributes. And umask. */
#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
#include "exec/posix_acl.h"
#include "exec/refusal.h"
#include "exec/report.h"
#include "exec/target.h"
#include "exec/walk.h"

#ifndef XATTR_NAME_MAX
#define XATTR_NAME_MAX 255 /* linux/limits.h */
#define XATTR_SIZE_MAX 65536
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* Linux 6.6, the same number everywhere */
#endif

/* Instead of an errno: there is nothing to do, and nothing to look at. */
#define IS_DONE (-1)

/* The supervisor's copy of what a call wants. */
struct change {
    const struct call *call;
    mode_t mode;
    uid_t uid;
    gid_t gid;
    int64_t length;
    bool is_beyond_limit;
    bool now;
    struct timespec times[2];
    char name[XATTR_NAME_MAX + 1];
    void *value; /* owned */
    size_t size;
    int flags;
};

/* A way to change: reads its arguments (from position at on), and makes the change. 0, an errno, or
 * IS_DONE. */
struct kind {
    const char *operation;
    int (*read)(const struct call *call, unsigned at, struct change *change);
    int (*apply)(int object, const struct change *change);          /* O_PATH */
    int (*apply_open)(int descriptor, const struct change *change); /* the command's own, duplicated */
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

static int read_length(const struct call *call, unsigned at, struct change *change) {
    struct rlimit limit;
    change->length = (int64_t)call->data->args[at];
    if (change->length < 0)
        return EINVAL;
    change->is_beyond_limit = change->length > 0 && prlimit(call->thread, RLIMIT_FSIZE, NULL, &limit) == 0 &&
                              limit.rlim_cur != RLIM_INFINITY && (rlim_t)change->length > limit.rlim_cur;
    return 0;
}

/* As inode_newsize_ok() of fs/attr.c: the limit is that of the command, and so is the signal. */
static int exceed_limit(const struct call *call, int object) {
    char path[PATH_MAX];
    struct target_ids ids;
    object_path(object, path, sizeof path);
    report_limit(call->supervisor->report, call, COST_FILE, path);
    if (target_ids(call, &ids) == 0)
        syscall(SYS_tgkill, ids.process, call->thread, SIGXFSZ);
    return EFBIG;
}

static int apply_length(int object, const struct change *change) {
    struct own_path path = own_path(object);
    struct stat facts;
    if (!change->is_beyond_limit || fstat(object, &facts) != 0 || facts.st_size >= change->length ||
        !S_ISREG(facts.st_mode))
        return result_of(truncate(path.text, change->length));
    return access(path.text, W_OK) == 0 ? exceed_limit(change->call, object) : errno;
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
    return error == 0 && nothing ? IS_DONE : error;
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

/* Wrong arguments come before the path, as since Linux 6.13. */
static int read_xattr_name(const struct call *call, unsigned at, struct change *change) {
    int error = target_read_string(call, call->data->args[at], change->name, sizeof change->name);
    return error == ENAMETOOLONG || (error == 0 && change->name[0] == '\0') ? ERANGE : error;
}

static int read_xattr(const struct call *call, unsigned at, struct change *change) {
    const __u64 *args = call->data->args;
    change->size = args[at + 2];
    change->flags = (int)args[at + 3];
    if ((change->flags & ~(XATTR_CREATE | XATTR_REPLACE)) != 0)
        return EINVAL;
    int error = read_xattr_name(call, at, change);
    if (error != 0 || change->size == 0)
        return error;
    if (change->size > XATTR_SIZE_MAX)
        return E2BIG;
    change->value = malloc(change->size);
    return change->value == NULL ? ENOMEM : target_read(call, args[at + 1], change->value, change->size);
}

static bool has_prefix(const struct change *change, const char *prefix) {
    return strncmp(change->name, prefix, strlen(prefix)) == 0;
}

/* What the kernel would say to the command, but not to the supervisor: it has other ids in its user
 * namespace, and may have rights over labels of a security module. */
static int xattr_error(int fd, const struct change *change) {
    bool foreign = has_prefix(change, "system.posix_acl_") && change->size > 0 &&
                   !posix_acl_is_of(change->value, change->size, geteuid(), getegid());
    bool secure = has_prefix(change, "security.");
    if ((!foreign && !secure) || is_on_read_only_mount(fd))
        return 0;
    return secure ? EPERM : EINVAL;
}

static int apply_xattr(int object, const struct change *change) {
    int error = xattr_error(object, change);
    return error != 0 ? error
                      : result_of(setxattr(own_path(object).text, change->name, change->value, change->size,
                                           change->flags));
}

static int apply_xattr_open(int descriptor, const struct change *change) {
    int error = xattr_error(descriptor, change);
    return error != 0
               ? error
               : result_of(fsetxattr(descriptor, change->name, change->value, change->size, change->flags));
}

static int apply_xattr_removal(int object, const struct change *change) {
    int error = xattr_error(object, change);
    return error != 0 ? error : result_of(removexattr(own_path(object).text, change->name));
}

static int apply_xattr_removal_open(int descriptor, const struct change *change) {
    int error = xattr_error(descriptor, change);
    return error != 0 ? error : result_of(fremovexattr(descriptor, change->name));
}

/* --- the calls --- */

enum kind_name { SIZE, MODE, OWNER, TIMES, TIMEVALS, SECONDS, XATTR, XATTR_REMOVAL };

static const struct kind kinds[] = {
    [SIZE] = {"file-write-data", read_length, apply_length, NULL},
    [MODE] = {"file-write-mode", read_mode, apply_mode, apply_mode_open},
    [OWNER] = {"file-write-owner", read_owner, apply_owner, apply_owner_open},
    [TIMES] = {"file-write-times", read_timespecs, apply_times, apply_times_open},
    [TIMEVALS] = {"file-write-times", read_timevals, apply_times, apply_times_open}, /* utimes(2) */
    [SECONDS] = {"file-write-times", read_seconds, apply_times, NULL},               /* utime(2) */
    [XATTR] = {"file-write-xattr", read_xattr, apply_xattr, apply_xattr_open},
    [XATTR_REMOVAL] = {"file-write-xattr", read_xattr_name, apply_xattr_removal, apply_xattr_removal_open},
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

/* A process that cannot be read changes nothing. */
static struct answer unread(int error) {
    return answer_errno(error == EPERM ? EACCES : error == IS_DONE ? 0 : error);
}

static struct answer answer_of(struct call *call, const struct kind *kind, int object, int error) {
    return error == 0 ? answer_value(0) : explain_object(call, kind->operation, object, error);
}

static struct answer change_open(struct call *call, const struct row *row, const struct change *change) {
    const struct kind *kind = &kinds[row->kind];
    struct refusal refusal;
    cleanup_fd int descriptor = target_duplicate(call, (int)call->data->args[row->dirfd]);
    if (descriptor < 0)
        return unread(-descriptor);
    if (is_refused_object(call, RULE_WRITE, descriptor, &refusal))
        return explain_refusal(call, kind->operation, &refusal);
    return answer_of(call, kind, descriptor, kind->apply_open(descriptor, change));
}

static struct answer change_object(struct call *call, const struct row *row, const struct change *change,
                                   int object) {
    const struct kind *kind = &kinds[row->kind];
    struct refusal refusal;
    if (is_refused_object(call, RULE_WRITE, object, &refusal))
        return explain_refusal(call, kind->operation, &refusal);
    return answer_of(call, kind, object, kind->apply(object, change));
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

/* What a NULL instead of a path says: the descriptor (utimensat(2)), or nothing. */
static int error_of_null(const struct row *row, int dirfd, int flags) {
    bool is_descriptor = (row->kind == TIMES || row->kind == TIMEVALS) && dirfd != AT_FDCWD;
    return !is_descriptor ? EFAULT : flags != 0 ? EINVAL : 0;
}

/* Without a path the descriptor is meant: always (fchmod), or by a NULL. */
static struct answer change(struct call *call, const struct row *row) {
    const __u64 *args = call->data->args;
    int dirfd = row->dirfd == NONE ? AT_FDCWD : (int)args[row->dirfd];
    int flags = row->flags == NONE ? 0 : (int)args[row->flags];
    bool is_null = row->path != NONE && args[row->path] == 0;
    struct change wanted = {.call = call};
    if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
        return answer_errno(EINVAL);
    int error = kinds[row->kind].read(call, row->own, &wanted);
    if (error == 0 && is_null)
        error = error_of_null(row, dirfd, flags);
    struct answer answer = error != 0                     ? unread(error)
                           : is_null || row->path == NONE ? change_open(call, row, &wanted)
                                                          : change_path(call, row, &wanted);
    free(wanted.value);
    return answer;
}

bool broker_objects(struct call *call, struct answer *answer) {
    if (call->data->nr == __NR_umask) {
        target_umask_changes(call, (mode_t)call->data->args[0]);
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
