/*
 * Messages between the addon and the session's gateway process, which sits in the session's user namespace
 * and makes sockets there: a socket keeps the network namespace that it was made in. SOCK_SEQPACKET, answers
 * in the order of the requests, the descriptor by SCM_RIGHTS.
 */
#ifndef OS_SANDBOX_EXEC_GATEWAY_WIRE_H
#define OS_SANDBOX_EXEC_GATEWAY_WIRE_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#define GATEWAY_VERSION 1u

/* The veth pair's addresses. Commands have the inner ones, the proxy listens on the gateway's. */
#define GATEWAY_V4_INNER "100.127.255.254"
#define GATEWAY_V4_OUTER "100.127.255.253"
#define GATEWAY_V4_PREFIX 30
#define GATEWAY_V6_INNER "fd6f:732d:7362::2"
#define GATEWAY_V6_OUTER "fd6f:732d:7362::1"
#define GATEWAY_V6_PREFIX 64

/* Where the explicit proxy listens: on GATEWAY_V4_OUTER and GATEWAY_V6_OUTER, without a gateway on 127.0.0.1.
 */
#define GATEWAY_PROXY_PORT 3128

enum gateway_request_type {
    GATEWAY_SOCKET = 1, /* make a socket, bind it where an address is given, listen where a backlog is */
    GATEWAY_OWNER = 2,  /* which run does the socket at that local address (inner side) belong to */
};

enum gateway_place { GATEWAY_OUTER = 0, GATEWAY_INNER = 1 };

struct gateway_request {
    uint32_t version;
    uint32_t type;
    uint32_t place;          /* enum gateway_place */
    int32_t domain;          /* AF_INET, AF_INET6 (IPV6_V6ONLY is set, but for dual), AF_NETLINK */
    int32_t kind;            /* SOCK_STREAM, SOCK_DGRAM; SOCK_NONBLOCK and SOCK_CLOEXEC are always set */
    int32_t protocol;        /* 0, IPPROTO_…, NETLINK_SOCK_DIAG */
    uint32_t dual;           /* AF_INET6: takes IPv4 as well */
    uint32_t packet_info;    /* SOCK_DGRAM: IP_PKTINFO, IPV6_RECVPKTINFO and IPV6_FREEBIND are set */
    int32_t backlog;         /* > 0: listen */
    uint32_t address_length; /* 0: no bind */
    struct sockaddr_storage address;
};

struct gateway_reply {
    uint32_t version;
    int32_t errnum; /* 0: GATEWAY_SOCKET's descriptor comes along */
    uint32_t run;   /* GATEWAY_OWNER; 0: not known */
    uint32_t pid;
};

#endif
