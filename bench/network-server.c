/*
 * What is reached through a network that is measured: network-server ADDRESS
 * Prints its port and serves "GET /…/N": N bytes, and then the end of the connection. A path with "/keep/"
 * leaves it open, and a line "kept" is printed. Ends with its standard input.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS 64
/* One connection gets so much, then it is the next one's turn. */
#define TURN ((size_t)4 << 20)

struct connection {
    int fd;
    size_t asked;
    char request[2048];
    size_t head_left;
    char head[128];
    size_t body_left;
    bool answering;
    bool kept;
};

static char body[1 << 20];
static int epoll;

static void fail(const char *what) {
    fprintf(stderr, "network-server: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void drop(struct connection *connection) {
    close(connection->fd);
    free(connection);
}

static void watch(struct connection *connection, int operation, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(epoll, operation, connection->fd, &event) != 0)
        fail("epoll_ctl");
}

/* False: it would block, or the connection broke. */
static bool send_some(struct connection *connection, const char *bytes, size_t size, size_t *left) {
    ssize_t sent = send(connection->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
        *left -= (size_t)sent;
    return sent > 0;
}

static void answer(struct connection *connection) {
    size_t head_size = strlen(connection->head);
    while (connection->head_left > 0)
        if (!send_some(connection, connection->head + head_size - connection->head_left,
                       connection->head_left, &connection->head_left))
            return;
    for (size_t turn = 0; connection->body_left > 0 && turn < TURN; turn += sizeof body) {
        size_t piece = connection->body_left < sizeof body ? connection->body_left : sizeof body;
        if (!send_some(connection, body, piece, &connection->body_left))
            return;
    }
}

static void answered(struct connection *connection) {
    if (!connection->kept) {
        drop(connection);
        return;
    }
    connection->answering = false;
    connection->asked = 0;
    watch(connection, EPOLL_CTL_MOD, EPOLLIN);
    puts("kept");
    fflush(stdout);
}

static void go_on(struct connection *connection) {
    errno = 0;
    answer(connection);
    if (connection->head_left == 0 && connection->body_left == 0)
        answered(connection);
    else if (errno == EPIPE || errno == ECONNRESET)
        drop(connection);
}

static void begin(struct connection *connection) {
    connection->request[strcspn(connection->request, "\r")] = '\0';
    char *end = strrchr(connection->request, ' ');
    if (end != NULL)
        *end = '\0';
    const char *count = strrchr(connection->request, '/');
    connection->kept = strstr(connection->request, "/keep/") != NULL;
    connection->body_left = count == NULL ? 0 : strtoull(count + 1, NULL, 10);
    snprintf(connection->head, sizeof connection->head,
             "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: %s\r\n\r\n", connection->body_left,
             connection->kept ? "keep-alive" : "close");
    connection->head_left = strlen(connection->head);
    connection->answering = true;
    watch(connection, EPOLL_CTL_MOD, EPOLLOUT);
    go_on(connection);
}

static void read_request(struct connection *connection) {
    size_t room = sizeof connection->request - 1 - connection->asked;
    ssize_t got = recv(connection->fd, connection->request + connection->asked, room, MSG_DONTWAIT);
    if (got <= 0) {
        drop(connection);
        return;
    }
    connection->asked += (size_t)got;
    connection->request[connection->asked] = '\0';
    if (strstr(connection->request, "\r\n\r\n") != NULL)
        begin(connection);
}

static void take(int listener) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = calloc(1, sizeof *connection);
        if (connection == NULL)
            fail("calloc");
        connection->fd = fd;
        watch(connection, EPOLL_CTL_ADD, EPOLLIN);
    }
}

static int listen_at(const char *address) {
    struct sockaddr_in local = {.sin_family = AF_INET};
    socklen_t size = sizeof local;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, address, &local.sin_addr) != 1)
        fail(address);
    if (fd < 0 || bind(fd, (struct sockaddr *)&local, size) != 0 || listen(fd, 4096) != 0)
        fail(address);
    getsockname(fd, (struct sockaddr *)&local, &size);
    printf("%d\n", ntohs(local.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    memset(body, 'x', sizeof body);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_at(argv[1]);
    struct connection listening = {.fd = listener};
    struct connection input = {.fd = STDIN_FILENO};
    watch(&listening, EPOLL_CTL_ADD, EPOLLIN);
    watch(&input, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == &input)
                return 0;
            if (connection == &listening)
                take(listener);
            else if (connection->answering)
                go_on(connection);
            else
                read_request(connection);
        }
    }
}
