#include "exec/let_go.h"
#include "tap.h"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether the last writer of a pipe is gone, at once or when the kernel comes to it. */
static bool has_ended(int reader) {
    struct pollfd waiting = {.fd = reader, .events = POLLIN};
    return poll(&waiting, 1, 30000) == 1 && (waiting.revents & POLLHUP) != 0;
}

static bool ends_when_let_go(void) {
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    let_go(&ends[1]);
    bool ended = ends[1] == -1 && has_ended(ends[0]);
    close(ends[0]);
    return ended;
}

/* The lowest free number, which grows with every descriptor that is left open. */
static int next_fd(void) {
    int fd = dup(0);
    close(fd);
    return fd;
}

int main(void) {
    int before = next_fd();
    ok(ends_when_let_go(), "what is let go is closed");
    int watch = inotify_init1(IN_CLOEXEC);
    ok(inotify_add_watch(watch, "/", IN_CREATE) >= 0, "something is watched");
    let_go(&watch);
    int none = -1;
    let_go(&none);
    ok(watch == -1 && none == -1 && next_fd() == before, "no descriptor is left");
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    int ends[2];
    ok(pipe(ends) == 0, "a pipe");
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 0, .rlim_max = files.rlim_max});
    let_go(&ends[1]);
    setrlimit(RLIMIT_NOFILE, &files);
    ok(ends[1] == -1 && has_ended(ends[0]), "also where no other descriptor can be had");
    return done_testing();
}
