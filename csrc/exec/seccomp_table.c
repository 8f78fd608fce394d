#include "exec/seccomp_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <linux/msdos_fs.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "exec/payload.h"

#define ALWAYS .when = {SECCOMP_ALWAYS, 0, 0}
#define IS(argument, value) .when = {SECCOMP_IS, argument, value}
#define IS_NOT(argument, value) .when = {SECCOMP_IS_NOT, argument, value}
#define HAS(argument, bits) .when = {SECCOMP_HAS, argument, bits}
#define SET(argument) .when = {SECCOMP_SET, argument, 0}

#define ALLOW .then = {SECCOMP_ALLOW, 0}
#define REFUSE(errnum) .then = {SECCOMP_REFUSE, errnum}
#define NOTIFY(group) .then = {SECCOMP_NOTIFY, group}

/* open(2): with any of these a file may change or come to be; with O_PATH the kernel ignores them. */
#define WRITE_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* Commands that make a name, or take one away, without any call that the supervisor or Landlock would see. */
#define OCFS2_IOC_REFLINK _IOW('o', 4, uint64_t[3])             /* fs/ocfs2/ocfs2_ioctl.h */
#define BCH_IOCTL_SUBVOLUME_CREATE _IOW(0xbc, 16, uint64_t[4])  /* fs/bcachefs/bcachefs_ioctl.h, Linux 6.7 */
#define BCH_IOCTL_SUBVOLUME_DESTROY _IOW(0xbc, 17, uint64_t[4]) /* the same */

#ifndef BTRFS_IOC_SNAP_DESTROY_V2 /* Linux 5.7 */
#define BTRFS_IOC_SNAP_DESTROY_V2 _IOW(BTRFS_IOCTL_MAGIC, 63, struct btrfs_ioctl_vol_args_v2)
#endif

/* Commands that change a file's attributes by a descriptor that is open for reading. */
#define EXT4_IOC_SETVERSION _IOW('f', 4, long)     /* fs/ext4/ext4.h */
#define VERITY_ENABLE _IOW('f', 133, uint8_t[128]) /* linux/fsverity.h, Linux 5.4 */

const struct seccomp_rule seccomp_table[] = {
    /* First what is called often and depends on an argument: the kernel remembers which numbers are always
     * allowed (Linux 5.11) and runs the program for the others only, in this order. */
    {__NR_openat, HAS(2, O_PATH), ALLOW},
    {__NR_openat, HAS(2, WRITE_FLAGS), NOTIFY(SUPERVISE_PATHS)},
    {__NR_openat, ALWAYS, NOTIFY(SUPERVISE_READS)},
#ifdef __x86_64__
    {__NR_open, HAS(1, O_PATH), ALLOW},
    {__NR_open, HAS(1, WRITE_FLAGS), NOTIFY(SUPERVISE_PATHS)},
    {__NR_open, ALWAYS, NOTIFY(SUPERVISE_READS)},
#endif
    {__NR_ioctl, IS(1, TIOCSTI), REFUSE(EPERM)},   /* CVE-2017-5226 */
    {__NR_ioctl, IS(1, TIOCLINUX), REFUSE(EPERM)}, /* CVE-2023-28100 */
    {__NR_ioctl, IS(1, BTRFS_IOC_SUBVOL_CREATE), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BTRFS_IOC_SUBVOL_CREATE_V2), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BTRFS_IOC_SNAP_CREATE), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BTRFS_IOC_SNAP_CREATE_V2), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, OCFS2_IOC_REFLINK), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BCH_IOCTL_SUBVOLUME_CREATE), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BTRFS_IOC_SNAP_DESTROY), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BTRFS_IOC_SNAP_DESTROY_V2), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BCH_IOCTL_SUBVOLUME_DESTROY), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, BTRFS_IOC_SUBVOL_SETFLAGS), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FS_IOC_SETFLAGS), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FS_IOC32_SETFLAGS), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FS_IOC_FSSETXATTR), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FS_IOC_SETVERSION), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FS_IOC32_SETVERSION), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, EXT4_IOC_SETVERSION), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, VERITY_ENABLE), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FS_IOC_SET_ENCRYPTION_POLICY), REFUSE(ENOTTY)},
    {__NR_ioctl, IS(1, FAT_IOCTL_SET_ATTRIBUTES), REFUSE(ENOTTY)},
    {__NR_sendto, SET(4), NOTIFY(SUPERVISE_FILTER)},
    /* What is refused falls back as on a kernel that lacks it: EAFNOSUPPORT for a family, EPROTONOSUPPORT for
     * a netlink protocol (libaudit, and PAM with it, go on only then). getifaddrs(3) asks NETLINK_ROUTE. */
    {__NR_socket, IS(0, AF_UNIX), ALLOW},
    {__NR_socket, IS(0, AF_INET), ALLOW},
    {__NR_socket, IS(0, AF_INET6), ALLOW},
    {__NR_socket, IS_NOT(0, AF_NETLINK), REFUSE(EAFNOSUPPORT)},
    {__NR_socket, IS_NOT(2, NETLINK_ROUTE), REFUSE(EPROTONOSUPPORT)},
    {__NR_socketpair, IS(0, AF_UNIX), ALLOW},
    {__NR_socketpair, IS(0, AF_INET), ALLOW},
    {__NR_socketpair, IS(0, AF_INET6), ALLOW},
    {__NR_socketpair, IS_NOT(0, AF_NETLINK), REFUSE(EAFNOSUPPORT)},
    {__NR_socketpair, IS_NOT(2, NETLINK_ROUTE), REFUSE(EPROTONOSUPPORT)},
    {__NR_clone, HAS(0, CLONE_NEWUSER), REFUSE(EPERM)},
    {__NR_unshare, HAS(0, CLONE_NEWUSER), REFUSE(EPERM)},

    /* Where a socket leads to. Also the calls whose address lies in memory. */
    {__NR_sendmsg, ALWAYS, NOTIFY(SUPERVISE_FILTER)},
    {__NR_sendmmsg, ALWAYS, NOTIFY(SUPERVISE_FILTER)},
    {__NR_connect, ALWAYS, NOTIFY(SUPERVISE_FILTER)},
    {__NR_bind, ALWAYS, NOTIFY(SUPERVISE_FILTER)},
    {__NR_listen, ALWAYS, NOTIFY(SUPERVISE_LISTENS)},

    /* What changes names, files and their attributes, by path and by descriptor. */
    {__NR_mkdirat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_unlinkat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_renameat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_renameat2, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_linkat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_symlinkat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_mknodat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_truncate, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fchmodat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fchmodat2, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fchmod, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fchownat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fchown, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_utimensat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_setxattr, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_lsetxattr, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fsetxattr, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_removexattr, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_lremovexattr, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_fremovexattr, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
#ifdef __x86_64__
    {__NR_creat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_mkdir, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_unlink, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_rmdir, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_rename, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_link, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_symlink, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_mknod, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_chmod, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_chown, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_lchown, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_utime, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_utimes, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
    {__NR_futimesat, ALWAYS, NOTIFY(SUPERVISE_PATHS)},
#endif

    /* What the supervisor has to know of a process to make calls in its name. */
    {__NR_umask, ALWAYS, NOTIFY(SUPERVISE_PATHS)},

    /* Past this filter: calls made by the kernel's own threads, or with their flags in memory. */
    {__NR_io_uring_setup, ALWAYS, REFUSE(ENOSYS)},
    {__NR_io_uring_enter, ALWAYS, REFUSE(ENOSYS)},
    {__NR_io_uring_register, ALWAYS, REFUSE(ENOSYS)},
    {__NR_openat2, ALWAYS, REFUSE(ENOSYS)},
    {__NR_clone3, ALWAYS, REFUSE(ENOSYS)},

    /* Newer forms of path calls: callers fall back on those that the supervisor knows. */
    {__NR_setxattrat, ALWAYS, REFUSE(ENOSYS)},
    {__NR_removexattrat, ALWAYS, REFUSE(ENOSYS)},
    {__NR_file_setattr, ALWAYS, REFUSE(ENOSYS)},

    /* A domain of its own would be another than that of the supervisor, which makes the process's calls: as
     * on a kernel where this is switched off. */
    {__NR_landlock_create_ruleset, ALWAYS, REFUSE(EOPNOTSUPP)},

    /* Mounts, roots and namespaces; files past every path. */
    {__NR_mount, ALWAYS, REFUSE(EPERM)},
    {__NR_umount2, ALWAYS, REFUSE(EPERM)},
    {__NR_pivot_root, ALWAYS, REFUSE(EPERM)},
    {__NR_chroot, ALWAYS, REFUSE(EPERM)},
    {__NR_setns, ALWAYS, REFUSE(EPERM)},
    {__NR_open_tree, ALWAYS, REFUSE(EPERM)},
    {__NR_open_tree_attr, ALWAYS, REFUSE(EPERM)},
    {__NR_move_mount, ALWAYS, REFUSE(EPERM)},
    {__NR_fsopen, ALWAYS, REFUSE(EPERM)},
    {__NR_fsconfig, ALWAYS, REFUSE(EPERM)},
    {__NR_fsmount, ALWAYS, REFUSE(EPERM)},
    {__NR_fspick, ALWAYS, REFUSE(EPERM)},
    {__NR_mount_setattr, ALWAYS, REFUSE(EPERM)},
    {__NR_open_by_handle_at, ALWAYS, REFUSE(EPERM)},

    /* Parts of the kernel with a history, of no use to a command; keyrings are shared with the host. */
    {__NR_bpf, ALWAYS, REFUSE(EPERM)},
    {__NR_perf_event_open, ALWAYS, REFUSE(EPERM)},
    {__NR_userfaultfd, ALWAYS, REFUSE(EPERM)},
    {__NR_add_key, ALWAYS, REFUSE(EPERM)},
    {__NR_request_key, ALWAYS, REFUSE(EPERM)},
    {__NR_keyctl, ALWAYS, REFUSE(EPERM)},
    {__NR_kexec_load, ALWAYS, REFUSE(EPERM)},
    {__NR_kexec_file_load, ALWAYS, REFUSE(EPERM)},
};

const size_t seccomp_table_length = sizeof seccomp_table / sizeof seccomp_table[0];
