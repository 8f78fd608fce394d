#include "exec/walk_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/proc_status.h"
#include "exec/target.h"

#ifndef ST_NOSYMFOLLOW
#define ST_NOSYMFOLLOW 0x2000 /* statfs(2), Linux 5.10 */
#endif

/* fs/proc/root.c: the inode of a procfs's own root. */
#define PROC_ROOT_INODE 1u

static bool links_are_protected(void) {
    cleanup_fd int fd = open("/proc/sys/fs/protected_symlinks", O_RDONLY | O_CLOEXEC);
    char value = '1';
    return fd < 0 || read(fd, &value, 1) != 1 || value != '0';
}

/* fs.protected_symlinks (proc_sys_fs(5)): of the links at a path's end. */
static bool may_follow(const struct link *link, const struct stat *facts) {
    struct stat folder;
    if (!link->last || facts->st_uid == geteuid())
        return true;
    if (fstat(link->folder, &folder) != 0)
        return false;
    if ((folder.st_mode & (S_ISVTX | S_IWOTH)) != (S_ISVTX | S_IWOTH) || folder.st_uid == facts->st_uid)
        return true;
    return !links_are_protected();
}

static int read_text(int folder, const char *name, char text[PATH_MAX]) {
    ssize_t length = readlinkat(folder, name, text, PATH_MAX);
    if (length < 0)
        return errno;
    if (length == 0 || length == PATH_MAX)
        return length == 0 ? ENOENT : ENAMETOOLONG;
    text[length] = '\0';
    return 0;
}

/* /proc/self and thread-self: the kernel would name the supervisor, where that procfs shows it, or nobody. */
static int read_self(const struct call *call, const struct link *link, char text[PATH_MAX]) {
    struct target_ids ids;
    int error = target_ids(call, &ids);
    if (error != 0)
        return error;
    bool shows_supervisor = read_text(link->folder, "self", text) == 0;
    if (shows_supervisor && strtol(text, NULL, 10) != getpid())
        return ENOENT;
    int process = shows_supervisor ? ids.process : ids.inner_process;
    int thread = shows_supervisor ? call->thread : ids.inner_thread;
    if (strcmp(link->name, "self") == 0)
        snprintf(text, PATH_MAX, "%d", process);
    else
        snprintf(text, PATH_MAX, "%d/task/%d", process, thread);
    return 0;
}

static bool same_pid_namespace(const struct call *call, int folder, const char *path) {
    struct stat theirs, ours;
    char own[64];
    snprintf(own, sizeof own, "/proc/%d/ns/pid", (int)call->thread);
    return fstatat(folder, path, &theirs, 0) == 0 && stat(own, &ours) == 0 && theirs.st_ino == ours.st_ino &&
           theirs.st_dev == ours.st_dev;
}

/*
 * Whether the command may look into the process whose link it is (ptrace(2), access mode checking). The
 * supervisor could do more: it owns the user namespace, and stands outside. So: its own process; another of
 * the run, unless that is not dumpable (then its files in procfs are root's), or pid 1, which holds files of
 * the host.
 */
static bool may_inspect(const struct call *call, const struct link *link, const struct stat *facts) {
    /* The link lies in PID or PID/task/TID, or in their fd, ns or map_files. */
    struct proc_status status;
    struct target_ids ids;
    bool above = proc_status_read(link->folder, "status", &status) != 0;
    if (above && proc_status_read(link->folder, "../status", &status) != 0)
        return false;
    /* The ids last: they are known to be the caller's, which then it was all along. */
    if (!same_pid_namespace(call, link->folder, above ? "../ns/pid" : "ns/pid") ||
        target_ids(call, &ids) != 0)
        return false;
    if (status.inner_process == ids.inner_process)
        return true;
    return status.inner_process != 1 && facts->st_uid == geteuid();
}

/* Not a text but an object (proc_pid_fd(5), cwd, root, exe, ns): told by a lookup that refuses just those. */
static bool is_magic(const struct link *link) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH};
    cleanup_fd int fd = (int)syscall(SYS_openat2, link->folder, link->name, &how, sizeof how);
    return fd < 0 && errno == ELOOP;
}

static int read_procfs(const struct call *call, const struct link *link, const struct stat *facts,
                       char text[PATH_MAX], int *object) {
    struct stat folder;
    if (fstat(link->folder, &folder) != 0)
        return errno;
    if (folder.st_ino == PROC_ROOT_INODE) {
        bool self = strcmp(link->name, "self") == 0 || strcmp(link->name, "thread-self") == 0;
        return self ? read_self(call, link, text) : read_text(link->fd, "", text);
    }
    int error = read_text(link->fd, "", text);
    if (error != 0 || !is_magic(link))
        return error;
    if (!may_inspect(call, link, facts))
        return EACCES;
    *object = openat(link->folder, link->name, O_PATH | O_CLOEXEC);
    return *object < 0 ? errno : 0;
}

int link_read(const struct call *call, const struct link *link, char text[PATH_MAX], int *object) {
    struct stat facts;
    struct statfs volume;
    *object = -1;
    if (fstat(link->fd, &facts) != 0 || fstatfs(link->fd, &volume) != 0)
        return errno;
    if (!may_follow(link, &facts))
        return EACCES;
    if ((volume.f_flags & ST_NOSYMFOLLOW) != 0)
        return ELOOP;
    if (volume.f_type == PROC_SUPER_MAGIC)
        return read_procfs(call, link, &facts, text, object);
    return read_text(link->fd, "", text);
}

static bool is_own_fd_folder(const struct call *call, int above, int folder) {
    struct proc_status status;
    struct target_ids ids;
    struct statfs volume;
    struct stat named, given;
    return above >= 0 && fstatfs(above, &volume) == 0 && volume.f_type == PROC_SUPER_MAGIC &&
           fstatat(above, "fd", &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(folder, &given) == 0 &&
           named.st_ino == given.st_ino && named.st_dev == given.st_dev &&
           proc_status_read(above, "status", &status) == 0 && target_ids(call, &ids) == 0 &&
           status.inner_process == ids.inner_process && same_pid_namespace(call, above, "ns/pid");
}

/* As name_to_int() of fs/proc/util.c; -1: no number. */
static int descriptor_number(const char *name) {
    size_t length = strspn(name, "0123456789");
    if (length == 0 || length > 9 || name[length] != '\0' || (name[0] == '0' && length > 1))
        return -1;
    return (int)strtol(name, NULL, 10);
}

int link_own_descriptor(struct call *call, int above, int folder, const char *name) {
    char own[32];
    if (!is_own_fd_folder(call, above, folder))
        return -EACCES;
    cleanup_fd int duplicate = target_duplicate(call, descriptor_number(name));
    if (duplicate < 0)
        return duplicate == -EBADF ? -ENOENT : duplicate;
    snprintf(own, sizeof own, "/proc/self/fd/%d", duplicate);
    int object = open(own, O_PATH | O_CLOEXEC);
    return object < 0 ? -errno : object;
}
