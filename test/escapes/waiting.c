/*
 * Calls that wait: connects to a listener that takes no more, which the supervisor makes for this program.
 * They must end as the kernel's own do: by a signal, by death, by a free place; and hold up nobody else
 * meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAITERS 40

static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "full.sock"};
static volatile sig_atomic_t alarms;

static void on_alarm(int number) {
    (void)number;
    alarms = alarms + 1;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int connect_once(void) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int result = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    close(fd);
    return result;
}

/* Again and again: one that comes before the call has begun interrupts nothing. 0: no more. */
static void set_alarm(int flags, long microseconds) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = flags};
    struct itimerval often = {.it_value = {.tv_usec = microseconds},
                              .it_interval = {.tv_usec = microseconds}};
    alarms = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

/* Until the listener takes no more; what it has taken stays. */
static void fill(void) {
    int fd;
    do
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    close(fd);
}

static pid_t fork_waiter(void) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(connect_once() == 0 ? 0 : 1);
    return pid;
}

static void drain(int listener) {
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
        close(fd);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 0) != 0)
        return 1;
    printf("first: %s\n", strerror(connect_once()));

    set_alarm(0, 200000);
    int result = connect_once();
    set_alarm(0, 0);
    printf("signal without restart: %s\n", strerror(result));

    /* Restarted after the handler: it still waits, until there is room. */
    pid_t maker_of_room = fork();
    if (maker_of_room == 0) {
        usleep(600000);
        drain(listener);
        _exit(0);
    }
    set_alarm(SA_RESTART, 200000);
    result = connect_once();
    const bool was_alarmed = alarms > 0;
    set_alarm(SA_RESTART, 0);
    printf("signal with restart: %s after %s\n", strerror(result), was_alarmed ? "signals" : "none");
    waitpid(maker_of_room, NULL, 0);

    fill();
    struct timeval limit = {.tv_usec = 300000};
    int limited = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(limited, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    double before = seconds();
    result = connect(limited, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    double took = seconds() - before;
    printf("time limit of the socket: %s %s\n", strerror(result),
           took > 0.2 && took < 3 ? "in time" : "late");
    close(limited);

    int impatient = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    result = connect(impatient, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    printf("without waiting: %s\n", strerror(result));
    close(impatient);

    pid_t waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        waiters[i] = fork_waiter();
    usleep(300000);
    before = seconds();
    printf("a name meanwhile: %s\n", mkdir("meanwhile", 0700) == 0 ? "made" : strerror(errno));
    printf("held up: %s\n", seconds() - before < 1 ? "no" : "yes");
    kill(waiters[0], SIGKILL);
    int status;
    printf("killed: %s\n",
           waitpid(waiters[0], &status, 0) == waiters[0] && WIFSIGNALED(status) ? "gone" : "stays");
    kill(waiters[1], SIGTERM);
    printf("terminated: %s\n",
           waitpid(waiters[1], &status, 0) == waiters[1] && WIFSIGNALED(status) ? "gone" : "stays");
    int connected = 0;
    for (int left = WAITERS - 2; left > 0;) {
        drain(listener);
        pid_t done = waitpid(-1, &status, WNOHANG);
        if (done > 0) {
            left--;
            connected += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        } else {
            usleep(1000);
        }
    }
    printf("the others: %d connected\n", connected);
    return 0;
}
