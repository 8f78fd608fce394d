#include "exec/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/agent_run.h"
#include "exec/capabilities.h"
#include "exec/index_scan.h"
#include "exec/job_terminal.h"
#include "exec/passfd.h"
#include "exec/session_index.h"
#include "exec/watch.h"

struct agent {
    struct agent_context context;
    int signals;
    bool addon_gone;
    uint64_t give_up_ns;     /* once the addon is gone: when what cannot be killed is left to the kernel */
    bool addon_full;         /* an event did not fit: wait until the socket takes more */
    uint64_t listen_ns;      /* when the file watch is listened to again; 0: it is */
    uint64_t look_ns;        /* when it looks next at what gives no events */
    struct index_scan *scan; /* NULL: none could be had */
    pid_t scanner;           /* of a scan that was stopped: it may be in the middle of a large folder */
    struct agent_run *runs;
    struct job_terminal terminal; /* of a command line */
};

/* An epoll event's key is what it is about: the agent (the addon's socket), its signals, the watch of files,
 * or a run. */
static int watch(const struct agent *agent, int fd, void *key) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = key};
    return epoll_ctl(agent->context.epoll, EPOLL_CTL_ADD, fd, &event);
}

static void watch_addon(struct agent *agent, bool full) {
    struct epoll_event event = {.events = EPOLLIN | (full ? EPOLLOUT : 0u), .data.ptr = agent};
    agent->addon_full = full;
    epoll_ctl(agent->context.epoll, EPOLL_CTL_MOD, AGENT_SOCKET_FD, &event);
}

/* True when the event was sent, or can never be. */
static bool send_event(struct agent *agent, const struct agent_event *event) {
    size_t size = offsetof(struct agent_event, text) + strlen(event->text) + 1;
    if (send(AGENT_SOCKET_FD, event, size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return true;
    if (errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM)
        return true;
    watch_addon(agent, true);
    return false;
}

/* Passes on what runs have brought that have a network of their own. */
static void send_listeners(struct agent *agent) {
    for (struct agent_run *run = agent->runs; run != NULL; run = run->next) {
        const struct agent_event event = {.version = WIRE_VERSION, .type = AGENT_LISTENER, .run = run->id};
        if (run->listener < 0 || agent->addon_gone || agent->addon_full)
            continue;
        if (send_with_fds(AGENT_SOCKET_FD, &event, offsetof(struct agent_event, text) + 1, &run->listener,
                          1) == 0)
            close_fd(&run->listener);
        else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
            watch_addon(agent, true);
        else
            agent_run_listener_failed(run, strerror(errno));
    }
}

/* Reports the runs that are over, and forgets them once their bwrap was reaped. */
static void settle_runs(struct agent *agent) {
    struct agent_run **slot = &agent->runs;
    while (*slot != NULL) {
        struct agent_run *run = *slot;
        if (!agent_run_over(run)) {
            slot = &run->next;
            continue;
        }
        if (run->foreground && !run->reported)
            job_terminal_take_back(&agent->terminal);
        if (!agent->addon_gone && !run->reported && (agent->addon_full || !send_event(agent, &run->ended)))
            return;
        run->reported = true;
        if (!agent_run_gone(run)) {
            slot = &run->next;
            continue;
        }
        *slot = run->next;
        agent_run_free(run);
    }
}

/* A run that cannot even be kept in mind. */
static void refuse_run(struct agent *agent, uint64_t id, const char *why) {
    struct agent_run *run = agent_run_refused(id, why);
    if (run == NULL) {
        agent->addon_gone = true; /* nobody would ever hear of it */
        return;
    }
    run->next = agent->runs;
    agent->runs = run;
}

static void start_run(struct agent *agent, const struct agent_request *request, int *fds) {
    struct agent_run *run = agent_run_start(&agent->context, request, fds);
    if (run == NULL) {
        refuse_run(agent, request->run, "the agent is out of memory");
        return;
    }
    run->next = agent->runs;
    agent->runs = run;
    if (run->kept != NULL && agent->scan != NULL)
        index_roots_wanted(agent->scan, kept_payload(run->kept));
}

static struct agent_run *find_run(const struct agent *agent, uint64_t id) {
    struct agent_run *run = agent->runs;
    while (run != NULL && run->id != id)
        run = run->next;
    return run;
}

/* Of a run that is there: one that has ended may still be meant. */
static void act_on_run(struct agent *agent, const struct agent_request *request) {
    struct agent_run *run = find_run(agent, request->run);
    if (run != NULL && request->type == AGENT_STOP) {
        agent_run_stop(run);
    } else if (run != NULL && request->type == AGENT_SIGNAL) {
        if (request->signal == SIGCONT)
            job_terminal_continue(&agent->terminal);
        agent_run_signal(run, request->signal);
    }
}

static void serve_addon(struct agent *agent) {
    for (;;) {
        struct agent_request request = {0};
        int fds[PASSFD_MAX];
        size_t fd_count = 0;
        ssize_t got = receive_with_fds(AGENT_SOCKET_FD, &request, sizeof request, fds, PASSFD_MAX, &fd_count);
        if (got < 0 && errno == EAGAIN)
            return;
        /* The message is there, its descriptors are not. */
        if (got < 0 && errno == EPROTO && request.version == WIRE_VERSION) {
            refuse_run(agent, request.run, "the agent is out of descriptors (open files)");
            continue;
        }
        if (got != (ssize_t)sizeof request || request.version != WIRE_VERSION) {
            agent->addon_gone = true;
        } else if (request.type == AGENT_START && fd_count == START_FD_COUNT) {
            start_run(agent, &request, fds);
        } else {
            act_on_run(agent, &request);
        }
        for (size_t i = 0; i < fd_count; i++)
            close_fd(&fds[i]);
        if (agent->addon_gone)
            return;
    }
}

/* The stage's socket or its pidfd has something: both are looked at, each is cheap. */
static void serve_run(struct agent *agent, struct agent_run *run) {
    agent_run_hear(run);
    struct pollfd stage = {.fd = run->stage_pidfd, .events = POLLIN};
    if (stage.fd >= 0 && poll(&stage, 1, 0) == 1)
        agent_run_stage_gone(run);
    if (run->stopped_itself && !run->group_stopped)
        job_terminal_stop(&agent->terminal);
    run->stopped_itself = false;
}

static bool is_known(const struct agent *agent, pid_t pid) {
    if (agent->context.namespaces.gateway == pid)
        return true;
    for (const struct agent_run *run = agent->runs; run != NULL; run = run->next)
        if (run->bwrap == pid || run->supervisor == pid || run->remounter == pid || run->checker == pid)
            return true;
    return agent->scan != NULL && index_scan_owns(agent->scan, pid);
}

/* Kills the children that no run knows: what a bwrap left behind that was killed while it started
 * (proc_pid_task(5)). */
static void kill_orphans(const struct agent *agent) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    /* One line of pids, a space behind each. */
    if (children != NULL && getline(&line, &size, children) > 0) {
        char *next = line;
        for (pid_t pid; (pid = (pid_t)strtol(next, &next, 10)) > 0;)
            if (!is_known(agent, pid))
                kill(pid, SIGKILL);
    }
    free(line);
    if (children != NULL)
        fclose(children);
}

static void child_changed(const struct agent *agent, struct agent_run *run, pid_t pid, int status,
                          const struct rusage *usage) {
    if (run->supervisor == pid) {
        agent_run_supervisor_gone(run, status);
    } else if (run->remounter == pid) {
        agent_run_restored(run, status);
    } else if (run->checker == pid && !WIFSTOPPED(status)) {
        run->checker = 0;
    } else if (run->bwrap == pid && !WIFSTOPPED(status)) {
        agent_run_bwrap_gone(run, status, usage);
        if (agent_run_is_orphaned(run))
            kill_orphans(agent);
    }
}

/* bwrap is in the group of the command line, and does nothing that would stop it alone. What the stage has
 * said by then was about the stop that is over. */
static void group_changed(struct agent *agent, pid_t pid, bool stopped) {
    for (struct agent_run *run = agent->runs; run != NULL; run = run->next) {
        if (!run->foreground || run->bwrap != pid)
            continue;
        if (!stopped)
            serve_run(agent, run);
        run->group_stopped = stopped;
    }
}

static void reap(struct agent *agent) {
    struct signalfd_siginfo info;
    while (read(agent->signals, &info, sizeof info) > 0)
        ;
    int status;
    pid_t pid;
    struct rusage usage;
    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage)) > 0) {
        if (WIFSTOPPED(status) || WIFCONTINUED(status))
            group_changed(agent, pid, WIFSTOPPED(status));
        if (WIFCONTINUED(status))
            continue;
        for (struct agent_run *run = agent->runs; run != NULL; run = run->next)
            child_changed(agent, run, pid, status, &usage);
        /* The addon sees it by the end of its socket. */
        if (agent->context.namespaces.gateway == pid && !WIFSTOPPED(status))
            agent->context.namespaces.gateway = 0;
        if (agent->scanner == pid && !WIFSTOPPED(status))
            agent->scanner = 0;
        if (agent->scan != NULL && !WIFSTOPPED(status) && index_scan_owns(agent->scan, pid))
            index_scan_reaped(agent->scan, pid);
    }
}

/* A watched folder that is busy must not keep the agent busy: in between, the kernel collects. */
#define LISTEN_AGAIN_NS 10000000u

static void listen_to_files(struct agent *agent, bool on) {
    struct epoll_event event = {.events = on ? EPOLLIN : 0u, .data.ptr = agent->context.watch};
    agent->listen_ns = on ? 0 : monotonic_ns() + LISTEN_AGAIN_NS;
    epoll_ctl(agent->context.epoll, EPOLL_CTL_MOD, watch_fd(agent->context.watch), &event);
}

static void files_changed(const struct agent *agent) {
    for (struct agent_run *run = agent->runs; run != NULL; run = run->next)
        if (run->kept != NULL)
            kept_hear(run->kept);
}

static void hear_files(struct agent *agent) {
    listen_to_files(agent, false);
    if (watch_hear(agent->context.watch))
        files_changed(agent);
}

/* In between, a file of a folder that cannot be watched may be open. */
#define LOOK_AGAIN_NS 20000000u

static bool must_look(const struct agent *agent) {
    return agent->runs != NULL && agent->context.watch != NULL && watch_is_blind(agent->context.watch);
}

static void look_at_files(struct agent *agent, uint64_t now) {
    if (!must_look(agent) || agent->look_ns > now)
        return;
    agent->look_ns = now + LOOK_AGAIN_NS;
    if (watch_look(agent->context.watch))
        files_changed(agent);
}

/* Milliseconds until the next run is due, rounded up; -1: none is. */
static int next_timeout(const struct agent *agent) {
    uint64_t earliest = agent->give_up_ns;
    if (agent->listen_ns != 0 && (earliest == 0 || agent->listen_ns < earliest))
        earliest = agent->listen_ns;
    if (must_look(agent) && (earliest == 0 || agent->look_ns < earliest))
        earliest = agent->look_ns;
    for (const struct agent_run *run = agent->runs; run != NULL; run = run->next) {
        uint64_t due = agent_run_due(run);
        if (due != 0 && (earliest == 0 || due < earliest))
            earliest = due;
    }
    if (earliest == 0)
        return -1;
    uint64_t now = monotonic_ns();
    uint64_t wait = earliest <= now ? 0 : (earliest - now + 999999u) / 1000000u;
    return wait > 60000 ? 60000 : (int)wait;
}

static void tick_runs(struct agent *agent) {
    uint64_t now = monotonic_ns();
    if (agent->listen_ns != 0 && agent->listen_ns <= now)
        listen_to_files(agent, true);
    look_at_files(agent, now);
    for (struct agent_run *run = agent->runs; run != NULL; run = run->next) {
        agent_run_tick(run, now);
        agent_run_restore(run);
        agent_run_check(run, agent->context.index);
    }
}

static void serve(struct agent *agent, const struct epoll_event *event) {
    if (event->data.ptr == &agent->signals) {
        reap(agent);
    } else if (event->data.ptr == agent->context.watch) {
        hear_files(agent);
    } else if (event->data.ptr != agent) {
        serve_run(agent, event->data.ptr);
    } else {
        if (event->events & EPOLLOUT)
            watch_addon(agent, false);
        if (!agent->addon_gone && (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            serve_addon(agent);
    }
}

/* One turn: what has happened, what is due, what is over. */
static void turn(struct agent *agent) {
    struct epoll_event events[64];
    int count = epoll_wait(agent->context.epoll, events, 64, next_timeout(agent));
    for (int i = 0; i < count; i++)
        serve(agent, &events[i]);
    tick_runs(agent);
    send_listeners(agent);
    settle_runs(agent);
}

/* How long a killed process may take to die; one that hangs in the kernel must not hold up Node's exit for
 * ever. */
#define GIVE_UP_NS 10000000000u

/* Node is gone, or this sandbox was disposed: whatever runs is killed, and waited for. */
static void end_runs(struct agent *agent) {
    epoll_ctl(agent->context.epoll, EPOLL_CTL_DEL, AGENT_SOCKET_FD, NULL);
    agent->give_up_ns = monotonic_ns() + GIVE_UP_NS;
    agent->scanner = index_scan_stop(agent->scan);
    agent->scan = NULL;
    for (struct agent_run *run = agent->runs; run != NULL; run = run->next)
        agent_run_kill(run);
    while ((agent->runs != NULL || agent->scanner != 0) && monotonic_ns() < agent->give_up_ns)
        turn(agent);
    session_namespaces_close(&agent->context.namespaces);
    watch_free(agent->context.watch);
}

/*
 * Signals of the agent's own making only: SIGCHLD by descriptor. As root all capabilities go once the
 * namespaces are made: the owner of a user namespace has them inside it, and nothing here may act with more
 * than a command's rights.
 */
static int set_up_process(struct agent *agent) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    agent->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    agent->context.epoll = epoll_create1(EPOLL_CLOEXEC);
    agent->context.helper = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (agent->signals < 0 || agent->context.epoll < 0 || agent->context.helper < 0)
        return -1;
    if (fcntl(AGENT_SOCKET_FD, F_SETFL, O_NONBLOCK) != 0 || fcntl(AGENT_SOCKET_FD, F_SETFD, FD_CLOEXEC) != 0)
        return -1;
    /* An orphaned stage is reaped here, not by the host's init. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return -1;
    return chdir("/");
}

/* What a run can do without when the host has none of it left. */
static void set_up_files(struct agent *agent) {
    agent->context.watch = watch_new();
    if (agent->context.watch != NULL && watch_fd(agent->context.watch) >= 0 &&
        watch(agent, watch_fd(agent->context.watch), agent->context.watch) != 0) {
        watch_free(agent->context.watch);
        agent->context.watch = NULL;
    }
    agent->context.index = session_index_new();
    if (agent->context.index != NULL)
        agent->scan = index_scan_new(agent->context.index);
}

/* What agent, supervisors, gateway and addon have in common. given: the addon's. 0, or an errno. */
static int make_shared(struct agent_context *context, int *given) {
    int questions[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, questions) != 0)
        return errno;
    given[READY_FD_QUESTIONS] = questions[0];
    context->questions = questions[1];
    given[READY_FD_PORTS] = port_table_make();
    context->ports = given[READY_FD_PORTS] < 0 ? NULL : port_table_map(given[READY_FD_PORTS]);
    return context->ports == NULL || fcntl(questions[0], F_SETFL, O_NONBLOCK) != 0 ? errno : 0;
}

/* Without a session's network each run has one of its own: no ports are shared then, and nothing is asked. */
static void drop_network(struct agent_context *context) {
    session_namespaces_close(&context->namespaces);
    close_fd(&context->questions);
    port_table_unmap(context->ports);
    context->ports = NULL;
}

static void set_up_network(struct agent_context *context, struct agent_event *ready, int *given) {
    ready->status = make_shared(context, given);
    if (ready->status != 0)
        snprintf(ready->text, sizeof ready->text, "memory and sockets of a session");
    else
        ready->status =
            session_namespaces_make(&context->namespaces, context->ports, ready->text, sizeof ready->text);
    given[READY_FD_GATEWAY] = steal_fd(&context->namespaces.gateway_socket);
    if (ready->status != 0) {
        drop_network(context);
        return;
    }
    ready->flags = READY_NETWORK | (context->namespaces.transparent ? READY_GATEWAY : 0u) |
                   (context->namespaces.mount >= 0 ? READY_MOUNT_PLAN : 0u);
}

/* The descriptors are in flight until the addon reads them, and a user may have too many of those (unix(7)).
 */
static bool send_ready(struct agent *agent, struct agent_event *ready, int *given) {
    size_t size = offsetof(struct agent_event, text) + strlen(ready->text) + 1;
    bool sent = ready->status == 0 && send_with_fds(AGENT_SOCKET_FD, ready, size, given, READY_FD_COUNT) == 0;
    if (!sent && ready->status == 0) {
        ready->status = errno;
        ready->flags = 0;
        snprintf(ready->text, sizeof ready->text, "passing the session's network to the addon");
        drop_network(&agent->context);
    }
    for (size_t i = 0; i < READY_FD_COUNT; i++)
        close_fd(&given[i]);
    return sent || send_event(agent, ready);
}

int agent_main(bool foreground) {
    struct agent agent = {.context.namespaces = SESSION_NAMESPACES_NONE,
                          .context.questions = -1,
                          .look_ns = 1,
                          .terminal = JOB_TERMINAL_NONE};
    int given[READY_FD_COUNT] = {-1, -1, -1};
    struct agent_event ready = {.version = WIRE_VERSION, .type = AGENT_READY};
    syscall(SYS_close_range, AGENT_SOCKET_FD + 1u, ~0u, 0u);
    if (set_up_process(&agent) != 0)
        return 125;
    if (foreground) {
        agent.context.group = getpgid(getppid());
        job_terminal_open(&agent.terminal, agent.context.group);
    }
    set_up_network(&agent.context, &ready, given);
    set_up_files(&agent);
    /* Root keeps what the kernel wants of whoever maps root into a user namespace (user_namespaces(7)): under
     * no_new_privs, as in many containers, bwrap gets it from nowhere else. */
    capabilities_keep(1u << CAP_SETFCAP);
    if (watch(&agent, AGENT_SOCKET_FD, &agent) != 0 || watch(&agent, agent.signals, &agent.signals) != 0 ||
        !send_ready(&agent, &ready, given))
        return 125;
    while (!agent.addon_gone)
        turn(&agent);
    end_runs(&agent);
    return 0;
}
