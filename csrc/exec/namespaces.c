#include "exec/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/gateway.h"
#include "exec/gateway_net.h"
#include "exec/passfd.h"
#include "exec/session_tree.h"

/* What a child says of what it was to make; its descriptors come along. */
struct report {
    int errnum; /* 0: made */
    char step[64];
};

static int write_file(const char *path, const char *text) {
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t length = strlen(text);
    if (fd < 0)
        return -1;
    return write(fd, text, length) == (ssize_t)length ? 0 : -1;
}

static int write_id_map(const char *path, unsigned id) {
    char line[64];
    snprintf(line, sizeof line, "%u %u 1\n", id, id);
    return write_file(path, line);
}

/* In the child: every step in order, the first failure is reported. The ids are read before they change their
 * meaning. */
static const char *make_namespaces(void) {
    unsigned uid = geteuid();
    unsigned gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return "making a user and a network namespace";
    if (write_file("/proc/self/setgroups", "deny") != 0 && errno != ENOENT)
        return "setgroups of a user namespace";
    if (write_id_map("/proc/self/uid_map", uid) != 0)
        return "uid_map of a user namespace";
    if (write_id_map("/proc/self/gid_map", gid) != 0)
        return "gid_map of a user namespace";
    if ((errno = gateway_net_loopback()) != 0)
        return "loopback of a network namespace";
    return NULL;
}

static int open_own(const char *namespace) {
    return open(namespace, O_RDONLY | O_CLOEXEC);
}

/* step NULL: done. errnum is the failed step's. */
static int tell(int socket, const char *step, int errnum, const int *fds, size_t fd_count) {
    struct report report = {.errnum = step == NULL ? 0 : errnum};
    snprintf(report.step, sizeof report.step, "%s", step == NULL ? "" : step);
    return send_with_fds(socket, &report, sizeof report, fds, step == NULL ? fd_count : 0);
}

/* A second network namespace, and the way there. The caller is in the first one again. -1 with errno. */
static int make_gateway_network(int inner, const char **step) {
    *step = "making a network namespace";
    if (unshare(CLONE_NEWNET) != 0)
        return -1;
    cleanup_fd int outer = open_own("/proc/self/ns/net");
    int errnum = outer < 0 ? errno : 0;
    if (setns(inner, CLONE_NEWNET) != 0)
        return -1;
    if (errnum == 0 && (errnum = gateway_net_join(outer, inner, step)) == 0)
        return steal_fd(&outer);
    errno = errnum;
    return -1;
}

/*
 * The child that becomes the gateway process. Its first word is the session's user and network namespace, so
 * that the other child can begin; its second, whether there is a gateway.
 */
static _Noreturn void network_main(int socket, struct gateway *gateway) {
    const char *step = make_namespaces();
    int errnum = errno;
    enum { MADE = 2 };
    int made[MADE] = {-1, -1};
    if (step == NULL && ((made[0] = open_own("/proc/self/ns/user")) < 0 ||
                         (made[1] = gateway->inner = open_own("/proc/self/ns/net")) < 0)) {
        step = "opening /proc/self/ns";
        errnum = errno;
    }
    if (tell(socket, step, errnum, made, MADE) != 0 || step != NULL)
        _exit(1);
    gateway->outer = make_gateway_network(gateway->inner, &step);
    if (tell(socket, gateway->outer >= 0 ? NULL : step, errno, NULL, 0) != 0)
        _exit(1);
    gateway_main(gateway);
}

/* The short-lived child that makes the mount namespace. What fails is not told: there is none then. */
static _Noreturn void mount_main(int socket, const struct session_namespaces *namespaces) {
    int made = -1;
    if (session_namespaces_enter(namespaces) == 0 && unshare(CLONE_NEWNS) == 0 && session_tree_make() == 0)
        made = open_own("/proc/self/ns/mnt");
    if (made >= 0)
        tell(socket, NULL, 0, &made, 1);
    _exit(0);
}

static void reap(pid_t child) {
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* What the child says; 0, or an errno with the step. */
static int hear(int socket, int *fds, size_t wanted, char *text, size_t text_size) {
    struct report report = {0};
    size_t count = 0;
    ssize_t got = receive_with_fds(socket, &report, sizeof report, fds, wanted, &count);
    if (got == (ssize_t)sizeof report && report.errnum == 0 && count == wanted)
        return 0;
    for (size_t i = 0; i < count; i++)
        close_fd(&fds[i]);
    report.step[sizeof report.step - 1] = '\0';
    snprintf(text, text_size, "%s", report.step[0] != '\0' ? report.step : "a child that makes namespaces");
    return report.errnum != 0 ? report.errnum : EPROTO;
}

/* A child's socket: what it says is read at ours. */
static int make_pair(int *ours, int *theirs) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    *ours = pair[0];
    *theirs = pair[1];
    return 0;
}

/* Where any of it fails out->mount stays -1. The child is the caller's to reap. */
static pid_t begin_mounts(const struct session_namespaces *namespaces, int *ours) {
    cleanup_fd int theirs = -1;
    if (make_pair(ours, &theirs) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        mount_main(theirs, namespaces);
    return child;
}

static void end_mounts(struct session_namespaces *out, pid_t child, int ours) {
    char unused[1];
    int mount = -1;
    if (child < 0)
        return;
    if (hear(ours, &mount, 1, unused, sizeof unused) == 0)
        out->mount = mount;
    reap(child);
}

/* Both children at work: the network's devices take as long as the tree. */
static int make_all(struct session_namespaces *out, int network, char *text, size_t text_size) {
    int made[2] = {-1, -1};
    cleanup_fd int mounts = -1;
    int errnum = hear(network, made, 2, text, text_size);
    if (errnum != 0)
        return errnum;
    out->user = made[0];
    out->network = made[1];
    pid_t child = begin_mounts(out, &mounts);
    char step[64];
    int none[1];
    int gateway_errnum = hear(network, none, 0, step, sizeof step);
    end_mounts(out, child, mounts);
    out->transparent = gateway_errnum == 0;
    if (!out->transparent)
        snprintf(text, text_size, "%s: %s", step, strerror(gateway_errnum));
    return 0;
}

static int begin_network(struct session_namespaces *out, struct port_table *ports, int *ours) {
    cleanup_fd int theirs = -1;
    cleanup_fd int gateway_end = -1;
    if (make_pair(ours, &theirs) != 0 || make_pair(&out->gateway_socket, &gateway_end) != 0 ||
        fcntl(out->gateway_socket, F_SETFL, O_NONBLOCK) != 0)
        return -1;
    struct gateway gateway = {
        .socket = gateway_end, .inner = -1, .outer = -1, .agent = getpid(), .ports = ports};
    pid_t child = fork();
    if (child == 0)
        network_main(theirs, &gateway);
    out->gateway = child < 0 ? 0 : child;
    return child < 0 ? -1 : 0;
}

void session_namespaces_close(struct session_namespaces *namespaces) {
    close_fd(&namespaces->user);
    close_fd(&namespaces->network);
    close_fd(&namespaces->mount);
    close_fd(&namespaces->gateway_socket);
    if (namespaces->gateway > 0) {
        kill(namespaces->gateway, SIGKILL);
        reap(namespaces->gateway);
    }
    *namespaces = (struct session_namespaces)SESSION_NAMESPACES_NONE;
}

int session_namespaces_make(struct session_namespaces *out, struct port_table *ports, char *text,
                            size_t text_size) {
    *out = (struct session_namespaces)SESSION_NAMESPACES_NONE;
    cleanup_fd int network = -1;
    text[0] = '\0';
    int errnum = begin_network(out, ports, &network) == 0 ? make_all(out, network, text, text_size) : errno;
    if (errnum == 0)
        return 0;
    if (text[0] == '\0')
        snprintf(text, text_size, "a child that makes namespaces");
    session_namespaces_close(out);
    return errnum;
}

int session_namespaces_enter(const struct session_namespaces *namespaces) {
    if (setns(namespaces->user, CLONE_NEWUSER) != 0 || setns(namespaces->network, CLONE_NEWNET) != 0)
        return errno;
    if (namespaces->mount >= 0 && setns(namespaces->mount, CLONE_NEWNS) != 0)
        return errno;
    return 0;
}
