/*
 * open, openat, creat. A file that is missing is created here and handed over; what exists is opened by the
 * kernel, unless that is going to refuse it.
 */
#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/explain.h"
#include "exec/statx.h"
#include "exec/target.h"
#include "exec/walk.h"

/* Names that come and go while they are looked at. */
#define ATTEMPTS 8

/* What openat2(2) takes; open(2) ignores the rest. O_LARGEFILE is always on. */
#define KNOWN_FLAGS                                                                                          \
    (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC |          \
     O_ASYNC | O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | O_TMPFILE)

struct opening {
    int dirfd;
    uint64_t address;
    int flags;
    mode_t mode;
    char path[PATH_MAX];
};

static bool take_registers(const struct seccomp_data *data, struct opening *out) {
    const __u64 *args = data->args;
    switch (data->nr) {
    case __NR_openat:
        out->dirfd = (int)args[0];
        out->address = args[1];
        out->flags = (int)args[2];
        out->mode = (mode_t)args[3];
        break;
#ifdef __NR_open
    case __NR_open:
        out->dirfd = AT_FDCWD;
        out->address = args[0];
        out->flags = (int)args[1];
        out->mode = (mode_t)args[2];
        break;
    case __NR_creat:
        out->dirfd = AT_FDCWD;
        out->address = args[0];
        out->flags = O_CREAT | O_WRONLY | O_TRUNC;
        out->mode = (mode_t)args[1];
        break;
#endif
    default:
        return false;
    }
    out->flags &= KNOWN_FLAGS;
    out->mode &= 07777;
    return true;
}

static bool writes(const struct opening *opening) {
    return (opening->flags & O_ACCMODE) != O_RDONLY || (opening->flags & O_TRUNC) != 0;
}

static bool makes_unnamed(const struct opening *opening) {
    return (opening->flags & O_TMPFILE) == O_TMPFILE;
}

static bool follows(const struct opening *opening) {
    bool new_only = (opening->flags & O_CREAT) != 0 && (opening->flags & O_EXCL) != 0;
    return !new_only && (opening->flags & O_NOFOLLOW) == 0;
}

/* --- what exists --- */

/* What a denied path is covered with. */
static bool is_mask(int fd) {
    struct file_facts facts;
    return file_facts_of(fd, &facts) == 0 && facts.mount_root && (facts.mode & 07777) == 0 &&
           is_on_read_only_mount(fd);
}

/* An open of the very object, by a path that follows nothing but our own descriptor: 0 or the kernel's errno.
 */
static int try_open(const struct opening *opening, int object) {
    char own[32];
    int flags = opening->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW);
    snprintf(own, sizeof own, "/proc/self/fd/%d", object);
    cleanup_fd int fd = open(own, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, opening->mode);
    return fd < 0 ? errno : 0;
}

/* The answer where the kernel is expected to refuse; where it does not, or for another reason, it is asked by
 * the command itself. */
static struct answer expect_refusal(struct call *call, const struct opening *opening, const char *operation,
                                    int object) {
    int error = try_open(opening, object);
    bool refused = error == EROFS || error == EACCES || error == EPERM;
    return refused ? explain_object(call, operation, object, error) : answer_continue();
}

static struct answer open_object(struct call *call, const struct opening *opening, int object) {
    struct stat facts;
    if (fstat(object, &facts) != 0)
        return answer_continue();
    bool reads = (call->supervisor->payload->supervision & SUPERVISE_READS) != 0 && !writes(opening);
    /* A read-only mount refuses to write to regular files only; a directory is EISDIR everywhere. */
    if (writes(opening) && S_ISREG(facts.st_mode) && is_on_read_only_mount(object))
        return expect_refusal(call, opening, "file-write-data", object);
    if (reads && (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)) && is_mask(object))
        return expect_refusal(call, opening, "file-read-data", object);
    return answer_continue();
}

/* A folder on the way could not be searched. In procfs that depends on who looks: the kernel tells. */
static struct answer refused_on_the_way(struct call *call, const struct opening *opening,
                                        const struct place *place) {
    struct statfs volume;
    if (place->parent < 0 || fstatfs(place->parent, &volume) != 0 || volume.f_type == PROC_SUPER_MAGIC)
        return answer_continue();
    if ((opening->flags & O_CREAT) != 0 || makes_unnamed(opening))
        return explain_place(call, "file-write-create", place, EACCES);
    if (writes(opening))
        return explain_place(call, "file-write-data", place, EACCES);
    return is_mask(place->parent) ? explain_place(call, "file-read-data", place, EACCES) : answer_continue();
}

static struct answer open_existing(struct call *call, const struct opening *opening) {
    struct place place;
    struct answer answer = answer_continue();
    cleanup_fd int object = walk_to_object(call, opening->dirfd, opening->path, follows(opening), &place);
    if (object == -EACCES)
        answer = refused_on_the_way(call, opening, &place);
    else if (object >= 0 && !makes_unnamed(opening))
        answer = open_object(call, opening, object);
    else if (object >= 0 && is_on_read_only_mount(object))
        answer = expect_refusal(call, opening, "file-write-create", object);
    place_clear(&place);
    return answer;
}

/* --- what is missing --- */

/* What was made in vain, if it still is what the path leads to. */
static void remove_again(struct call *call, const struct opening *opening, int fd) {
    struct place place;
    struct stat made;
    struct stat found;
    bool there = walk_to_place(call, opening->dirfd, opening->path, follows(opening), &place) == 0;
    if (there && fstat(fd, &made) == 0 &&
        fstatat(place.parent, place.name, &found, AT_SYMLINK_NOFOLLOW) == 0 && made.st_ino == found.st_ino &&
        made.st_dev == found.st_dev)
        unlinkat(place.parent, place.name, 0);
    place_clear(&place);
}

/*
 * Gives the command the new file. The number is not sent along at once (SECCOMP_ADDFD_FLAG_SEND): the command
 * would run on while our copy is still open, and find the file locked (flock(2)) or busy (ETXTBSY) after it
 * closed its own.
 */
static struct answer hand_over(struct call *call, const struct opening *opening, int fd) {
    struct seccomp_notif_addfd addition = {
        .id = call->id, .srcfd = (unsigned)fd, .newfd_flags = (unsigned)(opening->flags & O_CLOEXEC)};
    int number;
    do
        number = ioctl(call->supervisor->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
    while (number < 0 && errno == EINTR);
    if (number >= 0)
        return answer_value(number);
    int error = errno;
    /* EMFILE: the kernel would have said so before it made a file. ENOENT: the caller was killed. */
    if (error != ENOENT)
        remove_again(call, opening, fd);
    return answer_errno(error);
}

static int create_at(const struct call *call, const struct opening *opening, int folder, const char *path,
                     uint64_t resolve) {
    struct open_how how = {.flags = (uint64_t)(opening->flags | O_EXCL | O_CLOEXEC | O_NOCTTY),
                           .mode = opening->mode,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve};
    umask(target_umask(call));
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    return fd < 0 ? -errno : fd;
}

/* The file, or -errno; EEXIST whatever is there. */
static int create_file(const struct call *call, const struct opening *opening, const struct place *place) {
    return place->name[0] == '\0' ? -EEXIST : create_at(call, opening, place->parent, place->name, 0);
}

/* Something is at the place. False: look again, *follow says how. */
static bool open_occupied(struct call *call, const struct opening *opening, const struct place *place,
                          bool *follow, struct answer *answer) {
    struct stat facts;
    cleanup_fd int object = place_open(place);
    if (object == -ENOENT)
        return false;
    if (object >= 0 && fstat(object, &facts) == 0) {
        if (S_ISLNK(facts.st_mode) && follows(opening)) {
            *follow = true;
            return false;
        }
        *answer = open_object(call, opening, object);
    }
    return true;
}

/* A slash behind the name: no file is made there, whatever is (EISDIR). */
static bool is_for_folder(const struct place *place) {
    return strchr(place->name, '/') != NULL;
}

/* One attempt. False: look again. */
static bool open_at(struct call *call, const struct opening *opening, const struct place *place, bool *follow,
                    struct answer *answer) {
    if (is_left_to_kernel(call, place->parent) || is_for_folder(place))
        return true;
    cleanup_fd int fd = create_file(call, opening, place);
    if (fd == -EEXIST && (opening->flags & O_EXCL) == 0)
        return open_occupied(call, opening, place, follow, answer);
    *answer = fd >= 0 ? hand_over(call, opening, fd) : explain_place(call, "file-write-create", place, -fd);
    return true;
}

/*
 * The usual case in one step: a new file, and no symlink on the way. The new file, or -1: not so, or not to
 * be made here; then it is looked at step by step.
 */
static int create_directly(struct call *call, const struct opening *opening) {
    size_t length = strlen(opening->path);
    bool absolute = opening->path[0] == '/';
    if (length == 0 || opening->path[length - 1] == '/' || atomic_load(&call->supervisor->own_domain))
        return -1;
    cleanup_fd int folder = absolute ? -1 : target_folder(call, opening->dirfd);
    if (!absolute && folder < 0)
        return -1;
    int fd = create_at(call, opening, absolute ? call->supervisor->root : folder, opening->path,
                       absolute ? RESOLVE_IN_ROOT : 0);
    return fd < 0 ? -1 : fd;
}

/* With O_CREAT: a symlink at the end is followed when it is found to be there, also one that leads nowhere
 * yet. */
static struct answer open_or_create(struct call *call, const struct opening *opening) {
    struct answer answer = answer_continue();
    cleanup_fd int made = create_directly(call, opening);
    if (made >= 0)
        return hand_over(call, opening, made);
    bool follow = false;
    bool done = false;
    for (int i = 0; i < ATTEMPTS && !done; i++) {
        struct place place;
        int error = walk_to_place(call, opening->dirfd, opening->path, follow, &place);
        if (error == EACCES)
            answer = refused_on_the_way(call, opening, &place);
        done = error != 0 || open_at(call, opening, &place, &follow, &answer);
        place_clear(&place);
    }
    return answer;
}

/* --- */

/*
 * What goes on by its flags alone. O_PATH opens nothing (open(2)). The rest the kernel refuses with EINVAL:
 * a directory is not created (since Linux 6.4), a nameless file is to be written and lies in a directory.
 */
static bool decides_itself(const struct opening *opening) {
    int flags = opening->flags;
    bool folder = (flags & O_DIRECTORY) != 0;
    bool nameless = (flags & (O_TMPFILE & ~O_DIRECTORY)) != 0;
    return (flags & O_PATH) != 0 || ((flags & O_CREAT) != 0 && folder) ||
           (nameless && (!folder || (flags & O_ACCMODE) == O_RDONLY));
}

static struct answer answer_opening(struct call *call, struct opening *opening) {
    bool creates = (opening->flags & O_CREAT) != 0;
    if (decides_itself(opening))
        return answer_continue();
    int error = target_read_path(call, opening->address, opening->path, sizeof opening->path);
    if (error == EPERM)
        return creates ? answer_errno(EACCES) : answer_continue();
    if (error != 0)
        return answer_errno(error);
    return creates ? open_or_create(call, opening) : open_existing(call, opening);
}

bool broker_open(struct call *call, struct answer *answer) {
    struct opening opening;
    if (!take_registers(call->data, &opening))
        return false;
    *answer = answer_opening(call, &opening);
    return true;
}
