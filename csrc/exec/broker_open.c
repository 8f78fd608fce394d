/*
 * open, openat, creat. What the kernel would not open for the command itself (landlock.h) is opened here and
 * handed over: a file that is missing is created (this file), one that exists is opened (opening.c).
 */
#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/explain.h"
#include "exec/names.h"
#include "exec/opening.h"
#include "exec/refusal.h"
#include "exec/target.h"
#include "exec/walk.h"

/* Names that come and go while they are looked at. */
#define ATTEMPTS 64

/* What openat2(2) takes; open(2) ignores the rest. O_LARGEFILE is always on. */
#define KNOWN_FLAGS                                                                                          \
    (O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC |          \
     O_ASYNC | O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | O_TMPFILE)

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

static bool follows(const struct opening *opening) {
    bool new_only = (opening->flags & O_CREAT) != 0 && (opening->flags & O_EXCL) != 0;
    return !new_only && (opening->flags & O_NOFOLLOW) == 0;
}

/* --- what exists --- */

/* A folder on the way could not be searched. In procfs that depends on who looks: the kernel tells. */
static struct answer refused_on_the_way(struct call *call, const struct opening *opening,
                                        const struct place *place) {
    struct statfs volume;
    if (place->parent < 0 || fstatfs(place->parent, &volume) != 0 || volume.f_type == PROC_SUPER_MAGIC)
        return opening_left_to_kernel(opening);
    if (opening_creates(opening) || opening_is_unnamed(opening))
        return explain_place(call, CREATE, place, EACCES);
    if (opening_writes(opening))
        return explain_place(call, "file-write-data", place, EACCES);
    return is_mask(place->parent) ? explain_place(call, "file-read-data", place, EACCES) : answer_continue();
}

static struct answer open_existing(struct call *call, const struct opening *opening) {
    struct place place;
    cleanup_fd int object = walk_to_object(call, opening->dirfd, opening->path, follows(opening), &place);
    struct answer answer = opening_writes(opening) ? answer_errno(-object) : answer_continue();
    if (object == -EACCES)
        answer = refused_on_the_way(call, opening, &place);
    else if (object >= 0)
        answer = opening_is_unnamed(opening) ? opening_unnamed(call, opening, object)
                                             : opening_object(call, opening, object, &place);
    place_clear(&place);
    return answer;
}

/* --- what is missing --- */

/* A new file, where the rules allowed it. */
static struct answer give_made(struct call *call, const struct opening *opening, int fd,
                               struct refusal *judged) {
    if (is_object_refused_by_now(call, RULE_CREATE, fd, judged)) {
        remove_made(call, fd);
        return explain_refusal(call, CREATE, judged);
    }
    note_path(call, judged->path);
    struct answer answer = opening_hand_over(call, opening, fd);
    /* EMFILE: the kernel would have said so before it made a file. ENOENT: the caller was killed. */
    if (answer.value < 0 && answer.value != -ENOENT)
        remove_made(call, fd);
    return answer;
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
    *answer = answer_errno(object < 0 ? -object : EACCES);
    if (object >= 0 && fstat(object, &facts) == 0) {
        if (S_ISLNK(facts.st_mode) && follows(opening)) {
            /* One that was reached by a descriptor is not followed. */
            *answer = answer_errno(ELOOP);
            *follow = true;
            return place->name[0] == '\0';
        }
        *answer = opening_object(call, opening, object, place);
    }
    return true;
}

/* A slash behind the name: no file is made there, whatever is (EISDIR). */
static bool is_for_folder(const struct place *place) {
    return strchr(place->name, '/') != NULL;
}

/* No file of that name may be made; what is there already is another thing. */
static bool open_refused(struct call *call, const struct opening *opening, const struct place *place,
                         const struct refusal *refusal, bool *follow, struct answer *answer) {
    struct stat facts;
    bool exists = fstatat(place->parent, place->name, &facts, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && (opening->flags & O_EXCL) == 0)
        return open_occupied(call, opening, place, follow, answer);
    *answer = exists ? answer_errno(EEXIST) : explain_refusal(call, CREATE, refusal);
    return true;
}

/* One attempt. False: look again. */
static bool open_at(struct call *call, const struct opening *opening, const struct place *place, bool *follow,
                    struct answer *answer) {
    struct refusal refusal;
    bool is_new_only = (opening->flags & O_EXCL) != 0;
    *answer = answer_errno(is_new_only && !place_is_entry(place) ? EEXIST : EISDIR);
    if (is_for_folder(place))
        return true;
    if (is_refused_place(call, RULE_CREATE, place, &refusal))
        return open_refused(call, opening, place, &refusal, follow, answer);
    cleanup_fd int fd = create_file(call, opening, place);
    if (fd == -EEXIST && !is_new_only)
        return open_occupied(call, opening, place, follow, answer);
    *answer = fd >= 0 ? give_made(call, opening, fd, &refusal) : explain_place(call, CREATE, place, -fd);
    return true;
}

/* The real path of what a text without symlinks on its way names. False: it is to be found by walking. */
static bool direct_path(const struct opening *opening, int folder, char *into, size_t size) {
    const char *text = opening->path;
    if (text[0] == '/') {
        snprintf(into, size, "%s", text);
        return path_is_normal(into);
    }
    while (text[0] == '.' && text[1] == '/')
        text += 2;
    if (!object_path(folder, into, size) || into[0] != '/')
        return false;
    size_t length = strlen(into);
    snprintf(into + length, size - length, "%s%s", into[1] == '\0' ? "" : "/", text);
    return path_is_normal(into);
}

/* A file of one's own that is there: no trap (opening.c) wherever it lies. */
static bool open_own(struct call *call, const struct opening *opening, int folder, uint64_t resolve,
                     struct answer *answer) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | resolve};
    struct place place = {.parent = -1, .name = "?"};
    struct stat facts;
    if ((opening->flags & (O_EXCL | O_NOFOLLOW)) != 0)
        return false;
    cleanup_fd int object = (int)syscall(SYS_openat2, folder, opening->path, &how, sizeof how);
    if (object < 0 || fstat(object, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
        return false;
    *answer = opening_object(call, opening, object, &place);
    return true;
}

/*
 * The usual cases in one step: no symlink on the way, and a file that is there or new. True: *answer is
 * there; false: not so, or not to be made; then it is looked at step by step.
 */
static bool open_directly(struct call *call, const struct opening *opening, struct answer *answer) {
    struct refusal judged;
    bool absolute = opening->path[0] == '/';
    uint64_t resolve = absolute ? RESOLVE_IN_ROOT : 0;
    cleanup_fd int start = absolute ? -1 : target_folder(call, opening->dirfd);
    int folder = absolute ? call->supervisor->root : start;
    if (folder < 0)
        return false;
    if (open_own(call, opening, folder, resolve, answer))
        return true;
    bool allowed = direct_path(opening, folder, judged.path, sizeof judged.path) &&
                   !is_refused_path(call, RULE_CREATE, &judged);
    cleanup_fd int fd = allowed ? create_at(call, opening, folder, opening->path, resolve) : -1;
    if (fd < 0)
        return false;
    *answer = give_made(call, opening, fd, &judged);
    return true;
}

/* With O_CREAT: a symlink at the end is followed when it is found to be there, also one that leads nowhere
 * yet. */
static struct answer open_or_create(struct call *call, const struct opening *opening) {
    struct answer answer = answer_errno(EAGAIN);
    bool follow = false;
    bool done = open_directly(call, opening, &answer);
    for (int i = 0; i < ATTEMPTS && !done; i++) {
        struct place place;
        int error = walk_to_place(call, opening->dirfd, opening->path, follow, &place);
        if (error != 0)
            answer = error == EACCES ? refused_on_the_way(call, opening, &place) : answer_errno(error);
        done = error != 0 || open_at(call, opening, &place, &follow, &answer);
        place_clear(&place);
    }
    return done ? answer : answer_errno(EAGAIN);
}

/* --- */

/* EINVAL: a directory is not created (since Linux 6.4), a nameless file is to be written and lies in one. */
static bool is_malformed(const struct opening *opening) {
    int flags = opening->flags;
    bool folder = (flags & O_DIRECTORY) != 0;
    bool nameless = (flags & (O_TMPFILE & ~O_DIRECTORY)) != 0;
    return ((flags & O_CREAT) != 0 && folder) || (nameless && (!folder || (flags & O_ACCMODE) == O_RDONLY));
}

static struct answer answer_opening(struct call *call, struct opening *opening) {
    /* It opens nothing (open(2)). */
    if ((opening->flags & O_PATH) != 0)
        return answer_continue();
    if (is_malformed(opening))
        return answer_errno(EINVAL);
    int error = target_read_path(call, opening->address, opening->path, sizeof opening->path);
    if (error == EPERM)
        return opening_left_to_kernel(opening);
    if (error != 0)
        return answer_errno(error);
    return opening_creates(opening) ? open_or_create(call, opening) : open_existing(call, opening);
}

bool broker_open(struct call *call, struct answer *answer) {
    struct opening opening;
    if (!take_registers(call->data, &opening))
        return false;
    *answer = answer_opening(call, &opening);
    return true;
}
