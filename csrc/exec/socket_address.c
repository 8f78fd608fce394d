#include "exec/socket_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "exec/report.h"
#include "exec/socket_file.h"
#include "exec/target.h"

#define PATH_OFFSET offsetof(struct sockaddr_un, sun_path)

/* Where the command cannot be looked at, nothing can be decided. */
static int unread(int errnum) {
    return errnum == EPERM ? EACCES : errnum;
}

int socket_target_read(const struct call *call, uint64_t address, void *into, size_t size) {
    return unread(target_read(call, address, into, size));
}

int socket_target_duplicate(struct call *call, int fd) {
    int duplicate = target_duplicate(call, fd);
    return duplicate < 0 ? -unread(-duplicate) : duplicate;
}

int socket_kind_of(int fd, struct socket_kind *out) {
    const struct {
        int option;
        int *value;
    } facts[] = {{SO_DOMAIN, &out->domain}, {SO_TYPE, &out->type}, {SO_PROTOCOL, &out->protocol}};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        socklen_t size = sizeof *facts[i].value;
        if (getsockopt(fd, SOL_SOCKET, facts[i].option, facts[i].value, &size) != 0)
            return errno;
    }
    return 0;
}

int socket_address_read(const struct call *call, uint64_t address, int64_t length,
                        struct socket_address *out) {
    *out = (struct socket_address){.object = -1};
    if (length < 0 || (uint64_t)length > sizeof out->bytes)
        return EINVAL;
    out->length = (socklen_t)length;
    return socket_target_read(call, address, &out->bytes, (size_t)length);
}

void socket_address_clear(struct socket_address *address) {
    close_fd(&address->object);
}

/* unix(7): a path ends at its NUL or at the end of the address; without a first byte it is no path. */
void socket_address_path(const struct socket_address *address, char into[sizeof(struct sockaddr_un)]) {
    size_t size = 0;
    if (address->length > PATH_OFFSET && address->length <= sizeof address->local &&
        address->any.sa_family == AF_UNIX)
        size = strnlen(address->local.sun_path, address->length - PATH_OFFSET);
    memcpy(into, address->local.sun_path, size);
    into[size] = '\0';
}

static int judge_unix(struct call *call, struct socket_address *address) {
    char path[sizeof(struct sockaddr_un)];
    if (address->length < sizeof address->any.sa_family || address->any.sa_family != AF_UNIX)
        return 0;
    /* Longer ones the kernel refuses; nothing depends on that here. */
    if (address->length > sizeof address->local)
        return EINVAL;
    socket_address_path(address, path);
    if (path[0] == '\0')
        return 0;
    int error = socket_file_judge(call, path, &address->object);
    if (error != 0)
        return error;
    address->local = (struct sockaddr_un){.sun_family = AF_UNIX};
    int size = snprintf(address->local.sun_path, sizeof address->local.sun_path, "/proc/self/fd/%d",
                        address->object);
    address->length = (socklen_t)(PATH_OFFSET + (size_t)size + 1);
    return 0;
}

/*
 * The supervisor has the ids of the owner of the session's network namespace, and so every privilege over it
 * (user_namespaces(7)), which commands have not: what takes one is refused here.
 */
static int judge_netlink(const struct socket_address *address) {
    bool whole = address->length >= sizeof address->netlink && address->any.sa_family == AF_NETLINK;
    return whole && (address->netlink.nl_pid != 0 || address->netlink.nl_groups != 0) ? EPERM : 0;
}

int socket_address_judge(struct call *call, int domain, struct socket_address *address) {
    switch (domain) {
    case AF_UNIX:
        return judge_unix(call, address);
    case AF_NETLINK:
        return judge_netlink(address);
    default:
        return 0;
    }
}

static bool is_inet(const struct socket_address *address) {
    return address->length >= sizeof address->inet && address->any.sa_family == AF_INET;
}

/* Shorter ones, without the scope, are taken, too (SIN6_LEN_RFC2133). */
bool socket_address_is_inet6(const struct socket_address *address) {
    return address->length >= offsetof(struct sockaddr_in6, sin6_scope_id) &&
           address->any.sa_family == AF_INET6;
}

bool socket_address_is_ip(const struct socket_address *address) {
    return is_inet(address) || socket_address_is_inet6(address);
}

uint16_t socket_address_port(const struct socket_address *address) {
    return is_inet(address)                   ? ntohs(address->inet.sin_port)
           : socket_address_is_inet6(address) ? ntohs(address->inet6.sin6_port)
                                              : 0;
}

/* The IPv4 address that it is, or that it maps. */
static bool ipv4_of(const struct socket_address *address, struct in_addr *out) {
    if (is_inet(address))
        *out = address->inet.sin_addr;
    else if (socket_address_is_inet6(address) && IN6_IS_ADDR_V4MAPPED(&address->inet6.sin6_addr))
        memcpy(out, &address->inet6.sin6_addr.s6_addr[12], sizeof *out);
    else
        return false;
    return true;
}

/* The unspecified address, too, means this host. */
bool socket_address_is_local(const struct socket_address *address) {
    struct in_addr ipv4;
    if (ipv4_of(address, &ipv4))
        return ntohl(ipv4.s_addr) >> 24 == IN_LOOPBACKNET || ipv4.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_LOOPBACK(&address->inet6.sin6_addr) ||
           IN6_IS_ADDR_UNSPECIFIED(&address->inet6.sin6_addr);
}

void socket_address_report(struct call *call, const struct socket_address *address, const char *operation,
                           const char *why) {
    char host[INET6_ADDRSTRLEN];
    struct in_addr ipv4;
    if (ipv4_of(address, &ipv4))
        inet_ntop(AF_INET, &ipv4, host, sizeof host);
    else
        inet_ntop(AF_INET6, &address->inet6.sin6_addr, host, sizeof host);
    const struct denial denial = {
        .operation = operation, .host = host, .port = socket_address_port(address), .why = why};
    report_denial(call->supervisor->report, call, &denial);
}
