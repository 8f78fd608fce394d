#include "exec/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/bind_inside.h"
#include "exec/explain.h"
#include "exec/outbound.h"
#include "exec/refusal.h"
#include "exec/socket_address.h"
#include "exec/socket_network.h"
#include "exec/waiting.h"
#include "exec/walk.h"

#ifndef SIOCUNIXFILE
#define SIOCUNIXFILE (SIOCPROTOPRIVATE + 0) /* linux/un.h, which does not go with sys/un.h */
#endif

#define BIND "network-bind"
#define CONNECT "network-outbound"

/* connect(2) that may wait: a stream's, unless its description says otherwise. */
static bool may_wait(int socket, const struct socket_kind *kind) {
    return kind->type != SOCK_DGRAM && (fcntl(socket, F_GETFL) & O_NONBLOCK) == 0;
}

/* Once more after a signal that was not the command's: a connection that is under way is waited for. */
static struct answer connect_waiting(struct call *call, int socket, const struct socket_address *address) {
    struct wait *wait = wait_begin(call);
    if (wait == NULL)
        return answer_errno(EAGAIN);
    struct answer answer;
    for (;;) {
        answer = answer_errno(connect(socket, &address->any, address->length) == 0 ? 0 : errno);
        if (answer.value != -EINTR)
            break;
        if (wait_interrupted(wait)) {
            answer = wait_interrupted_answer(socket);
            break;
        }
    }
    wait_end(wait);
    return answer;
}

static struct answer connect_judged(struct call *call, int socket, const struct socket_kind *kind,
                                    struct socket_address *address) {
    int error = socket_network_judge(call, socket, address, CONNECT);
    if (error == 0)
        error = socket_address_judge(call, kind->domain, address);
    if (error == 0)
        error = outbound_judge_connect(call, kind, address);
    if (error != 0)
        return answer_errno(error);
    struct answer answer =
        may_wait(socket, kind)
            ? connect_waiting(call, socket, address)
            : answer_errno(connect(socket, &address->any, address->length) == 0 ? 0 : errno);
    outbound_connected(call, socket, kind, address, answer.value);
    return answer;
}

static struct answer make_connect(struct call *call) {
    const __u64 *args = call->data->args;
    struct socket_kind kind;
    struct socket_address address;
    cleanup_fd int socket = socket_target_duplicate(call, (int)args[0]);
    if (socket < 0)
        return answer_errno(-socket);
    int error = socket_address_read(call, args[1], (int)args[2], &address);
    if (error != 0)
        return answer_errno(error);
    error = socket_kind_of(socket, &kind);
    if (error != 0)
        return answer_errno(error);
    struct answer answer = connect_judged(call, socket, &kind, &address);
    socket_address_clear(&address);
    return answer;
}

/* Where a socket came to be bound (unix(7) has no word of it; Linux 4.13): O_PATH; or -1. */
static int file_of(int socket) {
    return ioctl(socket, SIOCUNIXFILE);
}

/*
 * The address is walked again when the socket is bound, as its text stays with it: what it came to is judged,
 * and noted, as well.
 */
static bool is_refused_socket(struct call *call, int socket, const struct place *place,
                              struct refusal *refusal) {
    cleanup_fd int file = file_of(socket);
    bool refused = file < 0 ? is_refused_place(call, RULE_CREATE, place, refusal)
                            : is_refused_object(call, RULE_CREATE, file, refusal);
    if (refused && file >= 0)
        remove_made(call, file);
    if (!refused)
        note_path(call, refusal->path);
    return refused;
}

static struct answer bind_at(struct call *call, int socket, const struct socket_address *address,
                             const char *path, const struct place *place) {
    struct refusal refusal;
    if (is_refused_place(call, RULE_CREATE, place, &refusal)) {
        cleanup_fd int object = place_open(place);
        return object >= 0 ? answer_errno(EADDRINUSE) : explain_refusal(call, BIND, &refusal);
    }
    int error = bind_inside(call, socket, address, path, place);
    if (error != 0)
        return explain_place(call, BIND, place, error);
    if (is_refused_socket(call, socket, place, &refusal))
        return explain_refusal(call, BIND, &refusal);
    return answer_value(0);
}

static struct answer bind_path(struct call *call, int socket, const struct socket_address *address,
                               const char *path) {
    struct place place;
    int error = walk_to_place(call, AT_FDCWD, path, false, &place);
    struct answer answer =
        error != 0 ? explain_place(call, BIND, &place, error) : bind_at(call, socket, address, path, &place);
    place_clear(&place);
    return answer;
}

/* The port that the kernel takes from the address, which may have no family (inet_bind() in
 * net/ipv4/af_inet.c): it is at the same place in both. */
static uint16_t wanted_port(const struct socket_kind *kind, const struct socket_address *address) {
    bool ip = kind->domain == AF_INET || kind->domain == AF_INET6;
    return ip && address->length >= sizeof address->inet ? ntohs(address->inet.sin_port) : 0;
}

/*
 * The first port that needs no privilege is 1024 in a new network (ip-sysctl.rst). Whatever the address,
 * where it is the supervisor that binds, who has the privilege; elsewhere only what is worth a report.
 */
static bool needs_privilege(const struct call *call, const struct socket_kind *kind,
                            const struct socket_address *address) {
    uint16_t port = wanted_port(kind, address);
    bool told = socket_address_is_local(address) && kind->domain == address->any.sa_family;
    return port > 0 && port < 1024 && (told || !call->supervisor->landlocked);
}

/*
 * Without a path: where no call that goes on could make a file (landlock.h), the kernel judges sockets of the
 * network with the command's own rights, which are less than the supervisor's over it.
 */
static struct answer bind_socket(struct call *call, int socket, const struct socket_kind *kind,
                                 const struct socket_address *address) {
    char path[sizeof(struct sockaddr_un)];
    socket_address_path(address, path);
    if (kind->domain == AF_UNIX && path[0] != '\0')
        return bind_path(call, socket, address, path);
    if (needs_privilege(call, kind, address)) {
        if (socket_address_is_ip(address))
            socket_address_report(call, address, BIND, "ports below 1024 need a privilege");
        return answer_errno(EACCES);
    }
    if (kind->domain != AF_UNIX && call->supervisor->landlocked)
        return answer_continue();
    return answer_errno(bind(socket, &address->any, address->length) == 0 ? 0 : errno);
}

static struct answer make_bind(struct call *call) {
    const __u64 *args = call->data->args;
    struct socket_kind kind = {0};
    struct socket_address address;
    cleanup_fd int socket = socket_target_duplicate(call, (int)args[0]);
    int error = socket < 0 ? -socket : socket_kind_of(socket, &kind);
    if (error == 0)
        error = socket_address_read(call, args[1], (int)args[2], &address);
    if (error == 0)
        error = socket_network_judge(call, socket, &address, BIND);
    return error != 0 ? answer_errno(error) : bind_socket(call, socket, &kind, &address);
}

/*
 * Others than of TCP the kernel makes listen: a unix socket keeps whose call that was (SO_PEERCRED, unix(7)),
 * and no pointer is in it that could be swapped.
 */
static struct answer make_listen(struct call *call) {
    static const struct socket_address none = {.length = 0};
    struct socket_kind kind = {0};
    cleanup_fd int socket = socket_target_duplicate(call, (int)call->data->args[0]);
    if (socket >= 0 && socket_kind_of(socket, &kind) == 0 &&
        socket_network_judge(call, socket, &none, BIND) != 0)
        return answer_errno(EACCES);
    if (socket < 0 || socket_kind_of(socket, &kind) != 0 || !outbound_is_tcp(&kind))
        return answer_continue();
    if (listen(socket, (int)call->data->args[1]) != 0)
        return answer_errno(errno);
    outbound_listening(call, socket);
    return answer_value(0);
}

bool broker_sockets(struct call *call, struct answer *answer) {
    switch (call->data->nr) {
    case SYS_connect:
        *answer = make_connect(call);
        return true;
    case SYS_bind:
        *answer = make_bind(call);
        return true;
    case SYS_listen:
        *answer = make_listen(call);
        return true;
    default:
        return false;
    }
}
