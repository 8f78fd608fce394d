#include "exec/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/broker.h"
#include "exec/capabilities.h"
#include "exec/passfd.h"
#include "exec/passing.h"
#include "exec/report.h"
#include "exec/rules.h"
#include "exec/settle.h"
#include "exec/socket_network.h"
#include "exec/target.h"
#include "exec/unix_diag.h"
#include "exec/waiting_internal.h"
#include "exec/wire.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
/* Linux 6.6: the waker gives its processor to whom it wakes. */
#define SYNC_WAKE_UP 1ul

/* Exit statuses: what is not 0 ends the run with an error. */
enum { SUPERVISOR_DONE = 0, SUPERVISOR_BROKEN = 125 };

/* The last is there only where the session has a network. */
enum { FD_STAGE = 3, FD_PAYLOAD, FD_EVENTS, FD_QUESTIONS, FD_FIRST_FREE };

/* The agent is gone: the run is to end, and what rules_finish() does is still to be done. */
#define ORPHANED_SIGNAL SIGHUP

static void interrupt_only(int number) {
    (void)number;
}

static int take_descriptors(const struct supervisor_start *start) {
    const int sources[] = {start->stage, start->payload, start->events, start->questions};
    int lifted[sizeof sources / sizeof sources[0]];
    const int count = start->questions < 0 ? FD_QUESTIONS - FD_STAGE : FD_FIRST_FREE - FD_STAGE;
    for (int i = 0; i < count; i++)
        if ((lifted[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, FD_FIRST_FREE)) < 0)
            return -1;
    for (int i = 0; i < count; i++)
        if (dup3(lifted[i], FD_STAGE + i, O_CLOEXEC) < 0)
            return -1;
    /* The agent's sockets among them: while a copy is open their other ends see no end of file. */
    return (int)syscall(SYS_close_range, (unsigned)(FD_STAGE + count), ~0u, 0u);
}

/* The command's limit of a file's size is kept (broker_objects.c); ours must not come before it. */
static void lift_size_limit(void) {
    struct rlimit size;
    if (getrlimit(RLIMIT_FSIZE, &size) != 0)
        return;
    size.rlim_cur = size.rlim_max;
    setrlimit(RLIMIT_FSIZE, &size);
}

/*
 * What the agent has set up for itself must not act here, nor more than a command's rights. Not dumpable:
 * where commands see the outer /proc, what is open here must be closed to them (proc(5)), also in children
 * that enter their user namespace.
 */
static int set_up_process(const struct supervisor_start *start, pid_t agent) {
    struct sigaction interrupt = {.sa_handler = interrupt_only};
    sigset_t orphaned;
    sigemptyset(&orphaned);
    sigaddset(&orphaned, ORPHANED_SIGNAL);
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_PDEATHSIG, ORPHANED_SIGNAL) != 0 ||
        getppid() != agent || take_descriptors(start) != 0 || capabilities_keep(CAPABILITIES_NONE) != 0 ||
        sigaction(WAITING_SIGNAL, &interrupt, NULL) != 0 || sigaction(ORPHANED_SIGNAL, &interrupt, NULL) != 0)
        return -1;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    lift_size_limit();
    if (fcntl(FD_EVENTS, F_SETFL, O_NONBLOCK) != 0)
        return -1;
    /* Only the main thread hears of it, where it waits. */
    return sigprocmask(SIG_SETMASK, &orphaned, NULL);
}

static const struct payload *map_payload(struct payload *payload) {
    struct stat facts;
    if (fstat(FD_PAYLOAD, &facts) != 0 || facts.st_size <= 0)
        return NULL;
    void *data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, FD_PAYLOAD, 0);
    return data != MAP_FAILED && payload_decode(data, (size_t)facts.st_size, payload) == 0 ? payload : NULL;
}

/* The stage's greeting and its pid; false where it ended before. */
static bool await_stage(struct supervisor_hello *hello, pid_t *stage) {
    struct pollfd waiting = {.fd = FD_STAGE, .events = POLLIN};
    ssize_t got;
    do {
        if (poll(&waiting, 1, -1) < 0 && errno != EINTR)
            return false;
        got = receive_with_pid(FD_STAGE, hello, sizeof *hello, stage);
    } while (got < 0 && (errno == EAGAIN || errno == EINTR));
    return got == (ssize_t)sizeof *hello && *stage > 0;
}

/* Whether memory of the run can be read at all: not under Yama's ptrace_scope 3. */
static bool can_read(pid_t stage, const struct supervisor_hello *hello) {
    uint64_t found = 0;
    struct iovec ours = {.iov_base = &found, .iov_len = sizeof found};
    struct iovec theirs = {.iov_base = (void *)(uintptr_t)hello->sample, .iov_len = sizeof found};
    return process_vm_readv(stage, &ours, 1, &theirs, 1, 0) == (ssize_t)sizeof found &&
           found == SUPERVISOR_SAMPLE;
}

/* Everything of the run that is reached by descriptors. 0 or an errno. */
static int take_run(struct supervisor *supervisor, pid_t stage, const struct supervisor_hello *hello) {
    char path[32];
    supervisor->landlocked = hello->landlock != 0;
    supervisor->stage = (int)syscall(SYS_pidfd_open, stage, 0u);
    if (supervisor->stage < 0)
        return errno;
    supervisor->listener = (int)syscall(SYS_pidfd_getfd, supervisor->stage, hello->listener, 0u);
    if (supervisor->listener < 0)
        return errno;
    supervisor->unix_diag =
        unix_diag_new((int)syscall(SYS_pidfd_getfd, supervisor->stage, hello->unix_diag, 0u));
    snprintf(path, sizeof path, "/proc/%d/root", (int)stage);
    supervisor->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)stage);
    supervisor->mounts = open(path, O_RDONLY | O_CLOEXEC);
    if (supervisor->root < 0 || supervisor->mounts < 0)
        return errno;
    if (!can_read(stage, hello))
        return EPERM;
    int errnum = socket_network_learn(supervisor, stage);
    if (errnum != 0)
        return errnum;
    supervisor->host_unix_diag = unix_diag_new(unix_diag_open());
    ioctl(supervisor->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
    return 0;
}

static void answer_one(struct supervisor *supervisor, const struct seccomp_notif *request) {
    struct call call = {.supervisor = supervisor,
                        .id = request->id,
                        .thread = (pid_t)request->pid,
                        .data = &request->data,
                        .pidfd = -1};
    if (supervisor->settles && !settle(&call))
        return;
    /* Pid 0: a thread that cannot be seen from here cannot be judged either. */
    answer_send(&call, call.thread > 0 ? broker_answer(&call) : answer_errno(EPERM));
    close_fd(&call.pidfd);
}

/* Nobody of the run is left to ask anything (EPOLLHUP of the listener, seccomp_unotify(2)). */
static bool is_over(int listener) {
    struct pollfd state = {.fd = listener};
    return poll(&state, 1, 0) == 1 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

static void *receive_calls(void *data) {
    struct supervisor *supervisor = data;
    struct seccomp_notif_sizes sizes;
    if (unshare(CLONE_FS) != 0 || syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
        _exit(SUPERVISOR_BROKEN);
    size_t size = sizes.seccomp_notif > sizeof(struct seccomp_notif) ? sizes.seccomp_notif
                                                                     : sizeof(struct seccomp_notif);
    struct seccomp_notif *request = malloc(size);
    if (request == NULL)
        _exit(SUPERVISOR_BROKEN);
    do {
        memset(request, 0, size);
        if (ioctl(supervisor->listener, SECCOMP_IOCTL_NOTIF_RECV, request) == 0)
            answer_one(supervisor, request);
        else if (errno != EINTR && is_over(supervisor->listener))
            break;
    } while (waiting_receiver_is_needed(supervisor->waiting));
    free(request);
    return NULL;
}

/* Until the stage is gone, and with it every process of the run: no event can come after that. */
static int serve(const struct supervisor *supervisor, pid_t agent) {
    struct timespec timeout;
    int milliseconds = -1;
    bool unwritten = false;
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        struct pollfd waiting[] = {{.fd = supervisor->stage, .events = POLLIN},
                                   {.fd = waiting_wake_fd(supervisor->waiting), .events = POLLIN},
                                   {.fd = report_wake_fd(supervisor->report), .events = POLLIN},
                                   {.fd = unwritten ? FD_EVENTS : -1, .events = POLLOUT}};
        timeout = (struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
        if (ppoll(waiting, sizeof waiting / sizeof waiting[0], milliseconds < 0 ? NULL : &timeout, &none) <
            0) {
            if (errno != EINTR)
                return SUPERVISOR_BROKEN;
            if (getppid() != agent)
                syscall(SYS_pidfd_send_signal, supervisor->stage, SIGKILL, NULL, 0u);
            continue;
        }
        if (waiting[0].revents != 0)
            break;
        milliseconds = waiting_tick(supervisor->waiting);
        unwritten = report_flush(supervisor->report);
    }
    rules_finish(supervisor->rules, supervisor->report);
    report_finish(supervisor->report);
    /* A reader that is busy is waited for: it alone needs these lines. One that went away gives EPIPE. */
    struct pollfd room = {.fd = FD_EVENTS, .events = POLLOUT};
    while (report_flush(supervisor->report))
        poll(&room, 1, -1);
    return SUPERVISOR_DONE;
}

static int supervise(struct supervisor *supervisor, const struct supervisor_hello *hello, pid_t stage,
                     const struct supervisor_start *start, pid_t agent) {
    int errnum = take_run(supervisor, stage, hello);
    /* Each thread gets a umask of its own, the caller's for the time of a call: whether that is allowed here.
     */
    if (errnum == 0 && unshare(CLONE_FS) != 0)
        errnum = errno;
    supervisor->report = report_new(FD_EVENTS, supervisor->payload);
    if (errnum == 0)
        supervisor->rules = rules_new(supervisor->payload, supervisor->root, start->index);
    supervisor->umasks = umask_cache_new();
    supervisor->waiting = waiting_new(supervisor, receive_calls);
    if (errnum == 0 && (supervisor->report == NULL || supervisor->rules == NULL ||
                        supervisor->umasks == NULL || supervisor->waiting == NULL))
        errnum = ENOMEM;
    if (errnum == 0)
        errnum = waiting_start_receivers(supervisor->waiting);
    struct supervisor_ready ready = {.status = errnum};
    if (send(FD_STAGE, &ready, sizeof ready, MSG_NOSIGNAL) != (ssize_t)sizeof ready)
        return SUPERVISOR_DONE;
    return errnum == 0 ? serve(supervisor, agent) : SUPERVISOR_DONE;
}

static int supervisor_main(const struct supervisor_start *start, pid_t agent) {
    struct supervisor_hello hello;
    struct payload payload;
    pid_t stage;
    if (set_up_process(start, agent) != 0)
        return SUPERVISOR_BROKEN;
    umask(0);
    struct supervisor supervisor = {.payload = map_payload(&payload),
                                    .listener = -1,
                                    .stage = -1,
                                    .root = -1,
                                    .mounts = -1,
                                    .mounts_stay = start->mounted_before,
                                    .settles = settle_is_needed(),
                                    .run = start->run,
                                    .questions = start->questions < 0 ? -1 : FD_QUESTIONS,
                                    .ports = start->ports};
    if (supervisor.payload == NULL || pthread_mutex_init(&supervisor.passing.lock, NULL) != 0)
        return SUPERVISOR_BROKEN;
    passing_set_limits(&supervisor.passing);
    if (!await_stage(&hello, &stage) || hello.listener < 0)
        return SUPERVISOR_DONE;
    return supervise(&supervisor, &hello, stage, start, agent);
}

pid_t supervisor_fork(const struct supervisor_start *start) {
    pid_t agent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        _exit(supervisor_main(start, agent));
    return pid;
}
