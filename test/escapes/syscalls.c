/*
 * System calls that a filter has to refuse. One argument says which: "refused" a list of them; "families" and
 * "netlink" every kind of socket; "terminal" characters typed into a terminal; "tracer" refused calls that a
 * tracer puts into its child; "filter" refused calls under a filter of the program's own; "x32" and "int80"
 * calls by another door, which end the process; "ordinary" what must go on working.
 */
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "attack.h"

#define HIGH_BIT (1ull << 40)

static void rings_and_keys(void) {
    struct io_uring_params ring = {0};
    int fd = (int)syscall(SYS_io_uring_setup, 4, &ring);
    report("io_uring_setup", fd);
    report("io_uring_enter", syscall(SYS_io_uring_enter, fd, 0, 0, 0, NULL, 0));
    report("io_uring_register", syscall(SYS_io_uring_register, fd, IORING_REGISTER_PROBE, &ring, 0));
    report("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1));
    report("add_key", syscall(SYS_add_key, "user", "escape", "x", 1, KEY_SPEC_PROCESS_KEYRING));
    report("request_key", syscall(SYS_request_key, "user", "escape", NULL, KEY_SPEC_PROCESS_KEYRING));
}

static void kernel_parts(void) {
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof event,
                                    .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .exclude_kernel = 1};
    report("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
    report("perf_event_open", syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
    report("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    report("kexec_load", syscall(SYS_kexec_load, 0, 99999, NULL, 0));
    report("kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0));
}

static void opens(void) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    report("openat2 RESOLVE_NO_SYMLINKS", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof how));
    how.resolve = RESOLVE_IN_ROOT;
    report("openat2 RESOLVE_IN_ROOT", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", &how, sizeof how));
    how = (struct open_how){.flags = O_RDWR | O_CREAT, .mode = 0600, .resolve = RESOLVE_CACHED};
    report("openat2 to create", syscall(SYS_openat2, AT_FDCWD, "by-openat2", &how, sizeof how));
    report("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, "\0\0\0\0\0\0\0\0", O_RDONLY));
}

static void newer_calls(void) {
    static const struct {
        const char *name;
        long number;
    } calls[] = {{"setxattrat", 463}, {"removexattrat", 466}, {"file_setattr", 469},
                 {"call 470", 470},   {"call 600", 600},      {"call 400, in the gap", 400}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        report(calls[i].name, syscall(calls[i].number, AT_FDCWD, "by-a-newer-call", 0, 0, 0, 0));
}

/* A process of its own for each: what works changes who calls. */
static void alone(const char *name, long number, uint64_t first, uint64_t second) {
    pid_t child = fork();
    if (child == 0) {
        long result = syscall(number, first, second, 0, 0, 0, 0);
        if (number == SYS_unshare || result != 0) /* else the clone, which says nothing */
            report(name, result);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void namespaces(void) {
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, rest[6];
    } args = {.exit_signal = SIGCHLD};
    alone("clone3", SYS_clone3, (uintptr_t)&args, sizeof args);
    args.flags = CLONE_NEWUSER;
    alone("clone3 CLONE_NEWUSER", SYS_clone3, (uintptr_t)&args, sizeof args);
    alone("clone CLONE_NEWUSER", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0);
    alone("clone CLONE_NEWUSER, high bit", SYS_clone, CLONE_NEWUSER | SIGCHLD | HIGH_BIT, 0);
    alone("clone CLONE_NEWUSER and others", SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD,
          0);
    alone("unshare CLONE_NEWUSER", SYS_unshare, CLONE_NEWUSER, 0);
    alone("unshare CLONE_NEWUSER, high bit", SYS_unshare, CLONE_NEWUSER | HIGH_BIT, 0);
    report("setns", setns(open("/proc/self/ns/uts", O_RDONLY), CLONE_NEWUTS));
}

static void mounts(void) {
    report("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
    report("umount2", syscall(SYS_umount2, "/tmp", 0));
    report("pivot_root", syscall(SYS_pivot_root, ".", "."));
    report("chroot", chroot("."));
    report("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
    report("open_tree without a clone", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
    report("open_tree_attr", syscall(467, AT_FDCWD, "/", 0, NULL, 0));
    report("move_mount", syscall(SYS_move_mount, -1, "", AT_FDCWD, ".", 4));
    report("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    report("fsconfig", syscall(SYS_fsconfig, -1, 6, NULL, NULL, 0));
    report("fsmount", syscall(SYS_fsmount, -1, 0, 0));
    report("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
    report("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, NULL, 0));
}

static int refused(void) {
    rings_and_keys();
    kernel_parts();
    opens();
    newer_calls();
    namespaces();
    mounts();
    return 0;
}

static void report_socket(const char *what, int number, int family, int type, int protocol) {
    char name[64];
    snprintf(name, sizeof name, "%s %d", what, number);
    int fd = socket(family, type, protocol);
    report(name, fd);
    if (fd >= 0)
        close(fd);
}

static int families(void) {
    for (int family = 0; family <= 45; family++)
        report_socket("family", family, family, family == AF_NETLINK ? SOCK_RAW : SOCK_STREAM, 0);
    report("family 17, high bit", syscall(SYS_socket, AF_PACKET | HIGH_BIT, SOCK_DGRAM, 0));
    report("family 38, pair", socketpair(38, SOCK_SEQPACKET, 0, (int[2]){0}));
    report("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    report("raw 6", socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
    report("packet by its old name", socket(AF_INET, SOCK_PACKET, 0x300));
    return 0;
}

static int netlink(void) {
    for (int protocol = 0; protocol < 32; protocol++)
        report_socket("protocol", protocol, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
    report("protocol 4, high bit", syscall(SYS_socket, AF_NETLINK | HIGH_BIT, SOCK_RAW, 4 | HIGH_BIT));
    return 0;
}

/* In a session of its own, whose terminal this is: else the kernel refuses it anyway. */
static void type_into(int terminal) {
    struct termios settings;
    tcgetattr(terminal, &settings);
    cfmakeraw(&settings);
    tcsetattr(terminal, TCSANOW, &settings);
    char selection[] = {3 /* TIOCL_PASTESEL */};
    report("TIOCSTI", syscall(SYS_ioctl, terminal, TIOCSTI, "x"));
    report("TIOCSTI, high bit", syscall(SYS_ioctl, terminal, TIOCSTI | HIGH_BIT, "x"));
    report("TIOCSTI, all high bits", syscall(SYS_ioctl, terminal, TIOCSTI | ~0ull << 32, "x"));
    report("TIOCLINUX", syscall(SYS_ioctl, terminal, TIOCLINUX, selection));
    report("TIOCLINUX, high bit", syscall(SYS_ioctl, terminal, TIOCLINUX | HIGH_BIT, selection));
    int typed = 0;
    struct winsize size;
    report("ask for the size", ioctl(terminal, TIOCGWINSZ, &size));
    ioctl(terminal, FIONREAD, &typed);
    printf("typed: %d\n", typed);
    fflush(stdout);
}

static int terminal(void) {
    int pty = posix_openpt(O_RDWR | O_NOCTTY);
    if (pty < 0 || grantpt(pty) != 0 || unlockpt(pty) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        type_into(open(ptsname(pty), O_RDWR));
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status;
}

/* The call that a stopped thread is about to make becomes another one. */
static void replace_call(pid_t pid, int number) {
#ifdef __x86_64__
    ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, orig_rax), (long)number);
#else
    struct iovec registers = {.iov_base = &number, .iov_len = sizeof number};
    ptrace(PTRACE_SETREGSET, pid, 0x404 /* NT_ARM_SYSTEM_CALL */, &registers);
#endif
}

/* A child that makes a harmless call, of which its tracer makes another. The child reports it. */
static void traced(const char *name, int number) {
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        report(name, syscall(SYS_getppid, 0, 0, 0, 0, 0, 0));
        _exit(0);
    }
    int status;
    bool replaced = false;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        struct __ptrace_syscall_info info = {0};
        ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
        ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info);
        if (!replaced && info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_getppid) {
            replace_call(child, number);
            replaced = true;
        }
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    }
    if (!replaced)
        report("tracing", -1);
}

static int tracer(void) {
    traced("getpid", SYS_getpid);
    traced("keyctl", SYS_keyctl);
    traced("io_uring_setup", SYS_io_uring_setup);
    traced("openat2", SYS_openat2);
    traced("no call", -1);
    return 0;
}

static long own_filter(unsigned action, unsigned flags) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    if (flags == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int filter(void) {
    report("a listener of one's own", own_filter(SECCOMP_RET_ALLOW, SECCOMP_FILTER_FLAG_NEW_LISTENER));
    report("a filter that allows all", own_filter(SECCOMP_RET_ALLOW, 0));
    report("one that asks a tracer", own_filter(SECCOMP_RET_TRACE, 0));
    report("one that refuses getppid", own_filter(SECCOMP_RET_ERRNO | EXDEV, 0));
    report("getppid", syscall(SYS_getppid));
    rings_and_keys();
    return 0;
}

static void *count(void *counter) {
    __atomic_add_fetch((int *)counter, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* As from a pthread function: an error number. */
static void report_number(const char *name, int number) {
    errno = number;
    report(name, number == 0 ? 0 : -1);
}

static int ordinary(void) {
    pthread_t threads[8];
    int counter = 0;
    int failed = 0;
    for (int i = 0; i < 8 && failed == 0; i++)
        failed = pthread_create(&threads[i], NULL, count, &counter);
    report_number("threads", failed);
    for (int i = 0; i < 8 && failed == 0; i++)
        pthread_join(threads[i], NULL);
    printf("threads that ran: %d\n", counter);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    report("fork", waitpid(child, NULL, 0));
    child = vfork();
    if (child == 0)
        _exit(0);
    report("vfork", waitpid(child, NULL, 0));
    char *const arguments[] = {"true", NULL};
    report_number("posix_spawn", posix_spawnp(&child, "true", NULL, NULL, arguments, arguments + 1));
    waitpid(child, NULL, 0);
    struct ifaddrs *interfaces;
    report("getifaddrs", getifaddrs(&interfaces));
    report("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET, 0, (int[2]){0}));
    report("open", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    report("open a path", open("/etc/passwd", O_PATH));
    return 0;
}

#ifdef __x86_64__
static int x32(void) {
    report("x32", syscall(0x40000000 | SYS_getpid));
    return 0;
}

static int int80(void) {
    long result = 20; /* getpid of i386 */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    report("int 0x80", result);
    return 0;
}
#endif

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(void);
    } attacks[] = {
        {"refused", refused}, {"families", families}, {"netlink", netlink},   {"terminal", terminal},
        {"tracer", tracer},   {"filter", filter},     {"ordinary", ordinary},
#ifdef __x86_64__
        {"x32", x32},         {"int80", int80},
#endif
    };
    for (size_t i = 0; argc == 2 && i < sizeof attacks / sizeof attacks[0]; i++)
        if (strcmp(argv[1], attacks[i].name) == 0)
            return attacks[i].run();
    return 2;
}
