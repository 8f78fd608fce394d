/* A child process whose listed system calls wait for an answer, as a command's do: the supervisor is the
 * test. */
#ifndef OS_SANDBOX_TEST_NOTIFIED_H
#define OS_SANDBOX_TEST_NOTIFIED_H

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/passfd.h"
#include "exec/supervised.h"
#include "exec/target.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

struct notified {
    pid_t pid;
    struct supervisor supervisor;
    struct seccomp_notif notification;
    struct call call; /* the one that waits */
};

#define NOTIFIED_MAX 64

static inline int notified_filter(const int *numbers, size_t count) {
    struct sock_filter code[2 * NOTIFIED_MAX + 2];
    size_t length = 0;
    code[length++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count && i < NOTIFIED_MAX; i++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = (unsigned short)length, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
}

/*
 * Forks a child that runs body(argument) with the filter on, and exits with what it returns. prepare (may be
 * NULL) runs before, unfiltered. The root is the child's.
 */
static inline bool notified_start(struct notified *out, const int *numbers, size_t count,
                                  void (*prepare)(void *), int (*body)(void *), void *argument) {
    int pair[2], listener = -1;
    size_t received = 0;
    char byte = 0, root[64];
    memset(out, 0, sizeof *out);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    out->pid = fork();
    if (out->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (prepare != NULL)
            prepare(argument);
        int fd = notified_filter(numbers, count);
        if (fd < 0 || send_with_fds(pair[1], &byte, 1, &fd, 1) != 0)
            _exit(125);
        close(fd);
        close(pair[0]);
        close(pair[1]);
        _exit(body(argument));
    }
    close(pair[1]);
    static const struct payload payload = {.supervision = SUPERVISE_FILTER | SUPERVISE_PATHS};
    bool started =
        out->pid > 0 && receive_with_fds(pair[0], &byte, 1, &listener, 1, &received) == 1 && received == 1;
    close(pair[0]);
    snprintf(root, sizeof root, "/proc/%d/root", (int)out->pid);
    out->supervisor.payload = &payload;
    out->supervisor.listener = listener;
    out->supervisor.root = open(root, O_PATH | O_CLOEXEC);
    out->supervisor.umasks = umask_cache_new();
    out->call = (struct call){.supervisor = &out->supervisor, .data = &out->notification.data, .pidfd = -1};
    return started && out->supervisor.root >= 0 && out->supervisor.umasks != NULL;
}

/* Waits for the next call; false where the child is gone. */
static inline bool notified_next(struct notified *child) {
    struct pollfd poller = {.fd = child->supervisor.listener, .events = POLLIN};
    if (child->call.pidfd >= 0)
        close(child->call.pidfd);
    child->call.pidfd = -1;
    memset(&child->notification, 0, sizeof child->notification);
    if (poll(&poller, 1, 20000) != 1 || (poller.revents & POLLIN) == 0 ||
        ioctl(child->supervisor.listener, SECCOMP_IOCTL_NOTIF_RECV, &child->notification) != 0)
        return false;
    child->call.id = child->notification.id;
    child->call.thread = (pid_t)child->notification.pid;
    return true;
}

static inline void notified_answer(const struct notified *child, struct answer answer) {
    answer_send(&child->call, answer);
}

/* Ends the child, if it has not ended; its wait status. */
static inline int notified_end(struct notified *child, bool kill_it) {
    int status = -1;
    if (kill_it)
        kill(child->pid, SIGKILL);
    if (child->call.pidfd >= 0)
        close(child->call.pidfd);
    close(child->supervisor.listener);
    close(child->supervisor.root);
    free(child->supervisor.umasks);
    waitpid(child->pid, &status, 0);
    return status;
}

/* Gives up root, so that file modes count; the process stays one that can be looked into. */
static inline bool become_plain_user(void) {
    if (geteuid() == 0 && (syscall(SYS_setgroups, 0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
                           setresuid(65534, 65534, 65534) != 0))
        return false;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

#endif
