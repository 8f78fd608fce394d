/*
 * refuse NAME... -- COMMAND...: runs a command under a seccomp filter as a container's runtime makes one. The
 * named system calls fail with EPERM; clone3, whose flags a filter cannot read, with ENOSYS; clone only where
 * it would make a namespace. --listen as a name takes the notifications of system calls, of which a process
 * can have one receiver only.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES                                                                                           \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |            \
     CLONE_NEWNET)
#define REFUSE(errnum) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"unshare", SYS_unshare},
    {"setns", SYS_setns},
    {"mount", SYS_mount},
    {"umount2", SYS_umount2},
    {"clone", SYS_clone},
    {"clone3", SYS_clone3},
    {"pivot_root", SYS_pivot_root},
    {"open_tree", SYS_open_tree},
    {"move_mount", SYS_move_mount},
    {"fsopen", SYS_fsopen},
    {"mount_setattr", SYS_mount_setattr},
    {"openat2", SYS_openat2},
    {"seccomp", SYS_seccomp},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"process_vm_readv", SYS_process_vm_readv},
    {"landlock_create_ruleset", SYS_landlock_create_ruleset},
};
#define CALLS (sizeof calls / sizeof calls[0])

/* Appends the instructions for one call; the accumulator holds its number before and after. */
static size_t append(struct sock_filter *at, unsigned number) {
    if (number == SYS_clone) {
        const struct sock_filter rule[] = {
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4),
            LOAD(args[0]),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1),
            REFUSE(EPERM),
            ALLOW,
        };
        memcpy(at, rule, sizeof rule);
        return sizeof rule / sizeof rule[0];
    }
    const struct sock_filter rule[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        REFUSE(number == SYS_clone3 ? ENOSYS : EPERM),
    };
    memcpy(at, rule, sizeof rule);
    return sizeof rule / sizeof rule[0];
}

/* A listener is left open on purpose, for what is executed. */
static bool install(unsigned long flags, const struct sock_fprog *program) {
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return fd >= 0 && (fd == 0 || fcntl(fd, F_SETFD, 0) == 0);
}

int main(int argc, char **argv) {
    struct sock_filter rules[2 + 5 * CALLS] = {LOAD(nr)};
    size_t count = 1;
    int at = 1;
    unsigned long flags = 0;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "--listen") == 0) {
            flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
            continue;
        }
        size_t i = 0;
        while (i < CALLS && strcmp(calls[i].name, argv[at]) != 0)
            i++;
        if (i == CALLS || count + 6 > sizeof rules / sizeof rules[0]) {
            fprintf(stderr, "refuse: %s\n", argv[at]);
            return 96;
        }
        count += append(&rules[count], calls[i].number);
    }
    rules[count++] = (struct sock_filter)ALLOW;
    struct sock_fprog program = {.len = (unsigned short)count, .filter = rules};
    /* Root needs no promise to get a filter, and a container's root has not given it. */
    bool filtered =
        install(flags, &program) || (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && install(flags, &program));
    if (!filtered || at + 1 >= argc) {
        perror("refuse");
        return 96;
    }
    execvp(argv[at + 1], &argv[at + 1]);
    perror(argv[at + 1]);
    return 96;
}
