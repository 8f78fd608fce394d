/* The filter, run by the kernel (seccomp_attempts.h), call for call against what it is meant to do. */
#include "exec/seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/payload.h"
#include "exec/seccomp_table.h"
#include "seccomp_attempts.h"
#include "tap.h"

/* The numbers of the calls that are not simply allowed, as they must be whatever the arguments are; from 424
 * on as the kernel's table has them, not the headers. */
static const int sockets[] = {SYS_connect, SYS_bind, SYS_sendmsg, SYS_sendmmsg};
static const int paths[] = {
#ifdef __x86_64__
    SYS_creat,        SYS_mkdir,       SYS_unlink,
    SYS_rmdir,        SYS_rename,      SYS_link,
    SYS_symlink,      SYS_mknod,       SYS_chmod,
    SYS_chown,        SYS_lchown,      SYS_utime,
    SYS_utimes,       SYS_futimesat,
#endif
    SYS_mkdirat,      SYS_unlinkat,    SYS_renameat,
    SYS_renameat2,    SYS_linkat,      SYS_symlinkat,
    SYS_mknodat,      SYS_truncate,    SYS_fchmodat,
    SYS_fchmod,       SYS_fchownat,    SYS_fchown,
    SYS_utimensat,    SYS_setxattr,    SYS_lsetxattr,
    SYS_fsetxattr,    SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr, SYS_umask,       452 /* fchmodat2 */};
static const int not_permitted[] = {SYS_mount,
                                    SYS_umount2,
                                    SYS_pivot_root,
                                    SYS_chroot,
                                    SYS_setns,
                                    SYS_open_by_handle_at,
                                    SYS_bpf,
                                    SYS_perf_event_open,
                                    SYS_userfaultfd,
                                    SYS_add_key,
                                    SYS_request_key,
                                    SYS_keyctl,
                                    SYS_kexec_load,
                                    SYS_kexec_file_load,
                                    428 /* open_tree */,
                                    429 /* move_mount */,
                                    430 /* fsopen */,
                                    431 /* fsconfig */,
                                    432 /* fsmount */,
                                    433 /* fspick */,
                                    442 /* mount_setattr */,
                                    467 /* open_tree_attr */};
static const int not_there[] = {
    425 /* io_uring_setup */, 426, 427, 435 /* clone3 */, 437 /* openat2 */, 463 /* setxattrat */,
    466 /* removexattrat */,  469 /* file_setattr */};
#define IN(list, number) is_in(list, sizeof(list) / sizeof((list)[0]), number)

static bool is_in(const int *list, size_t count, long number) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == number)
            return true;
    return false;
}

/* The calls whose arguments decide, for arguments that are all zero or all ones. */
static bool expected_by_argument(long number, bool ones, int *expected) {
    static const struct {
        int number, zeros, ones;
    } calls[] = {
#ifdef __x86_64__
        {SYS_open, READS, ALLOWED}, /* all ones: with O_PATH */
#endif
        {SYS_openat, READS, ALLOWED},
        {SYS_sendto, ALLOWED, SOCKETS},
        {SYS_socket, EAFNOSUPPORT, EAFNOSUPPORT},
        {SYS_socketpair, EAFNOSUPPORT, EAFNOSUPPORT},
        {SYS_clone, ALLOWED, EPERM},
        {SYS_unshare, ALLOWED, EPERM},
        {SYS_ioctl, ALLOWED, ALLOWED},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (calls[i].number == number) {
            *expected = ones ? calls[i].ones : calls[i].zeros;
            return true;
        }
    return false;
}

static int expected_of(long number, bool ones) {
#ifdef __x86_64__
    const long last_old = 336;
#else
    const long last_old = 294;
#endif
    int expected = ALLOWED;
    if (number > 469 || (number > last_old && number < 424) || IN(not_there, number))
        return ENOSYS;
    if (expected_by_argument(number, ones, &expected))
        return expected;
    if (IN(not_permitted, number))
        return EPERM;
    if (number == 444 /* landlock_create_ruleset */)
        return EOPNOTSUPP;
    if (IN(sockets, number))
        return SOCKETS;
    if (number == SYS_listen)
        return LISTENS;
    return IN(paths, number) ? PATHS : ALLOWED;
}

/* Linux 6.14 asks no filter for the calls that its own trampolines make; any other caller gets SIGILL. */
static bool is_above_filters(long number) {
#ifdef __x86_64__
    return number == 335 /* uretprobe */ || number == 336 /* uprobe */;
#else
    (void)number;
    return false;
#endif
}

static void every_number(struct attempts *attempts, bool ones) {
    uint64_t value = ones ? UINT64_MAX : 0;
    attempts->count = 0;
    for (long number = 0; number <= 600; number++)
        if (!is_above_filters(number))
            add(attempts, expected_of(number, ones), number, value, value, value, value, value, value);
    add(attempts, ENOSYS, 0x3fffffff, value, value, value, value, value, value);
    add(attempts, ENOSYS, (long)0x80000000, value, value, value, value, value, value);
    /* Not a call: what a tracer puts in place of one that it skips. */
    add(attempts, ALLOWED, -1, value, value, value, value, value, value);
}

#define HIGH(bits) ((uint64_t)(bits) << 32)

/* An open by that call: its flags are its second or its third argument. */
static void opens(struct attempts *attempts, long number, bool at) {
    static const struct {
        uint64_t flags;
        int expected;
    } cases[] = {
        {O_RDONLY, READS},
        {O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_APPEND, READS},
        {O_WRONLY, PATHS},
        {O_RDWR | O_CLOEXEC, PATHS},
        {O_WRONLY | O_RDWR, PATHS},
        {O_RDONLY | O_CREAT, PATHS},
        {O_RDONLY | O_TRUNC, PATHS},
        {O_TMPFILE & ~O_DIRECTORY, PATHS},
        {O_TMPFILE | O_RDWR, PATHS},
        {O_PATH, ALLOWED},
        {O_PATH | O_RDWR | O_CREAT | O_TRUNC, ALLOWED},
        /* The kernel reads an int. */
        {HIGH(O_RDWR | O_CREAT), READS},
        {HIGH(O_PATH) | O_WRONLY, PATHS},
        {HIGH(UINT32_MAX), READS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        add(attempts, cases[i].expected, number, 0, at ? 0 : cases[i].flags, at ? cases[i].flags : 0, 0, 0,
            0);
}

static void ioctls(struct attempts *attempts) {
    static const struct {
        uint64_t command;
        int expected;
    } cases[] = {
        {TIOCSTI, EPERM},
        {TIOCSTI | HIGH(1), EPERM},
        {TIOCSTI | HIGH(0x80000000), EPERM},
        {TIOCSTI | HIGH(UINT32_MAX), EPERM},
        {TIOCLINUX, EPERM},
        {TIOCLINUX | HIGH(1), EPERM},
        {HIGH(TIOCSTI), ALLOWED},
        {TCGETS, ALLOWED},
        {TCSETSW, ALLOWED},
        {TIOCGWINSZ, ALLOWED},
        {TIOCSCTTY, ALLOWED},
        {FIONREAD, ALLOWED},
        {FIONBIO, ALLOWED},
        {0x40049409 /* FICLONE */, ALLOWED},
        {0xd0009412 /* BTRFS_IOC_INO_LOOKUP */, ALLOWED},
        {0x5000940e /* BTRFS_IOC_SUBVOL_CREATE */, ENOTTY},
        {0x50009418 /* BTRFS_IOC_SUBVOL_CREATE_V2 */, ENOTTY},
        {0x50009401 /* BTRFS_IOC_SNAP_CREATE */, ENOTTY},
        {0x50009417 /* BTRFS_IOC_SNAP_CREATE_V2 */, ENOTTY},
        {0x50009417 | HIGH(7), ENOTTY},
        {0x40186f04 /* OCFS2_IOC_REFLINK */, ENOTTY},
        {0x4020bc10 /* BCH_IOCTL_SUBVOLUME_CREATE */, ENOTTY},
        {0x5000940f /* BTRFS_IOC_SNAP_DESTROY */, ENOTTY},
        {0x5000943f /* BTRFS_IOC_SNAP_DESTROY_V2 */, ENOTTY},
        {0x4020bc11 /* BCH_IOCTL_SUBVOLUME_DESTROY */, ENOTTY},
        {0x4008941a /* BTRFS_IOC_SUBVOL_SETFLAGS */, ENOTTY},
        {0x80086601 /* FS_IOC_GETFLAGS */, ALLOWED},
        {0x40086602 /* FS_IOC_SETFLAGS */, ENOTTY},
        {0x40046602 /* FS_IOC32_SETFLAGS */, ENOTTY},
        {0x801c581f /* FS_IOC_FSGETXATTR */, ALLOWED},
        {0x401c5820 /* FS_IOC_FSSETXATTR */, ENOTTY},
        {0x40087602 /* FS_IOC_SETVERSION */, ENOTTY},
        {0x40047602 /* FS_IOC32_SETVERSION */, ENOTTY},
        {0x40086604 /* EXT4_IOC_SETVERSION */, ENOTTY},
        {0x40806685 /* FS_IOC_ENABLE_VERITY */, ENOTTY},
        {0x800c6613 /* FS_IOC_SET_ENCRYPTION_POLICY */, ENOTTY},
        {0x40047211 /* FAT_IOCTL_SET_ATTRIBUTES */, ENOTTY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        add(attempts, cases[i].expected, SYS_ioctl, 0, cases[i].command, 0, 0, 0, 0);
    add(attempts, ALLOWED, SYS_ioctl, TIOCSTI, TCGETS, TIOCSTI, 0, 0, 0);
}

static void namespaces(struct attempts *attempts) {
    const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                            CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    const struct {
        uint64_t flags;
        int expected;
    } cases[] = {
        {SIGCHLD, ALLOWED},
        {thread, ALLOWED},
        {CLONE_VM | CLONE_VFORK | SIGCHLD, ALLOWED},
        {CLONE_NEWUSER, EPERM},
        {CLONE_NEWUSER | SIGCHLD | CLONE_NEWNS | CLONE_NEWPID, EPERM},
        {HIGH(1) | CLONE_NEWUSER, EPERM},
        {HIGH(UINT32_MAX) | CLONE_NEWUSER | SIGCHLD, EPERM},
        {UINT32_MAX & ~(uint64_t)CLONE_NEWUSER, ALLOWED}, /* the kernel has a right to ask for */
        {HIGH(CLONE_NEWUSER), ALLOWED},                   /* and does not look there */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        add(attempts, cases[i].expected, SYS_clone, cases[i].flags, 0, 0, 0, 0, 0);
        add(attempts, cases[i].expected, SYS_unshare, cases[i].flags, 0, 0, 0, 0, 0);
    }
}

static void families(struct attempts *attempts, long number) {
    for (uint64_t family = 0; family <= 46; family++) {
        bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        int expected = known ? ALLOWED : EAFNOSUPPORT;
        add(attempts, expected, number, family, SOCK_STREAM | SOCK_CLOEXEC, NETLINK_ROUTE, 0, 0, 0);
        add(attempts, expected, number, family | HIGH(1), SOCK_DGRAM, NETLINK_ROUTE | HIGH(1), 0, 0, 0);
    }
    add(attempts, EAFNOSUPPORT, number, UINT64_MAX, SOCK_RAW, 0, 0, 0, 0);
    for (uint64_t protocol = 1; protocol <= 32; protocol++) {
        add(attempts, EPROTONOSUPPORT, number, AF_NETLINK, SOCK_RAW, protocol, 0, 0, 0);
        add(attempts, EPROTONOSUPPORT, number, AF_NETLINK | HIGH(3), SOCK_RAW, protocol | HIGH(3), 0, 0, 0);
        add(attempts, ALLOWED, number, AF_INET, SOCK_DGRAM, protocol, 0, 0, 0);
    }
}

/* Mappings that are larger than all memory that a process may have; it may reserve, share and read more. */
static void memory(struct attempts *attempts) {
    static const struct {
        uint64_t size;
        uint64_t protection;
        uint64_t flags;
        int expected;
    } cases[] = {
        {MEMORY_LIMIT, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, ALLOWED},
        {MEMORY_LIMIT + 1, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, SOCKETS},
        {MEMORY_LIMIT + 1, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, SOCKETS},
        {MEMORY_LIMIT + 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ALLOWED},
        {MEMORY_LIMIT + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, ALLOWED},
        {MEMORY_LIMIT + 1, PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, ALLOWED},
        {MEMORY_LIMIT + 1, PROT_WRITE, MAP_SHARED_VALIDATE, ALLOWED},
        /* Below in the upper half, beyond in the lower one; and the other way round. */
        {UINT32_MAX, PROT_WRITE, MAP_PRIVATE, ALLOWED},
        {(MEMORY_LIMIT & ~(uint64_t)UINT32_MAX) + HIGH(1), PROT_WRITE, MAP_PRIVATE, SOCKETS},
        {UINT64_MAX, PROT_WRITE, MAP_PRIVATE, SOCKETS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        add(attempts, cases[i].expected, SYS_mmap, 0, cases[i].size, cases[i].protection, cases[i].flags,
            UINT64_MAX, 0);
}

static void arguments(struct attempts *attempts) {
    attempts->count = 0;
    opens(attempts, SYS_openat, true);
#ifdef __x86_64__
    opens(attempts, SYS_open, false);
#endif
    ioctls(attempts);
    namespaces(attempts);
    families(attempts, SYS_socket);
    families(attempts, SYS_socketpair);
    memory(attempts);
    add(attempts, ALLOWED, SYS_sendto, 3, 1, 1, UINT64_MAX, 0, UINT64_MAX);
    add(attempts, SOCKETS, SYS_sendto, 3, 0, 0, 0, 0x7fffcafe1230, 16);
    add(attempts, SOCKETS, SYS_sendto, 3, 0, 0, 0, 1, 0);
    add(attempts, SOCKETS, SYS_sendto, 3, 0, 0, 0, HIGH(0x7f00), 16);
}

static void decisions(struct shared *shared) {
    static const unsigned masks[] = {
        SUPERVISE_STATIC_ONLY,
        SUPERVISE_PATHS | SUPERVISE_READS | SUPERVISE_OPTIONAL,
        SUPERVISE_FILTER,
        SUPERVISE_FILTER | SUPERVISE_PATHS,
        SUPERVISE_FILTER | SUPERVISE_READS,
        SUPERVISE_FILTER | SUPERVISE_LISTENS,
        SUPERVISE_PATHS | SUPERVISE_LISTENS,
        SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_READS | SUPERVISE_OPTIONAL,
    };
    static struct attempts attempts;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        every_number(&attempts, false);
        check(&attempts, masks[i], shared, "every number from 0 to 600, arguments all zero");
        every_number(&attempts, true);
        check(&attempts, masks[i], shared, "every number from 0 to 600, arguments all ones");
        arguments(&attempts);
        check(&attempts, masks[i], shared, "every argument that decides, also with bits above the 32nd");
    }
}

/* Forks a child under the very filter; 0 in the child. */
static pid_t fork_filtered(unsigned supervision, struct shared *shared) {
    shared->listener = LISTENER_PENDING;
    pid_t child = fork();
    if (child != 0)
        return child;
    int listener;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int failure = seccomp_filter_install(supervision, 0, &listener);
    __atomic_store_n(&shared->listener, listener, __ATOMIC_RELEASE);
    if (failure != 0)
        _exit(99);
    return 0;
}

static int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

#ifdef __x86_64__
static void foreign_calls(struct shared *shared) {
    static const long numbers[] = {SYS_getpid, SYS_openat, SYS_ioctl, 512, 520, 547, 0x3fffffff};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        pid_t child = fork_filtered(SUPERVISE_STATIC_ONLY, shared);
        if (child == 0) {
            syscall(0x40000000 | numbers[i], 0, 0, 0, 0, 0, 0);
            _exit(0);
        }
        int status = status_of(child);
        ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "x32 call %ld kills the process", numbers[i]);
    }
    pid_t child = fork_filtered(SUPERVISE_STATIC_ONLY, shared);
    if (child == 0) {
        long result = 20; /* getpid of i386 */
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
        _exit(0);
    }
    int status = status_of(child);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "a 32-bit call kills the process");
}
#endif

static void ignore(int number) {
    (void)number;
}

/* Makes a directory, interrupted by signals all the time; its errno, 0 where it was made. */
static int make_directory(const char *path) {
    struct sigaction action = {.sa_handler = ignore}; /* without SA_RESTART */
    struct itimerval often = {.it_interval = {.tv_usec = 5000}, .it_value = {.tv_usec = 5000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    return mkdirat(AT_FDCWD, path, 0750) == 0 ? 0 : errno;
}

static bool asks_for_directory(pid_t child, const struct seccomp_notif *request, const char *path) {
    char text[128] = "";
    struct iovec here = {.iov_base = text, .iov_len = strlen(path) + 1};
    struct iovec there = {.iov_base = (void *)(uintptr_t)request->data.args[1], .iov_len = here.iov_len};
    return request->pid == (uint32_t)child && request->data.nr == SYS_mkdirat &&
           (mode_t)request->data.args[2] == 0750 && process_vm_readv(child, &here, 1, &there, 1, 0) > 0 &&
           strcmp(text, path) == 0;
}

/* A call goes to who holds the listener, and its answer is the result. */
static void round_trip(struct shared *shared, int errnum, uint32_t flags, bool is_made, const char *name) {
    char folder[] = "/var/tmp/os-sandbox-filter-XXXXXX";
    char path[64];
    if (mkdtemp(folder) == NULL)
        abort();
    snprintf(path, sizeof path, "%s/made", folder);
    pid_t child = fork_filtered(SUPERVISE_FILTER | SUPERVISE_PATHS, shared);
    if (child == 0)
        _exit(make_directory(path));
    int listener = listener_of(child, shared);
    struct seccomp_notif request;
    bool asked = receive(listener, &request) && asks_for_directory(child, &request, path);
    usleep(50000); /* signals come meanwhile, and are held back: WAIT_KILLABLE_RECV */
    bool answered = answer(listener, &request, 0, errnum, flags);
    close(listener);
    int status = status_of(child);
    struct stat facts;
    bool exists = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    ok(asked && answered && status == errnum << 8 && exists == is_made, "%s", name);
    rmdir(path);
    rmdir(folder);
}

static void listeners(struct shared *shared) {
    round_trip(shared, 0, 0, false, "a call that is answered for is not made, and has that result");
    round_trip(shared, EROFS, 0, false, "a call that is refused has that errno");
    round_trip(shared, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE, true, "a call that is let go on is made");

    pid_t child = fork_filtered(SUPERVISE_FILTER, shared);
    if (child == 0) {
        int second = 7;
        bool closes = fcntl(shared->listener, F_GETFD) == FD_CLOEXEC;
        bool busy = seccomp_filter_install(SUPERVISE_FILTER, 0, &second) == EBUSY && second == -1;
        bool nothing = syscall(SYS_umask, 022) >= 0 && prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
        bool static_only = seccomp_filter_install(SUPERVISE_STATIC_ONLY, 0, &second) == 0 && second == -1;
        _exit((closes ? 0 : 1) | (busy ? 0 : 2) | (nothing ? 0 : 4) | (static_only ? 0 : 8));
    }
    is_int(status_of(child), 0, "a listener is closed by exec, and there is one; filters without go on top");
}

static void sizes(void) {
    static const unsigned all = SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_READS | SUPERVISE_LISTENS;
    struct sock_filter whole[SECCOMP_FILTER_MAX];
    size_t length = seccomp_filter_build(all, MEMORY_LIMIT, whole, SECCOMP_FILTER_MAX);
    ok(length > 100 && length <= SECCOMP_FILTER_MAX, "the whole filter fits: %zu instructions", length);
    for (size_t capacity = 0; capacity <= length; capacity += capacity < length - 1 ? length - 1 : 1) {
        /* Of its own, so that a write beyond the end is seen. */
        struct sock_filter *out = malloc(capacity * sizeof *out + 1);
        size_t got = seccomp_filter_build(all, MEMORY_LIMIT, out, capacity);
        ok(got == (capacity < length ? 0 : length) &&
               (got == 0 || memcmp(out, whole, got * sizeof *out) == 0),
           "with room for %zu instructions it has %zu", capacity, got);
        free(out);
    }
    size_t apart = 0;
    for (size_t i = 1; i < seccomp_table_length; i++)
        for (size_t j = 0; j + 1 < i; j++)
            apart += seccomp_table[i].number == seccomp_table[j].number &&
                     seccomp_table[i].number != seccomp_table[i - 1].number;
    is_int((long long)apart, 0, "the rules of one call stand together");
}

int main(void) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    sizes();
    decisions(shared);
#ifdef __x86_64__
    foreign_calls(shared);
#endif
    listeners(shared);
    return done_testing();
}
