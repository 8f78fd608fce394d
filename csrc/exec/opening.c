#include "exec/opening.h"

#include <errno.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/mount_check.h"
#include "exec/refusal.h"
#include "exec/report.h"
#include "exec/statx.h"
#include "exec/target.h"
#include "exec/terminal.h"
#include "exec/waiting.h"

#define WRITE "file-write-data"
#define READ "file-read-data"

struct answer opening_left_to_kernel(const struct opening *opening) {
    return opening_changes(opening) ? answer_errno(EACCES) : answer_continue();
}

bool is_mask(int fd) {
    return covers_denied(fd);
}

/*
 * The number is not sent along at once (SECCOMP_ADDFD_FLAG_SEND): the command would run on while our copy is
 * still open, and find the file locked (flock(2)) or busy (ETXTBSY) after it closed its own.
 */
struct answer opening_hand_over(struct call *call, const struct opening *opening, int fd) {
    struct seccomp_notif_addfd addition = {
        .id = call->id, .srcfd = (unsigned)fd, .newfd_flags = (unsigned)(opening->flags & O_CLOEXEC)};
    int number;
    do
        number = ioctl(call->supervisor->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
    while (number < 0 && errno == EINTR);
    if (number >= 0)
        return answer_value(number);
    int errnum = errno;
    if (errnum == EMFILE)
        report_limit(call->supervisor->report, call, COST_OPEN_FILES, NULL);
    return answer_errno(errnum);
}

/* --- the very object, by a path that follows nothing but our own descriptor --- */

/* The file, or -errno. */
static int reopen(const struct opening *opening, int object, int flags) {
    char own[32];
    snprintf(own, sizeof own, "/proc/self/fd/%d", object);
    /* Not open(): musl's makes another system call of O_CLOEXEC. */
    int fd = openat(AT_FDCWD, own, flags | O_NOCTTY | O_CLOEXEC, opening->mode);
    return fd < 0 ? -errno : fd;
}

/* As open(2) knows them, for what is there. */
static int flags_for(const struct opening *opening) {
    return opening->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW);
}

static bool is_same_object(int fd, int object) {
    struct stat one, other;
    return fstat(fd, &one) == 0 && fstat(object, &other) == 0 && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

/* The same; with O_NOFOLLOW, which stays visible in the file's flags (F_GETFL), by its name if that still is
 * its own. */
static int reopen_named(const struct opening *opening, int object, const struct place *place, int flags) {
    struct open_how how = {.flags = (uint64_t)(flags | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC),
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    if ((opening->flags & O_NOFOLLOW) == 0 || place->name[0] == '\0')
        return reopen(opening, object, flags);
    cleanup_fd int fd = (int)syscall(SYS_openat2, place->parent, place->name, &how, sizeof how);
    return fd >= 0 && is_same_object(fd, object) ? steal_fd(&fd) : reopen(opening, object, flags);
}

/* Until somebody reads from a FIFO, or gives up a lease (fcntl(2)). */
static int reopen_waiting(struct call *call, const struct opening *opening, int object,
                          struct answer *interrupted) {
    struct wait *wait = wait_begin(call);
    if (wait == NULL)
        return -EAGAIN;
    int fd;
    *interrupted = answer_errno(EINTR);
    while ((fd = reopen(opening, object, flags_for(opening) & ~O_TRUNC)) == -EINTR)
        if (wait_interrupted(wait)) {
            *interrupted = wait_interrupted_answer(-1);
            break;
        }
    wait_end(wait);
    return fd;
}

/* To be read only: the kernel waits for a writer, and says nothing without O_NONBLOCK. */
static bool waits_for_writer(const struct opening *opening, int object) {
    struct stat facts;
    return (opening->flags & (O_ACCMODE | O_NONBLOCK)) == O_RDONLY && fstat(object, &facts) == 0 &&
           S_ISFIFO(facts.st_mode);
}

/*
 * operation: what is reported where the sandbox refuses it; NULL: nothing. At first without waiting;
 * O_NONBLOCK is taken away again. And what is to be cut is cut last: a command without a free number has lost
 * nothing.
 */
static struct answer open_here(struct call *call, const struct opening *opening, const char *operation,
                               int object, const struct place *place) {
    int flags = flags_for(opening);
    bool waits = (flags & O_NONBLOCK) == 0;
    bool cuts = (flags & O_TRUNC) != 0 && (flags & O_ACCMODE) != O_RDONLY;
    struct answer interrupted = answer_errno(EINTR);
    cleanup_fd int fd =
        waits_for_writer(opening, object)
            ? -EAGAIN
            : reopen_named(opening, object, place, (cuts ? flags & ~O_TRUNC : flags) | O_NONBLOCK);
    if (waits && (fd == -EAGAIN || fd == -ENXIO))
        fd = reopen_waiting(call, opening, object, &interrupted);
    else if (waits && fd >= 0 && fcntl(fd, F_SETFL, flags) != 0)
        return answer_errno(errno);
    if (fd == -EINTR)
        return interrupted;
    if (fd < 0)
        return operation == NULL ? answer_errno(-fd) : explain_object(call, operation, object, -fd);
    struct answer answer = opening_hand_over(call, opening, fd);
    if (answer.value >= 0 && cuts && ftruncate(fd, 0) != 0 && errno != EINVAL)
        return answer_errno(errno);
    return answer;
}

/* --- what may not be opened --- */

/* The answer where the kernel is expected to refuse; where it does not, or for another reason, it is asked by
 * the command itself, if that is safe. */
static struct answer expect_refusal(struct call *call, const struct opening *opening, const char *operation,
                                    int object) {
    cleanup_fd int fd = reopen(opening, object, (flags_for(opening) & ~O_TRUNC) | O_NONBLOCK);
    bool refused = fd == -EROFS || fd == -EACCES || fd == -EPERM;
    if (!refused)
        return opening_left_to_kernel(opening);
    return explain_object(call, operation, object, -fd);
}

/* fs.protected_regular, fs.protected_fifos (proc_sys_fs(5)); where they cannot be read, their usual value. */
static int protection_of(mode_t mode) {
    const char *path = S_ISFIFO(mode) ? "/proc/sys/fs/protected_fifos" : "/proc/sys/fs/protected_regular";
    cleanup_fd int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    char value = '1';
    return fd >= 0 && read(fd, &value, 1) == 1 ? value - '0' : 1;
}

/* As may_create_in_sticky() of fs/namei.c: what lies in a sticky folder of others is not opened with O_CREAT.
 */
static bool is_a_trap(const struct opening *opening, const struct place *place, const struct stat *facts) {
    struct stat folder;
    bool asked = opening_creates(opening) && place->name[0] != '\0' &&
                 (S_ISREG(facts->st_mode) || S_ISFIFO(facts->st_mode));
    if (!asked || facts->st_uid == geteuid() || fstat(place->parent, &folder) != 0 ||
        (folder.st_mode & S_ISVTX) == 0 || facts->st_uid == folder.st_uid)
        return false;
    int protection = protection_of(facts->st_mode);
    return ((folder.st_mode & S_IWOTH) != 0 && protection >= 1) ||
           ((folder.st_mode & S_IWGRP) != 0 && protection >= 2);
}

/* --- by kind --- */

/* In procfs it depends on who opens: the supervisor has rights there that the command has not. A process
 * inside has no right to write there but by its mounts. */
static bool is_procfs(int object) {
    struct statfs volume;
    return fstatfs(object, &volume) == 0 && volume.f_type == PROC_SUPER_MAGIC;
}

static struct answer write_file(struct call *call, const struct opening *opening, int object,
                                const struct place *place, bool regular) {
    struct refusal refusal;
    if (is_refused_object(call, RULE_WRITE, object, &refusal))
        return explain_refusal(call, WRITE, &refusal);
    if (regular && is_procfs(object))
        return expect_refusal(call, opening, WRITE, object);
    if (call->supervisor->rules != NULL)
        note_path(call, refusal.path);
    return open_here(call, opening, WRITE, object, place);
}

static struct answer read_file(struct call *call, const struct opening *opening, int object,
                               const struct place *place, bool regular) {
    struct refusal refusal;
    bool watched = (call->supervisor->payload->supervision & SUPERVISE_READS) != 0;
    if (watched && is_refused_object(call, RULE_READ, object, &refusal))
        return explain_refusal(call, READ, &refusal);
    if (watched && is_mask(object))
        return expect_refusal(call, opening, READ, object);
    if (!opening_creates(opening) || (regular && is_procfs(object)))
        return opening_left_to_kernel(opening);
    return open_here(call, opening, NULL, object, place);
}

/*
 * Terminals become the controlling one of who opens them; and /dev/tty is another one for each. So devices
 * are left to the kernel where it opens them beneath /dev and nothing else: a device that was found through a
 * descriptor need not lie there, and what is only cut it does not ask Landlock for.
 */
static struct answer open_device(struct call *call, const struct opening *opening, int object,
                                 const struct place *place, dev_t device) {
    bool is_tty = device == TTY;
    bool by_descriptor = place->name[0] == '\0' && !is_tty;
    bool only_cut = (opening->flags & (O_ACCMODE | O_TRUNC)) == (O_RDONLY | O_TRUNC);
    if (!opening_changes(opening) || (call->supervisor->landlocked && !by_descriptor && !only_cut))
        return answer_continue();
    cleanup_fd int terminal = is_tty ? terminal_of(call) : -1;
    if (is_tty && terminal < 0)
        return answer_errno(ENXIO);
    return open_here(call, opening, WRITE, is_tty ? terminal : object, place);
}

struct answer opening_object(struct call *call, const struct opening *opening, int object,
                             const struct place *place) {
    struct stat facts;
    if (fstat(object, &facts) != 0)
        return answer_errno(errno);
    if (is_a_trap(opening, place, &facts))
        return answer_errno(EACCES);
    bool writes = opening_writes(opening);
    switch (facts.st_mode & S_IFMT) {
    case S_IFREG:
        return writes ? write_file(call, opening, object, place, true)
                      : read_file(call, opening, object, place, true);
    case S_IFDIR:
        return opening_changes(opening) ? answer_errno(EISDIR)
                                        : read_file(call, opening, object, place, false);
    case S_IFIFO:
    case S_IFSOCK:
        return writes ? write_file(call, opening, object, place, false)
                      : read_file(call, opening, object, place, false);
    case S_IFCHR:
    case S_IFBLK:
        return open_device(call, opening, object, place, facts.st_rdev);
    case S_IFLNK:
        return answer_errno((opening->flags & O_DIRECTORY) != 0 ? ENOTDIR : ELOOP);
    default:
        return opening_left_to_kernel(opening);
    }
}

struct answer opening_unnamed(struct call *call, const struct opening *opening, int folder) {
    umask(target_umask(call));
    cleanup_fd int fd = reopen(opening, folder, opening->flags & ~O_NOFOLLOW);
    return fd < 0 ? explain_object(call, "file-write-create", folder, -fd)
                  : opening_hand_over(call, opening, fd);
}
