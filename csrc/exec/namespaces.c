#include "exec/namespaces.h"

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
#include "exec/session_tree.h"

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
    if (loopback_up() != 0)
        return "loopback of a network namespace";
    return NULL;
}

/* What the child opens once it is inside, in the order in which it sends them; the mount namespace may be
 * missing. */
static const char *const namespace_files[] = {"/proc/self/ns/user", "/proc/self/ns/net", "/proc/self/ns/mnt"};
enum { NAMESPACES = 3, NAMESPACES_NEEDED = 2 };

static _Noreturn void child_main(int socket) {
    struct report report = {0};
    const char *step = make_namespaces();
    int fds[NAMESPACES];
    size_t count = 0;
    if (step == NULL) {
        size_t wanted =
            unshare(CLONE_NEWNS) == 0 && session_tree_make() == 0 ? NAMESPACES : NAMESPACES_NEEDED;
        while (count < wanted && (fds[count] = open(namespace_files[count], O_RDONLY | O_CLOEXEC)) >= 0)
            count++;
        if (count < wanted)
            step = "opening /proc/self/ns";
    }
    if (step != NULL) {
        report.errnum = errno;
        snprintf(report.step, sizeof report.step, "%s", step);
    }
    send_with_fds(socket, &report, sizeof report, fds, step == NULL ? count : 0);
    _exit(0);
}

int session_namespaces_make(struct session_namespaces *out, char *text, size_t text_size) {
    *out = (struct session_namespaces){.user = -1, .network = -1, .mount = -1};
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
    int fds[NAMESPACES] = {-1, -1, -1};
    size_t fd_count = 0;
    ssize_t got = receive_with_fds(ours, &report, sizeof report, fds, NAMESPACES, &fd_count);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (got == (ssize_t)sizeof report && report.errnum == 0 && fd_count >= NAMESPACES_NEEDED) {
        *out = (struct session_namespaces){.user = fds[0], .network = fds[1], .mount = fds[2]};
        return 0;
    }
    for (size_t i = 0; i < NAMESPACES; i++)
        close_fd(&fds[i]);
    report.step[sizeof report.step - 1] = '\0';
    snprintf(text, text_size, "%s", report.step[0] != '\0' ? report.step : "a child that makes namespaces");
    return report.errnum != 0 ? report.errnum : EPROTO;
}

int session_namespaces_enter(const struct session_namespaces *namespaces) {
    if (setns(namespaces->user, CLONE_NEWUSER) != 0 || setns(namespaces->network, CLONE_NEWNET) != 0)
        return errno;
    if (namespaces->mount >= 0 && setns(namespaces->mount, CLONE_NEWNS) != 0)
        return errno;
    return 0;
}
