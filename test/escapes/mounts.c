/*
 * Mounts, roots and namespaces. Arguments: a folder of the workspace, a folder outside, a read-denied folder.
 * Every attack would, if it worked, make something writable or readable that is not.
 */
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* <sys/mount.h> and <linux/mount.h> do not go together in every glibc. */
int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
int umount2(const char *target, int flags);

#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif
#ifndef NS_GET_USERNS
#define NS_GET_USERNS 0xb701
#define NS_GET_PARENT 0xb702
#endif

static void classic_mounts(const char *workspace, const char *out, const char *denied) {
    report("remount / writable", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
    report("remount a superblock writable", mount(NULL, "/", NULL, MS_REMOUNT, NULL));
    report("bind outside into the workspace", mount(out, workspace, NULL, MS_BIND, NULL));
    report("mount a tmpfs", mount("none", workspace, "tmpfs", 0, NULL));
    report("mount a second /proc", mount("none", workspace, "proc", 0, NULL));
    report("mount sysfs", mount("none", workspace, "sysfs", 0, NULL));
    report("overlay", mount("none", workspace, "overlay", 0, "lowerdir=/etc"));
    report("move a mount", mount("/tmp", workspace, NULL, MS_MOVE, NULL));
    report("change propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
    report("remount /proc writable", mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND, NULL));
    report("unmount /proc", umount2("/proc", MNT_DETACH));
    report("unmount the denied folder", umount2(denied, MNT_DETACH));
    report("unmount the workspace", umount2(workspace, MNT_DETACH));
}

static void new_mounts(const char *workspace, const char *out) {
    long tree = syscall(SYS_open_tree, AT_FDCWD, out, OPEN_TREE_CLONE);
    report("open_tree", tree);
    report("move_mount", syscall(SYS_move_mount, AT_FDCWD, out, AT_FDCWD, workspace, 0));
    struct mount_attr writable = {.attr_clr = MOUNT_ATTR_RDONLY};
    report("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, out, 0, &writable, sizeof writable));
    report("mount_setattr /",
           syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &writable, sizeof writable));
    report("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    report("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
}

static void roots(const char *workspace) {
    report("chroot", chroot(workspace));
    report("pivot_root", syscall(SYS_pivot_root, workspace, workspace));
    report("climb above /",
           chdir("/") == 0 && chdir("../../../..") == 0 && access("oldroot", F_OK) == 0 ? 0 : -1);
}

static long clone_into(uint64_t flags) {
    struct clone_args args = {.flags = flags, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid;
}

static long unshare_in_child(int flags) {
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(flags) == 0 ? 0 : errno);
    int status;
    waitpid(child, &status, 0);
    errno = WEXITSTATUS(status);
    return errno == 0 ? 0 : -1;
}

static void namespaces(void) {
    static const struct {
        const char *name;
        int flag;
    } kinds[] = {
        {"user", CLONE_NEWUSER},     {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},
        {"network", CLONE_NEWNET},   {"ipc", CLONE_NEWIPC},  {"uts", CLONE_NEWUTS},
        {"cgroup", CLONE_NEWCGROUP},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "unshare %s", kinds[i].name);
        report(name, unshare_in_child(kinds[i].flag));
        snprintf(name, sizeof name, "clone3 %s", kinds[i].name);
        report(name, clone_into((uint64_t)kinds[i].flag));
    }
    report("unshare user and mount", unshare_in_child(CLONE_NEWUSER | CLONE_NEWNS));
    report("clone3 user and mount", clone_into(CLONE_NEWUSER | CLONE_NEWNS));
}

/* Up to the namespaces that made ours. */
static void parents(void) {
    int user = open("/proc/self/ns/user", O_RDONLY);
    report("parent of the user namespace", ioctl(user, NS_GET_PARENT));
    int network = open("/proc/self/ns/net", O_RDONLY);
    long owner = ioctl(network, NS_GET_USERNS);
    report("owner of the network namespace", owner);
    report("enter the network namespace again", setns(network, CLONE_NEWNET));
    int mounts = open("/proc/self/ns/mnt", O_RDONLY);
    report("enter the mount namespace again", setns(mounts, CLONE_NEWNS));
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    classic_mounts(argv[1], argv[2], argv[3]);
    new_mounts(argv[1], argv[2]);
    namespaces();
    parents();
    roots(argv[1]);
    return 0;
}
