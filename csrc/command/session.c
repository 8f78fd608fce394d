#include "command/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "command/session_internal.h"
#include "exec/payload.h"
#include "platform/linux/find_bwrap.h"
#include "platform/linux/host_check.h"

static void session_free(struct session *session) {
    free(session->helper);
    free(session->home);
    free(session->account_home);
    free(session->tmpdir);
    free(session->search_path);
    free(session->bwrap);
    free(session->control_groups.folder);
    session_network_clear(&session->net);
    path_memory_free(session->memory);
    glob_cache_free(session->globs);
    close_fd(&session->null_fd);
    close_fd(&session->agent.socket);
    close_fd(&session->agent.pidfd);
    free(session);
}

/* The loop is held by what somebody waits for, and by nothing else: an idle sandbox keeps no process alive.
 */
void session_hold_loop(struct session *session) {
    uv_handle_t *socket_watch = (uv_handle_t *)&session->socket_watch;
    if (!session->watching_socket)
        return;
    if (session->state == SESSION_PROBING || session->runs != NULL || session->net.exposing > 0)
        uv_ref(socket_watch);
    else
        uv_unref(socket_watch);
}

/* The end of dispose: runs, handles and the agent are gone. */
void session_settle_dispose(struct session *session) {
    if (session->state != SESSION_DISPOSED || session->open_handles > 0 || session->runs != NULL ||
        session->opening_now)
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

static void on_handle_closed(uv_handle_t *handle) {
    struct session *session = handle->data;
    session->open_handles--;
    session_settle_dispose(session);
}

/* Closing the socket is what ends the agent and with it every run. */
static void close_socket(struct session *session) {
    if (session->watching_socket) {
        /* Until the agent is known to be gone somebody still waits for what its end means. */
        if (session->runs != NULL || session->state == SESSION_PROBING)
            uv_ref((uv_handle_t *)&session->exit_watch);
        session->watching_socket = false;
        uv_poll_stop(&session->socket_watch);
        uv_close((uv_handle_t *)&session->socket_watch, on_handle_closed);
    }
    close_fd(&session->agent.socket);
}

/* The agent ended, and with it everything it had started: now results may say so. */
static void on_agent_exit(uv_poll_t *watch, int status, int events) {
    (void)status;
    (void)events;
    struct session *session = watch->data;
    if (!agent_reap(&session->agent))
        return;
    uv_poll_stop(watch);
    close_fd(&session->agent.pidfd);
    uv_close((uv_handle_t *)watch, on_handle_closed);
    close_socket(session);
    bool starting = session->state == SESSION_PROBING;
    if (session->state != SESSION_DISPOSED)
        session->state = SESSION_BROKEN;
    fail_runs(session);
    session_network_close(session);
    struct error err;
    error_set(&err, ERROR_HOST, 0, "%s", session_failure(session));
    if (starting)
        report_start(session, &err);
}

static void flush_runs(struct session *session) {
    session->sending_blocked = false;
    for (struct run *run = session->runs; run != NULL;) {
        uint64_t ended = session->ended;
        if (!run_flush(run)) {
            session_await_writable(session);
            return;
        }
        run = session->ended == ended ? run_next(run) : session->runs;
    }
}

static void on_event(struct session *session, const struct agent_event *event, const int *fds,
                     size_t fd_count) {
    if (event->type == AGENT_READY) {
        session->has_namespaces = event->status == 0;
        session->has_mounts = (event->flags & READY_MOUNT_PLAN) != 0;
        if (event->status != 0)
            error_set(&session->probe_error, ERROR_HOST, event->status, "%s", event->text);
        session_network_take(session, event, fds, fd_count);
        session_find_features(session);
        return;
    }
    if (event->type == AGENT_LISTENER && fd_count == 1) {
        session_network_add_listener(session, event->run, fds[0]);
        return;
    }
    for (size_t i = 0; i < fd_count; i++) {
        int unwanted = fds[i];
        close_fd(&unwanted);
    }
    /* A listener that found no room among this process's descriptors is lost: nothing is allowed through. */
    for (struct run *run = session->runs; event->type == AGENT_ENDED && run != NULL; run = run_next(run))
        if (run_id(run) == event->run) {
            run_ended(run, event);
            return;
        }
}

static void on_socket(uv_poll_t *watch, int status, int events) {
    struct session *session = watch->data;
    (void)status;
    if ((events & UV_WRITABLE) != 0) {
        uv_poll_start(watch, UV_READABLE, on_socket);
        flush_runs(session);
    }
    struct agent_event event;
    int fds[READY_FD_COUNT];
    size_t fd_count = 0;
    int got = 0;
    while (session->agent.socket >= 0 &&
           (got = agent_receive(&session->agent, &event, fds, READY_FD_COUNT, &fd_count)) == 1)
        on_event(session, &event, fds, fd_count);
    /* Ended or out of step: the other descriptor tells when it is gone for good. */
    if (session->agent.socket >= 0 && got < 0)
        close_socket(session);
}

void session_await_writable(struct session *session) {
    if (session->sending_blocked || session->agent.socket < 0)
        return;
    session->sending_blocked = true;
    uv_poll_start(&session->socket_watch, UV_READABLE | UV_WRITABLE, on_socket);
}

void session_fail_start(struct session *session, const char *text) {
    struct error err;
    host_explain(text, &err);
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

static int watch_descriptor(struct session *session, uv_poll_t *watch, int fd, uv_poll_cb callback) {
    int failed = uv_poll_init(session->loop, watch, fd);
    if (failed != 0)
        return failed;
    watch->data = session;
    session->open_handles++;
    return uv_poll_start(watch, UV_READABLE, callback);
}

/* On a thread of the pool: whatever may block. */
static void open_session(uv_work_t *work) {
    struct session *session = work->data;
    struct error *err = &session->opening_error;
    session->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    session->bwrap = find_bwrap(session->search_path);
    if (control_group_helps(&session->limits))
        find_control_groups(&session->limits, &session->control_groups, &session->control_group_error);
    if (session->bwrap == NULL)
        error_set(err, ERROR_DEPENDENCY, 0,
                  "bubblewrap (bwrap in a folder that only root may write; on Debian and Ubuntu: apt install "
                  "bubblewrap)");
    else if (session->null_fd < 0)
        error_set(err, ERROR_HOST, errno, "/dev/null");
    else if (host_check_kernel(err) == 0)
        agent_spawn(session->helper, session->foreground, &session->agent, err);
}

static void on_opened(uv_work_t *work, int status) {
    (void)status;
    struct session *session = work->data;
    session->opening_now = false;
    bool disposed = session->state == SESSION_DISPOSED;
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
    int failed = watch_descriptor(session, &session->exit_watch, session->agent.pidfd, on_agent_exit);
    if (failed == 0 &&
        (failed = watch_descriptor(session, &session->socket_watch, session->agent.socket, on_socket)) == 0)
        session->watching_socket = true;
    if (disposed || failed != 0)
        close_socket(session);
    if (disposed)
        return;
    uv_unref((uv_handle_t *)&session->exit_watch);
    session->state = SESSION_PROBING;
    if (failed != 0)
        session_fail_start(session, uv_strerror(failed));
}

struct session *session_start(uv_loop_t *loop, const struct session_config *config,
                              session_started_fn started, void *data, struct error *err) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        error_memory(err);
        return NULL;
    }
    *session =
        (struct session){.loop = loop,
                         .state = SESSION_OPENING,
                         .helper = strdup(config->helper),
                         .home = strdup(config->home),
                         .account_home = config->account_home == NULL ? NULL : strdup(config->account_home),
                         .tmpdir = strdup(config->tmpdir),
                         .search_path = strdup(config->search_path),
                         .agent = {.pid = -1, .pidfd = -1, .socket = -1},
                         .memory = path_memory_new(),
                         .globs = glob_cache_new(),
                         .supervision = SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_READS,
                         .foreground = config->foreground,
                         .unprobed = config->unprobed,
                         .limits = config->options->limits,
                         .null_fd = -1,
                         .started = started,
                         .started_data = data};
    session->opening.data = session;
    if (session->helper == NULL || session->home == NULL || session->tmpdir == NULL ||
        session->search_path == NULL || session->memory == NULL || session->globs == NULL ||
        (config->account_home != NULL && session->account_home == NULL))
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

bool session_is_supervised(const struct session *session) {
    return (session->supervision & SUPERVISE_FILTER) != 0;
}

bool session_is_filtered(const struct session *session) {
    return (session->supervision & SUPERVISE_UNFILTERED) == 0;
}

const char *session_supervision_gap(const struct session *session) {
    return session->supervision_error.text;
}

enum session_limits session_limits(const struct session *session) {
    if (session->control_groups.folder != NULL)
        return LIMITS_CGROUP;
    return cost_limits_any(&session->limits) ? LIMITS_PROCESS : LIMITS_NONE;
}

const char *session_limits_gap(const struct session *session) {
    return session->control_groups.folder != NULL ? "" : session->control_group_error.text;
}

const struct bwrap_features *session_features(const struct session *session) {
    return &session->features;
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

static struct run *find_run(const struct session *session, uint64_t id) {
    struct run *run = session->runs;
    while (run != NULL && run_id(run) != id)
        run = run_next(run);
    return run;
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
    if (session->agent.pidfd >= 0)
        uv_ref((uv_handle_t *)&session->exit_watch);
    /* One that was stopped (SIGSTOP) would never see its socket close. */
    if (session->agent.pid > 0)
        kill(session->agent.pid, SIGCONT);
    close_socket(session);
    session_settle_dispose(session);
}
