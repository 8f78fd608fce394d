/* What the agent is told of a run: its start, its stop, signals for it. */
#include <errno.h>

#include "base/cleanup.h"
#include "command/run.h"
#include "exec/payload.h"
#include "platform/linux/backend_internal.h"
#include "platform/linux/prepare.h"

#define NO_HOME "/nonexistent"

bool backend_has_event_pipe(const struct backend *backend) {
    (void)backend;
    return true;
}

int backend_prepare(struct backend *backend, struct backend_run *run, struct strvec *warnings,
                    struct error *err) {
    const struct backend_config *config = &backend->config;
    struct run_request *asked = run->request;
    /* What a command of an earlier process left in the home must not decide whether there is a sandbox. */
    const bool is_probe = asked->argv.count == 0;
    struct prepare_request request = {.bwrap = backend->bwrap,
                                      .features = backend->features,
                                      .options = asked->options,
                                      .supervision_allowed =
                                          backend->supervision | (is_probe ? SUPERVISE_OPTIONAL : 0u),
                                      .place = {.home = is_probe ? NO_HOME : config->home,
                                                .account_home = is_probe ? NULL : config->account_home,
                                                .tmpdir = config->tmpdir,
                                                .cwd = asked->machine_cwd,
                                                .additional_dirs = &asked->additional_dirs,
                                                .memory = config->memory,
                                                .globs = config->globs},
                                      .cwd = asked->cwd,
                                      .argv = asked->argv,
                                      .env = asked->env,
                                      .own_env = &asked->own_env,
                                      .control_groups = is_probe ? NULL : &backend->control_groups,
                                      .proxy = run->proxy,
                                      .every_client = run->every_client,
                                      .own_proxy = run->proxy != NULL && !backend->features.session_network};
    int failed = prepare_run(&request, &run->payload, warnings, err);
    asked->env = request.env;
    return failed;
}

static int or_null(const struct backend *backend, int fd) {
    return fd >= 0 ? fd : backend->null_fd;
}

int backend_start(struct backend *backend, struct backend_run *run, const char **what) {
    const struct bwrap_features *features = &backend->features;
    const int fds[START_FD_COUNT] = {
        [START_FD_PAYLOAD] = run->payload,
        [START_FD_STDIN] = or_null(backend, run->stdio[0]),
        [START_FD_STDOUT] = or_null(backend, run->stdio[1]),
        [START_FD_STDERR] = or_null(backend, run->stdio[2]),
        [START_FD_EVENTS] = or_null(backend, run->events),
    };
    const struct agent_request request = {.version = WIRE_VERSION,
                                          .type = AGENT_START,
                                          .run = run->id,
                                          .deadline_ns = run->deadline_ns,
                                          .grace_ms = run->request->grace_ms,
                                          .flags = (features->session_network ? START_SESSION : 0u) |
                                                   (features->mounted_before ? START_MOUNT_PLAN : 0u) |
                                                   (run->request->foreground ? START_FOREGROUND : 0u) |
                                                   (backend_is_supervised(backend) ? START_SUPERVISED : 0u)};
    int failed = backend_send(backend, &request, fds);
    *what = failed == -ETOOMANYREFS
                ? "cannot pass descriptors to the agent (descriptors in flight of this user)"
                : "cannot reach the agent";
    return failed;
}

void backend_unprepare(struct backend *backend, struct backend_run *run) {
    (void)backend;
    close_fd(&run->payload);
}

/* An agent that is gone says so itself. */
static int tell(struct backend *backend, const struct agent_request *request) {
    return backend_send(backend, request, NULL) == -EAGAIN ? -EAGAIN : 0;
}

int backend_stop(struct backend *backend, uint64_t run) {
    const struct agent_request request = {.version = WIRE_VERSION, .type = AGENT_STOP, .run = run};
    return tell(backend, &request);
}

int backend_signal(struct backend *backend, uint64_t run, int number) {
    const struct agent_request request = {
        .version = WIRE_VERSION, .type = AGENT_SIGNAL, .run = run, .signal = number};
    return tell(backend, &request);
}

unsigned backend_ending_wait(const struct backend *backend, const struct run_end *end, bool has_violations) {
    (void)backend;
    (void)end;
    (void)has_violations;
    return 0;
}
