/* What a run's stage says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/agent_run_internal.h"
#include "exec/passfd.h"

void agent_run_listener_failed(struct agent_run *run, const char *why) {
    close_fd(&run->listener);
    if (run->has_status || run->stopping)
        return;
    agent_run_set_failed(run, "cannot pass a run's proxy listener on", why);
    agent_run_kill(run);
}

/* fd: what came along, which is taken. */
static void hear_event(struct agent_run *run, const struct stage_event *event, pid_t sender, int *fd) {
    switch (event->type) {
    case STAGE_HELLO:
        run->greeted = true;
        /* Once bwrap was reaped the pid may be another's; closing the socket is what ends such a stage. */
        if (run->stage_pidfd >= 0 || sender <= 0 || run->bwrap == 0)
            break;
        run->stage = sender;
        run->stage_pidfd = (int)syscall(SYS_pidfd_open, sender, 0);
        if (run->stage_pidfd >= 0 && !agent_run_watch(run, run->stage_pidfd))
            close_fd(&run->stage_pidfd);
        /* Killed from outside it may be gone already. */
        if (run_cost_started(&run->cost, sender, monotonic_ns()) != 0 && errno != ENOENT && errno != ESRCH) {
            agent_run_set_failed(run, "cannot see a run's processes", strerror(errno));
            agent_run_kill(run);
        }
        break;
    case STAGE_EXIT:
        run->has_status = true;
        run->ended.status = event->status;
        run->ended.signal = event->signal;
        break;
    case STAGE_STARTS:
        run->starting = true;
        break;
    case STAGE_STOPPED:
        run->stopped_itself = true;
        break;
    case STAGE_ERROR:
        agent_run_set_failed(run, event->text, "");
        break;
    case STAGE_UNFILTERED:
        run->ended.flags |= ENDED_UNFILTERED;
        run->ended.flags |= ENDED_UNSUPERVISED;
        snprintf(run->ended.text, sizeof run->ended.text, "%s", event->text);
        break;
    case STAGE_UNSUPERVISED:
        run->ended.flags |= ENDED_UNSUPERVISED;
        snprintf(run->ended.text, sizeof run->ended.text, "%s", event->text);
        break;
    case STAGE_EMPTY_CACHE:
        run->ended.flags |= ENDED_EMPTY_CACHE;
        snprintf(run->ended.text, sizeof run->ended.text, "%s", event->text);
        break;
    case STAGE_LISTENER:
        close_fd(&run->listener);
        run->listener = steal_fd(fd);
        if (run->listener < 0)
            agent_run_listener_failed(run, "the agent is out of descriptors (open files)");
        break;
    default:
        agent_run_set_failed(run, "a message of an unknown kind from the stage", "");
    }
}

void agent_run_hear(struct agent_run *run) {
    while (run->control >= 0) {
        struct stage_event event = {0};
        pid_t sender;
        cleanup_fd int fd = -1;
        ssize_t got = receive_with_pid_and_fd(run->control, &event, sizeof event - 1, &sender, &fd);
        if (got > 0)
            hear_event(run, &event, sender, &fd);
        else if (got < 0 && errno == EAGAIN)
            return;
        /* It ended without reading what it was asked: told once, before what it has said. */
        else if (!(got < 0 && errno == ECONNRESET))
            agent_run_unwatch(run, &run->control);
    }
}
