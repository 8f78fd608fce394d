#include "exec/passfd.h"
#include "tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair[2];

static int open_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void sent(size_t fd_count) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int fds[PASSFD_MAX];
    for (size_t i = 0; i < PASSFD_MAX; i++)
        fds[i] = null;
    if (send_with_fds(pair[0], "word", 4, fds, fd_count) != 0)
        ok(false, "a message is sent");
    close(null);
}

static void many_at_once(void) {
    char text[8];
    int fds[PASSFD_MAX];
    size_t count;
    sent(PASSFD_MAX);
    is_int(receive_with_fds(pair[1], text, sizeof text, fds, PASSFD_MAX, &count), 4, "a message comes");
    is_int((long long)count, PASSFD_MAX, "with all descriptors that there is room for");
    bool closed = true;
    for (size_t i = 0; i < count; i++) {
        closed = closed && (fcntl(fds[i], F_GETFD) & FD_CLOEXEC) != 0;
        close(fds[i]);
    }
    ok(closed, "which are closed on exec");
    int before = open_files();
    sent(3);
    ok(receive_with_fds(pair[1], text, sizeof text, fds, 2, &count) < 0 && errno == EPROTO,
       "more than are expected are an error");
    sent(1);
    ok(receive_with_fds(pair[1], text, 2, fds, 2, &count) < 0 && errno == EPROTO,
       "a message that was cut, too");
    is_int(open_files(), before, "and none of them stays open");
    ok(send_with_fds(pair[0], "word", 4, fds, PASSFD_MAX + 1) != 0 && errno == EINVAL,
       "more than fit are not sent");
}

static void with_the_sender(void) {
    char text[8];
    int on = 1;
    int fd = -1;
    pid_t sender = 0;
    setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    ok(receive_with_pid_and_fd(pair[1], text, sizeof text, &sender, &fd) < 0 && errno == EAGAIN && fd == -1,
       "without a message nothing waits");
    sent(1);
    is_int(receive_with_pid_and_fd(pair[1], text, sizeof text, &sender, &fd), 4, "a message comes");
    is_int(sender, getpid(), "with its sender");
    ok(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, "and a descriptor, closed on exec");
    close(fd);
    sent(0);
    ok(receive_with_pid_and_fd(pair[1], text, sizeof text, &sender, &fd) == 4 && fd == -1, "or without one");
    int before = open_files();
    sent(3);
    ok(receive_with_pid_and_fd(pair[1], text, sizeof text, &sender, &fd) == 4, "of more than one");
    close(fd);
    is_int(open_files(), before, "the others are closed");
    sent(2);
    is_int(receive_with_pid(pair[1], text, sizeof text, &sender), 4, "where none is expected");
    ok(sender == getpid() && open_files() == before, "all are");
}

static void without_room(void) {
    char text[8];
    int fd = 7;
    pid_t sender = 0;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    struct rlimit few = {.rlim_cur = (rlim_t)pair[1] + 1, .rlim_max = files.rlim_max};
    sent(1);
    setrlimit(RLIMIT_NOFILE, &few);
    ok(receive_with_pid_and_fd(pair[1], text, sizeof text, &sender, &fd) == 4 && sender == getpid() &&
           fd == -1,
       "a process with too many open files gets the message without its descriptor");
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(void) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return 1;
    many_at_once();
    with_the_sender();
    without_room();
    close(pair[0]);
    close(pair[1]);
    return done_testing();
}
