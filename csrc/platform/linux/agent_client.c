#include "platform/linux/agent_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/passfd.h"

/* The descriptor that posix_spawn copies from must not be one of its targets: a copy onto itself stays
 * close-on-exec. */
#define ABOVE_TARGETS 16

/* Node ignores SIGPIPE and SIGXFSZ; a child that inherited that would pass it on to every command. */
static int set_attributes(posix_spawnattr_t *attributes, bool foreground) {
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawnattr_setsigdefault(attributes, &all);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(attributes, &none);
    if (failed == 0)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    const int place = foreground ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID;
    if (failed == 0)
        failed = posix_spawnattr_setflags(attributes,
                                          (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | place));
    return failed;
}

static int set_actions(posix_spawn_file_actions_t *actions, int socket) {
    int failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
    for (int fd = 1; failed == 0 && fd <= 2; fd++)
        failed = posix_spawn_file_actions_adddup2(actions, 0, fd);
    return failed != 0 ? failed : posix_spawn_file_actions_adddup2(actions, socket, AGENT_SOCKET_FD);
}

static int spawn(const char *helper, bool foreground, int socket, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char name[] = "os-sandbox-agent";
    char role[] = "agent";
    char where[] = "foreground";
    char *const argv[] = {name, role, foreground ? where : NULL, NULL};
    char *const envp[] = {NULL};
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = set_attributes(&attributes, foreground);
        if (failed == 0)
            failed = set_actions(&actions, socket);
        if (failed == 0)
            failed = posix_spawn(pid, helper, &actions, &attributes, argv, envp);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

int agent_spawn(const char *helper, bool foreground, struct agent_process *out, struct error *err) {
    int pair[2];
    *out = (struct agent_process){.pid = -1, .pidfd = -1, .socket = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return error_set(err, ERROR_HOST, errno, "socketpair");
    cleanup_fd int ours = pair[0];
    cleanup_fd int low = pair[1];
    cleanup_fd int theirs = fcntl(low, F_DUPFD_CLOEXEC, ABOVE_TARGETS);
    close_fd(&low);
    if (theirs < 0)
        return error_set(err, ERROR_HOST, errno, "fcntl");
    pid_t pid;
    int failed = spawn(helper, foreground, theirs, &pid);
    if (failed != 0)
        return error_set(err, ERROR_HOST, failed, "cannot start %s", helper);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        int errnum = errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return error_set(err, ERROR_HOST, errnum, "pidfd_open");
    }
    *out = (struct agent_process){.pid = pid, .pidfd = pidfd, .socket = steal_fd(&ours)};
    return 0;
}

bool agent_reap(struct agent_process *agent) {
    if (agent->pid < 0)
        return true;
    int status;
    pid_t got = waitpid(agent->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    agent->pid = -1;
    return true;
}

int agent_send(const struct agent_process *agent, const struct agent_request *request, const int *fds) {
    if (send_with_fds(agent->socket, request, sizeof *request, fds, fds == NULL ? 0 : START_FD_COUNT) == 0)
        return 0;
    return -errno;
}

int agent_receive(const struct agent_process *agent, struct agent_event *out, int *fds, size_t fds_max,
                  size_t *fd_count) {
    /* The socket does not block. */
    *out = (struct agent_event){.version = 0};
    ssize_t got = receive_with_fds(agent->socket, out, sizeof *out, fds, fds_max, fd_count);
    if (got < 0 && errno == EAGAIN)
        return 0;
    /* The message is there, its descriptors are not. */
    if (got < 0 && errno == EPROTO && out->version == WIRE_VERSION) {
        out->text[sizeof out->text - 1] = '\0';
        return 1;
    }
    if (got <= (ssize_t)offsetof(struct agent_event, text) || out->version != WIRE_VERSION)
        return -1;
    out->text[(size_t)got - offsetof(struct agent_event, text) - 1] = '\0';
    return 1;
}
