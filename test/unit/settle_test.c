/* A caller that was settled waits for its answer, whatever signals come. */
#include "exec/settle.h"
#include "notified.h"
#include "tap.h"

#include <errno.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals = signals + 1;
}

static int highest_descriptor(void) {
    int fd = dup(0);
    close(fd);
    return fd;
}

/* 0 where the call gave the answer, was not interrupted, the signal came all the same, and no descriptor did.
 */
static int call_once(void *unused) {
    (void)unused;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    int before = highest_descriptor();
    long result = syscall(SYS_rmdir, "/nonexistent");
    return result == 7 && signals == 1 && highest_descriptor() == before ? 0 : 1;
}

static bool stands(const struct notified *child) {
    uint64_t id = child->notification.id;
    return ioctl(child->supervisor.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int main(void) {
    static const int numbers[] = {SYS_rmdir};
    struct notified child;

    ok(notified_start(&child, numbers, 1, NULL, call_once, NULL) && notified_next(&child), "a call waits");
    ok(settle(&child.call), "its caller is settled");
    kill(child.pid, SIGUSR1);
    usleep(100000);
    ok(stands(&child), "a signal does not take the call away");
    notified_answer(&child, answer_value(7));
    is_int(notified_end(&child, false), 0, "the answer comes, then the signal, and nothing else");

    ok(notified_start(&child, numbers, 1, NULL, call_once, NULL) && notified_next(&child),
       "another call waits");
    kill(child.pid, SIGKILL);
    while (stands(&child))
        usleep(1000);
    ok(!settle(&child.call), "whose caller is killed: it is not to be made");
    is_int(notified_end(&child, false), SIGKILL, "it died");
    return done_testing();
}
