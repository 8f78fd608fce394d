#include "exec/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/explain.h"
#include "exec/report.h"

/* Names that come and go while they are looked at. */
#define ATTEMPTS 64

#define RESTLESS "folders are moved all the time"
#define TOO_LONG "a path that is too long to be judged"
#define ASTRAY "another command moved or removed the folder that it is mounted on"

static bool is_private(const struct payload_mount *mount) {
    return mount_kind_is_private((enum mount_kind)mount->kind);
}

/* The innermost folder that the run may write in, but for what is mounted or ruled inside. NULL: none. */
static const struct payload_mount *write_root_of(const struct payload *payload, const char *path) {
    for (size_t i = payload->mount_count; i-- > 0;)
        if ((payload->mounts[i].kind == MOUNT_WRITABLE || is_private(&payload->mounts[i])) &&
            path_is_within(path, payload->mounts[i].path))
            return &payload->mounts[i];
    return NULL;
}

static bool is_in_write_root(const struct payload *payload, const char *path) {
    return payload->root_writable != 0 || write_root_of(payload, path) != NULL;
}

static bool has_private(const struct payload *payload) {
    for (size_t i = 0; i < payload->mount_count; i++)
        if (is_private(&payload->mounts[i]))
            return true;
    return false;
}

/* Whether the file system is the one that the run finds at the folder. */
static bool is_volume_of(const struct call *call, int volume, const char *folder) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT};
    cleanup_fd int fd = (int)syscall(SYS_openat2, call->supervisor->root, folder, &how, sizeof how);
    struct statfs there;
    struct statfs here;
    return fd >= 0 && fstatfs(fd, &there) == 0 && fstatfs(volume, &here) == 0 &&
           there.f_type == here.f_type && memcmp(&there.f_fsid, &here.f_fsid, sizeof here.f_fsid) == 0;
}

/*
 * What is mounted in a private folder goes with its mount point, which another run of the session can move or
 * remove: the kernel keeps those of the caller's own mount namespace only. No rule knows its path by then, so
 * a path is to be trusted only where the plan has a root of the host's.
 */
static bool may_be_astray(const struct payload *payload, const char *path) {
    const struct payload_mount *root = write_root_of(payload, path);
    return !payload->root_writable && has_private(payload) && (root == NULL || is_private(root));
}

static bool is_astray(const struct call *call, const char *path, int volume) {
    const struct payload_mount *root = write_root_of(call->supervisor->payload, path);
    return may_be_astray(call->supervisor->payload, path) && !rules_are_none_for(path) &&
           !is_on_read_only_mount(volume) && (root == NULL || !is_volume_of(call, volume, root->path));
}

/* volume: what lies on the mount that the change would be made on. */
static bool is_forbidden(const struct call *call, enum rule_act act, int volume, struct refusal *out) {
    const struct supervisor *supervisor = call->supervisor;
    out->why = rules_refuse(supervisor->rules, act, out->path);
    if (out->why == NULL && act != RULE_READ && is_astray(call, out->path, volume))
        out->why = ASTRAY;
    return out->why != NULL && (act == RULE_READ || is_in_write_root(supervisor->payload, out->path) ||
                                !is_on_read_only_mount(volume));
}

bool is_refused_place_now(const struct call *call, enum rule_act act, const struct place *place,
                          struct refusal *out) {
    if (call->supervisor->rules == NULL)
        return false;
    bool whole = place_path(place, out->path, sizeof out->path);
    /* By so long a path nobody else finds it: removing is always allowed. */
    if (!whole) {
        out->why = TOO_LONG;
        return act != RULE_REMOVE && !is_on_read_only_mount(place->parent);
    }
    return out->path[0] == '/' && is_forbidden(call, act, place->parent, out);
}

static bool is_refused_object_now(const struct call *call, enum rule_act act, int fd, struct refusal *out) {
    if (!object_path(fd, out->path, sizeof out->path)) {
        out->why = TOO_LONG;
        return !is_on_read_only_mount(fd);
    }
    return out->path[0] == '/' && is_forbidden(call, act, fd, out);
}

/* Moves take microseconds; who keeps moving folders for longer than this is refused. */
#define PATIENCE 400
#define PATIENCE_US 50

/* Odd: a move is going on. False: judge again; *tries counts. */
static bool is_settled(struct rules *rules, uint64_t before, int *tries) {
    uint64_t after = rules_moves(rules);
    if (after == before && (after & 1) == 0)
        return true;
    if (++*tries > 1)
        usleep(PATIENCE_US);
    return false;
}

/* place: NULL where it is the object that is judged. */
static bool is_refused_settled(const struct call *call, enum rule_act act, const struct place *place, int fd,
                               struct refusal *out) {
    struct rules *rules = call->supervisor->rules;
    if (rules == NULL)
        return false;
    for (int tries = 0; tries < PATIENCE;) {
        out->moves = rules_moves(rules);
        bool refused = place == NULL ? is_refused_object_now(call, act, fd, out)
                                     : is_refused_place_now(call, act, place, out);
        if (refused || is_settled(rules, out->moves, &tries))
            return refused;
    }
    out->why = RESTLESS;
    return true;
}

bool is_refused_place(const struct call *call, enum rule_act act, const struct place *place,
                      struct refusal *out) {
    return is_refused_settled(call, act, place, -1, out);
}

bool is_refused_object(const struct call *call, enum rule_act act, int fd, struct refusal *out) {
    return is_refused_settled(call, act, NULL, fd, out);
}

bool is_refused_path(const struct call *call, enum rule_act act, struct refusal *judged) {
    struct rules *rules = call->supervisor->rules;
    if (rules == NULL)
        return false;
    judged->moves = rules_moves(rules);
    return may_be_astray(call->supervisor->payload, judged->path) ||
           rules_refuse(rules, act, judged->path) != NULL;
}

/* now: NULL where it could not be told whole. */
static bool is_as_judged(const struct call *call, const struct refusal *judged, const char *now) {
    struct rules *rules = call->supervisor->rules;
    return now != NULL && strcmp(now, judged->path) == 0 && rules_moves(rules) == judged->moves;
}

bool is_refused_by_now(const struct call *call, enum rule_act act, const struct place *place,
                       struct refusal *judged) {
    char path[2 * PATH_MAX];
    if (call->supervisor->rules == NULL ||
        is_as_judged(call, judged, place_path(place, path, sizeof path) ? path : NULL))
        return false;
    return is_refused_place(call, act, place, judged);
}

bool is_object_refused_by_now(const struct call *call, enum rule_act act, int fd, struct refusal *judged) {
    char path[2 * PATH_MAX];
    if (call->supervisor->rules == NULL ||
        is_as_judged(call, judged, object_path(fd, path, sizeof path) ? path : NULL))
        return false;
    return is_refused_object(call, act, fd, judged);
}

struct answer explain_refusal(struct call *call, const char *operation, const struct refusal *refusal) {
    struct denial denial = {.operation = operation, .path = refusal->path, .why = refusal->why};
    report_denial(call->supervisor->report, call, &denial);
    return answer_errno(EACCES);
}

/* --- notes --- */

void note_path(const struct call *call, const char *path) {
    if (call->supervisor->rules != NULL && path[0] == '/')
        rules_note(call->supervisor->rules, path);
}

void note_place(const struct call *call, const struct place *place) {
    char path[2 * PATH_MAX];
    if (call->supervisor->rules != NULL && place_path(place, path, sizeof path))
        note_path(call, path);
}

/* --- what was made in vain --- */

/* True where the file was taken away, or has no name. */
static bool try_remove(const struct call *call, int fd) {
    char path[PATH_MAX];
    struct stat made;
    struct stat found;
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT};
    if (fstat(fd, &made) != 0 || made.st_nlink == 0 || !object_path(fd, path, sizeof path) || path[0] != '/')
        return true;
    char *name = strrchr(path, '/');
    *name++ = '\0';
    cleanup_fd int folder =
        (int)syscall(SYS_openat2, call->supervisor->root, path[0] == '\0' ? "/" : path, &how, sizeof how);
    return folder >= 0 && fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           made.st_ino == found.st_ino && made.st_dev == found.st_dev && unlinkat(folder, name, 0) == 0;
}

void remove_made(const struct call *call, int fd) {
    for (int i = 0; i < ATTEMPTS && !try_remove(call, fd); i++)
        ;
}
