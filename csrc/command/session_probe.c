/* What the host can do: which rung of a ladder holds. */
#include <string.h>

#include "command/session_internal.h"

#define PROBE_TIMEOUT_MS 10000.0

static const struct options no_options = {0};

static void probe_next(struct session *session);

static void on_probe_done(void *data, const struct run_result *result) {
    struct session *session = data;
    if (session->state != SESSION_PROBING)
        return;
    if (result->err == NULL && result->has_exit_code && result->exit_code == 0) {
        if (result->unsupervised != NULL)
            backend_learn(session->backend, result->unsupervised, result->unfiltered);
        session->probed = true;
        session_network_choose(session);
        session_settle_start(session);
        return;
    }
    if (result->err == NULL && result->timed_out) {
        session_fail_start(session, "a probe of bwrap did not end in time");
        return;
    }
    if (session->probe_error.kind == ERROR_NONE) {
        error_set(&session->probe_error, ERROR_HOST, 0, "%s",
                  result->err != NULL ? result->err->text : "a probe of bwrap failed");
    }
    session->rung++;
    probe_next(session);
}

/* A run without a command: the whole way into the sandbox, its checks, and out again. */
static void probe_next(struct session *session) {
    if (!backend_choose(session->backend, &session->rung)) {
        session_fail_start(session, session->probe_error.text);
        return;
    }
    struct run_request request = {.machine_cwd = strdup(session->tmpdir),
                                  .cwd = strdup("/"),
                                  .options = &no_options,
                                  .timeout_ms = PROBE_TIMEOUT_MS,
                                  .on_done = on_probe_done,
                                  .data = session};
    struct error err = {0};
    if (session_run(session, &request, &err) == 0)
        session_fail_start(session, err.text);
}

/* Without a probe: the best that the backend has made room for. */
static void take_best(struct session *session) {
    if (!backend_choose(session->backend, &session->rung)) {
        session_fail_start(session, session->probe_error.text);
        return;
    }
    session->probed = true;
    session_network_choose(session);
    session_settle_start(session);
}

void session_find_features(struct session *session) {
    if (session->unprobed)
        take_best(session);
    else
        probe_next(session);
}

bool session_probe(struct session *session, session_started_fn started, void *data) {
    if (!session->unprobed || session->state != SESSION_READY)
        return false;
    session->unprobed = session->probed = false;
    session->state = SESSION_PROBING;
    session->started = started;
    session->started_data = data;
    session_hold_loop(session);
    probe_next(session);
    return true;
}
