#include "exec/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/gateway_wire.h"
#include "exec/group_signals.h"
#include "exec/mount_check.h"
#include "exec/passfd.h"
#include "exec/payload.h"
#include "exec/program.h"
#include "exec/supervision.h"
#include "exec/wire.h"

/* Exit statuses of the stage itself; nobody reads them but a person who traces it: results go over the
 * socket. */
enum { STAGE_DONE = 0, STAGE_BROKEN = 125 };

/* False: the agent is gone, or wants no more of this run. */
static bool tell_event(struct stage_event *event, const char *text) {
    snprintf(event->text, sizeof event->text, "%s", text);
    size_t size = offsetof(struct stage_event, text) + strlen(event->text) + 1;
    return send(LAUNCH_FD_CONTROL, event, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool tell(enum stage_event_type type, int status, const char *text) {
    struct stage_event event = {.type = type, .status = status};
    return tell_event(&event, text);
}

/* Exit code and signal, as a shell would show both in one number. */
static void tell_exit(int wait_status) {
    bool killed = WIFSIGNALED(wait_status);
    struct stage_event event = {.type = STAGE_EXIT,
                                .status = killed ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status),
                                .signal = killed ? WTERMSIG(wait_status) : 0};
    tell_event(&event, "");
}

/* Where the run's network is its own: its end of the proxy, in which the addon accepts. 0, or -1 with errno.
 */
static int give_listener(void) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(GATEWAY_PROXY_PORT),
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct stage_event event = {.type = STAGE_LISTENER};
    cleanup_fd int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, SOMAXCONN) != 0)
        return -1;
    return send_with_fds(LAUNCH_FD_CONTROL, &event, offsetof(struct stage_event, text) + 1, &listener, 1);
}

static int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int fail(const char *format, ...) {
    char text[AGENT_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tell(STAGE_ERROR, 0, text);
    return STAGE_BROKEN;
}

static int map_payload(struct payload *payload) {
    struct stat facts;
    if (fstat(LAUNCH_FD_PAYLOAD, &facts) != 0 || facts.st_size <= 0)
        return -1;
    void *data = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, LAUNCH_FD_PAYLOAD, 0);
    return data == MAP_FAILED ? -1 : payload_decode(data, (size_t)facts.st_size, payload);
}

static int check_mounts(const struct payload *payload, char *text, size_t text_size) {
    for (size_t i = 0; i < payload->mount_count; i++)
        if (mount_check(&payload->mounts[i], text, text_size) != 0)
            return -1;
    for (size_t i = 0; i < payload->read_denied_count; i++)
        if (denial_check(payload->read_denied[i], true, text, text_size) != 0)
            return -1;
    for (size_t i = 0; i < payload->write_denied_count; i++)
        if (denial_check(payload->write_denied[i], false, text, text_size) != 0)
            return -1;
    return 0;
}

/*
 * Where one of them is /dev/null it is the run's own, by a mount that is read-only: the node of the host
 * could be changed through a descriptor (fchmod(2)) by root, who owns it.
 */
static int take_one(int given, int target) {
    struct stat facts;
    if (fstat(given, &facts) != 0)
        return -1;
    if (!S_ISCHR(facts.st_mode) || facts.st_rdev != makedev(1, 3))
        return dup2(given, target);
    cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    return null < 0 ? -1 : dup2(null, target);
}

/* The command's own stdio onto 0 to 2; everything else that came along is closed, but for the sockets. */
static int take_stdio(void) {
    if (take_one(LAUNCH_FD_STDIN, 0) < 0 || take_one(LAUNCH_FD_STDOUT, 1) < 0 ||
        take_one(LAUNCH_FD_STDERR, 2) < 0)
        return -1;
    close(LAUNCH_FD_ARGUMENTS);
    if (syscall(SYS_close_range, LAUNCH_FD_CONTROL + 1u, LAUNCH_FD_SUPERVISOR - 1u, 0u) != 0)
        return -1;
    return (int)syscall(SYS_close_range, LAUNCH_FD_SUPERVISOR + 1u, ~0u, 0u);
}

/* From here on this process and all that it starts are filtered. False: the run is over, for the reason told.
 */
static bool enter_supervision(const struct payload *payload) {
    char text[AGENT_TEXT_MAX - 64];
    enum supervision_result result =
        supervision_enter(payload->supervision, payload->cost.most[COST_MEMORY], text, sizeof text);
    if (result == SUPERVISION_HOLDS)
        return true;
    if ((payload->supervision & SUPERVISE_OPTIONAL) == 0) {
        fail("no supervision: %s", text);
        return false;
    }
    return tell(result == SUPERVISION_UNFILTERED ? STAGE_UNFILTERED : STAGE_UNSUPERVISED, 0, text);
}

/* A command that cannot start fails as in a shell: a line on its stderr and 127, or 126 for what may not be
 * executed. */
static int command_not_started(const struct payload *payload, const struct program_result *result) {
    bool missing = result->errnum == ENOENT || result->errnum == ENOTDIR;
    const char *program = payload->argv[0];
    const char *why = strerror(result->errnum);
    if (result->failure == PROGRAM_NO_CWD)
        dprintf(2, "os-sandbox: cannot enter %s: %s\n", payload->cwd, why);
    else
        dprintf(2, "os-sandbox: %s: %s\n", program, missing ? "command not found" : why);
    return missing || result->failure == PROGRAM_NO_CWD ? 127 : 126;
}

/* A command in a process group of its own has got nothing of what the command line's group got. */
static void pass_on(pid_t command, const struct stage_request *request) {
    bool had = request->passed_on != 0 && group_signals_had(request->signal);
    pid_t group = getpgid(command);
    bool in_our_group = group == getpgrp();
    if (had && in_our_group)
        return;
    /* A shell that suspends itself stops its whole group. */
    bool whole_group = request->signal == SIGCONT && !in_our_group && group > 0;
    kill(whole_group ? -group : command, request->signal);
}

/* Sends what the agent asks for to the command, or its group. False when the agent is gone. */
static bool serve_control(pid_t command, bool foreground) {
    struct stage_request request;
    ssize_t got = recv(LAUNCH_FD_CONTROL, &request, sizeof request, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof request && foreground)
        pass_on(command, &request);
    else if (got == (ssize_t)sizeof request)
        kill(-command, request.signal);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/*
 * What stops the whole group stops the command line as well: of a command that stops itself only this process
 * hears. Where the group was continued since, that is over. continued: it had been before the stop.
 */
static void tell_stop(int number, bool continued) {
    if (!group_signals_had(number) && (continued || !group_signals_has(SIGCONT)))
        tell(STAGE_STOPPED, 0, "");
}

/* Reaps all there is. True when the command itself ended. */
static bool reap(pid_t command, bool foreground, int *wait_status) {
    for (;;) {
        bool continued = foreground && group_signals_has(SIGCONT);
        pid_t pid = waitpid(-1, wait_status, WNOHANG | (foreground ? WUNTRACED : 0));
        if (pid <= 0)
            return false;
        if (pid == command && !WIFSTOPPED(*wait_status))
            return true;
        if (pid == command)
            tell_stop(WSTOPSIG(*wait_status), continued);
    }
}

/* Until the command ends, or agent or supervisor do. The kernel kills whatever is left when pid 1 returns. */
static int supervise(pid_t command, int signals, bool supervised, bool foreground) {
    struct pollfd waiting[] = {{.fd = signals, .events = POLLIN},
                               {.fd = LAUNCH_FD_CONTROL, .events = POLLIN},
                               {.fd = supervised ? LAUNCH_FD_SUPERVISOR : -1, .events = POLLIN}};
    for (;;) {
        int status;
        if (reap(command, foreground, &status)) {
            tell_exit(status);
            return STAGE_DONE;
        }
        if (poll(waiting, sizeof waiting / sizeof waiting[0], -1) < 0 && errno != EINTR)
            return fail("poll: %s", strerror(errno));
        struct signalfd_siginfo info;
        while (waiting[0].revents != 0 && read(signals, &info, sizeof info) > 0)
            ;
        if (waiting[1].revents != 0 && !serve_control(command, foreground))
            return STAGE_BROKEN;
        /* The supervisor says nothing any more: this is its end, and the run's. */
        if (waiting[2].revents != 0)
            return STAGE_BROKEN;
    }
}

int stage_main(bool foreground) {
    /* A command must not reach pid 1 through /proc or ptrace, nor the helper's file through /proc/1/exe. */
    prctl(PR_SET_DUMPABLE, 0);
    struct payload payload;
    if (map_payload(&payload) != 0)
        return fail("the stage cannot read its payload");
    if (!tell(STAGE_HELLO, 0, ""))
        return STAGE_BROKEN;
    char text[AGENT_TEXT_MAX - 64];
    if (check_mounts(&payload, text, sizeof text) != 0)
        return fail("mount check failed: %s", text);
    if (payload.own_proxy != 0 && give_listener() != 0)
        return fail("cannot pass the proxy's listener on (descriptors in flight of this user): %s",
                    strerror(errno));
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (take_stdio() != 0)
        return fail("the stage cannot take its descriptors: %s", strerror(errno));
    struct group_signals group = {.status = -1};
    if (foreground && group_signals_open(&group) != 0)
        return fail("the stage cannot see its own signals: %s", strerror(errno));
    if (!enter_supervision(&payload))
        return STAGE_BROKEN;
    if (payload.argc == 0) {
        tell(STAGE_EXIT, 0, "");
        return STAGE_DONE;
    }
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return fail("signalfd: %s", strerror(errno));
    if (foreground && !tell(STAGE_STARTS, 0, ""))
        return STAGE_BROKEN;
    struct program_result result = program_start(&payload, foreground ? &group : NULL);
    if (result.failure == PROGRAM_NO_FORK || result.failure == PROGRAM_NO_LIMIT)
        return fail("cannot start a process in the sandbox: %s", strerror(result.errnum));
    if (result.failure != PROGRAM_STARTED) {
        tell(STAGE_EXIT, command_not_started(&payload, &result), "");
        return STAGE_DONE;
    }
    /* A writer must see EPIPE when the command closes its stdin; the rest is of no use here either. */
    close(0);
    close(1);
    close(2);
    return supervise(result.pid, signals, (payload.supervision & SUPERVISE_FILTER) != 0, foreground);
}
