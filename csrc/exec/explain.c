#include "exec/explain.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "exec/report.h"
#include "exec/statx.h"

bool is_on_read_only_mount(int fd) {
    struct statfs volume;
    return fstatfs(fd, &volume) == 0 && (volume.f_flags & ST_RDONLY) != 0;
}

static bool is_mount_root(int fd) {
    struct file_facts facts;
    return file_facts_of(fd, &facts) == 0 && facts.mount_root;
}

static bool is_refusal(const struct place *place, int errnum) {
    cleanup_fd int object = place_open(place);
    bool exists = object >= 0;
    switch (errnum) {
    case EROFS: /* of the folder, or of a file that is a mount of its own */
        return is_on_read_only_mount(place->parent) || (exists && is_on_read_only_mount(object));
    case EACCES:
    case EPERM:
        return is_on_read_only_mount(exists ? object : place->parent);
    case EBUSY:
        return exists && is_mount_root(object);
    case EXDEV:
        return is_on_read_only_mount(place->parent);
    default:
        return false;
    }
}

static bool is_explained(int errnum) {
    return errnum == EROFS || errnum == EACCES || errnum == EPERM || errnum == EBUSY || errnum == EXDEV;
}

static void report_path(const struct call *call, const char *operation, const char *path) {
    struct denial denial = {.operation = operation, .path = path};
    report_denial(call->supervisor->report, call, &denial);
}

struct answer explain_place(struct call *call, const char *operation, const struct place *place, int errnum) {
    char path[PATH_MAX];
    if (is_explained(errnum) && place->parent >= 0 && is_refusal(place, errnum)) {
        place_path(place, path, sizeof path);
        report_path(call, operation, path);
    }
    return answer_errno(errnum);
}

struct answer explain_object(struct call *call, const char *operation, int fd, int errnum) {
    char path[PATH_MAX];
    bool refused = errnum == EROFS || errnum == EACCES || errnum == EPERM;
    if (refused && is_on_read_only_mount(fd)) {
        object_path(fd, path, sizeof path);
        report_path(call, operation, path);
    }
    return answer_errno(errnum);
}
