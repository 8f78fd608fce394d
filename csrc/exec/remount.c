#include "exec/remount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/mount_api.h"
#include "exec/statx.h"
#include "plan/mount_kind.h"

enum { REMOUNT_DONE = 0, REMOUNT_OPEN = 1 };

/* The host may replace a file again while it is being masked. */
#define ROUNDS 8

#define TIME_LIMIT_S 10

/* The run's mount namespace, and one of this process with an empty folder and an empty file that have no
 * permissions. Only what is in the namespace that one is in can be cloned (open_tree(2)). */
struct places {
    int root; /* of the run, as its commands see it */
    int run;
    int own;
    int folder;
    int file;
};

static void say(const struct remount *remount, const char *path) {
    snprintf(remount->why, remount->why_size, "%s could not be masked again: %s", path, strerror(errno));
}

static bool is_over(int stage_pidfd) {
    struct pollfd stage = {.fd = stage_pidfd, .events = POLLIN};
    return poll(&stage, 1, 0) == 1;
}

/*
 * A tmpfs that belongs to the run's user namespace, as what is mounted from it will. In a mount namespace of
 * this process, which goes with it: before Linux 6.15 only what is attached somewhere can be cloned. Over
 * /proc, the one folder that is there for sure; nothing of it is propagated out of a namespace that another
 * user namespace owns.
 */
static int make_masks(struct places *out) {
    umask(0);
    if (unshare(CLONE_NEWNS) != 0 || (out->own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) < 0 ||
        mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755,size=64k") != 0 ||
        mkdir("/proc/folder", 0) != 0)
        return -1;
    cleanup_fd int made = open("/proc/file", O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
    out->folder = open("/proc/folder", O_PATH | O_CLOEXEC);
    out->file = open("/proc/file", O_PATH | O_CLOEXEC);
    return made < 0 || out->folder < 0 || out->file < 0 ? -1 : 0;
}

/* A file of the stage's folder in /proc: by its pid, which is the stage's for sure while that has not ended.
 */
static int open_of_stage(const struct remount *remount, const char *name, int flags) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)remount->stage, name);
    cleanup_fd int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 || is_over(remount->stage_pidfd) ? -1 : steal_fd(&fd);
}

/* The user namespace that owns the run's mount namespace gives all rights there. */
static int enter(const struct remount *remount, struct places *places) {
    places->run = open_of_stage(remount, "ns/mnt", O_RDONLY);
    cleanup_fd int user = places->run < 0 ? -1 : ioctl(places->run, NS_GET_USERNS);
    if (user < 0 || setns(user, CLONE_NEWUSER) != 0 || make_masks(places) != 0)
        return -1;
    return setns(places->run, CLONE_NEWNS);
}

static bool is_mask(enum mount_kind kind) {
    return kind == MOUNT_MASK_DIR || kind == MOUNT_MASK_FILE || kind == MOUNT_MASK_HOLES;
}

/* A copy of the folder or the file, to be attached in the run. Who cannot go back there must not go on: in
 * this namespace everything could be mounted, and nothing would be masked. */
static int take_mask(const struct places *places, bool is_folder) {
    if (setns(places->own, CLONE_NEWNS) != 0)
        return -1;
    int tree = tree_clone_fd(is_folder ? places->folder : places->file, false);
    int errnum = errno;
    if (setns(places->run, CLONE_NEWNS) != 0)
        _exit(REMOUNT_OPEN);
    errno = errnum;
    return tree;
}

/* What holds already. Only the sandbox can mount here: what looks like its mount is one. */
static bool holds(enum mount_kind kind, int fd, const struct file_facts *facts) {
    struct statvfs volume;
    if (fstatvfs(fd, &volume) != 0)
        return false;
    bool read_only = (volume.f_flag & ST_RDONLY) != 0;
    if (kind == MOUNT_READ_ONLY)
        return read_only;
    if (!facts->mount_root || kind == MOUNT_PIN)
        return facts->mount_root;
    mode_t mode = facts->mode & 07777;
    return read_only && (mode == 0 || (kind == MOUNT_MASK_HOLES && mode == 0111));
}

static int make_tree(enum mount_kind kind, int fd, const struct file_facts *facts,
                     const struct places *places) {
    uint64_t attributes = MOUNT_ATTRIBUTE_READ_ONLY;
    cleanup_fd int tree = -1;
    if (is_mask(kind)) {
        tree = take_mask(places, S_ISDIR(facts->mode));
        attributes |= MOUNT_ATTRIBUTE_NOSUID | MOUNT_ATTRIBUTE_NODEV | MOUNT_ATTRIBUTE_NOEXEC;
    } else {
        tree = tree_clone_fd(fd, true);
    }
    if (tree < 0 || (kind != MOUNT_PIN && tree_restrict(tree, attributes, true) != 0))
        return -1;
    return steal_fd(&tree);
}

static int attach(enum mount_kind kind, int fd, const struct file_facts *facts, const struct places *places) {
    cleanup_fd int made = make_tree(kind, fd, facts, places);
    return made < 0 ? -1 : tree_attach(made, fd);
}

/* /proc and /dev are the run's own. A folder's path is asked of the kernel; of files only those of proc
 * matter. */
static bool is_own(int fd, bool is_folder) {
    char path[4096];
    struct statfs volume;
    if (fstatfs(fd, &volume) != 0 || volume.f_type == PROC_SUPER_MAGIC)
        return true;
    if (!is_folder)
        return false;
    return fchdir(fd) != 0 || getcwd(path, sizeof path) == NULL || strcmp(path, "/") == 0 ||
           path_is_within(path, "/proc") || path_is_within(path, "/dev");
}

static int open_inside(int root, const char *path, uint64_t resolve) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | resolve};
    path += strspn(path, "/");
    return (int)syscall(SYS_openat2, root, path[0] == '\0' ? "." : path, &how, sizeof how);
}

/* Whether a path that cannot be opened is none that a command could open either. */
static bool leads_nowhere(int errnum) {
    return errnum != ENOMEM && errnum != EMFILE && errnum != ENFILE && errnum != EAGAIN;
}

/*
 * What is at the path now; a mount cannot lie on a symlink, so there it is what that leads to. -1 with errno
 * 0: nothing that a command could open.
 */
static int open_target(enum mount_kind kind, int root, const char *path, struct file_facts *facts) {
    cleanup_fd int fd = open_inside(root, path, RESOLVE_NO_SYMLINKS);
    bool linked = fd < 0 && errno == ELOOP;
    if (linked && kind != MOUNT_PIN)
        fd = open_inside(root, path, 0);
    if (fd < 0 || file_facts_of(fd, facts) != 0) {
        if (leads_nowhere(errno))
            errno = 0;
        return -1;
    }
    bool is_folder = S_ISDIR(facts->mode);
    if (linked && ((!is_folder && !S_ISREG(facts->mode)) || is_own(fd, is_folder))) {
        errno = 0;
        return -1;
    }
    return steal_fd(&fd);
}

/* From outside a folder may be closed that a command can open. */
static bool leads_nowhere_inside(int errnum) {
    return errnum != EACCES && leads_nowhere(errnum);
}

/* The same question from outside, where no right is needed: false where it has to be answered inside. */
static bool seems_closed(const struct kept_mount *mount, int root) {
    struct file_facts facts;
    cleanup_fd int fd = open_inside(root, mount->path, RESOLVE_NO_SYMLINKS);
    if (fd >= 0)
        return file_facts_of(fd, &facts) == 0 && holds((enum mount_kind)mount->kind, fd, &facts);
    if (errno != ELOOP)
        return leads_nowhere_inside(errno);
    cleanup_fd int target = open_inside(root, mount->path, 0);
    if (target < 0)
        return leads_nowhere_inside(errno);
    return file_facts_of(target, &facts) == 0 && holds((enum mount_kind)mount->kind, target, &facts);
}

static bool all_seem_closed(const struct remount *remount, int root) {
    for (size_t i = 0; i < remount->count; i++)
        if (remount->mounts[i].look && !seems_closed(&remount->mounts[i], root))
            return false;
    return true;
}

/* Looks again after each attempt, at the name: what was masked may be another file by now. */
static int keep(const struct kept_mount *mount, const struct places *places) {
    enum mount_kind kind = (enum mount_kind)mount->kind;
    int errnum = EBUSY;
    for (int round = 0; round < ROUNDS; round++) {
        struct file_facts facts;
        cleanup_fd int fd = open_target(kind, places->root, mount->path, &facts);
        if (fd < 0 && errno == 0)
            return 0;
        if (fd >= 0 && holds(kind, fd, &facts))
            return 0;
        if (fd < 0 || attach(kind, fd, &facts, places) != 0)
            errnum = errno;
    }
    errno = errnum;
    return -1;
}

static int child_main(const struct remount *remount, pid_t agent) {
    sigset_t none;
    sigemptyset(&none);
    /* Not dumpable: it enters a user namespace of the commands' uid, with all rights there. */
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != agent ||
        sigprocmask(SIG_SETMASK, &none, NULL) != 0)
        return REMOUNT_OPEN;
    alarm(TIME_LIMIT_S);
    /* Descriptors go with the process. */
    struct places places = {.run = -1, .own = -1, .folder = -1, .file = -1};
    places.root = open_of_stage(remount, "root", O_PATH | O_DIRECTORY);
    if (places.root >= 0 && all_seem_closed(remount, places.root))
        return REMOUNT_DONE;
    if (places.root < 0 || enter(remount, &places) != 0) {
        say(remount, "what the host replaced");
        return REMOUNT_OPEN;
    }
    for (size_t i = 0; i < remount->count; i++)
        if (remount->mounts[i].look && keep(&remount->mounts[i], &places) != 0) {
            say(remount, remount->mounts[i].path);
            return REMOUNT_OPEN;
        }
    return REMOUNT_DONE;
}

/* The agent's sockets must not be open here: their other ends would see no end of file. */
static int close_all_but(int *fd) {
    enum { KEPT_AT = 3 };
    if (*fd != KEPT_AT && dup3(*fd, KEPT_AT, O_CLOEXEC) < 0)
        return -1;
    *fd = KEPT_AT;
    return (int)syscall(SYS_close_range, KEPT_AT + 1u, ~0u, 0u);
}

pid_t remount_fork(const struct remount *remount) {
    pid_t agent = getpid();
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    struct remount own = *remount;
    int result = close_all_but(&own.stage_pidfd) == 0 ? child_main(&own, agent) : REMOUNT_OPEN;
    _exit(result != REMOUNT_DONE && is_over(own.stage_pidfd) ? REMOUNT_DONE : result);
}
