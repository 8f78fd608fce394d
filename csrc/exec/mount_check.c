#include "exec/mount_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/skeleton.h"
#include "exec/statx.h"

/* The second cause: where the host's / is a private mount, a session does not see what is mounted after its
 * start. */
#define REPLACED "was replaced while the sandbox was set up, or mounted after the sandbox was started"

static int differs(const struct payload_mount *mount, char *text, size_t text_size, const char *what) {
    snprintf(text, text_size, "%s: %s", mount->path, what);
    return -1;
}

int mount_point_open(const struct payload_mount *mount, char *text, size_t text_size) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, mount->path, &how, sizeof how);
    if (fd < 0)
        return differs(mount, text, text_size,
                       errno == ELOOP ? "was replaced by a symlink while the sandbox was set up"
                                      : strerror(errno));
    return fd;
}

static bool is_planned(const struct payload_mount *mount, const struct file_facts *facts) {
    return facts->device == mount->device && facts->inode == mount->inode;
}

/* Takes the descriptor: it comes back where it is the planned file's. */
static int keep_planned(const struct payload_mount *mount, int opened, char *text, size_t text_size) {
    cleanup_fd int fd = opened;
    struct file_facts facts;
    if (fd < 0)
        return -1;
    if (file_facts_of(fd, &facts) != 0)
        return differs(mount, text, text_size, strerror(errno));
    if (!is_planned(mount, &facts))
        return differs(mount, text, text_size, REPLACED);
    return steal_fd(&fd);
}

int mount_point_open_planned(const struct payload_mount *mount, char *text, size_t text_size) {
    return keep_planned(mount, mount_point_open(mount, text, text_size), text, text_size);
}

int mount_source_open_planned(const struct payload_mount *mount, char *text, size_t text_size) {
    int fd = open(mount->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return differs(mount, text, text_size, strerror(errno));
    return keep_planned(mount, fd, text, text_size);
}

/* tmpfs(5); linux/magic.h */
#define TMPFS 0x01021994

static bool is_closed(const struct file_facts *facts) {
    return (facts->mode & 07777) == 0;
}

/* The file system as well: a folder of the host may happen to have that mode. */
static bool is_skeleton(const struct file_facts *facts, const struct statfs *volume) {
    return S_ISDIR(facts->mode) && (facts->mode & 07777) == SKELETON_MODE && volume->f_type == TMPFS;
}

/* overlayfs; linux/magic.h */
#define OVERLAY 0x794c7630

static bool is_own_volume(const struct statfs *volume) {
    return volume->f_type == TMPFS || volume->f_type == OVERLAY;
}

static bool is_read_only(const struct statfs *volume) {
    return (volume->f_flags & ST_RDONLY) != 0;
}

int mount_check(const struct payload_mount *mount, char *text, size_t text_size) {
    if (mount->kind == MOUNT_LINK || mount->kind == MOUNT_FOLDER)
        return 0;
    cleanup_fd int fd = mount_point_open(mount, text, text_size);
    struct file_facts facts;
    struct statfs volume;
    bool holes = mount->kind == MOUNT_MASK_HOLES;
    bool masked = holes || mount->kind == MOUNT_MASK_DIR || mount->kind == MOUNT_MASK_FILE;
    bool private = mount_kind_is_private((enum mount_kind)mount->kind);
    bool writable = mount->kind == MOUNT_WRITABLE || mount->kind == MOUNT_PIN || private;
    if (fd < 0)
        return -1;
    if (file_facts_of(fd, &facts) != 0 || fstatfs(fd, &volume) != 0)
        return differs(mount, text, text_size, strerror(errno));
    if (!facts.mount_root)
        return differs(mount, text, text_size, "the planned mount is not there");
    if (!writable && !is_read_only(&volume))
        return differs(mount, text, text_size, "not mounted read-only");
    if (masked && !(holes ? is_skeleton(&facts, &volume) : is_closed(&facts)))
        return differs(mount, text, text_size, "not masked");
    if (private && (!is_own_volume(&volume) || is_planned(mount, &facts)))
        return differs(mount, text, text_size, "not private");
    if (!masked && !private && !is_planned(mount, &facts))
        return differs(mount, text, text_size, REPLACED);
    return 0;
}

int denial_check(const char *path, bool masked, char *text, size_t text_size) {
    if (path_is_within(path, "/proc") || path_is_within(path, "/dev"))
        return 0;
    cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC);
    struct file_facts facts;
    struct statfs volume;
    if (fd < 0)
        return 0;
    if (file_facts_of(fd, &facts) == 0 && fstatfs(fd, &volume) == 0 && is_read_only(&volume) &&
        (!masked || is_closed(&facts) || is_skeleton(&facts, &volume)))
        return 0;
    snprintf(text, text_size, "%s: " REPLACED, path);
    return -1;
}

bool covers_denied(int fd) {
    struct file_facts facts;
    struct statfs volume;
    if (file_facts_of(fd, &facts) != 0 || fstatfs(fd, &volume) != 0 || !is_read_only(&volume))
        return false;
    bool covering = facts.mount_root || volume.f_type == TMPFS;
    return is_skeleton(&facts, &volume) || (covering && is_closed(&facts));
}
