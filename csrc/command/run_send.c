/* What the backend is told of a run: its start, its stop, signals for it. */
#include <errno.h>

#include "command/run_internal.h"
#include "command/session_internal.h"

static void enter_network(struct run *run) {
    if (run->in_network || run->request.argv.count == 0)
        return;
    run->in_network = true;
    session_network_run_started(run->session, run->start.id);
}

/* False: not now. */
static bool send_signals(struct run *run) {
    for (int number = 1; run->signals_unsent != 0 && number <= 64; number++) {
        const uint64_t bit = (uint64_t)1 << (number - 1);
        if ((run->signals_unsent & bit) == 0)
            continue;
        if (backend_signal(run->session->backend, run->start.id, number) == -EAGAIN)
            return false;
        run->signals_unsent &= ~bit;
    }
    return true;
}

/* False: not now. */
static bool send_start(struct run *run) {
    const char *what = NULL;
    enter_network(run);
    int failed = backend_start(run->session->backend, &run->start, &what);
    if (failed == -EAGAIN)
        return false;
    run->state = RUN_RUNNING;
    backend_unprepare(run->session->backend, &run->start);
    run_close_command_ends(run);
    if (failed != 0)
        run_fail_errno(run, -failed, what);
    return failed != 0 || send_signals(run);
}

bool run_flush(struct run *run) {
    /* The run may be gone after this. A stop of one that waits has ended it already, so there is none to
     * send. */
    if (run->state == RUN_WAITING)
        return send_start(run);
    if (run->state == RUN_RUNNING && !send_signals(run))
        return false;
    if (run->state == RUN_RUNNING && run->stop_unsent)
        run->stop_unsent = backend_stop(run->session->backend, run->start.id) == -EAGAIN;
    return run->state != RUN_RUNNING || !run->stop_unsent;
}

void run_stop(struct run *run) {
    if (run->stop_wanted || run->state == RUN_ENDING || run->state == RUN_DONE)
        return;
    run->stop_wanted = run->stop_unsent = true;
    if (run->state == RUN_PREPARING || run->state == RUN_WAITING)
        run_finish_unstarted(run, false);
    else if (run->state == RUN_RUNNING)
        run_flush(run);
}

void run_signal(struct run *run, int number) {
    if (number < 1 || number > 64 || run->state == RUN_ENDING || run->state == RUN_DONE)
        return;
    run->signals_unsent |= (uint64_t)1 << (number - 1);
    if (run->state == RUN_RUNNING)
        run_flush(run);
}
