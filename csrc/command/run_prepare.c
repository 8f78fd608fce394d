#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "command/run_internal.h"
#include "command/session_internal.h"

/* Neither end blocks: nobody inside has this one. */
static int make_event_pipe(struct run *run) {
    int failed = pipe_make(PIPE_THEY_WRITE, &run->events_fd, &run->start.events);
    if (failed == 0 && fcntl(run->start.events, F_SETFL, O_NONBLOCK) != 0)
        failed = -errno;
    return failed;
}

static const char *const stdio_names[] = {"stdin", "stdout", "stderr"};

/* What is written to in JS does not block from then on, for whoever has it: no program expects that. */
static void make_blocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_NONBLOCK) != 0)
        (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* The command's own copies of what it was given. A folder would be a way out of the sandbox. */
static int take_descriptors(struct run *run) {
    struct stat facts;
    for (size_t i = 0; i < sizeof stdio_names / sizeof stdio_names[0]; i++) {
        run->start.stdio[i] = fcntl(run->request.descriptors[i], F_DUPFD_CLOEXEC, 3);
        if (run->start.stdio[i] < 0 && errno != EBADF)
            return error_set(&run->prepare_error, ERROR_HOST, errno, "cannot pass %s on", stdio_names[i]);
        if (run->start.stdio[i] >= 0 && fstat(run->start.stdio[i], &facts) == 0 && S_ISDIR(facts.st_mode))
            return error_set(&run->prepare_error, ERROR_HOST, EISDIR, "cannot pass %s on", stdio_names[i]);
        make_blocking(run->start.stdio[i]);
    }
    return 0;
}

static int make_pipes(struct run *run) {
    int failed = 0;
    for (size_t i = 0; !run->request.foreground && failed == 0 && i < RUN_STREAMS; i++)
        failed = pipe_make(PIPE_THEY_WRITE, &run->streams[i].fd, &run->start.stdio[1 + i]);
    if (failed == 0 && run->request.stdin_data != NULL)
        failed = pipe_make(PIPE_WE_WRITE, &run->stdin_fd, &run->start.stdio[0]);
    /* Where nothing is reported, its end still says that what the run leaves behind has been looked at. */
    if (failed == 0 && backend_has_event_pipe(run->session->backend))
        failed = make_event_pipe(run);
    return failed;
}

/* So that a command's rules are sought once, not at every line. */
static int choose_ignored(struct run *run) {
    const char *command = run->request.command == NULL ? "" : run->request.command;
    return ignore_list_build(run->request.options, command, &run->violations.ignore);
}

void run_prepare_work(uv_work_t *work) {
    struct run *run = work->data;
    struct session *session = run->session;
    const bool is_probe = run->request.argv.count == 0;
    run->start.proxy = is_probe ? NULL : session_network_proxy(session);
    run->start.every_client = session_capture(session) == CAPTURE_TRANSPARENT;
    int failed = backend_prepare(session->backend, &run->start, &run->warnings, &run->prepare_error);
    if (failed == 0 && run->request.foreground)
        failed = take_descriptors(run);
    if (failed == 0 && (failed = make_pipes(run)) != 0)
        error_set(&run->prepare_error, ERROR_HOST, -failed, "cannot make pipes for a command");
    if (failed == 0 && choose_ignored(run) != 0)
        error_memory(&run->prepare_error);
}
