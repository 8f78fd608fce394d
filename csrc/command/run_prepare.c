#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "command/run_internal.h"
#include "command/session_internal.h"
#include "exec/payload.h"
#include "platform/linux/prepare.h"

/* Neither end blocks: nobody inside has this one. */
static int make_event_pipe(struct run *run) {
    int failed = pipe_make(PIPE_THEY_WRITE, &run->events_fd, &run->command_events_fd);
    if (failed == 0 && fcntl(run->command_events_fd, F_SETFL, O_NONBLOCK) != 0)
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
        run->command_fds[i] = fcntl(run->request.descriptors[i], F_DUPFD_CLOEXEC, 3);
        if (run->command_fds[i] < 0 && errno != EBADF)
            return error_set(&run->prepare_error, ERROR_HOST, errno, "cannot pass %s on", stdio_names[i]);
        if (run->command_fds[i] >= 0 && fstat(run->command_fds[i], &facts) == 0 && S_ISDIR(facts.st_mode))
            return error_set(&run->prepare_error, ERROR_HOST, EISDIR, "cannot pass %s on", stdio_names[i]);
        make_blocking(run->command_fds[i]);
    }
    return 0;
}

static int make_pipes(struct run *run) {
    int failed = 0;
    for (size_t i = 0; !run->request.foreground && failed == 0 && i < RUN_STREAMS; i++)
        failed = pipe_make(PIPE_THEY_WRITE, &run->streams[i].fd, &run->command_fds[1 + i]);
    if (failed == 0 && run->request.stdin_data != NULL)
        failed = pipe_make(PIPE_WE_WRITE, &run->stdin_fd, &run->command_fds[0]);
    if (failed == 0 && run->request.options->monitor_violations)
        failed = make_event_pipe(run);
    return failed;
}

/* So that a command's rules are sought once, not at every line. */
static int choose_ignored(struct run *run) {
    const char *command = run->request.command == NULL ? "" : run->request.command;
    return ignore_list_build(run->request.options, command, &run->violations.ignore);
}

#define NO_HOME "/nonexistent"

void run_prepare_work(uv_work_t *work) {
    struct run *run = work->data;
    struct session *session = run->session;
    /* What a command of an earlier process left in the home must not decide whether there is a sandbox. */
    bool is_probe = run->request.argv.count == 0;
    struct prepare_request request = {.bwrap = session->bwrap,
                                      .features = session->features,
                                      .options = run->request.options,
                                      .supervision_allowed =
                                          session->supervision | (is_probe ? SUPERVISE_OPTIONAL : 0u),
                                      .place = {.home = is_probe ? NO_HOME : session->home,
                                                .account_home = is_probe ? NULL : session->account_home,
                                                .tmpdir = session->tmpdir,
                                                .cwd = run->request.machine_cwd,
                                                .additional_dirs = &run->request.additional_dirs,
                                                .memory = session->memory,
                                                .globs = session->globs},
                                      .cwd = run->request.cwd,
                                      .argv = run->request.argv,
                                      .env = run->request.env,
                                      .own_env = &run->request.own_env,
                                      .control_groups = is_probe ? NULL : &session->control_groups,
                                      .proxy = is_probe ? NULL : session_network_proxy(session),
                                      .every_client = session_capture(session) == CAPTURE_TRANSPARENT};
    request.own_proxy = request.proxy != NULL && !session->features.session_network;
    int failed = prepare_run(&request, &run->payload, &run->warnings, &run->prepare_error);
    run->request.env = request.env;
    if (failed == 0 && run->request.foreground)
        failed = take_descriptors(run);
    if (failed == 0 && (failed = make_pipes(run)) != 0)
        error_set(&run->prepare_error, ERROR_HOST, -failed, "cannot make pipes for a command");
    if (failed == 0 && choose_ignored(run) != 0)
        error_memory(&run->prepare_error);
}
