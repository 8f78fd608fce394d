/* A loop for units that live on one, and connected sockets. */
#ifndef OS_SANDBOX_TEST_LOOPING_H
#define OS_SANDBOX_TEST_LOOPING_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

static uv_loop_t loop;
static uv_timer_t loop_holder; /* holds the loop, and wakes it: what is tested holds nothing */

static inline void on_loop_holder(uv_timer_t *timer) {
    (void)timer;
}

static inline void loop_begin(void) {
    uv_loop_init(&loop);
    uv_timer_init(&loop, &loop_holder);
    uv_timer_start(&loop_holder, on_loop_holder, 5, 5);
}

/* Whether nothing was left on the loop. */
static inline bool loop_end(void) {
    uv_close((uv_handle_t *)&loop_holder, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) == 0;
}

static inline uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Runs the loop until *flag or for so long. */
static inline bool run_until(const bool *flag, uint64_t ms) {
    uint64_t end = now_ms() + ms;
    while (!*flag && now_ms() < end)
        uv_run(&loop, UV_RUN_ONCE);
    return *flag;
}

static inline void run_for(uint64_t ms) {
    const bool never = false;
    run_until(&never, ms);
}

/* Processor time of this process in milliseconds. */
static inline uint64_t cpu_ms(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static inline void set_blocking(int fd, bool blocking) {
    fcntl(fd, F_SETFL, blocking ? 0 : O_NONBLOCK);
}

/* A listener on that address, at that port or any, which is written; -1. */
static inline int listen_at(const char *address, uint16_t *port, int backlog) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(*port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(*port)};
    bool six = inet_pton(AF_INET, address, &v4.sin_addr) != 1;
    struct sockaddr *at = six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t size = six ? sizeof v6 : sizeof v4;
    const int on = 1;
    int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (six)
        inet_pton(AF_INET6, address, &v6.sin6_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (six)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, at, size) != 0 || listen(fd, backlog) != 0 || getsockname(fd, at, &size) != 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(six ? v6.sin6_port : v4.sin_port);
    return fd;
}

/* Two ends of a TCP connection: ours does not block, theirs does. */
static inline void connected_pair(int *ours, int *theirs) {
    uint16_t port = 0;
    int listener = listen_at("127.0.0.1", &port, 1);
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    *theirs = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(*theirs, (struct sockaddr *)&to, sizeof to) != 0)
        perror("connect");
    *ours = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    close(listener);
}

static inline void reset_now(int fd) {
    const struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

/* What there is to read while the loop runs, until `size` bytes, an end, an error or some time: how many;
 * *end is 0 at the end, errno with an error, -1 with neither. */
static inline size_t read_looping(int fd, void *into, size_t size, int *end) {
    uint64_t until = now_ms() + 5000;
    size_t have = 0;
    *end = -1;
    while (have < size && now_ms() < until) {
        ssize_t got = recv(fd, (char *)into + have, size - have, MSG_DONTWAIT);
        if (got > 0) {
            have += (size_t)got;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            *end = got == 0 ? 0 : errno;
            return have;
        } else {
            uv_run(&loop, UV_RUN_ONCE);
        }
    }
    return have;
}

#endif
