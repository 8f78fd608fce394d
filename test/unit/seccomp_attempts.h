/*
 * System calls under a filter, run by the kernel. So that no call is really made, each child has an older
 * filter below the one that is tested, which turns "allowed" into something that can be seen: of two filters
 * the kernel obeys the stricter, and of two that are equally strict the newer (seccomp(2)).
 */
#ifndef OS_SANDBOX_TEST_SECCOMP_ATTEMPTS_H
#define OS_SANDBOX_TEST_SECCOMP_ATTEMPTS_H

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/payload.h"
#include "exec/seccomp_filter.h"
#include "tap.h"

/* What is expected of a call: an errno that it is refused with, 0: allowed, or the group that is notified. */
enum {
    ALLOWED = 0,
    SOCKETS = -SUPERVISE_FILTER,
    PATHS = -SUPERVISE_PATHS,
    READS = -SUPERVISE_READS,
    LISTENS = -SUPERVISE_LISTENS,
};

/* Of the filters that are tried. */
#define MEMORY_LIMIT ((UINT64_C(1) << 32) + 4096)

struct attempt {
    long number;
    uint64_t arguments[6];
    int expected;
};

#define ATTEMPTS_MAX 1024
struct attempts {
    struct attempt list[ATTEMPTS_MAX];
    size_t count;
};

static void add(struct attempts *attempts, int expected, long number, uint64_t a, uint64_t b, uint64_t c,
                uint64_t d, uint64_t e, uint64_t f) {
    if (attempts->count == ATTEMPTS_MAX)
        abort();
    attempts->list[attempts->count++] = (struct attempt){number, {a, b, c, d, e, f}, expected};
}

/* Shared with the child that makes the calls. */
#define LISTENER_PENDING (-2)
struct shared {
    int listener; /* its number in the child; -1: none */
    int failure;  /* of the installation */
    int results[ATTEMPTS_MAX];
};

/* No call of the list answers these by itself. */
enum { ERRNO_BELOW = ENOTNAM, ERRNO_ANSWER = ENAVAIL };
#define EXIT_MAGIC 0x5ecc03b

static int install_below(uint32_t action) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_seccomp, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_SET_MODE_FILTER, 3, 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EXIT_MAGIC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, action),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static void make_attempts(const struct attempts *attempts, unsigned supervision, uint32_t below,
                          struct shared *shared) {
    int listener = -1;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    shared->failure =
        install_below(below) != 0 ? errno : seccomp_filter_install(supervision, MEMORY_LIMIT, &listener);
    __atomic_store_n(&shared->listener, listener, __ATOMIC_RELEASE);
    for (size_t i = 0; shared->failure == 0 && i < attempts->count; i++) {
        const struct attempt *call = &attempts->list[i];
        const uint64_t *a = call->arguments;
        long result = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
        shared->results[i] = result < 0 ? errno : 0;
    }
    syscall(__NR_exit_group, 0, EXIT_MAGIC);
}

static int listener_of(pid_t child, struct shared *shared) {
    int number = LISTENER_PENDING;
    for (int tries = 0; number == LISTENER_PENDING && tries < 50000; tries++) {
        usleep(200);
        number = __atomic_load_n(&shared->listener, __ATOMIC_ACQUIRE);
    }
    if (number < 0)
        return -1;
    int pidfd = (int)syscall(__NR_pidfd_open, child, 0);
    int listener = (int)syscall(__NR_pidfd_getfd, pidfd, number, 0);
    close(pidfd);
    return listener;
}

static bool receive(int listener, struct seccomp_notif *request) {
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    memset(request, 0, sizeof *request);
    return poll(&waiting, 1, 10000) == 1 && (waiting.revents & POLLIN) != 0 &&
           ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, request) == 0;
}

static bool answer(int listener, const struct seccomp_notif *request, int64_t value, int errnum,
                   uint32_t flags) {
    struct seccomp_notif_resp response = {.id = request->id, .val = value, .error = -errnum, .flags = flags};
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

/* All attempts in one child, over such a filter. False where it did not come to its end. */
static bool run_attempts(const struct attempts *attempts, unsigned supervision, uint32_t below,
                         struct shared *shared) {
    shared->listener = LISTENER_PENDING;
    pid_t child = fork();
    if (child == 0)
        make_attempts(attempts, supervision, below, shared);
    int listener = listener_of(child, shared);
    struct seccomp_notif request;
    while (listener >= 0 && receive(listener, &request))
        answer(listener, &request, 0, ERRNO_ANSWER, 0);
    if (listener >= 0)
        close(listener);
    int status;
    waitpid(child, &status, 0);
    if (status != 0 || shared->failure != 0)
        printf("# child ended with %#x, installation with %d\n", (unsigned)status, shared->failure);
    return status == 0 && shared->failure == 0;
}

static int expected_under(int expected, unsigned supervision) {
    bool notified = (supervision & SUPERVISE_FILTER) != 0 && (supervision & (unsigned)-expected) != 0;
    if (expected >= 0)
        return expected;
    return notified ? ERRNO_ANSWER : ALLOWED;
}

/* Does the kernel do with each of them, under the filter for that supervision, what is expected of it? */
static void check(const struct attempts *attempts, unsigned supervision, struct shared *shared,
                  const char *name) {
    /* Over a filter that refuses everything only our own refusals show; over one that would ask a tracer, and
     * there is none (ENOSYS), our notifications, too. */
    static int refused[ATTEMPTS_MAX];
    bool complete = run_attempts(attempts, supervision, SECCOMP_RET_ERRNO | ERRNO_BELOW, shared);
    memcpy(refused, shared->results, sizeof refused);
    complete = run_attempts(attempts, supervision, SECCOMP_RET_TRACE, shared) && complete;
    size_t wrong = 0;
    for (size_t i = 0; complete && i < attempts->count; i++) {
        const struct attempt *call = &attempts->list[i];
        int got = refused[i] != ERRNO_BELOW ? refused[i] : shared->results[i];
        if (got == ENOSYS && refused[i] == ERRNO_BELOW)
            got = ALLOWED;
        int wanted = expected_under(call->expected, supervision);
        if (got == wanted)
            continue;
        wrong++;
        printf("# call %ld(%#llx, %#llx, %#llx, …): wanted %d, got %d\n", call->number,
               (unsigned long long)call->arguments[0], (unsigned long long)call->arguments[1],
               (unsigned long long)call->arguments[2], wanted, got);
    }
    ok(complete && wrong == 0, "%s, supervision %u", name, supervision);
}

#endif
