#include "command/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "command/run_internal.h"
#include "command/session_internal.h"

/* At most this much per stream and turn of the loop, so that one loud command does not starve the others. */
#define READ_PER_TURN ((size_t)1 << 20)
#define EVENTS_PER_TURN ((size_t)1 << 16)

/* Longer than any process lives: as good as none. */
#define TIMEOUT_MAX_MS 1e12

/* A supervisor ends with its run: only a pipe whose end got out is open for longer. */
#define ENDING_MAX_MS 2500

void run_request_clear(struct run_request *request) {
    strvec_clear(&request->argv);
    strvec_clear(&request->env);
    strvec_clear(&request->own_env);
    strvec_clear(&request->additional_dirs);
    free(request->machine_cwd);
    free(request->cwd);
    free(request->stdin_data);
    free(request->command);
    *request = (struct run_request){0};
}

static void on_event_line(void *data, const char *line, size_t size) {
    struct run *run = data;
    if (run->state != RUN_DONE && run->request.options->monitor_violations)
        collector_take(&run->violations, line, size);
}

static void on_violation(void *data, const struct violation *violation) {
    struct run *run = data;
    if (run->request.on_violation != NULL)
        run->request.on_violation(run->request.data, violation);
}

struct run *run_create(struct session *session, uint64_t id, struct run_request *request) {
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    run->session = session;
    run->request = *request;
    *request = (struct run_request){0};
    run->start = (struct backend_run){
        .id = id, .request = &run->request, .stdio = {-1, -1, -1}, .events = -1, .payload = -1};
    run->stdin_fd = run->events_fd = -1;
    run->events = (struct tail){.on_line = on_event_line, .data = run};
    run->violations = (struct collector){.on_violation = on_violation, .data = run};
    for (size_t i = 0; i < RUN_STREAMS; i++) {
        run->streams[i].fd = -1;
        run->streams[i].capture.cap = run->request.max_output_bytes;
    }
    if (run->request.timeout_ms >= 0 && run->request.timeout_ms < TIMEOUT_MAX_MS)
        run->start.deadline_ns = uv_hrtime() + (uint64_t)(run->request.timeout_ms * 1e6) + 1;
    return run;
}

uint64_t run_id(const struct run *run) {
    return run->start.id;
}

struct run *run_next(const struct run *run) {
    return run->next;
}

void run_set_next(struct run *run, struct run *next) {
    run->next = next;
}

void run_close_command_ends(struct run *run) {
    for (size_t i = 0; i < 1 + RUN_STREAMS; i++)
        close_fd(&run->start.stdio[i]);
    close_fd(&run->start.events);
}

static void free_when_closed(struct run *run) {
    if (run->state != RUN_DONE || run->open_handles > 0 || run->preparing_now)
        return;
    if (run->request.on_gone != NULL)
        run->request.on_gone(run->request.data);
    backend_unprepare(run->session->backend, &run->start);
    close_fd(&run->stdin_fd);
    close_fd(&run->events_fd);
    run_close_command_ends(run);
    for (size_t i = 0; i < RUN_STREAMS; i++) {
        close_fd(&run->streams[i].fd);
        capture_clear(&run->streams[i].capture);
    }
    tail_clear(&run->events);
    collector_clear(&run->violations);
    strvec_clear(&run->warnings);
    run_request_clear(&run->request);
    session_forget(run->session, run);
    free(run);
}

static void on_watch_closed(uv_handle_t *handle) {
    struct run *run = handle->data;
    run->open_handles--;
    free_when_closed(run);
}

static void unwatch_handle(uv_handle_t *handle, bool *watched) {
    if (!*watched)
        return;
    *watched = false;
    uv_close(handle, on_watch_closed);
}

static void unwatch(uv_poll_t *watch, bool *watched) {
    unwatch_handle((uv_handle_t *)watch, watched);
}

static int watch_fd(struct run *run, uv_poll_t *watch, bool *watched, int fd, int events,
                    uv_poll_cb callback) {
    int failed = uv_poll_init(run->session->loop, watch, fd);
    if (failed != 0)
        return failed;
    watch->data = run;
    *watched = true;
    run->open_handles++;
    return uv_poll_start(watch, events, callback);
}

static const struct strvec no_warnings = {0};

/* A thread of the pool may still be adding to them. */
static const struct strvec *warnings_of(const struct run *run) {
    return run->preparing_now ? &no_warnings : &run->warnings;
}

/* What was refused to it until now is reported from inside; after that it is unknown there. */
static void leave_network(struct run *run) {
    if (!run->in_network)
        return;
    run->in_network = false;
    session_network_run_ended(run->session, run->start.id);
}

bool run_note(struct run *run, const struct violation *violation) {
    if (run->state != RUN_RUNNING && run->state != RUN_ENDING)
        return false;
    if (run->request.options->monitor_violations)
        collector_note(&run->violations, violation);
    return true;
}

/* The one way out: the result is given once, then everything closes. */
static void finish(struct run *run, const struct run_result *result) {
    leave_network(run);
    run->state = RUN_DONE;
    run->session->ended++;
    for (size_t i = 0; i < RUN_STREAMS; i++)
        unwatch(&run->streams[i].watch, &run->streams[i].watched);
    unwatch(&run->stdin_watch, &run->stdin_watched);
    unwatch(&run->events_watch, &run->events_watched);
    unwatch_handle((uv_handle_t *)&run->deadline_watch, &run->deadline_watched);
    unwatch_handle((uv_handle_t *)&run->ending_watch, &run->ending_watched);
    run->request.on_done(run->request.data, result);
    free_when_closed(run);
}

/* What is lost for want of memory is told by the next run. */
static void add_network_warning(struct run *run) {
    const char *warning = session_network_warning(run->session);
    if (warning != NULL)
        (void)strvec_push(&run->warnings, warning);
}

static void add_cache_warning(struct run *run) {
    cleanup_free char *warning = NULL;
    if ((run->ended.flags & ENDED_EMPTY_CACHE) != 0 &&
        asprintf(&warning, "npm's cache is not shown to commands, they have an empty one: %s",
                 run->ended.text) >= 0)
        (void)strvec_push(&run->warnings, warning);
}

/* All is over, and everything about it has been said. */
static void finish_ended(struct run *run) {
    const struct run_end *event = &run->ended;
    tail_end(&run->events);
    leave_network(run);
    add_network_warning(run);
    add_cache_warning(run);
    if (run->request.options->monitor_violations)
        run->violations.dropped += run->events.lost;
    struct capture captures[RUN_STREAMS];
    for (size_t i = 0; i < RUN_STREAMS; i++)
        captures[i] = run->streams[i].capture;
    cleanup_free char *block = collector_block(&run->violations);
    bool limited = (event->flags & (ENDED_UNSUPERVISED | ENDED_UNFILTERED)) != 0;
    struct run_result result = {.timed_out = (event->flags & ENDED_TIMED_OUT) != 0,
                                .unconfirmed = (event->flags & ENDED_UNCONFIRMED) != 0,
                                .exit_code = event->status,
                                .signal = event->signal,
                                .streams = captures,
                                .warnings = &run->warnings,
                                .block = block,
                                .repeated = run->violations.repeated,
                                .repeated_count = run->violations.repeated_count,
                                .dropped = run->violations.dropped,
                                .unsupervised = limited ? event->text : NULL,
                                .unfiltered = (event->flags & ENDED_UNFILTERED) != 0};
    result.has_exit_code = (event->flags & (ENDED_TIMED_OUT | ENDED_UNCONFIRMED | ENDED_UNSTARTED)) == 0;
    finish(run, &result);
}

static void fail(struct run *run, const struct error *err, bool unstarted) {
    struct run_result result = {
        .err = err, .unstarted = unstarted, .streams = NULL, .warnings = warnings_of(run)};
    if (run->state == RUN_ENDING)
        finish_ended(run);
    else if (run->state != RUN_DONE)
        finish(run, &result);
}

void run_fail(struct run *run, const struct error *err) {
    fail(run, err, false);
}

void run_fail_errno(struct run *run, int errnum, const char *what) {
    struct error err;
    error_set(&err, ERROR_HOST, errnum, "%s", what);
    run_fail(run, &err);
}

void run_finish_unstarted(struct run *run, bool timed_out) {
    struct capture none[RUN_STREAMS] = {0};
    struct run_result result = {.timed_out = timed_out, .streams = none, .warnings = warnings_of(run)};
    finish(run, &result);
}

static void on_deadline(uv_timer_t *timer) {
    run_finish_unstarted(timer->data, true);
}

static void start_timer(struct run *run, uv_timer_t *timer, bool *watched, uint64_t ms,
                        uv_timer_cb callback) {
    if (uv_timer_init(run->session->loop, timer) != 0)
        return;
    timer->data = run;
    *watched = true;
    run->open_handles++;
    /* The loop's time is as old as the JS that runs now. */
    uv_update_time(run->session->loop);
    uv_timer_start(timer, callback, ms, 0);
}

/* A path on a file system that does not answer must not hold up the timeout. */
static void watch_deadline(struct run *run) {
    uint64_t now = uv_hrtime();
    uint64_t left_ms = run->start.deadline_ns <= now ? 0 : (run->start.deadline_ns - now) / 1000000u + 1;
    start_timer(run, &run->deadline_watch, &run->deadline_watched, left_ms, on_deadline);
}

static void give_output(struct run *run, enum run_stream which, bool final) {
    size_t size;
    if (run->request.on_output == NULL)
        return;
    const char *bytes = capture_next(&run->streams[which].capture, final, &size);
    if (bytes != NULL)
        run->request.on_output(run->request.data, which, bytes, size);
}

static void on_readable(uv_poll_t *watch, int status, int events) {
    (void)status;
    (void)events;
    struct run *run = watch->data;
    enum run_stream which = watch == &run->streams[RUN_STDOUT].watch ? RUN_STDOUT : RUN_STDERR;
    struct stream *stream = &run->streams[which];
    if (!stream_read(stream, READ_PER_TURN))
        unwatch(&stream->watch, &stream->watched);
    give_output(run, which, stream->capture.truncated);
}

static void on_events(uv_poll_t *watch, int status, int events) {
    (void)status;
    (void)events;
    struct run *run = watch->data;
    if (tail_read(&run->events, run->events_fd, EVENTS_PER_TURN))
        return;
    unwatch(&run->events_watch, &run->events_watched);
    if (run->state == RUN_ENDING)
        finish_ended(run);
}

/* A reader that went away (EPIPE) is its own affair, not an error. */
static void on_stdin_writable(uv_poll_t *watch, int status, int events) {
    (void)status;
    (void)events;
    struct run *run = watch->data;
    while (run->stdin_done < run->request.stdin_size) {
        ssize_t written = write(run->stdin_fd, run->request.stdin_data + run->stdin_done,
                                run->request.stdin_size - run->stdin_done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EAGAIN)
            return;
        if (written < 0)
            break;
        run->stdin_done += (size_t)written;
    }
    /* Closed here, not when the handle has closed: the command waits for its end of file. */
    uv_poll_stop(&run->stdin_watch);
    close_fd(&run->stdin_fd);
    unwatch(&run->stdin_watch, &run->stdin_watched);
}

static int watch_streams(struct run *run) {
    int failed = 0;
    for (size_t i = 0; !run->request.foreground && failed == 0 && i < RUN_STREAMS; i++)
        failed = watch_fd(run, &run->streams[i].watch, &run->streams[i].watched, run->streams[i].fd,
                          UV_READABLE, on_readable);
    if (failed == 0 && run->stdin_fd >= 0)
        failed = watch_fd(run, &run->stdin_watch, &run->stdin_watched, run->stdin_fd, UV_WRITABLE,
                          on_stdin_writable);
    if (failed == 0 && run->events_fd >= 0)
        failed =
            watch_fd(run, &run->events_watch, &run->events_watched, run->events_fd, UV_READABLE, on_events);
    return failed;
}

static void on_prepared(uv_work_t *work, int status) {
    (void)status;
    struct run *run = work->data;
    run->preparing_now = false;
    if (run->state == RUN_DONE) {
        free_when_closed(run);
        return;
    }
    unwatch_handle((uv_handle_t *)&run->deadline_watch, &run->deadline_watched);
    if (session_failure(run->session) != NULL) {
        run_fail_errno(run, 0, session_failure(run->session));
        return;
    }
    if (run->prepare_error.kind != ERROR_NONE) {
        run_fail(run, &run->prepare_error);
        return;
    }
    int failed = watch_streams(run);
    if (failed != 0) {
        run_fail_errno(run, -failed, "cannot watch a command's pipes");
        return;
    }
    run->state = RUN_WAITING;
    run_flush(run);
}

void run_prepare(struct run *run) {
    run->preparing.data = run;
    run->preparing_now = true;
    if (run->start.deadline_ns != 0)
        watch_deadline(run);
    uv_queue_work(run->session->loop, &run->preparing, run_prepare_work, on_prepared);
}

/* All writers are dead: what is in the pipes is all there will be. The bound is for a pipe whose end got out.
 */
static void drain(struct run *run) {
    for (enum run_stream which = RUN_STDOUT; which < RUN_STREAMS; which++) {
        struct stream *stream = &run->streams[which];
        int size = fcntl(stream->fd, F_GETPIPE_SZ);
        if (stream->watched)
            stream_read(stream, size > 0 ? (size_t)size : READ_PER_TURN);
        unwatch(&stream->watch, &stream->watched);
        give_output(run, which, true);
    }
}

/* Timers come before pipes in a loop that was blocked: while lines arrive the supervisor is not stuck. */
static void on_ending_too_long(uv_timer_t *timer) {
    struct run *run = timer->data;
    if (run->events.bytes == run->ending_read) {
        finish_ended(run);
        return;
    }
    run->ending_read = run->events.bytes;
    uv_timer_start(timer, on_ending_too_long, ENDING_MAX_MS, 0);
}

static void on_ending_waited(uv_timer_t *timer) {
    finish_ended(timer->data);
}

/* What only the backend sees of limits; the supervisor has told of the rest. */
static void note_limits(struct run *run) {
    const struct cost_limits *limits = &run->request.options->limits;
    for (enum cost_limit limit = 0; limit < COST_LIMITS; limit++) {
        char why[COST_REASON_SIZE];
        uv_timeval64_t now = {0};
        if ((run->ended.flags & ENDED_AT_LIMIT(limit)) == 0)
            continue;
        uv_gettimeofday(&now);
        const struct violation violation = {.operation = cost_limit_operation(limit),
                                            .why = cost_limit_reason(limits, limit, why),
                                            .process = "",
                                            .time_ms = now.tv_sec * 1000 + now.tv_usec / 1000};
        run_note(run, &violation);
    }
}

void run_ended(struct run *run, const struct run_end *event) {
    if (run->state != RUN_RUNNING)
        return;
    if (event->flags & ENDED_FAILED) {
        struct error err;
        error_set(&err, ERROR_HOST, 0, "%s", event->text);
        fail(run, &err, (event->flags & ENDED_UNSTARTED) != 0);
        return;
    }
    run->ended = *event;
    note_limits(run);
    run->state = RUN_ENDING;
    drain(run);
    /* Whoever was given the last of it may have ended the session. */
    if (run->state != RUN_ENDING)
        return;
    const unsigned wait = backend_ending_wait(run->session->backend, event, run->violations.note_count > 0);
    /* At its first call the timer looks whether anything has come, at its second it gives up. */
    run->ending_read = UINT64_MAX;
    if (wait > 0)
        start_timer(run, &run->ending_watch, &run->ending_watched, wait, on_ending_waited);
    else if (run->events_watched && (event->flags & ENDED_UNCONFIRMED) == 0)
        start_timer(run, &run->ending_watch, &run->ending_watched, ENDING_MAX_MS, on_ending_too_long);
    else
        finish_ended(run);
}
