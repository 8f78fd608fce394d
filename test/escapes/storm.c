/*
 * Calls under a storm of signals whose handler asks for restarts. A call that is started again must not have
 * been made before: nothing is there twice, nothing is missing. Prints, for each kind of call, how many went
 * wrong and how.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 500
#define THREADS 6
#define STREAM ((size_t)24 << 20)

static atomic_int signals;
static struct sockaddr_un streams = {.sun_family = AF_UNIX, .sun_path = "storm-stream"};
static struct sockaddr_un datagrams = {.sun_family = AF_UNIX, .sun_path = "storm-datagram"};

static void on_alarm(int number) {
    (void)number;
    signals++;
}

static void set_storm(long microseconds) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_interval = {.tv_usec = microseconds},
                              .it_value = {.tv_usec = microseconds}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void say(const char *what, int wrong, int errnum) {
    printf("%s: %d%s%s\n", what, wrong, wrong > 0 ? " " : "", wrong > 0 ? strerror(errnum) : "");
    fflush(stdout);
}

/* --- names --- */

/* A folder that may not be made. */
static const char *refused;

static const char *name(const char *prefix, int number) {
    static char names[2][64];
    static int next;
    next = !next;
    snprintf(names[next], sizeof names[next], "%s%d", prefix, number);
    return names[next];
}

static int make_folder(int i) {
    return mkdir(name("folder", i), 0700);
}
static int rename_folder(int i) {
    return rename(name("folder", i), name("moved", i));
}
static int remove_folder(int i) {
    return rmdir(name("moved", i));
}
static int make_file(int i) {
    int fd = open(name("file", i), O_CREAT | O_EXCL | O_WRONLY, 0600);
    return fd < 0 ? -1 : close(fd);
}
static int link_file(int i) {
    return link(name("file", i), name("other", i));
}
static int link_symbolically(int i) {
    return symlink("x", name("symlink", i));
}
static int exchange(int i) {
    return renameat2(AT_FDCWD, name("file", i), AT_FDCWD, name("fresh", i), RENAME_NOREPLACE);
}
static int remove_names(int i) {
    return unlink(name("fresh", i)) + unlink(name("other", i)) + unlink(name("symlink", i)) == 0 ? 0 : -1;
}
static int create_refused(int i) {
    (void)i;
    return mkdir(refused, 0700) < 0 && errno == EROFS ? 0 : -1;
}

static const struct {
    const char *what;
    int (*call)(int number);
} calls[] = {
    {"mkdir", make_folder},      {"rename", rename_folder}, {"rmdir", remove_folder},
    {"open", make_file},         {"link", link_file},       {"symlink", link_symbolically},
    {"rename to new", exchange}, {"unlink", remove_names},  {"refused", create_refused},
};

static void storm_names(void) {
    for (size_t kind = 0; kind < sizeof calls / sizeof calls[0]; kind++) {
        int wrong = 0;
        int errnum = 0;
        for (int i = 0; i < CALLS; i++) {
            if (calls[kind].call(i) != 0) {
                wrong++;
                errnum = errno;
            }
        }
        say(calls[kind].what, wrong, errnum);
    }
}

/* --- sockets --- */

static int bound(int type, const struct sockaddr_un *address) {
    int fd = socket(AF_UNIX, type, 0);
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        perror("bind");
        exit(1);
    }
    return fd;
}

static void storm_connects(void) {
    int listener = bound(SOCK_STREAM, &streams);
    listen(listener, 8);
    int wrong = 0;
    int errnum = 0;
    int accepted = 0;
    for (int i = 0; i < CALLS; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&streams, sizeof streams) != 0) {
            wrong++;
            errnum = errno;
        }
        int client = accept4(listener, NULL, NULL, 0);
        accepted += client >= 0;
        close(client);
        close(fd);
    }
    fcntl(listener, F_SETFL, O_NONBLOCK);
    while (accept(listener, NULL, NULL) >= 0)
        accepted++;
    close(listener);
    unlink(streams.sun_path);
    say("connect", wrong, errnum);
    printf("connections: %d\n", accepted);
}

static int take_all(int receiver) {
    char text[64];
    int count = 0;
    while (recv(receiver, text, sizeof text, MSG_DONTWAIT) > 0)
        count++;
    return count;
}

static void storm_datagrams(void) {
    int receiver = bound(SOCK_DGRAM, &datagrams);
    int sender = socket(AF_UNIX, SOCK_DGRAM, 0);
    struct iovec data = {.iov_base = "datagram", .iov_len = 8};
    struct msghdr message = {
        .msg_name = &datagrams, .msg_namelen = sizeof datagrams, .msg_iov = &data, .msg_iovlen = 1};
    struct mmsghdr batch[4] = {
        {.msg_hdr = message}, {.msg_hdr = message}, {.msg_hdr = message}, {.msg_hdr = message}};
    int wrong = 0;
    int errnum = 0;
    int received = 0;
    for (int i = 0; i < CALLS; i++) {
        bool good =
            sendmsg(sender, &message, 0) == 8 && sendmmsg(sender, batch, 4, 0) == 4 &&
            sendto(sender, "datagram", 8, 0, (const struct sockaddr *)&datagrams, sizeof datagrams) == 8;
        if (!good) {
            wrong++;
            errnum = errno;
        }
        received += take_all(receiver);
    }
    close(sender);
    close(receiver);
    unlink(datagrams.sun_path);
    say("datagrams", wrong, errnum);
    printf("received: %d\n", received);
}

/* Large messages into a pipe of sockets that is read slowly: they wait, and are interrupted in the middle. */
static unsigned char pattern(size_t at) {
    return (unsigned char)(at * 2654435761u >> 13);
}

static void *read_slowly(void *data) {
    int fd = *(int *)data;
    static unsigned char bytes[65536];
    size_t total = 0;
    size_t wrong = 0;
    for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0; total += (size_t)got) {
        for (ssize_t i = 0; i < got; i++)
            wrong += bytes[i] != pattern(total + (size_t)i);
        usleep(300);
    }
    printf("stream: %zu bytes, %zu wrong\n", total, wrong);
    return NULL;
}

static void storm_stream(void) {
    int pair[2];
    pthread_t reader;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    pthread_create(&reader, NULL, read_slowly, &pair[1]);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    unsigned char *bytes = malloc(STREAM);
    for (size_t i = 0; i < STREAM; i++)
        bytes[i] = pattern(i);
    int wrong = 0;
    int errnum = 0;
    for (size_t done = 0; done < STREAM;) {
        struct iovec data = {.iov_base = bytes + done, .iov_len = STREAM - done};
        struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
        ssize_t sent = sendmsg(pair[0], &message, 0);
        if (sent < 0) {
            wrong++;
            errnum = errno;
            break;
        }
        done += (size_t)sent;
    }
    close(pair[0]);
    pthread_join(reader, NULL);
    say("sendmsg", wrong, errnum);
}

/* --- several threads that wait, and a signal that is for whichever the kernel chooses --- */

static void *connect_once(void *data) {
    int *result = data;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    *result = connect(fd, (const struct sockaddr *)&streams, sizeof streams) == 0 ? 0 : errno;
    return NULL;
}

static void storm_waiting_threads(void) {
    int listener = bound(SOCK_STREAM, &streams);
    int results[THREADS];
    pthread_t threads[THREADS];
    listen(listener, 0);
    int filler = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(filler, (const struct sockaddr *)&streams, sizeof streams);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, connect_once, &results[i]);
    struct timespec start;
    struct timespec now;
    volatile unsigned work = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 20000; i++)
            work++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < 1);
    set_storm(0);
    /* Whoever gave up does not come. */
    struct timeval patience = {.tv_sec = 1};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    for (int i = 0; i <= THREADS; i++)
        accept4(listener, NULL, NULL, 0);
    int wrong = 0;
    int errnum = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (results[i] != 0) {
            wrong++;
            errnum = results[i];
        }
    }
    close(listener);
    unlink(streams.sun_path);
    say("waiting threads", wrong, errnum);
}

/* With a time limit of its own a socket's call is not started again, or the limit would never be reached
 * (signal(7)). */
static void connect_in_time(void) {
    int listener = bound(SOCK_STREAM, &streams);
    int filler = socket(AF_UNIX, SOCK_STREAM, 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    struct timeval limit = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    listen(listener, 0);
    connect(filler, (const struct sockaddr *)&streams, sizeof streams);
    set_storm(20000);
    int result = connect(fd, (const struct sockaddr *)&streams, sizeof streams) == 0 ? 0 : errno;
    set_storm(0);
    printf("with a time limit: %s\n", strerror(result));
    close(listener);
    unlink(streams.sun_path);
}

/* --- a thread that waits, and a signal that is for it --- */

static void on_user(int number) {
    (void)number;
}

static void set_blocked(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

static void *connect_unblocked(void *data) {
    set_blocked(SIG_UNBLOCK);
    return connect_once(data);
}

/* The first thread, which kernels prefer, blocks it; so the other one is called. */
static void call_waiting_thread(void) {
    struct sigaction action = {.sa_handler = on_user};
    int listener = bound(SOCK_STREAM, &streams);
    int filler = socket(AF_UNIX, SOCK_STREAM, 0);
    int result = 0;
    pthread_t thread;
    listen(listener, 0);
    connect(filler, (const struct sockaddr *)&streams, sizeof streams);
    sigaction(SIGUSR1, &action, NULL);
    set_blocked(SIG_BLOCK);
    pthread_create(&thread, NULL, connect_unblocked, &result);
    usleep(200000);
    kill(getpid(), SIGUSR1);
    usleep(300000);
    accept(listener, NULL, NULL);
    pthread_join(thread, NULL);
    printf("called thread: %s\n", strerror(result));
    close(listener);
    unlink(streams.sun_path);
}

/* --- a process that is stopped while a thread of it waits --- */

static void run_stopped(int listener) {
    pthread_t thread;
    int result = -1;
    close(listener);
    pthread_create(&thread, NULL, connect_once, &result);
    pthread_join(thread, NULL);
    _exit(result == 0 ? 0 : 1);
}

static bool stops_within_a_second(pid_t pid) {
    int status;
    for (int i = 0; i < 100; i++, usleep(10000))
        if (waitpid(pid, &status, WNOHANG | WUNTRACED) == pid)
            return WIFSTOPPED(status);
    return false;
}

static void stop_waiting_process(void) {
    int listener = bound(SOCK_STREAM, &streams);
    int filler = socket(AF_UNIX, SOCK_STREAM, 0);
    int status = -1;
    listen(listener, 0);
    connect(filler, (const struct sockaddr *)&streams, sizeof streams);
    pid_t pid = fork();
    if (pid == 0)
        run_stopped(listener);
    usleep(200000);
    kill(pid, SIGSTOP);
    printf("a stop: %s\n", stops_within_a_second(pid) ? "stops" : "does not stop");
    kill(pid, SIGCONT);
    usleep(100000);
    accept(listener, NULL, NULL);
    waitpid(pid, &status, 0);
    printf("continued: %s\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "connected" : "failed");
    close(listener);
    unlink(streams.sun_path);
}

int main(int argc, char **argv) {
    refused = argc > 1 ? argv[1] : "refused";
    set_storm(200);
    storm_names();
    storm_connects();
    storm_datagrams();
    storm_stream();
    storm_waiting_threads();
    connect_in_time();
    call_waiting_thread();
    stop_waiting_process();
    printf("signals: %s\n", signals > 1000 ? "many" : "few");
    return 0;
}
