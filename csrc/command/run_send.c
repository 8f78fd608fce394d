/* What the agent is told of a run: its start, its stop, signals for it. */
#include <errno.h>

#include "base/cleanup.h"
#include "command/run_internal.h"
#include "command/session_internal.h"
#include "exec/wire.h"

static void enter_network(struct run *run) {
    if (run->in_network || run->request.argv.count == 0)
        return;
    run->in_network = true;
    session_network_run_started(run->session, run->id);
}

static int or_null(const struct run *run, int fd) {
    return fd >= 0 ? fd : run->session->null_fd;
}

/* False: the socket is full. */
static bool send_signals(struct run *run) {
    for (int number = 1; run->signals_unsent != 0 && number <= 64; number++) {
        const uint64_t bit = (uint64_t)1 << (number - 1);
        struct agent_request request = {
            .version = WIRE_VERSION, .type = AGENT_SIGNAL, .run = run->id, .signal = number};
        if ((run->signals_unsent & bit) == 0)
            continue;
        if (agent_send(&run->session->agent, &request, NULL) == -EAGAIN)
            return false;
        run->signals_unsent &= ~bit;
    }
    return true;
}

/* False: the socket is full. */
static bool send_start(struct run *run) {
    const struct bwrap_features *features = &run->session->features;
    const int fds[START_FD_COUNT] = {
        [START_FD_PAYLOAD] = run->payload,
        [START_FD_STDIN] = or_null(run, run->command_fds[0]),
        [START_FD_STDOUT] = or_null(run, run->command_fds[1 + RUN_STDOUT]),
        [START_FD_STDERR] = or_null(run, run->command_fds[1 + RUN_STDERR]),
        [START_FD_EVENTS] = or_null(run, run->command_events_fd),
    };
    struct agent_request request = {.version = WIRE_VERSION,
                                    .type = AGENT_START,
                                    .run = run->id,
                                    .deadline_ns = run->deadline_ns,
                                    .grace_ms = run->request.grace_ms,
                                    .flags = (features->session_network ? START_SESSION : 0u) |
                                             (features->mounted_before ? START_MOUNT_PLAN : 0u) |
                                             (run->request.foreground ? START_FOREGROUND : 0u) |
                                             (session_is_supervised(run->session) ? START_SUPERVISED : 0u)};
    enter_network(run);
    int failed = agent_send(&run->session->agent, &request, fds);
    if (failed == -EAGAIN)
        return false;
    run->state = RUN_RUNNING;
    close_fd(&run->payload);
    run_close_command_ends(run);
    if (failed == -ETOOMANYREFS)
        run_fail_errno(run, -failed,
                       "cannot pass descriptors to the agent (descriptors in flight of this user)");
    else if (failed != 0)
        run_fail_errno(run, -failed, "cannot reach the agent");
    return failed != 0 || send_signals(run);
}

bool run_flush(struct run *run) {
    /* The run may be gone after this. A stop of one that waits has ended it already, so there is none to
     * send. */
    if (run->state == RUN_WAITING)
        return send_start(run);
    if (run->state == RUN_RUNNING && !send_signals(run))
        return false;
    if (run->state == RUN_RUNNING && run->stop_unsent) {
        struct agent_request request = {.version = WIRE_VERSION, .type = AGENT_STOP, .run = run->id};
        run->stop_unsent = agent_send(&run->session->agent, &request, NULL) == -EAGAIN;
    }
    return run->state != RUN_RUNNING || !run->stop_unsent;
}

void run_stop(struct run *run) {
    if (run->stop_wanted || run->state == RUN_ENDING || run->state == RUN_DONE)
        return;
    run->stop_wanted = run->stop_unsent = true;
    if (run->state == RUN_PREPARING || run->state == RUN_WAITING)
        run_finish_unstarted(run, false);
    else if (run->state == RUN_RUNNING && !run_flush(run))
        session_await_writable(run->session);
}

void run_signal(struct run *run, int number) {
    if (number < 1 || number > 64 || run->state == RUN_ENDING || run->state == RUN_DONE)
        return;
    run->signals_unsent |= (uint64_t)1 << (number - 1);
    if (run->state == RUN_RUNNING && !run_flush(run))
        session_await_writable(run->session);
}
