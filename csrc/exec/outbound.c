#include "exec/outbound.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "exec/asking.h"
#include "exec/caller.h"
#include "exec/gateway_wire.h"
#include "exec/port_table.h"
#include "exec/report.h"
#include "exec/waiting.h"

#define DNS_PORT 53
/* linux/mptcp.h; linux/smc.h, Linux 6.11: both are TCP to whoever is connected to */
#define PROTOCOL_MPTCP 262
#define PROTOCOL_SMC 256

#define NOT_LISTED "not in network.allowedIPs"
#define NO_NETWORK "no network in the sandbox"

/* What an address leads to. */
enum place {
    ELSEWHERE,
    LOOPBACK,
    OWN,        /* of the commands' end of the veth pair */
    GATEWAY,    /* its other end: the explicit proxy is there */
    NEIGHBOUR,  /* on the link between them, where nobody answers: the kernel would wait for 3 s */
    LINK_LOCAL, /* the same */
    MANY,       /* multicast, broadcast */
};

struct destination {
    uint8_t address[16]; /* IPv4 mapped */
    uint16_t port;       /* host order */
    bool ipv4;
    enum place place;
};

#define V4(a, b, c, d)                                                                                       \
    { [10] = 0xff, 0xff, (a), (b), (c), (d) }
#define LINK_V6(last)                                                                                        \
    { 0xfd, 0x6f, 0x73, 0x2d, 0x73, 0x62, [15] = (last) }

/* The first that holds the address counts. Bits: of the mapped form. As bytes, since every call looks here;
 * those of the link are gateway_wire.h's. */
static const struct range {
    uint8_t address[16];
    unsigned bits;
    enum place place;
} places[] = {
    {V4(127, 0, 0, 0), 96 + 8, LOOPBACK},
    {{[15] = 1}, 128, LOOPBACK},
    {V4(0, 0, 0, 0), 128, LOOPBACK}, /* the unspecified address, too, means this host (ip(7)) */
    {{0}, 128, LOOPBACK},
    {V4(100, 127, 255, 254), 128, OWN}, /* GATEWAY_V4_INNER */
    {LINK_V6(2), 128, OWN},
    {V4(100, 127, 255, 253), 128, GATEWAY}, /* GATEWAY_V4_OUTER */
    {LINK_V6(1), 128, GATEWAY},
    {V4(100, 127, 255, 252), 96 + GATEWAY_V4_PREFIX, NEIGHBOUR},
    {LINK_V6(0), GATEWAY_V6_PREFIX, NEIGHBOUR},
    {{0xfe, 0x80}, 10, LINK_LOCAL},      /* RFC 4291 2.4 */
    {V4(224, 0, 0, 0), 96 + 4, MANY},    /* RFC 5771 */
    {V4(255, 255, 255, 255), 128, MANY}, /* RFC 919 */
    {{0xff}, 8, MANY},                   /* RFC 4291 2.4 */
};

static void map_ipv4(const struct in_addr *ipv4, uint8_t out[16]) {
    memset(out, 0, 10);
    memset(out + 10, 0xff, 2);
    memcpy(out + 12, ipv4, sizeof *ipv4);
}

static bool is_within(const uint8_t address[16], const struct range *range) {
    unsigned whole = range->bits / 8, rest = range->bits % 8;
    return memcmp(address, range->address, whole) == 0 &&
           (rest == 0 || (address[whole] ^ range->address[whole]) >> (8 - rest) == 0);
}

static enum place place_of(const uint8_t address[16]) {
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (is_within(address, &places[i]))
            return places[i].place;
    return ELSEWHERE;
}

static bool is_ip(const struct socket_kind *kind) {
    return kind->domain == AF_INET || kind->domain == AF_INET6;
}

bool outbound_is_tcp(const struct socket_kind *kind) {
    bool tcp =
        kind->protocol == IPPROTO_TCP || kind->protocol == PROTOCOL_MPTCP || kind->protocol == PROTOCOL_SMC;
    return is_ip(kind) && kind->type == SOCK_STREAM && tcp;
}

static bool is_datagram(const struct socket_kind *kind) {
    return kind->type == SOCK_DGRAM;
}

/*
 * What the kernel takes for IPv4: on a socket for IPv6 datagrams, too (ipv6(7)), and without a family where
 * one is sent (udp_sendmsg() in net/ipv4/udp.c); a connect without a family takes one back.
 */
static bool is_ipv4(const struct socket_kind *kind, const struct socket_address *address, bool sent) {
    sa_family_t family = address->any.sa_family;
    bool fits = kind->domain == AF_INET || is_datagram(kind);
    return address->length >= sizeof address->inet && fits &&
           (family == AF_INET || (sent && kind->domain == AF_INET && family == AF_UNSPEC));
}

/* False where it is none for that socket. */
static bool destination_of(const struct socket_kind *kind, const struct socket_address *address, bool sent,
                           struct destination *out) {
    if (!is_ip(kind))
        return false;
    if (is_ipv4(kind, address, sent)) {
        map_ipv4(&address->inet.sin_addr, out->address);
        out->port = ntohs(address->inet.sin_port);
    } else if (kind->domain == AF_INET6 && socket_address_is_inet6(address)) {
        memcpy(out->address, &address->inet6.sin6_addr, sizeof out->address);
        out->port = ntohs(address->inet6.sin6_port);
    } else {
        return false;
    }
    out->ipv4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)out->address);
    out->place = place_of(out->address);
    return true;
}

static uint32_t flags_of(const struct call *call) {
    return call->supervisor->ports == NULL ? 0 : port_table_flags(call->supervisor->ports);
}

/* name: what the address stands for; "": itself. */
static void report(const struct call *call, const struct destination *to, const char *name, const char *why) {
    char host[INET6_ADDRSTRLEN];
    inet_ntop(to->ipv4 ? AF_INET : AF_INET6, to->address + (to->ipv4 ? 12 : 0), host, sizeof host);
    const struct denial denial = {
        .operation = "network-outbound", .host = name[0] != '\0' ? name : host, .port = to->port, .why = why};
    report_denial(call->supervisor->report, call, &denial);
}

static int refuse(const struct call *call, const struct destination *to, const char *why) {
    report(call, to, "", why);
    return ECONNREFUSED;
}

/* without: the answer where there is none. */
static int ask(struct call *call, const struct destination *to, int without) {
    struct network_question question = {.type = QUESTION_CONNECT, .port = to->port};
    struct network_answer answer;
    memcpy(question.address, to->address, sizeof question.address);
    int error = asking_wait(call, &question, &answer);
    if (error == ETIMEDOUT && without != 0)
        return refuse(call, to, NO_NETWORK);
    if (error != 0)
        return error == ETIMEDOUT ? 0 : error;
    if (answer.allowed == 1)
        return 0;
    report(call, to, answer.host, answer.why[0] != '\0' ? answer.why : NO_NETWORK);
    return ECONNREFUSED;
}

/* The addon's listeners there are this host's own ports, which rules name; others belong to commands. */
static int judge_loopback(struct call *call, const struct destination *to) {
    if ((flags_of(call) & PORT_TABLE_ANY_LOOPBACK) == 0 ||
        port_table_is_listening(call->supervisor->ports, PORT_LOOPBACK, to->port))
        return 0;
    return ask(call, to, 0);
}

/* The explicit proxy and resolvers explain what they refuse themselves, also where nothing can be allowed. */
static int judge_tcp(struct call *call, const struct destination *to) {
    if (to->place == LOOPBACK)
        return judge_loopback(call, to);
    bool proxy = to->place == GATEWAY && to->port == GATEWAY_PROXY_PORT;
    if ((flags_of(call) & PORT_TABLE_TRANSPARENT) == 0 || to->place == OWN || proxy)
        return 0;
    if (to->place == NEIGHBOUR || to->place == LINK_LOCAL)
        return refuse(call, to, to->place == LINK_LOCAL ? "a link-local address" : NO_NETWORK);
    bool listening = port_table_is_listening(call->supervisor->ports, PORT_GATEWAY, to->port);
    if (listening && to->port == DNS_PORT)
        return 0;
    if ((flags_of(call) & PORT_TABLE_CLOSED) != 0)
        return refuse(call, to, NOT_LISTED);
    return listening ? 0 : ask(call, to, ECONNREFUSED);
}

static int judge_datagram(const struct call *call, const struct destination *to) {
    bool reached = to->place == LOOPBACK || to->place == OWN;
    bool resolver = to->port == DNS_PORT && (to->place == ELSEWHERE || to->place == GATEWAY);
    if (reached || resolver || (flags_of(call) & PORT_TABLE_TRANSPARENT) == 0)
        return 0;
    return refuse(call, to, "UDP is not forwarded");
}

/* Port 0 is asked for where only a route is: getaddrinfo(3) orders its answers so. Nobody listens there. */
int outbound_judge_connect(struct call *call, const struct socket_kind *kind,
                           const struct socket_address *address) {
    struct destination to;
    if (call->supervisor->ports == NULL || !destination_of(kind, address, false, &to) || to.port == 0)
        return 0;
    if (outbound_is_tcp(kind))
        return judge_tcp(call, &to);
    return is_datagram(kind) ? judge_datagram(call, &to) : 0;
}

/* The port that a socket has, in host order; 0: none yet. *at (may be NULL): its address, mapped. */
static uint16_t local_port(int socket, uint8_t at[16]) {
    struct socket_address own = {.length = sizeof own.bytes};
    if (getsockname(socket, &own.any, &own.length) != 0)
        return 0;
    if (at != NULL && own.any.sa_family == AF_INET)
        map_ipv4(&own.inet.sin_addr, at);
    else if (at != NULL)
        memcpy(at, &own.inet6.sin6_addr, sizeof own.inet6.sin6_addr);
    return socket_address_port(&own);
}

/* The kernel would choose one when the datagram is sent, and the same way (inet_autobind() in
 * net/ipv4/af_inet.c): the note is to be there before. */
static void choose_port(int socket, const struct socket_kind *kind) {
    struct socket_address any = {.length = 0};
    any.any.sa_family = (sa_family_t)kind->domain;
    any.length = kind->domain == AF_INET ? sizeof any.inet : sizeof any.inet6;
    if (bind(socket, &any.any, any.length) != 0)
        return; /* it has one by now, or the send says why not */
}

/* Not where only commands listen: nobody would take those notes away. Ports of other protocols than UDP are
 * others. */
static bool is_noted(const struct call *call, const struct socket_kind *kind, const struct destination *to) {
    if (is_datagram(kind))
        return to->port == DNS_PORT && kind->protocol == IPPROTO_UDP;
    if (!outbound_is_tcp(kind))
        return false;
    return (to->place != LOOPBACK && to->place != OWN) ||
           port_table_is_listening(call->supervisor->ports, PORT_LOOPBACK, to->port);
}

static void note(struct call *call, int socket, const struct socket_kind *kind,
                 const struct destination *to) {
    static const enum port_transport transports[2][2] = {{PORT_TCP6, PORT_TCP4}, {PORT_UDP6, PORT_UDP4}};
    uint16_t port = local_port(socket, NULL);
    if (port == 0)
        return;
    const struct port_owner owner = {.run = (uint32_t)call->supervisor->run,
                                     .pid = (uint32_t)caller_process(call)};
    port_table_note(call->supervisor->ports, transports[is_datagram(kind)][to->ipv4], port, owner);
}

int outbound_judge_datagram(struct call *call, int socket, const struct socket_kind *kind,
                            const struct socket_address *address) {
    struct destination to;
    if (call->supervisor->ports == NULL || !is_datagram(kind) || !destination_of(kind, address, true, &to) ||
        to.port == 0)
        return 0;
    int error = judge_datagram(call, &to);
    if (error != 0 || !is_noted(call, kind, &to))
        return error;
    if (local_port(socket, NULL) == 0)
        choose_port(socket, kind);
    note(call, socket, kind, &to);
    return 0;
}

void outbound_connected(struct call *call, int socket, const struct socket_kind *kind,
                        const struct socket_address *address, int64_t result) {
    struct destination to;
    bool made = result >= 0 || result == -EINPROGRESS || result == -EINTR || result == -ERESTARTSYS;
    if (!made)
        outbound_explain(call, kind, address, result);
    else if (call->supervisor->ports != NULL && destination_of(kind, address, false, &to) &&
             is_noted(call, kind, &to))
        note(call, socket, kind, &to);
}

/* The gateway refuses a connection only where a listener has just gone; whatever is accepted explains
 * itself. */
static bool is_refusal(const struct call *call, const struct socket_kind *kind, const struct destination *to,
                       int64_t result) {
    switch (result) {
    case -ENETUNREACH:
    case -EHOSTUNREACH:
    case -EACCES:
    case -EPERM:
        return true;
    case -ECONNREFUSED:
        return outbound_is_tcp(kind) && to->place != OWN && (flags_of(call) & PORT_TABLE_TRANSPARENT) != 0;
    default:
        return false;
    }
}

void outbound_explain(struct call *call, const struct socket_kind *kind, const struct socket_address *address,
                      int64_t result) {
    struct destination to;
    if (destination_of(kind, address, true, &to) && to.port != 0 && to.place != LOOPBACK &&
        is_refusal(call, kind, &to, result))
        report(call, &to, "", NO_NETWORK);
}

void outbound_listening(struct call *call, int socket) {
    struct network_question question = {.type = QUESTION_LISTENING};
    question.port = local_port(socket, question.address);
    if (question.port != 0)
        asking_tell(call, &question);
}
