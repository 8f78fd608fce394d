#include "exec/agent_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/agent_run_internal.h"
#include "exec/diagnostics.h"
#include "exec/launch.h"
#include "exec/leftovers.h"
#include "exec/passfd.h"
#include "exec/supervisor.h"

uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool agent_run_watch(struct agent_run *run, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = run};
    return epoll_ctl(run->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void agent_run_unwatch(const struct agent_run *run, int *fd) {
    if (*fd >= 0)
        epoll_ctl(run->epoll, EPOLL_CTL_DEL, *fd, NULL);
    close_fd(fd);
}

void agent_run_set_failed(struct agent_run *run, const char *step, const char *why) {
    if (run->ended.flags & ENDED_FAILED)
        return;
    run->ended.flags |= ENDED_FAILED;
    snprintf(run->ended.text, sizeof run->ended.text, "%s%s%s", step, why[0] != '\0' ? ": " : "", why);
}

/* A socket on which the other end is known by its pid. */
static int make_socket(int *ours, int *theirs) {
    int pair[2];
    int on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    *ours = pair[0];
    *theirs = pair[1];
    return setsockopt(*ours, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

/* After bwrap, which takes longer to come to the point where the supervisor is needed. */
static void start_supervisor(struct agent_run *run, const struct agent_context *context, const int *start_fds,
                             int stage, const struct launch *plan) {
    const struct supervisor_start start = {.stage = stage,
                                           .payload = start_fds[START_FD_PAYLOAD],
                                           .events = start_fds[START_FD_EVENTS],
                                           .index = context->index,
                                           .mounted_before = plan->mount_plan,
                                           .run = run->id,
                                           .questions = plan->namespaces != NULL ? context->questions : -1,
                                           .ports = run->ports};
    run->supervisor = supervisor_fork(&start);
    if (run->supervisor >= 0)
        return;
    run->supervisor = 0;
    agent_run_set_failed(run, "cannot fork a supervisor (processes of this user)", strerror(errno));
    agent_run_kill(run);
}

static void launch(struct agent_run *run, const struct agent_context *context,
                   const struct agent_request *request, const int *start_fds) {
    bool supervised = (request->flags & START_SUPERVISED) != 0;
    cleanup_fd int stage_end = -1;
    cleanup_fd int supervisor_end = -1;
    cleanup_fd int supervised_end = -1;
    if (make_socket(&run->control, &stage_end) != 0 ||
        (supervised && make_socket(&supervisor_end, &supervised_end) != 0)) {
        agent_run_set_failed(run, "cannot make a socket for a run", strerror(errno));
        return;
    }
    run->diagnostics = diagnostics_make();
    if (run->diagnostics < 0) {
        agent_run_set_failed(run, "cannot set up a run", strerror(errno));
        return;
    }
    /* Before anything is mounted, so that no change after that goes unseen. */
    run->kept = kept_new(context->watch, start_fds[START_FD_PAYLOAD]);
    if (run->kept == NULL) {
        agent_run_set_failed(run, "cannot read a run's payload", strerror(errno));
        return;
    }
    cleanup_fd int door = -1;
    if (run_cost_begin(&run->cost, kept_payload(run->kept), &door) != 0) {
        agent_run_set_failed(run, "cannot make a cgroup for a run", strerror(errno));
        return;
    }
    struct launch plan = {.start_fds = start_fds,
                          .control = stage_end,
                          .supervisor = supervised_end,
                          .diagnostics = run->diagnostics,
                          .control_group = door,
                          .helper = context->helper,
                          .mount_plan = (request->flags & START_MOUNT_PLAN) != 0,
                          .namespaces = (request->flags & START_SESSION) != 0 ? &context->namespaces : NULL,
                          .group = run->foreground ? context->group : 0};
    run->bwrap = launch_run(&plan);
    if (run->bwrap < 0) {
        run->bwrap = 0;
        agent_run_set_failed(run, "cannot fork (processes of this user)", strerror(errno));
        return;
    }
    run->launched = true;
    /* Of a run whose network is its own ports mean nothing to others. */
    run->ports = plan.namespaces != NULL ? context->ports : NULL;
    if (run->ports != NULL)
        port_table_add_run(run->ports, (uint32_t)run->id, run->bwrap);
    /* The supervisor must not hold the stage's end: it waits for the end of that. */
    close_fd(&supervised_end);
    close_fd(&stage_end);
    if (supervised)
        start_supervisor(run, context, start_fds, supervisor_end, &plan);
    if (!agent_run_watch(run, run->control)) {
        agent_run_set_failed(run, "cannot watch a run (epoll watches of this user)", strerror(errno));
        agent_run_kill(run);
    }
}

struct agent_run *agent_run_start(const struct agent_context *context, const struct agent_request *request,
                                  int *start_fds) {
    struct agent_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    run->id = request->run;
    run->epoll = context->epoll;
    run->control = run->stage_pidfd = run->diagnostics = run->listener = -1;
    run->cost = (struct run_cost)RUN_COST_NONE;
    run->deadline_ns = request->deadline_ns;
    run->grace_ms = request->grace_ms;
    run->foreground = (request->flags & START_FOREGROUND) != 0 && context->group > 0;
    run->ended = (struct agent_event){.version = WIRE_VERSION, .type = AGENT_ENDED, .run = run->id};
    if (run->deadline_ns != 0 && run->deadline_ns <= monotonic_ns())
        run->ended.flags |= ENDED_TIMED_OUT;
    else
        launch(run, context, request, start_fds);
    if (!run->launched)
        close_fd(&run->control);
    run->outputs[0] = run->foreground ? -1 : steal_fd(&start_fds[START_FD_STDOUT]);
    run->outputs[1] = run->foreground ? -1 : steal_fd(&start_fds[START_FD_STDERR]);
    return run;
}

/* How long what was killed may take to be gone, before the run is reported without that. */
#define CONFIRM_NS 2000000000u

struct agent_run *agent_run_refused(uint64_t id, const char *why) {
    struct agent_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    run->id = id;
    run->control = run->stage_pidfd = run->diagnostics = run->listener = -1;
    run->outputs[0] = run->outputs[1] = -1;
    run->cost = (struct run_cost)RUN_COST_NONE;
    run->ended = (struct agent_event){.version = WIRE_VERSION, .type = AGENT_ENDED, .run = id};
    agent_run_set_failed(run, why, "");
    return run;
}

/* How long bwrap may take to bring up a stage that finds its socket shut, before it is killed. */
#define START_UP_NS 500000000u

/*
 * A bwrap that is killed between its clone and its id maps leaves a child that waits for ever: before the
 * stage has said hello the run is only cut off, and its stage ends by itself.
 */
static void cut_off(struct agent_run *run) {
    run->cut_off = true;
    shutdown(run->control, SHUT_RDWR);
    run->kill_at_ns = monotonic_ns() + START_UP_NS;
}

void agent_run_kill(struct agent_run *run) {
    run->stopping = true;
    run->kill_at_ns = 0;
    /* A child of bwrap's that could not be found: the run ends without it. */
    if (agent_run_is_orphaned(run))
        agent_run_unwatch(run, &run->control);
    if (run->stage_pidfd >= 0)
        syscall(SYS_pidfd_send_signal, run->stage_pidfd, SIGKILL, NULL, 0);
    else if (!run->greeted && !run->cut_off && run->control >= 0) {
        cut_off(run);
        return;
    }
    if (run->bwrap > 0)
        kill(run->bwrap, SIGKILL);
    if (run->remounter > 0)
        kill(run->remounter, SIGKILL);
    if (run->give_up_ns == 0)
        run->give_up_ns = monotonic_ns() + CONFIRM_NS;
}

static bool ask_stage(const struct agent_run *run, const struct stage_request *request) {
    return run->control >= 0 && send(run->control, request, sizeof *request, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                                    (ssize_t)sizeof *request;
}

/* It may be there before the stage, which reads it once there is a command. */
void agent_run_signal(struct agent_run *run, int number) {
    const struct stage_request request = {.signal = number, .passed_on = 1};
    ask_stage(run, &request);
}

static void stop_by(struct agent_run *run, int signal, uint32_t grace_ms) {
    if (run->stopping)
        return;
    run->stopping = true;
    const struct stage_request request = {.signal = signal};
    if (run->stage_pidfd >= 0 && ask_stage(run, &request))
        run->kill_at_ns = monotonic_ns() + (uint64_t)grace_ms * 1000000u;
    else
        agent_run_kill(run);
}

void agent_run_stop(struct agent_run *run) {
    stop_by(run, SIGTERM, run->grace_ms);
}

/* What the kernel lets pass between the soft and the hard limit of one process, where those are a second
 * apart. */
#define OVER_TIME_GRACE_MS 1000u

/* Something that was killed does not go: it hangs in the kernel, or a tracer outside keeps it. */
static void give_up(struct agent_run *run) {
    if (run->given_up || run->reported)
        return;
    run->given_up = true;
    run->ended.flags |= ENDED_UNCONFIRMED;
    if (!run->has_status)
        run->ended.status = 128 + SIGKILL;
}

void agent_run_tick(struct agent_run *run, uint64_t now) {
    if (run->deadline_ns != 0 && run->deadline_ns <= now) {
        run->deadline_ns = 0;
        if (!run->has_status && !run->stopping) {
            run->ended.flags |= ENDED_TIMED_OUT;
            agent_run_stop(run);
        }
    }
    int ending = run_cost_look(&run->cost, now);
    if (ending == SIGXCPU && !run->has_status)
        stop_by(run, SIGXCPU, OVER_TIME_GRACE_MS < run->grace_ms ? OVER_TIME_GRACE_MS : run->grace_ms);
    else if (ending == SIGKILL)
        agent_run_kill(run);
    if (run->kill_at_ns != 0 && run->kill_at_ns <= now)
        agent_run_kill(run);
    if (run->give_up_ns != 0 && run->give_up_ns <= now)
        give_up(run);
}

static uint64_t earlier(uint64_t left, uint64_t right) {
    return left == 0 || (right != 0 && right < left) ? right : left;
}

uint64_t agent_run_due(const struct agent_run *run) {
    if (run->reported)
        return 0;
    uint64_t due = earlier(run->kill_at_ns, run->given_up ? 0 : run->give_up_ns);
    return earlier(earlier(run->deadline_ns, run->cost.look_ns), due);
}

void agent_run_stage_gone(struct agent_run *run) {
    agent_run_unwatch(run, &run->stage_pidfd);
}

void agent_run_bwrap_gone(struct agent_run *run, int wait_status, const struct rusage *usage) {
    if (run->ports != NULL)
        port_table_remove_run(run->ports, (uint32_t)run->id, run->bwrap);
    run->bwrap = 0;
    agent_run_hear(run);
    run->ended.flags |= run_cost_finish(&run->cost, run->ended.status, usage);
    if (agent_run_is_orphaned(run))
        run->kill_at_ns = monotonic_ns() + START_UP_NS;
    /* Killed from outside: the stage goes with it. */
    if (run->stage_pidfd >= 0 && syscall(SYS_pidfd_send_signal, run->stage_pidfd, SIGKILL, NULL, 0) != 0)
        agent_run_stage_gone(run); /* reaped by bwrap: also where the watch failed */
    if (run->has_status || run->ended.flags & ENDED_FAILED)
        return;
    if (run->stopping) {
        if (!run->greeted || run->cut_off)
            run->ended.flags |= ENDED_UNSTARTED;
        run->ended.status = 128 + SIGKILL;
        return;
    }
    char said[512];
    char how[64];
    diagnostics_read(run->diagnostics, said, sizeof said);
    if (WIFSIGNALED(wait_status))
        snprintf(how, sizeof how, "bwrap was killed by signal %d", WTERMSIG(wait_status));
    else
        snprintf(how, sizeof how, "bwrap ended with code %d", WEXITSTATUS(wait_status));
    agent_run_set_failed(run, said[0] != '\0' ? said : how, "");
}

void agent_run_supervisor_gone(struct agent_run *run, int wait_status) {
    /* Stopped by somebody, it would hold up every call of the command. */
    if (WIFSTOPPED(wait_status))
        kill(run->supervisor, SIGKILL);
    else
        run->supervisor = 0;
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return;
    run->unchecked = run->supervisor == 0;
    agent_run_hear(run);
    if (run->has_status || run->stopping)
        return;
    agent_run_set_failed(run, "the run's supervisor ended unexpectedly", "");
    agent_run_kill(run);
}

/* Files of the host are open to the command: it must not go on. */
static void end_open_run(struct agent_run *run, const char *why) {
    if (run->has_status || run->stage_pidfd < 0)
        return;
    if (!run->stopping)
        agent_run_set_failed(run, "a change on the host took a mount away", why);
    agent_run_kill(run);
}

void agent_run_restore(struct agent_run *run) {
    bool is_open = run->stage_pidfd >= 0 && !run->has_status;
    if (!is_open || run->kept == NULL || run->remounter > 0 || !kept_is_due(run->kept))
        return;
    run->remounter = kept_restore(run->kept, run->stage, run->stage_pidfd);
    if (run->remounter > 0)
        return;
    run->remounter = 0;
    end_open_run(run, strerror(errno));
}

void agent_run_restored(struct agent_run *run, int wait_status) {
    if (WIFSTOPPED(wait_status)) {
        kill(run->remounter, SIGKILL);
        return;
    }
    run->remounter = 0;
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0)
        return;
    const char *why = kept_why(run->kept);
    agent_run_hear(run);
    end_open_run(run, why[0] != '\0' ? why : "the child that was to restore it was killed");
}

bool agent_run_is_orphaned(const struct agent_run *run) {
    return run->launched && run->bwrap == 0 && run->stage_pidfd < 0 && !run->has_status;
}

static void close_outputs(struct agent_run *run) {
    close_fd(&run->outputs[0]);
    close_fd(&run->outputs[1]);
}

static bool inside_is_gone(const struct agent_run *run) {
    return run->control < 0 && run->stage_pidfd < 0;
}

static bool is_checked(const struct agent_run *run) {
    return !run->unchecked && run->checker == 0;
}

bool agent_run_gone(const struct agent_run *run) {
    return !run->launched || (inside_is_gone(run) && run->bwrap == 0 && run->supervisor == 0 &&
                              run->remounter == 0 && is_checked(run));
}

/* Where no child can be had, the end of a later run looks at it as well. */
void agent_run_check(struct agent_run *run, struct session_index *index) {
    if (!run->unchecked || !inside_is_gone(run) || run->bwrap != 0)
        return;
    run->unchecked = false;
    run->checker = index == NULL ? 0 : leftovers_fork(index);
    if (run->checker < 0)
        run->checker = 0;
}

bool agent_run_over(struct agent_run *run) {
    bool outcome_known = run->bwrap == 0 || (run->has_status && !cost_limits_any(&run->cost.limits)) ||
                         (run->ended.flags & ENDED_FAILED) != 0;
    if (run->launched && !run->given_up && !(inside_is_gone(run) && outcome_known && is_checked(run)))
        return false;
    bool was_started = run->foreground ? run->starting : run->greeted;
    if (!was_started && (run->ended.flags & ENDED_FAILED) != 0)
        run->ended.flags |= ENDED_UNSTARTED;
    close_outputs(run);
    return true;
}

void agent_run_free(struct agent_run *run) {
    agent_run_unwatch(run, &run->control);
    agent_run_unwatch(run, &run->stage_pidfd);
    close_fd(&run->diagnostics);
    close_fd(&run->listener);
    close_outputs(run);
    kept_free(run->kept);
    run_cost_clear(&run->cost);
    free(run);
}
