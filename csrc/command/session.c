#include "command/session.h"

#include <stdlib.h>
#include <string.h>

#include "command/session_internal.h"

static void session_free(struct session *session) {
    backend_free(session->backend);
    free(session->tmpdir);
    session_network_clear(&session->net);
    path_memory_free(session->memory);
    glob_cache_free(session->globs);
    free(session);
}

/* The loop is held by what somebody waits for, and by nothing else: an idle sandbox keeps no process alive.
 */
void session_hold_loop(struct session *session) {
    backend_hold(session->backend,
                 session->state == SESSION_PROBING || session->runs != NULL || session->net.exposing > 0);
}

/* The end of dispose: runs, handles and the backend are gone. */
void session_settle_dispose(struct session *session) {
    if (session->state != SESSION_DISPOSED || session->open_handles > 0 || session->runs != NULL ||
        session->opening_now || backend_handles(session->backend) > 0)
        return;
    const struct collector *tally = &session->net.unattributed;
    session_disposed_fn disposed = session->disposed;
    disposed(session->disposed_data, tally->repeated, tally->repeated_count, tally->dropped);
    session_free(session);
}

void session_forget(struct session *session, struct run *run) {
    if (session->runs == run) {
        session->runs = run_next(run);
    } else {
        for (struct run *at = session->runs; at != NULL; at = run_next(at))
            if (run_next(at) == run) {
                run_set_next(at, run_next(run));
                break;
            }
    }
    session_hold_loop(session);
    session_settle_dispose(session);
}

const char *session_failure(const struct session *session) {
    switch (session->state) {
    case SESSION_DISPOSED:
        return "the sandbox was disposed";
    case SESSION_BROKEN:
        return "the sandbox's agent ended unexpectedly";
    case SESSION_OPENING:
    case SESSION_PROBING:
    case SESSION_READY:
        break;
    }
    return NULL;
}

static void fail_runs(struct session *session) {
    struct error err;
    error_set(&err, ERROR_HOST, 0, "%s", session_failure(session));
    for (struct run *run = session->runs; run != NULL;) {
        uint64_t ended = session->ended;
        run_fail(run, &err);
        run = session->ended == ended ? run_next(run) : session->runs;
    }
}

static void report_start(struct session *session, const struct error *err) {
    session_started_fn started = session->started;
    session->started = NULL;
    if (started != NULL)
        started(session->started_data, err);
}

/* --- the backend's calls --- */

static void on_backend_closed(void *data) {
    session_settle_dispose(data);
}

/* Now results may say so. */
static void on_backend_gone(void *data) {
    struct session *session = data;
    const bool starting = session->state == SESSION_PROBING;
    if (session->state != SESSION_DISPOSED)
        session->state = SESSION_BROKEN;
    fail_runs(session);
    session_network_close(session);
    struct error err;
    error_set(&err, ERROR_HOST, 0, "%s", session_failure(session));
    if (starting)
        report_start(session, &err);
}

static void on_writable(void *data) {
    struct session *session = data;
    for (struct run *run = session->runs; run != NULL;) {
        uint64_t ended = session->ended;
        if (!run_flush(run))
            return;
        run = session->ended == ended ? run_next(run) : session->runs;
    }
}

static void on_ready(void *data, const struct error *gap, struct backend_network *network) {
    struct session *session = data;
    if (gap->kind != ERROR_NONE)
        session->probe_error = *gap;
    session_network_take(session, network);
    session_find_features(session);
}

static void on_listener(void *data, uint64_t run, int fd) {
    session_network_add_listener(data, run, fd);
}

static struct run *find_run(const struct session *session, uint64_t id) {
    struct run *run = session->runs;
    while (run != NULL && run_id(run) != id)
        run = run_next(run);
    return run;
}

static void on_ended(void *data, uint64_t id, const struct run_end *end) {
    struct run *run = find_run(data, id);
    if (run != NULL)
        run_ended(run, end);
}

static void on_violation(void *data, uint64_t id, const struct violation *violation) {
    struct run *run = find_run(data, id);
    if (run != NULL)
        run_note(run, violation);
}

/* --- its start --- */

void session_fail_start(struct session *session, const char *text) {
    struct error err;
    backend_explain(text, &err);
    session->state = SESSION_BROKEN;
    session_hold_loop(session);
    report_start(session, &err);
}

void session_settle_start(struct session *session) {
    if (session->state != SESSION_PROBING || !session->probed || !session_network_is_settled(session))
        return;
    session->state = SESSION_READY;
    session_hold_loop(session);
    report_start(session, NULL);
}

/* On a thread of the pool. */
static void open_session(uv_work_t *work) {
    struct session *session = work->data;
    backend_open(session->backend, &session->opening_error);
}

static void on_opened(uv_work_t *work, int status) {
    (void)status;
    struct session *session = work->data;
    session->opening_now = false;
    const bool disposed = session->state == SESSION_DISPOSED;
    if (session->opening_error.kind != ERROR_NONE) {
        if (disposed) {
            session_settle_dispose(session);
            return;
        }
        session->state = SESSION_BROKEN;
        /* The caller may dispose of the session in there: it is gone then. */
        report_start(session, &session->opening_error);
        return;
    }
    const struct backend_calls calls = {.ready = on_ready,
                                        .listener = on_listener,
                                        .ended = on_ended,
                                        .violation = on_violation,
                                        .writable = on_writable,
                                        .gone = on_backend_gone,
                                        .closed = on_backend_closed,
                                        .data = session};
    int failed = backend_begin(session->backend, session->loop, &calls);
    if (disposed) {
        backend_close(session->backend);
        session_settle_dispose(session);
        return;
    }
    session->state = SESSION_PROBING;
    session_hold_loop(session);
    if (failed != 0)
        session_fail_start(session, uv_strerror(failed));
}

static struct backend *make_backend(const struct session *session, const struct session_config *config) {
    if (session->memory == NULL || session->globs == NULL)
        return NULL;
    return backend_new(&(struct backend_config){.helper = config->helper,
                                                .home = config->home,
                                                .account_home = config->account_home,
                                                .tmpdir = config->tmpdir,
                                                .search_path = config->search_path,
                                                .foreground = config->foreground,
                                                .limits = config->options->limits,
                                                .memory = session->memory,
                                                .globs = session->globs});
}

struct session *session_start(uv_loop_t *loop, const struct session_config *config,
                              session_started_fn started, void *data, struct error *err) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        error_memory(err);
        return NULL;
    }
    *session = (struct session){.loop = loop,
                                .state = SESSION_OPENING,
                                .tmpdir = strdup(config->tmpdir),
                                .memory = path_memory_new(),
                                .globs = glob_cache_new(),
                                .unprobed = config->unprobed,
                                .started = started,
                                .started_data = data};
    session->opening.data = session;
    session->backend = make_backend(session, config);
    if (session->tmpdir == NULL || session->backend == NULL)
        error_memory(err);
    else if (session_network_init(session, config, err) != 0)
        ; /* err says why */
    else if (uv_queue_work(loop, &session->opening, open_session, on_opened) != 0)
        error_set(err, ERROR_HOST, 0, "uv_queue_work");
    else
        session->opening_now = true;
    if (session->opening_now)
        return session;
    session_free(session);
    return NULL;
}

const char *session_degradation(const struct session *session) {
    return session->probe_error.text;
}

const struct backend *session_backend(const struct session *session) {
    return session->backend;
}

/* Oldest first: that is the order in which waiting ones are sent. */
static void append_run(struct session *session, struct run *run) {
    struct run *last = session->runs;
    while (last != NULL && run_next(last) != NULL)
        last = run_next(last);
    if (last == NULL)
        session->runs = run;
    else
        run_set_next(last, run);
}

uint64_t session_run(struct session *session, struct run_request *request, struct error *err) {
    if (session_failure(session) != NULL) {
        error_set(err, ERROR_HOST, 0, "%s", session_failure(session));
        run_request_clear(request);
        return 0;
    }
    if (request->cwd == NULL || request->machine_cwd == NULL) {
        run_request_clear(request);
        error_memory(err);
        return 0;
    }
    uint64_t id = session->last_run + 1;
    if ((uint32_t)id == 0) /* that means nobody where a run is known by its low bits (exec/port_table.h) */
        id++;
    struct run *run = run_create(session, id, request);
    if (run == NULL) {
        run_request_clear(request);
        error_memory(err);
        return 0;
    }
    session->last_run = id;
    append_run(session, run);
    run_prepare(run);
    session_hold_loop(session);
    return session->last_run;
}

void session_stop(struct session *session, uint64_t id) {
    struct run *run = find_run(session, id);
    if (run != NULL)
        run_stop(run);
}

void session_signal(struct session *session, uint64_t id, int number) {
    struct run *run = find_run(session, id);
    if (run != NULL)
        run_signal(run, number);
}

void session_dispose(struct session *session, session_disposed_fn disposed, void *data) {
    session->state = SESSION_DISPOSED;
    session->started = NULL;
    session->disposed = disposed;
    session->disposed_data = data;
    /* What a thread of the pool still opens is closed when it has. */
    if (!session->opening_now)
        backend_close(session->backend);
    session_settle_dispose(session);
}
