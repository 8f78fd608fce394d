/* Addresses of sockets: read once from the command, judged, and then used as the supervisor's own copy. */
#ifndef OS_SANDBOX_EXEC_SOCKET_ADDRESS_H
#define OS_SANDBOX_EXEC_SOCKET_ADDRESS_H

#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "exec/supervised.h"

struct socket_address {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in inet;
        struct sockaddr_in6 inet6;
        struct sockaddr_nl netlink;
        struct sockaddr_storage bytes;
    };
    socklen_t length; /* 0: none */
    int object;       /* O_PATH of the socket's file, which the address names by this descriptor; -1: none */
};

/* What a socket is; it never changes. */
struct socket_kind {
    int domain;
    int type;
    int protocol;
};

/* Of any descriptor. 0 or an errno: EBADF, ENOTSOCK. */
int socket_kind_of(int fd, struct socket_kind *out);

/* As target_read and target_duplicate, but EACCES where the command cannot be looked at. */
int socket_target_read(const struct call *call, uint64_t address, void *into, size_t size);
int socket_target_duplicate(struct call *call, int fd);

/* The address of a call, as the kernel copies it. 0 or an errno: EINVAL for its length, EFAULT, as
 * target_read. */
int socket_address_read(const struct call *call, uint64_t address, int64_t length,
                        struct socket_address *out);

/*
 * Whether a socket of that domain may reach the address. Unix sockets by path: those made inside, and those
 * that the run's list names; the address then names the file by a descriptor, so that it stays the one that
 * was judged. Netlink: the kernel alone, as for everybody without a privilege. Other addresses lead nowhere
 * but into the run's own network. 0, or the errno of the answer; a refusal is reported.
 */
int socket_address_judge(struct call *call, int domain, struct socket_address *address);

/* Reports an operation on an IP address. */
void socket_address_report(struct call *call, const struct socket_address *address, const char *operation,
                           const char *why);

/* Whether it is an IPv6 address, also in its shorter form. */
bool socket_address_is_inet6(const struct socket_address *address);

/* Whether it is one of either IP. */
bool socket_address_is_ip(const struct socket_address *address);

/* The port of an IP address in host order; 0 where there is none. */
uint16_t socket_address_port(const struct socket_address *address);

/* An IP address of this host, inside: on the loopback, or unspecified. */
bool socket_address_is_local(const struct socket_address *address);

/* The path of a unix address, with a NUL in any case; "" where it is none by path. */
void socket_address_path(const struct socket_address *address, char into[sizeof(struct sockaddr_un)]);

void socket_address_clear(struct socket_address *address);

#endif
