/*
 * A command that is supervised as in a sandbox, without one: a forked child in a network, a mount and a user
 * namespace of its own, without capabilities, under the real filter; the test's process answers its calls to
 * do with sockets.
 */
#ifndef OS_SANDBOX_TEST_SUPERVISED_CHILD_H
#define OS_SANDBOX_TEST_SUPERVISED_CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/broker.h"
#include "exec/capabilities.h"
#include "exec/report.h"
#include "exec/seccomp_filter.h"
#include "exec/target.h"
#include "exec/unix_diag.h"
#include "exec/waiting_internal.h"
#include "tap.h"

/* What the supervisor reported, as lines of JSON. */
static char supervised_events[65536];

/* To be set before, where it is not this. */
static struct {
    unsigned filter;           /* enum supervision */
    struct supervisor session; /* its run, questions and ports count */
    void (*prepare)(void);     /* called in the child's network with every right; may be NULL */
    unsigned first_kept;       /* descriptors from this one on stay open in the child */
} supervised = {.filter = SUPERVISE_FILTER, .session.questions = -1, .first_kept = ~0u};

static inline void supervised_fail(const char *what) {
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

/* --- the child --- */

struct supervised_hello {
    int listener;
    int unix_diag;
};

/* A network of its own, with an interface; then no rights. */
static inline void supervised_enter(int to_parent, int from_parent) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    struct supervised_hello hello = {-1, -1};
    char go;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) != 0 ||
        write(to_parent, &hello, sizeof hello) < 0 || read(from_parent, &go, 1) != 1)
        supervised_fail("namespaces");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
        supervised_fail("loopback");
    close(fd);
    if (supervised.prepare != NULL)
        supervised.prepare();
    hello.unix_diag = unix_diag_open();
    if (capabilities_keep(CAPABILITIES_NONE) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        supervised_fail("rights");
    errno = seccomp_filter_install(supervised.filter, 0, &hello.listener);
    if (errno != 0 || write(to_parent, &hello, sizeof hello) < 0 || read(from_parent, &go, 1) != 1)
        supervised_fail("filter");
    close(hello.listener);
    close(hello.unix_diag);
}

/* --- the parent --- */

static inline void supervised_interrupt(int number) {
    (void)number;
}

static inline void supervised_map_ids(pid_t child) {
    const struct {
        const char *file;
        unsigned id;
    } maps[] = {{"uid_map", getuid()}, {"gid_map", getgid()}};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/setgroups", child);
    int groups = open(path, O_WRONLY | O_CLOEXEC);
    if (write(groups, "deny", 4) != 4)
        supervised_fail("setgroups");
    close(groups);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", child, maps[i].file);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        char line[64];
        int length = snprintf(line, sizeof line, "%u %u 1\n", maps[i].id, maps[i].id);
        if (write(fd, line, (size_t)length) != length)
            supervised_fail(maps[i].file);
        close(fd);
    }
}

static inline void supervised_answer(struct call *call) {
    struct answer answer = answer_continue();
    if (!broker_sockets(call, &answer))
        broker_sends(call, &answer);
    answer_send(call, answer);
    if (call->pidfd >= 0)
        close(call->pidfd);
}

static inline void *supervised_receive(void *data) {
    struct supervisor *supervisor = data;
    unshare(CLONE_FS);
    do {
        struct seccomp_notif request = {0};
        struct pollfd state = {.fd = supervisor->listener};
        if (ioctl(supervisor->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0)
            supervised_answer(&(struct call){.supervisor = supervisor,
                                             .id = request.id,
                                             .thread = (pid_t)request.pid,
                                             .data = &request.data,
                                             .pidfd = -1});
        else if (errno != EINTR && poll(&state, 1, 0) == 1)
            break;
    } while (waiting_receiver_is_needed(supervisor->waiting));
    return NULL;
}

static inline void supervised_serve(struct supervisor *supervisor, int events) {
    size_t used = 0;
    bool over = false;
    int timeout = -1;
    while (!over) {
        struct pollfd waiting[] = {{.fd = supervisor->stage, .events = POLLIN},
                                   {.fd = waiting_wake_fd(supervisor->waiting), .events = POLLIN},
                                   {.fd = report_wake_fd(supervisor->report), .events = POLLIN}};
        poll(waiting, 3, timeout);
        over = waiting[0].revents != 0;
        timeout = waiting_tick(supervisor->waiting);
        if (over)
            report_finish(supervisor->report);
        report_flush(supervisor->report);
        ssize_t got = read(events, supervised_events + used, sizeof supervised_events - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    supervised_events[used] = '\0';
}

static inline struct supervised_hello supervised_take(pid_t child, int pidfd, int from_child, int to_child) {
    struct supervised_hello hello;
    if (read(from_child, &hello, sizeof hello) != (ssize_t)sizeof hello)
        supervised_fail("the child");
    supervised_map_ids(child);
    if (write(to_child, "", 1) != 1 || read(from_child, &hello, sizeof hello) != (ssize_t)sizeof hello)
        supervised_fail("the child");
    if (capabilities_keep(CAPABILITIES_NONE) != 0)
        supervised_fail("rights");
    hello.listener = (int)syscall(SYS_pidfd_getfd, pidfd, hello.listener, 0);
    hello.unix_diag = (int)syscall(SYS_pidfd_getfd, pidfd, hello.unix_diag, 0);
    if (hello.listener < 0)
        supervised_fail("listener");
    return hello;
}

static inline void supervised_parent(const struct payload *payload, pid_t child, int from_child,
                                     int to_child) {
    char path[64];
    int events[2];
    struct sigaction interrupt = {.sa_handler = supervised_interrupt};
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    struct supervised_hello hello = supervised_take(child, pidfd, from_child, to_child);
    signal(SIGPIPE, SIG_IGN);
    sigaction(WAITING_SIGNAL, &interrupt, NULL);
    snprintf(path, sizeof path, "/proc/%d/root", child);
    if (pipe2(events, O_NONBLOCK | O_CLOEXEC) != 0)
        supervised_fail("pipe");
    static struct supervisor supervisor;
    supervisor = (struct supervisor){.payload = payload,
                                     .mounts_stay = true,
                                     .listener = hello.listener,
                                     .stage = pidfd,
                                     .root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC),
                                     .unix_diag = unix_diag_new(hello.unix_diag),
                                     .host_unix_diag = unix_diag_new(unix_diag_open()),
                                     .umasks = umask_cache_new(),
                                     .report = report_new(events[1], payload),
                                     .run = supervised.session.run,
                                     .questions = supervised.session.questions,
                                     .ports = supervised.session.ports};
    supervisor.waiting = waiting_new(&supervisor, supervised_receive);
    if (waiting_start_receivers(supervisor.waiting) != 0 || write(to_child, "", 1) != 1)
        supervised_fail("receivers");
    supervised_serve(&supervisor, events[0]);
}

/* Runs the command supervised, which checks things itself (tap.h). Adds its results to this process's. */
static inline void supervised_run(char **allowed, size_t count, void (*command)(void)) {
    static struct payload payload;
    int up[2];
    int down[2];
    payload = (struct payload){.unix_sockets = allowed, .unix_socket_count = count};
    fflush(stdout);
    if (pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0)
        supervised_fail("pipes");
    pid_t child = fork();
    if (child == 0) {
        supervised_enter(up[1], down[0]);
        close_range(3, supervised.first_kept - 1, 0);
        command();
        fflush(stdout);
        _exit(tap_state.failed > 0 ? 255 : (int)tap_state.run);
    }
    close(down[0]);
    close(up[1]);
    supervised_parent(&payload, child, up[0], down[1]);
    int status;
    waitpid(child, &status, 0);
    bool well = WIFEXITED(status) && WEXITSTATUS(status) != 255;
    tap_state.run = well ? (unsigned)WEXITSTATUS(status) : tap_state.run;
    ok(well, "the supervised command is content (status %x)", (unsigned)status);
}

/* How often a text is in what was reported. */
static inline unsigned supervised_reports(const char *text) {
    unsigned count = 0;
    for (const char *at = supervised_events; (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    return count;
}

#endif
