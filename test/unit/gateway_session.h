/* What the tests of a session's gateway share: the session, its client, and processes inside. */
#ifndef OS_SANDBOX_TEST_GATEWAY_SESSION_H
#define OS_SANDBOX_TEST_GATEWAY_SESSION_H

#include "exec/namespaces.h"
#include "platform/linux/gateway_client.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct session_namespaces session;
static struct port_table *ports;
static struct gateway_client *client;

static inline struct sockaddr_storage at(const char *text, uint16_t port) {
    struct sockaddr_storage storage = {.ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&storage;
    if (storage.ss_family == AF_INET) {
        inet_pton(AF_INET, text, &v4->sin_addr);
        v4->sin_port = htons(port);
    } else {
        inet_pton(AF_INET6, text, &v6->sin6_addr);
        v6->sin6_port = htons(port);
    }
    return storage;
}

static inline socklen_t size_of(const struct sockaddr_storage *address) {
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* Address and port as text; a mapped one as IPv4. */
static inline const char *name_of(const struct sockaddr_storage *address, char *text, size_t size) {
    char host[INET6_ADDRSTRLEN];
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    if (address->ss_family == AF_INET)
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
    else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], host, sizeof host);
    else
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
    snprintf(text, size, "%s %u", host, ntohs(v4->sin_port));
    return text;
}

struct answer {
    int socket;
    struct port_owner owner;
    bool come;
    unsigned place; /* how many came before */
};
static unsigned come_so_far;

static inline void on_socket(void *data, int socket) {
    struct answer *answer = data;
    answer->socket = socket;
    answer->come = true;
    answer->place = come_so_far++;
}

static inline void on_owner(void *data, struct port_owner owner) {
    struct answer *answer = data;
    answer->owner = owner;
    answer->come = true;
}

/* The client's handle does not hold the loop: a timer does, for at most five seconds. */
static inline void on_late(uv_timer_t *timer) {
    (void)timer;
}

static inline void await(const bool *flag) {
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t late;
    uv_timer_init(loop, &late);
    uv_timer_start(&late, on_late, 5000, 0);
    while (!*flag && uv_is_active((uv_handle_t *)&late))
        uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&late, NULL);
    uv_run(loop, UV_RUN_NOWAIT);
}

/* The socket, or a negative errno. */
static inline int ask(struct gateway_request request) {
    struct answer answer = {.socket = -ETIMEDOUT};
    int failed = gateway_client_socket(client, &request, on_socket, &answer);
    if (failed != 0)
        return failed;
    if (answer.come)
        return -EPROTO; /* from inside the call */
    await(&answer.come);
    return answer.socket;
}

/* What a child inside makes of it: 0 to 255. It ends when *held, where that is asked for, is closed. */
typedef int (*inside_fn)(const struct sockaddr_storage *address);
static inline pid_t begin_inside(inside_fn function, const struct sockaddr_storage *address, int *ready,
                                 int *held) {
    int told[2];
    int hold[2];
    if (pipe(told) != 0 || pipe(hold) != 0)
        abort();
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        unsigned char result = 255;
        char unused;
        if (session_namespaces_enter(&session) == 0)
            result = (unsigned char)function(address);
        if (write(told[1], &result, 1) == 1 && read(hold[0], &unused, 1) == 0)
            _exit(0);
        _exit(1);
    }
    close(told[1]);
    close(hold[0]);
    unsigned char result = 255;
    *ready = read(told[0], &result, 1) == 1 ? result : 255;
    close(told[0]);
    *held = hold[1];
    return child;
}

static inline void end_inside(pid_t child, int held) {
    close(held);
    waitpid(child, NULL, 0);
}

static inline int inside(inside_fn function, const char *host, uint16_t port) {
    struct sockaddr_storage address = at(host, port);
    int result;
    int held;
    pid_t child = begin_inside(function, &address, &result, &held);
    end_inside(child, held);
    return result;
}

/* 0, or the errno. The socket stays open. */
static inline int connects(const struct sockaddr_storage *address) {
    int fd = socket(address->ss_family, SOCK_STREAM, 0);
    return connect(fd, (const struct sockaddr *)address, size_of(address)) == 0 ? 0 : errno;
}

static inline int accept_soon(int listener) {
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    return poll(&waiting, 1, 2000) == 1 ? accept(listener, NULL, NULL) : -1;
}

static inline void arrives(int listener, const char *host, uint16_t port) {
    char wanted[80];
    char got[80] = "";
    struct sockaddr_storage address = at(host, port);
    struct sockaddr_storage local = {0};
    socklen_t size = sizeof local;
    int held;
    int result;
    pid_t child = begin_inside(connects, &address, &result, &held);
    int accepted = result == 0 ? accept_soon(listener) : -1;
    if (accepted >= 0 && getsockname(accepted, (struct sockaddr *)&local, &size) == 0)
        name_of(&local, got, sizeof got);
    name_of(&address, wanted, sizeof wanted);
    is_str(got, wanted, "a connection to an address of the outside arrives with that address");
    end_inside(child, held);
    if (accepted >= 0)
        close(accepted);
}

static inline void on_closed(void *data) {
    *(bool *)data = true;
}

#endif
