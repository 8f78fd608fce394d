#include "exec/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/passfd.h"

struct report {
    int errnum;
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

static int loopback_up(void) {
    cleanup_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0)
        return -1;
    request.ifr_flags = (short)(request.ifr_flags | IFF_UP | IFF_RUNNING);
    return ioctl(fd, SIOCSIFFLAGS, &request);
}

/* In the child: every step in order, the first failure is reported. The ids are read before they change their meaning. */
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
    if (loopback_up() != 0)
        return "loopback of a network namespace";
    return NULL;
}

static _Noreturn void child_main(int socket) {
    struct report report = {0};
    const char *step = make_namespaces();
    int fds[2] = {-1, -1};
    if (step == NULL) {
        fds[0] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
        fds[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        if (fds[0] < 0 || fds[1] < 0)
            step = "opening /proc/self/ns";
    }
    if (step != NULL) {
        report.errnum = errno;
        snprintf(report.step, sizeof report.step, "%s", step);
    }
    send_with_fds(socket, &report, sizeof report, fds, step == NULL ? 2 : 0);
    _exit(0);
}

int session_namespaces_make(struct session_namespaces *out, char *text, size_t text_size) {
    *out = (struct session_namespaces){.user = -1, .network = -1};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        snprintf(text, text_size, "socketpair");
        return errno;
    }
    cleanup_fd int ours = pair[0];
    cleanup_fd int theirs = pair[1];
    pid_t child = fork();
    if (child == 0)
        child_main(theirs);
    if (child < 0) {
        snprintf(text, text_size, "fork");
        return errno;
    }
    close_fd(&theirs);
    struct report report = {0};
    int fds[2] = {-1, -1};
    size_t fd_count = 0;
    ssize_t got = receive_with_fds(ours, &report, sizeof report, fds, 2, &fd_count);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (got == (ssize_t)sizeof report && report.errnum == 0 && fd_count == 2) {
        out->user = fds[0];
        out->network = fds[1];
        return 0;
    }
    close_fd(&fds[0]);
    close_fd(&fds[1]);
    report.step[sizeof report.step - 1] = '\0';
    snprintf(text, text_size, "%s", report.step[0] != '\0' ? report.step : "a child that makes namespaces");
    return report.errnum != 0 ? report.errnum : EPROTO;
}

int session_namespaces_enter(const struct session_namespaces *namespaces) {
    if (setns(namespaces->user, CLONE_NEWUSER) != 0 || setns(namespaces->network, CLONE_NEWNET) != 0)
        return errno;
    return 0;
}
