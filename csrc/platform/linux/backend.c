/* The exec helper's agent, as the session's backend: its start, its socket, its end. */
#include "platform/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/payload.h"
#include "platform/linux/backend_internal.h"
#include "platform/linux/find_bwrap.h"
#include "platform/linux/host_check.h"

static char *copy_text(const char *text, bool *lost) {
    char *copy = text == NULL ? NULL : strdup(text);
    *lost = *lost || (text != NULL && copy == NULL);
    return copy;
}

struct backend *backend_new(const struct backend_config *config) {
    struct backend *backend = calloc(1, sizeof *backend);
    bool lost = false;
    if (backend == NULL)
        return NULL;
    *backend = (struct backend){.config = *config,
                                .agent = {.pid = -1, .pidfd = -1, .socket = -1},
                                .null_fd = -1,
                                .supervision = SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_READS};
    backend->config.helper = copy_text(config->helper, &lost);
    backend->config.home = copy_text(config->home, &lost);
    backend->config.account_home = copy_text(config->account_home, &lost);
    backend->config.tmpdir = copy_text(config->tmpdir, &lost);
    backend->config.search_path = copy_text(config->search_path, &lost);
    if (!lost)
        return backend;
    backend_free(backend);
    return NULL;
}

void backend_free(struct backend *backend) {
    if (backend == NULL)
        return;
    free((char *)backend->config.helper);
    free((char *)backend->config.home);
    free((char *)backend->config.account_home);
    free((char *)backend->config.tmpdir);
    free((char *)backend->config.search_path);
    free(backend->bwrap);
    free(backend->control_groups.folder);
    close_fd(&backend->null_fd);
    close_fd(&backend->agent.socket);
    close_fd(&backend->agent.pidfd);
    free(backend);
}

int backend_open(struct backend *backend, struct error *err) {
    const struct backend_config *config = &backend->config;
    backend->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    backend->bwrap = find_bwrap(config->search_path);
    if (control_group_helps(&config->limits))
        find_control_groups(&config->limits, &backend->control_groups, &backend->control_group_error);
    if (backend->bwrap == NULL)
        return error_set(
            err, ERROR_DEPENDENCY, 0,
            "bubblewrap (bwrap in a folder that only root may write; on Debian and Ubuntu: apt install "
            "bubblewrap)");
    if (backend->null_fd < 0)
        return error_set(err, ERROR_HOST, errno, "/dev/null");
    return host_check_kernel(err) == 0 ? agent_spawn(config->helper, config->foreground, &backend->agent, err)
                                       : -1;
}

static void on_handle_closed(uv_handle_t *handle) {
    struct backend *backend = handle->data;
    backend->open_handles--;
    backend->calls.closed(backend->calls.data);
}

/* Closing the socket is what ends the agent and with it every run. */
static void close_socket(struct backend *backend) {
    if (backend->watching_socket) {
        /* Until the agent is known to be gone somebody still waits for what its end means. */
        if (backend->held)
            uv_ref((uv_handle_t *)&backend->exit_watch);
        backend->watching_socket = false;
        uv_poll_stop(&backend->socket_watch);
        uv_close((uv_handle_t *)&backend->socket_watch, on_handle_closed);
    }
    close_fd(&backend->agent.socket);
}

/* The agent ended, and with it everything it had started: now results may say so. */
static void on_agent_exit(uv_poll_t *watch, int status, int events) {
    (void)status;
    (void)events;
    struct backend *backend = watch->data;
    if (!agent_reap(&backend->agent))
        return;
    uv_poll_stop(watch);
    close_fd(&backend->agent.pidfd);
    uv_close((uv_handle_t *)watch, on_handle_closed);
    close_socket(backend);
    backend->calls.gone(backend->calls.data);
}

static void take_ready(struct backend *backend, const struct agent_event *event, const int *fds,
                       size_t fd_count) {
    const bool was_made = (event->flags & READY_NETWORK) != 0;
    const bool has_all = was_made && fd_count == READY_FD_COUNT;
    const bool has_gateway = (event->flags & READY_GATEWAY) != 0;
    struct backend_network network = {.made = has_all,
                                      .mode = has_gateway ? NETWORK_TRANSPARENT : NETWORK_SESSION,
                                      .gateway = has_all ? fds[READY_FD_GATEWAY] : -1,
                                      .questions = has_all ? fds[READY_FD_QUESTIONS] : -1,
                                      .ports = has_all ? fds[READY_FD_PORTS] : -1,
                                      .text =
                                          was_made && !has_all ? "its descriptors were lost" : event->text};
    struct error gap = {0};
    for (size_t i = 0; !has_all && i < fd_count; i++) {
        int unwanted = fds[i];
        close_fd(&unwanted);
    }
    backend->has_namespaces = event->status == 0;
    backend->has_mounts = (event->flags & READY_MOUNT_PLAN) != 0;
    if (event->status != 0)
        error_set(&gap, ERROR_HOST, event->status, "%s", event->text);
    backend->calls.ready(backend->calls.data, &gap, &network);
}

static void take_ended(struct backend *backend, const struct agent_event *event) {
    struct run_end end = {.flags = event->flags, .status = event->status, .signal = event->signal};
    memcpy(end.text, event->text, strlen(event->text) + 1);
    backend->calls.ended(backend->calls.data, event->run, &end);
}

static void on_event(struct backend *backend, const struct agent_event *event, const int *fds,
                     size_t fd_count) {
    if (event->type == AGENT_READY) {
        take_ready(backend, event, fds, fd_count);
        return;
    }
    if (event->type == AGENT_LISTENER && fd_count == 1) {
        backend->calls.listener(backend->calls.data, event->run, fds[0]);
        return;
    }
    /* A listener that found no room among this process's descriptors is lost: nothing is allowed through. */
    for (size_t i = 0; i < fd_count; i++) {
        int unwanted = fds[i];
        close_fd(&unwanted);
    }
    if (event->type == AGENT_ENDED)
        take_ended(backend, event);
}

static void on_socket(uv_poll_t *watch, int status, int events) {
    struct backend *backend = watch->data;
    (void)status;
    if ((events & UV_WRITABLE) != 0) {
        uv_poll_start(watch, UV_READABLE, on_socket);
        backend->sending_blocked = false;
        backend->calls.writable(backend->calls.data);
    }
    struct agent_event event;
    int fds[READY_FD_COUNT];
    size_t fd_count = 0;
    int got = 0;
    while (backend->agent.socket >= 0 &&
           (got = agent_receive(&backend->agent, &event, fds, READY_FD_COUNT, &fd_count)) == 1)
        on_event(backend, &event, fds, fd_count);
    /* Ended or out of step: the other descriptor tells when it is gone for good. */
    if (backend->agent.socket >= 0 && got < 0)
        close_socket(backend);
}

int backend_send(struct backend *backend, const struct agent_request *request, const int *fds) {
    int failed = agent_send(&backend->agent, request, fds);
    if (failed == -EAGAIN && !backend->sending_blocked && backend->watching_socket) {
        backend->sending_blocked = true;
        uv_poll_start(&backend->socket_watch, UV_READABLE | UV_WRITABLE, on_socket);
    }
    return failed;
}

static int watch_descriptor(struct backend *backend, uv_poll_t *watch, int fd, uv_poll_cb callback) {
    int failed = uv_poll_init(backend->loop, watch, fd);
    if (failed != 0)
        return failed;
    watch->data = backend;
    backend->open_handles++;
    return uv_poll_start(watch, UV_READABLE, callback);
}

int backend_begin(struct backend *backend, uv_loop_t *loop, const struct backend_calls *calls) {
    backend->loop = loop;
    backend->calls = *calls;
    int failed = watch_descriptor(backend, &backend->exit_watch, backend->agent.pidfd, on_agent_exit);
    if (failed == 0) {
        uv_unref((uv_handle_t *)&backend->exit_watch);
        failed = watch_descriptor(backend, &backend->socket_watch, backend->agent.socket, on_socket);
        backend->watching_socket = failed == 0;
    }
    if (failed != 0)
        close_socket(backend);
    return failed;
}

void backend_hold(struct backend *backend, bool held) {
    uv_handle_t *socket_watch = (uv_handle_t *)&backend->socket_watch;
    backend->held = held;
    if (!backend->watching_socket)
        return;
    if (held)
        uv_ref(socket_watch);
    else
        uv_unref(socket_watch);
}

void backend_close(struct backend *backend) {
    if (backend->agent.pidfd >= 0 && backend->open_handles > 0)
        uv_ref((uv_handle_t *)&backend->exit_watch);
    /* One that was stopped (SIGSTOP) would never see its socket close. */
    if (backend->agent.pid > 0)
        kill(backend->agent.pid, SIGCONT);
    close_socket(backend);
}

unsigned backend_handles(const struct backend *backend) {
    return backend->open_handles;
}
