#include "exec/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/capabilities.h"
#include "exec/gateway_wire.h"
#include "exec/passfd.h"
#include "exec/socket_owner.h"

enum { FD_SOCKET = 3, FD_INNER, FD_OUTER, FD_FIRST_FREE };

/* A terminal's signals are for the command, and a reader that went away is seen by the end of the socket. */
static const int ignored[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGHUP, SIGPIPE};

/* To change between the namespaces, to take ports below 1024, to see whose a socket is. */
#define KEPT_CAPABILITIES (1u << CAP_SYS_ADMIN | 1u << CAP_NET_BIND_SERVICE | 1u << CAP_SYS_PTRACE)

struct server {
    int place; /* where this process is, enum gateway_place; -1: not known yet */
    bool has_outer;
    const struct port_table *ports;
};

static int take_descriptors(const struct gateway *gateway) {
    const int sources[] = {gateway->socket, gateway->inner, gateway->outer};
    enum { COUNT = sizeof sources / sizeof sources[0] };
    int lifted[COUNT];
    for (int i = 0; i < COUNT; i++)
        if (sources[i] >= 0 && (lifted[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, FD_FIRST_FREE)) < 0)
            return -1;
    for (int i = 0; i < COUNT; i++)
        if (sources[i] >= 0 && dup3(lifted[i], FD_SOCKET + i, O_CLOEXEC) < 0)
            return -1;
    return (int)syscall(SYS_close_range, gateway->outer >= 0 ? FD_FIRST_FREE + 0u : FD_OUTER + 0u, ~0u, 0u);
}

/*
 * Not dumpable: a command that sees this process in the outer /proc must not reach its sockets through it. A
 * name of its own, to be told from the supervisors.
 */
static int set_up_process(const struct gateway *gateway) {
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    if (take_descriptors(gateway) != 0 || capabilities_keep(KEPT_CAPABILITIES) != 0 ||
        prctl(PR_SET_NAME, "os-sandbox-gate") != 0 || prctl(PR_SET_DUMPABLE, 0) != 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != gateway->agent)
        return -1;
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int go_to(struct server *server, int place) {
    if (server->place == place)
        return 0;
    if (place != GATEWAY_INNER && !(place == GATEWAY_OUTER && server->has_outer))
        return ENODEV;
    if (setns(place == GATEWAY_INNER ? FD_INNER : FD_OUTER, CLONE_NEWNET) != 0)
        return errno;
    server->place = place;
    return 0;
}

static bool set_option(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* A datagram's own destination is told, and answers may come from it (ip(7), ipv6(7), RFC 3542). */
static bool want_packet_info(int fd, const struct gateway_request *request) {
    if (request->domain == AF_INET6 && (!set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) ||
                                        !set_option(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1)))
        return false;
    return (request->domain == AF_INET6 && request->dual == 0) || set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

/* Only of a stream is the address taken at once again: two datagram sockets would share it. */
static bool set_options(int fd, const struct gateway_request *request) {
    if (request->domain == AF_INET6 && !set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, request->dual == 0))
        return false;
    if (request->kind == SOCK_STREAM && request->backlog > 0 && !set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1))
        return false;
    return request->packet_info == 0 || want_packet_info(fd, request);
}

/* 0, or an errno. */
static int make_socket(struct server *server, const struct gateway_request *request, int *out) {
    int errnum = go_to(server, (int)request->place);
    if (errnum != 0)
        return errnum;
    cleanup_fd int fd =
        socket(request->domain, request->kind | SOCK_NONBLOCK | SOCK_CLOEXEC, request->protocol);
    if (fd < 0 || !set_options(fd, request))
        return errno;
    if (request->address_length > sizeof request->address)
        return EINVAL;
    if (request->address_length > 0 &&
        bind(fd, (const struct sockaddr *)&request->address, request->address_length) != 0)
        return errno;
    if (request->backlog > 0 && listen(fd, request->backlog) != 0)
        return errno;
    *out = steal_fd(&fd);
    return 0;
}

static void find_owner(struct server *server, const struct gateway_request *request,
                       struct gateway_reply *reply) {
    reply->errnum = go_to(server, GATEWAY_INNER);
    if (reply->errnum != 0)
        return;
    struct port_owner owner = socket_owner_find(&request->address, server->ports);
    reply->run = owner.run;
    reply->pid = owner.pid;
}

/* Where the descriptor cannot be passed (the user has too many in flight, unix(7)) the answer says that. */
static bool answer(struct gateway_reply *reply, int fd) {
    if (send_with_fds(FD_SOCKET, reply, sizeof *reply, &fd, fd >= 0 ? 1 : 0) == 0)
        return true;
    if (fd < 0)
        return false;
    reply->errnum = errno;
    return send_with_fds(FD_SOCKET, reply, sizeof *reply, NULL, 0) == 0;
}

static bool serve_one(struct server *server) {
    struct gateway_request request;
    struct gateway_reply reply = {.version = GATEWAY_VERSION};
    cleanup_fd int made = -1;
    ssize_t got;
    while ((got = recv(FD_SOCKET, &request, sizeof request, 0)) < 0 && errno == EINTR)
        ;
    if (got != (ssize_t)sizeof request || request.version != GATEWAY_VERSION)
        return false;
    switch ((enum gateway_request_type)request.type) {
    case GATEWAY_SOCKET:
        reply.errnum = make_socket(server, &request, &made);
        break;
    case GATEWAY_OWNER:
        find_owner(server, &request, &reply);
        break;
    default:
        return false;
    }
    return answer(&reply, made);
}

_Noreturn void gateway_main(const struct gateway *gateway) {
    struct server server = {.place = -1, .has_outer = gateway->outer >= 0, .ports = gateway->ports};
    if (set_up_process(gateway) != 0)
        _exit(125);
    while (serve_one(&server))
        ;
    _exit(0);
}
