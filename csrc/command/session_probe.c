/* What the host can do: which rung of a ladder holds. */
#include <string.h>

#include "command/session_internal.h"
#include "exec/payload.h"

/* What is tried, best first; the first that runs a probe is what every run gets. */
static const struct bwrap_features variants[] = {
    {.session_network = true, .mounted_before = true, .disable_userns = true, .fresh_proc = true},
    {.session_network = true, .mounted_before = true, .disable_userns = false, .fresh_proc = true},
    {.session_network = true, .mounted_before = true, .disable_userns = false, .fresh_proc = false},
    {.session_network = true, .mounted_before = false, .disable_userns = true, .fresh_proc = true},
    {.session_network = true, .mounted_before = false, .disable_userns = false, .fresh_proc = true},
    {.session_network = true, .mounted_before = false, .disable_userns = false, .fresh_proc = false},
    {.session_network = false, .mounted_before = false, .disable_userns = true, .fresh_proc = true},
    {.session_network = false, .mounted_before = false, .disable_userns = false, .fresh_proc = true},
    {.session_network = false, .mounted_before = false, .disable_userns = false, .fresh_proc = false},
};
#define VARIANTS (sizeof variants / sizeof variants[0])

#define PROBE_TIMEOUT_MS 10000.0

static const struct options no_options = {0};

static void probe_next(struct session *session);

static void take_supervision(struct session *session, const struct run_result *result) {
    if (result->unsupervised == NULL)
        return;
    session->supervision = result->unfiltered ? SUPERVISE_UNFILTERED : 0;
    error_set(&session->supervision_error, ERROR_HOST, 0, "%s", result->unsupervised);
}

static void on_probe_done(void *data, const struct run_result *result) {
    struct session *session = data;
    if (session->state != SESSION_PROBING)
        return;
    if (result->err == NULL && result->has_exit_code && result->exit_code == 0) {
        take_supervision(session, result);
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
    session->probe++;
    probe_next(session);
}

/* The agent could not make what the variant needs. */
static bool is_out_of_reach(const struct session *session, const struct bwrap_features *variant) {
    return (variant->session_network && !session->has_namespaces) ||
           (variant->mounted_before && !session->has_mounts);
}

/* A run without a command: the whole way into the sandbox, its checks, and out again. */
static void probe_next(struct session *session) {
    while (session->probe < VARIANTS && is_out_of_reach(session, &variants[session->probe]))
        session->probe++;
    if (session->probe >= VARIANTS) {
        session_fail_start(session, session->probe_error.text);
        return;
    }
    session->features = variants[session->probe];
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

/* Without a probe: the best that the agent has made room for. */
static void take_best(struct session *session) {
    while (session->probe + 1 < VARIANTS && is_out_of_reach(session, &variants[session->probe]))
        session->probe++;
    session->features = variants[session->probe];
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
