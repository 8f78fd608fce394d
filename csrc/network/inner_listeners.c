#include "network/inner_listeners.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "exec/gateway_wire.h"
#include "policy/ip_address.h"

#define ANSWER_SIZE 32768
/* Of a long list, at most so many messages are read at once. */
#define READS_PER_EVENT 16u

struct inner_listeners {
    uv_poll_t poll;
    int fd;
    bool polled;
    bool bound;
    bool watching;
    bool again; /* look once more after this look */
    int family; /* whose list is being read; 0: none */
    uint32_t sequence;
    inner_listeners_found_fn found;
    inner_listeners_ended_fn ended;
    void *data;
    void (*closed)(void *data);
    void *closed_data;
    uint16_t ports[INNER_LISTENERS_MAX];
    unsigned count;
    alignas(struct nlmsghdr) uint8_t answer[ANSWER_SIZE];
};

static const int groups[] = {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET6_TCP_DESTROY};

/*
 * Every TCP socket's end is told of, those of connections, too: only those without a remote port (listeners)
 * are let through, and whatever is no such message. Fields are the kernel's, a filter loads big-endian.
 */
static void drop_connections(int fd) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(SOCK_DIAG_BY_FAMILY), 0, 2),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, NLMSG_HDRLEN + offsetof(struct inet_diag_msg, id.idiag_dport)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    /* Without it more is read, and the same is told. */
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void poll_as_needed(struct inner_listeners *listeners) {
    bool wanted = listeners->watching || listeners->family != 0;
    if (wanted == listeners->polled || listeners->fd < 0)
        return;
    listeners->polled = wanted && uv_poll_start(&listeners->poll, UV_READABLE, on_readable) == 0;
    if (!wanted)
        uv_poll_stop(&listeners->poll);
}

static bool ask(struct inner_listeners *listeners, int family) {
    const struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } message = {.header = {.nlmsg_len = sizeof message,
                            .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                            .nlmsg_seq = ++listeners->sequence},
                 .request = {.sdiag_family = (uint8_t)family,
                             .sdiag_protocol = IPPROTO_TCP,
                             .idiag_states = 1u << TCP_LISTEN}};
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    bool sent = sendto(listeners->fd, &message, sizeof message, 0, (const struct sockaddr *)&kernel,
                       sizeof kernel) == (ssize_t)sizeof message;
    listeners->family = sent ? family : 0;
    return sent;
}

void inner_listeners_look(struct inner_listeners *listeners) {
    if (listeners->family != 0) {
        listeners->again = true;
        return;
    }
    listeners->again = false;
    listeners->count = 0;
    ask(listeners, AF_INET);
    poll_as_needed(listeners);
}

/* Where the listener can be reached from: on an address that the host's connections are carried to. */
static bool is_reachable(const struct inet_diag_msg *socket) {
    static const char *const addresses[] = {
        "127.0.0.1", "::1", "0.0.0.0", "::", GATEWAY_V4_INNER, GATEWAY_V6_INNER};
    uint8_t bound[IP_ADDRESS_BYTES] = {[10] = 0xff, [11] = 0xff};
    if (socket->idiag_family == AF_INET)
        memcpy(bound + 12, socket->id.idiag_src, 4);
    else
        memcpy(bound, socket->id.idiag_src, sizeof bound);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        uint8_t address[IP_ADDRESS_BYTES];
        size_t length = strlen(addresses[i]);
        bool parsed = ip_address_parse_v4(addresses[i], length, address) ||
                      ip_address_parse_v6(addresses[i], length, address);
        if (parsed && memcmp(address, bound, sizeof bound) == 0)
            return true;
    }
    return false;
}

static void add_port(struct inner_listeners *listeners, uint16_t port) {
    for (unsigned i = 0; i < listeners->count; i++)
        if (listeners->ports[i] == port)
            return;
    if (listeners->count < INNER_LISTENERS_MAX)
        listeners->ports[listeners->count++] = port;
}

/* One list is read: the other family's, or all is known. */
static void end_list(struct inner_listeners *listeners, bool good) {
    bool is_first = listeners->family == AF_INET;
    listeners->family = 0;
    /* Without IPv6 in the kernel its list is refused: then the first one is all. */
    if (is_first && good && ask(listeners, AF_INET6))
        return;
    if (good || !is_first)
        listeners->found(listeners->data, listeners->ports, listeners->count);
    if (listeners->fd >= 0 && listeners->again)
        inner_listeners_look(listeners);
}

static void read_message(struct inner_listeners *listeners, const struct nlmsghdr *header,
                         const uint8_t *body) {
    struct inet_diag_msg socket;
    bool is_list = listeners->family != 0 && header->nlmsg_seq == listeners->sequence;
    if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY && header->nlmsg_len >= NLMSG_HDRLEN + sizeof socket) {
        memcpy(&socket, body, sizeof socket);
        uint16_t port = ntohs(socket.id.idiag_sport);
        if (is_list && socket.idiag_state == TCP_LISTEN && is_reachable(&socket))
            add_port(listeners, port);
        else if (header->nlmsg_seq == 0 && listeners->watching && socket.id.idiag_dport == 0)
            listeners->ended(listeners->data, port);
    } else if (is_list && (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR)) {
        end_list(listeners, header->nlmsg_type == NLMSG_DONE);
    }
}

static void read_datagram(struct inner_listeners *listeners, size_t size) {
    for (size_t at = 0; at < size && size - at >= sizeof(struct nlmsghdr) && listeners->fd >= 0;) {
        struct nlmsghdr header;
        memcpy(&header, listeners->answer + at, sizeof header);
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size - at)
            return;
        read_message(listeners, &header, listeners->answer + at + NLMSG_HDRLEN);
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct inner_listeners *listeners = poll->data;
    (void)events;
    if (status < 0)
        listeners->polled = false; /* libuv has stopped it; the error is read below */
    for (unsigned i = 0; i < READS_PER_EVENT && listeners->fd >= 0; i++) {
        struct sockaddr_nl from = {0};
        socklen_t from_size = sizeof from;
        ssize_t got = recvfrom(listeners->fd, listeners->answer, sizeof listeners->answer, MSG_DONTWAIT,
                               (struct sockaddr *)&from, &from_size);
        if (got < 0 && errno == ENOBUFS && listeners->watching)
            listeners->ended(listeners->data, 0); /* some were lost: netlink(7) */
        else if (got < 0)
            break;
        else if (from.nl_pid == 0)
            read_datagram(listeners, (size_t)got);
    }
    poll_as_needed(listeners);
}

bool inner_listeners_watch(struct inner_listeners *listeners, bool watch) {
    if (watch == listeners->watching)
        return true;
    bool good = listeners->bound;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        good =
            setsockopt(listeners->fd, SOL_NETLINK, watch ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP,
                       &groups[i], sizeof groups[i]) == 0 &&
            good;
    listeners->watching = watch && good;
    poll_as_needed(listeners);
    return good;
}

struct inner_listeners *inner_listeners_new(uv_loop_t *loop, int fd, inner_listeners_found_fn found,
                                            inner_listeners_ended_fn ended, void *data) {
    cleanup_fd int owned = fd;
    struct inner_listeners *listeners = calloc(1, sizeof *listeners);
    if (listeners == NULL || uv_poll_init(loop, &listeners->poll, fd) != 0) {
        free(listeners);
        return NULL;
    }
    /* Without a port of its own a socket is told of nothing (netlink(7)). */
    const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    listeners->bound = bind(fd, (const struct sockaddr *)&any, sizeof any) == 0;
    drop_connections(fd);
    listeners->poll.data = listeners;
    uv_unref((uv_handle_t *)&listeners->poll);
    listeners->fd = steal_fd(&owned);
    listeners->found = found;
    listeners->ended = ended;
    listeners->data = data;
    return listeners;
}

static void on_poll_closed(uv_handle_t *handle) {
    struct inner_listeners *listeners = handle->data;
    void (*closed)(void *data) = listeners->closed;
    void *data = listeners->closed_data;
    free(listeners);
    closed(data);
}

void inner_listeners_close(struct inner_listeners *listeners, void (*closed)(void *data), void *data) {
    listeners->closed = closed;
    listeners->closed_data = data;
    listeners->watching = false;
    listeners->again = false;
    uv_close((uv_handle_t *)&listeners->poll, on_poll_closed);
    close_fd(&listeners->fd);
}
