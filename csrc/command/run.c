#include "command/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "command/session_internal.h"
#include "platform/linux/prepare.h"

/* At most this much per stream and turn of the loop, so that one loud command does not starve the others. */
#define READ_PER_TURN ((size_t)1 << 20)

/* Longer than any process lives: as good as none. */
#define TIMEOUT_MAX_MS 1e12

enum run_state { RUN_PREPARING, RUN_WAITING, RUN_RUNNING, RUN_DONE };

struct stream {
    uv_poll_t watch;
    int fd;
    bool watched;
    struct capture capture;
};

struct run {
    struct run *next;
    struct session *session;
    uint64_t id;
    enum run_state state;
    struct run_request request;
    uint64_t deadline_ns;
    uv_work_t preparing;
    bool preparing_now;
    uv_timer_t deadline_watch; /* while it is prepared; after that the agent keeps the time */
    bool deadline_watched;
    struct error prepare_error;
    struct strvec warnings;
    int payload;
    int command_fds[1 + RUN_STREAMS]; /* the command's ends: stdin, stdout, stderr */
    bool stop_wanted;
    bool stop_unsent;
    struct stream streams[RUN_STREAMS];
    uv_poll_t stdin_watch;
    bool stdin_watched;
    int stdin_fd;
    size_t stdin_done;
    unsigned open_handles;
};

void run_request_clear(struct run_request *request) {
    strvec_clear(&request->argv);
    strvec_clear(&request->env);
    strvec_clear(&request->additional_dirs);
    free(request->machine_cwd);
    free(request->cwd);
    free(request->stdin_data);
    *request = (struct run_request){0};
}

struct run *run_create(struct session *session, uint64_t id, struct run_request *request) {
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    run->session = session;
    run->id = id;
    run->request = *request;
    *request = (struct run_request){0};
    run->payload = run->stdin_fd = -1;
    for (size_t i = 0; i < 1 + RUN_STREAMS; i++)
        run->command_fds[i] = -1;
    for (size_t i = 0; i < RUN_STREAMS; i++) {
        run->streams[i].fd = -1;
        run->streams[i].capture.cap = run->request.max_output_bytes;
    }
    if (run->request.timeout_ms >= 0 && run->request.timeout_ms < TIMEOUT_MAX_MS)
        run->deadline_ns = uv_hrtime() + (uint64_t)(run->request.timeout_ms * 1e6) + 1;
    return run;
}

uint64_t run_id(const struct run *run) {
    return run->id;
}

struct run *run_next(const struct run *run) {
    return run->next;
}

void run_set_next(struct run *run, struct run *next) {
    run->next = next;
}

static void free_when_closed(struct run *run) {
    if (run->state != RUN_DONE || run->open_handles > 0 || run->preparing_now)
        return;
    if (run->request.on_gone != NULL)
        run->request.on_gone(run->request.data);
    session_forget(run->session, run);
    close_fd(&run->payload);
    close_fd(&run->stdin_fd);
    for (size_t i = 0; i < 1 + RUN_STREAMS; i++)
        close_fd(&run->command_fds[i]);
    for (size_t i = 0; i < RUN_STREAMS; i++) {
        close_fd(&run->streams[i].fd);
        capture_clear(&run->streams[i].capture);
    }
    strvec_clear(&run->warnings);
    run_request_clear(&run->request);
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

/* The one way out: the result is given once, then everything closes. */
static void finish(struct run *run, const struct run_result *result) {
    run->state = RUN_DONE;
    run->session->ended++;
    for (size_t i = 0; i < RUN_STREAMS; i++)
        unwatch(&run->streams[i].watch, &run->streams[i].watched);
    unwatch(&run->stdin_watch, &run->stdin_watched);
    unwatch_handle((uv_handle_t *)&run->deadline_watch, &run->deadline_watched);
    run->request.on_done(run->request.data, result);
    free_when_closed(run);
}

void run_fail(struct run *run, const struct error *err) {
    struct run_result result = {.err = err, .streams = NULL, .warnings = warnings_of(run)};
    if (run->state != RUN_DONE)
        finish(run, &result);
}

static void fail_errno(struct run *run, int errnum, const char *what) {
    struct error err;
    error_set(&err, ERROR_HOST, errnum, "%s", what);
    run_fail(run, &err);
}

/* Stopped before anything was started: as an abort that came before the call, or a timeout of 0. */
static void finish_unstarted(struct run *run, bool timed_out) {
    struct capture none[RUN_STREAMS] = {0};
    struct run_result result = {.timed_out = timed_out, .streams = none, .warnings = warnings_of(run)};
    finish(run, &result);
}

static void on_deadline(uv_timer_t *timer) {
    finish_unstarted(timer->data, true);
}

/* A path on a file system that does not answer must not hold up the timeout. */
static void watch_deadline(struct run *run) {
    uint64_t now = uv_hrtime();
    uint64_t left_ms = run->deadline_ns <= now ? 0 : (run->deadline_ns - now) / 1000000u + 1;
    if (uv_timer_init(run->session->loop, &run->deadline_watch) != 0)
        return;
    run->deadline_watch.data = run;
    run->deadline_watched = true;
    run->open_handles++;
    /* The loop's time is as old as the JS that runs now. */
    uv_update_time(run->session->loop);
    uv_timer_start(&run->deadline_watch, on_deadline, left_ms, 0);
}

static void give_output(struct run *run, enum run_stream which, bool final) {
    size_t size;
    if (run->request.on_output == NULL)
        return;
    const char *bytes = capture_next(&run->streams[which].capture, final, &size);
    if (bytes != NULL)
        run->request.on_output(run->request.data, which, bytes, size);
}

/* Reads what is there, at most so much. False at the end of the stream or on an error. */
static bool read_some(struct stream *stream, size_t most) {
    char dropped[65536];
    for (size_t total = 0; total < most;) {
        size_t room;
        char *into = capture_reserve(&stream->capture, &room);
        /* cppcheck-suppress legacyUninitvar ; read() fills it, nobody looks at it */
        ssize_t got = read(stream->fd, into != NULL ? into : dropped, into != NULL ? room : sizeof dropped);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got < 0)
            continue;
        if (into != NULL)
            capture_commit(&stream->capture, (size_t)got);
        else
            capture_drop(&stream->capture, (size_t)got);
        total += (size_t)got;
    }
    return true;
}

static void on_readable(uv_poll_t *watch, int status, int events) {
    (void)status;
    (void)events;
    struct run *run = watch->data;
    enum run_stream which = watch == &run->streams[RUN_STDOUT].watch ? RUN_STDOUT : RUN_STDERR;
    struct stream *stream = &run->streams[which];
    if (!read_some(stream, READ_PER_TURN))
        unwatch(&stream->watch, &stream->watched);
    give_output(run, which, stream->capture.truncated);
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

/* Our end does not block, the command's end does: they are two open file descriptions. */
static int make_pipe(int *ours, int *theirs, bool we_write) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    *ours = ends[we_write ? 1 : 0];
    *theirs = ends[we_write ? 0 : 1];
    return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static int make_pipes(struct run *run) {
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < RUN_STREAMS; i++)
        failed = make_pipe(&run->streams[i].fd, &run->command_fds[1 + i], false);
    if (failed == 0 && run->request.stdin_data != NULL)
        failed = make_pipe(&run->stdin_fd, &run->command_fds[0], true);
    return failed;
}

#define NO_HOME "/nonexistent"

static void prepare(uv_work_t *work) {
    struct run *run = work->data;
    struct session *session = run->session;
    /* What a command of an earlier process left in the home must not decide whether there is a sandbox. */
    bool is_probe = run->request.argv.count == 0;
    struct prepare_request request = {.bwrap = session->bwrap,
                                      .features = session->features,
                                      .fs = run->request.fs,
                                      .place = {.home = is_probe ? NO_HOME : session->home,
                                                .account_home = is_probe ? NULL : session->account_home,
                                                .tmpdir = session->tmpdir,
                                                .cwd = run->request.machine_cwd,
                                                .additional_dirs = &run->request.additional_dirs,
                                                .memory = session->memory},
                                      .cwd = run->request.cwd,
                                      .argv = run->request.argv,
                                      .env = run->request.env};
    int failed = prepare_run(&request, &run->payload, &run->warnings, &run->prepare_error);
    run->request.env = request.env;
    if (failed == 0 && (failed = make_pipes(run)) != 0)
        error_set(&run->prepare_error, ERROR_HOST, -failed, "cannot make pipes for a command");
}

static int watch_streams(struct run *run) {
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < RUN_STREAMS; i++)
        failed = watch_fd(run, &run->streams[i].watch, &run->streams[i].watched, run->streams[i].fd,
                          UV_READABLE, on_readable);
    if (failed == 0 && run->stdin_fd >= 0)
        failed = watch_fd(run, &run->stdin_watch, &run->stdin_watched, run->stdin_fd, UV_WRITABLE,
                          on_stdin_writable);
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
        fail_errno(run, 0, session_failure(run->session));
        return;
    }
    if (run->prepare_error.kind != ERROR_NONE) {
        run_fail(run, &run->prepare_error);
        return;
    }
    int failed = watch_streams(run);
    if (failed != 0) {
        fail_errno(run, -failed, "cannot watch a command's pipes");
        return;
    }
    run->state = RUN_WAITING;
    if (!run_flush(run))
        session_await_writable(run->session);
}

void run_prepare(struct run *run) {
    run->preparing.data = run;
    run->preparing_now = true;
    if (run->deadline_ns != 0)
        watch_deadline(run);
    uv_queue_work(run->session->loop, &run->preparing, prepare, on_prepared);
}

/* False: the socket is full. */
static bool send_start(struct run *run) {
    const struct bwrap_features *features = &run->session->features;
    int null_fd = run->session->null_fd;
    const int fds[START_FD_COUNT] = {
        [START_FD_PAYLOAD] = run->payload,
        [START_FD_STDIN] = run->command_fds[0] >= 0 ? run->command_fds[0] : null_fd,
        [START_FD_STDOUT] = run->command_fds[1 + RUN_STDOUT],
        [START_FD_STDERR] = run->command_fds[1 + RUN_STDERR],
    };
    struct agent_request request = {.version = WIRE_VERSION,
                                    .type = AGENT_START,
                                    .run = run->id,
                                    .deadline_ns = run->deadline_ns,
                                    .grace_ms = run->request.grace_ms,
                                    .flags = (features->session_network ? START_SESSION : 0u) |
                                             (features->mounted_before ? START_MOUNT_PLAN : 0u)};
    int failed = agent_send(&run->session->agent, &request, fds);
    if (failed == -EAGAIN)
        return false;
    run->state = RUN_RUNNING;
    close_fd(&run->payload);
    for (size_t i = 0; i < 1 + RUN_STREAMS; i++)
        close_fd(&run->command_fds[i]);
    if (failed == -ETOOMANYREFS)
        fail_errno(run, -failed, "cannot pass descriptors to the agent (descriptors in flight of this user)");
    else if (failed != 0)
        fail_errno(run, -failed, "cannot reach the agent");
    return true;
}

bool run_flush(struct run *run) {
    /* The run may be gone after this. A stop of one that waits has ended it already, so there is none to
     * send. */
    if (run->state == RUN_WAITING)
        return send_start(run);
    if (run->state == RUN_RUNNING && run->stop_unsent) {
        struct agent_request request = {.version = WIRE_VERSION, .type = AGENT_STOP, .run = run->id};
        run->stop_unsent = agent_send(&run->session->agent, &request, NULL) == -EAGAIN;
    }
    return !run->stop_unsent;
}

void run_stop(struct run *run) {
    if (run->stop_wanted || run->state == RUN_DONE)
        return;
    run->stop_wanted = run->stop_unsent = true;
    if (run->state == RUN_PREPARING || run->state == RUN_WAITING)
        finish_unstarted(run, false);
    else if (run->state == RUN_RUNNING && !run_flush(run))
        session_await_writable(run->session);
}

/* All writers are dead: what is in the pipes is all there will be. The bound is for a pipe whose end got out.
 */
static void drain(struct run *run) {
    for (enum run_stream which = RUN_STDOUT; which < RUN_STREAMS; which++) {
        struct stream *stream = &run->streams[which];
        int size = fcntl(stream->fd, F_GETPIPE_SZ);
        if (stream->watched)
            read_some(stream, size > 0 ? (size_t)size : READ_PER_TURN);
        give_output(run, which, true);
    }
}

void run_ended(struct run *run, const struct agent_event *event) {
    if (run->state != RUN_RUNNING)
        return;
    if (event->flags & ENDED_FAILED) {
        struct error err;
        error_set(&err, ERROR_HOST, 0, "%s", event->text);
        run_fail(run, &err);
        return;
    }
    drain(run);
    struct capture captures[RUN_STREAMS];
    for (size_t i = 0; i < RUN_STREAMS; i++)
        captures[i] = run->streams[i].capture;
    struct run_result result = {.timed_out = (event->flags & ENDED_TIMED_OUT) != 0,
                                .unconfirmed = (event->flags & ENDED_UNCONFIRMED) != 0,
                                .exit_code = event->status,
                                .streams = captures,
                                .warnings = &run->warnings};
    result.has_exit_code = (event->flags & (ENDED_TIMED_OUT | ENDED_UNCONFIRMED | ENDED_UNSTARTED)) == 0;
    finish(run, &result);
}
