/* What a supervised command sends where there is not room for all of it, and where nobody reads any more. */
#include "supervised_sockets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define LARGE ((size_t)5 * 1024 * 1024 + 333)

static char pattern_at(size_t offset) {
    return (char)(offset * 2654435761u >> 24);
}

/* Reads to the end; the number of bytes that are right. */
static void *read_all(void *data) {
    int fd = *(int *)data;
    static char buffer[100000];
    size_t done = 0;
    size_t right = 0;
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < got; i++)
            right += buffer[i] == pattern_at(done++) ? 1 : 0;
    return (void *)(uintptr_t)right;
}

static void sends_large(int socket, int reader, const char *name) {
    pthread_t thread;
    void *right;
    char *data = malloc(LARGE);
    for (size_t i = 0; data != NULL && i < LARGE; i++)
        data[i] = pattern_at(i);
    struct iovec parts[] = {{data, 1000000}, {data + 1000000, 3}, {data + 1000003, LARGE - 1000003}};
    struct msghdr message = message_of(parts, 3);
    pthread_create(&thread, NULL, read_all, &reader);
    is_int(gave(sendmsg(socket, &message, 0)), (int)LARGE, name);
    close(socket);
    pthread_join(thread, &right);
    is_int((long long)(uintptr_t)right, (long long)LARGE, "and every byte of it is right");
    close(reader);
    free(data);
}

static void large(void) {
    int pair[2];
    struct sockaddr_in to;
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    sends_large(pair[0], pair[1], "five mebibytes go through a unix stream in one call");
    int server = bound(SOCK_STREAM, &to);
    listen(server, 1);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    connect(fd, (struct sockaddr *)&to, sizeof to);
    sends_large(fd, accept(server, NULL, NULL), "and through TCP");
    close(server);
}

static void without_blocking(void) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    char *data = calloc(1, LARGE);
    struct iovec part = {.iov_base = data, .iov_len = LARGE};
    struct msghdr message = message_of(&part, 1);
    int sent = gave(sendmsg(pair[0], &message, 0));
    ok(sent > 0 && sent < (int)LARGE, "what has no room is left out: %d bytes were taken", sent);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EAGAIN, "then there is no room at all");
    fcntl(pair[0], F_SETFL, 0);
    is_int(gave(sendmsg(pair[0], &message, MSG_DONTWAIT)), -EAGAIN, "nor for one message that does not wait");
    free(data);
    int packets[2];
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets);
    static char packet[1000000];
    part = (struct iovec){.iov_base = packet, .iov_len = sizeof packet};
    is_int(gave(sendmsg(packets[0], &message, 0)), -EMSGSIZE, "a packet that never has room");
    part.iov_len = 150000;
    is_int(gave(sendmsg(packets[0], &message, 0)), 150000, "one that has");
    part.iov_len = 1;
    struct mmsghdr batch[2000];
    for (size_t i = 0; i < 2000; i++)
        batch[i] = (struct mmsghdr){.msg_hdr = message};
    int many[2];
    int size = 4 << 20;
    socketpair(AF_UNIX, SOCK_DGRAM, 0, many);
    setsockopt(many[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    int count = gave(sendmmsg(many[0], batch, 2000, MSG_DONTWAIT));
    ok(count > 0 && count <= 1024, "of a batch as many are sent as have room: %d", count);
}

/* --- waiting, signals --- */

static atomic_uint signals;

static void count_signal(int number) {
    (void)number;
    atomic_fetch_add(&signals, 1);
}

static void on(int number, int flags) {
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};
    sigaction(number, &action, NULL);
    atomic_store(&signals, 0);
}

static void *drain_later(void *data) {
    char byte[8];
    usleep(200000);
    while (recv(*(int *)data, byte, sizeof byte, MSG_DONTWAIT) > 0)
        ;
    return NULL;
}

static void waits(void) {
    pthread_t thread;
    int pair[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    struct iovec part = part_of("x");
    struct msghdr message = message_of(&part, 1);
    while (sendmsg(pair[0], &message, MSG_DONTWAIT) == 1)
        ;
    on(SIGALRM, 0);
    ualarm(100000, 0);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EINTR, "a send that waits is interrupted by a signal");
    is_int(atomic_load(&signals), 1, "which is handled");
    on(SIGALRM, SA_RESTART);
    pthread_create(&thread, NULL, drain_later, &pair[1]);
    ualarm(100000, 0);
    is_int(gave(sendmsg(pair[0], &message, 0)), 1,
           "or goes on behind a handler that wants it, until there is room");
    pthread_join(thread, NULL);
    struct timeval limit = {.tv_usec = 100000};
    while (sendmsg(pair[0], &message, MSG_DONTWAIT) == 1)
        ;
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    is_int(gave(sendmsg(pair[0], &message, 0)), -EAGAIN, "a limit of the socket's own ends it, too");

    int stream[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, stream);
    char *data = calloc(1, LARGE);
    part = (struct iovec){.iov_base = data, .iov_len = LARGE};
    on(SIGALRM, 0);
    ualarm(100000, 0);
    int sent = gave(sendmsg(stream[0], &message, 0));
    ok(sent > 0 && sent < (int)LARGE, "what was sent before the signal counts: %d bytes", sent);
    free(data);
}

static void pipe_signals(void) {
    struct iovec part = part_of("x");
    struct msghdr message = message_of(&part, 1);
    static const struct {
        const char *name;
        int type, flags;
        unsigned signals;
    } rows[] = {{"a stream", SOCK_STREAM, 0, 1},
                {"one that wants none", SOCK_STREAM, MSG_NOSIGNAL, 0},
                {"packets", SOCK_SEQPACKET, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int pair[2];
        socketpair(AF_UNIX, rows[i].type, 0, pair);
        close(pair[1]);
        on(SIGPIPE, 0);
        is_int(gave(sendmsg(pair[0], &message, rows[i].flags)), -EPIPE, rows[i].name);
        is_int(atomic_load(&signals), rows[i].signals, "whose other end is gone: SIGPIPE or not");
        close(pair[0]);
    }
    pid_t child = fork();
    if (child == 0) {
        int pair[2];
        signal(SIGPIPE, SIG_DFL);
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        close(pair[1]);
        sendmsg(pair[0], &message, 0);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE, "without a handler it is the end");
}

/* Sixty processes wait at once; others are answered meanwhile, and all end when they are killed. */
static void crowd(void) {
    struct iovec part = part_of("x");
    struct msghdr message = message_of(&part, 1);
    pid_t children[60];
    for (size_t i = 0; i < 60; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            int pair[2];
            socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
            for (;;)
                sendmsg(pair[0], &message, 0);
        }
    }
    usleep(300000);
    int pair[2];
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    is_int(gave(sendmsg(pair[0], &message, 0)), 1, "while sixty wait another one is served");
    for (size_t i = 0; i < 60; i++)
        kill(children[i], SIGKILL);
    for (size_t i = 0; i < 60; i++)
        waitpid(children[i], NULL, 0);
    is_int(gave(sendmsg(pair[0], &message, 0)), 1, "and after their end, too");
}

static void command(void) {
    large();
    without_blocking();
    waits();
    pipe_signals();
    crowd();
}

int main(void) {
    supervised_run(NULL, 0, command);
    is_str(supervised_events, "", "nothing was refused");
    return done_testing();
}
