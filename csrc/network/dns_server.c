/* DNS over UDP: answers from the address that was asked. */
#include "network/dns_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/owner_search.h"

#define QUESTIONS_PER_EVENT 64u
#define DNS_PORT 53

struct dns_socket {
    struct link link;
    struct network *network;
    bool everywhere;                   /* it takes questions to any address */
    uint8_t address[IP_ADDRESS_BYTES]; /* else to this one */
    bool first;                        /* ready waits for it */
    bool closed;
    int fd;
    uv_poll_t poll;
    bool polled;
};

/* Which address was asked: what IP_PKTINFO (ip(7)) or IPV6_PKTINFO (RFC 3542) told, to be said again. */
union packet_info {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static void free_socket(struct dns_socket *dns) {
    struct network *network = dns->network;
    free(dns);
    network_release(network);
}

static void on_poll_closed(uv_handle_t *handle) {
    free_socket(handle->data);
}

static void close_socket(struct dns_socket *dns) {
    link_remove(&dns->link);
    dns->closed = true;
    if (dns->polled) {
        uv_poll_stop(&dns->poll);
        uv_close((uv_handle_t *)&dns->poll, on_poll_closed);
    }
    close_fd(&dns->fd);
}

/* Makes the answer leave from the address that the question came to, by no particular interface. */
static void turn_around(struct msghdr *message) {
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(at), sizeof info);
            info.ipi_spec_dst = info.ipi_addr;
            info.ipi_ifindex = 0;
            memcpy(CMSG_DATA(at), &info, sizeof info);
            message->msg_controllen = CMSG_SPACE(sizeof info);
            return;
        }
        if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(at), sizeof info);
            info.ipi6_ifindex = 0;
            memcpy(CMSG_DATA(at), &info, sizeof info);
            message->msg_controllen = CMSG_SPACE(sizeof info);
            return;
        }
    }
    message->msg_control = NULL;
    message->msg_controllen = 0;
}

/* One question, and its answer. False: none is there. */
static bool serve(struct dns_socket *dns) {
    uint8_t bytes[DNS_QUESTION_MAX];
    uint8_t answer[DNS_ANSWER_MAX];
    union packet_info info;
    struct sockaddr_storage peer = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr message = {.msg_name = &peer,
                             .msg_namelen = sizeof peer,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = dns->everywhere ? info.bytes : NULL,
                             .msg_controllen = dns->everywhere ? sizeof info.bytes : 0};
    ssize_t got = recvmsg(dns->fd, &message, MSG_DONTWAIT);
    if (got < 0)
        return errno == EINTR;
    if ((message.msg_flags & MSG_TRUNC) != 0)
        return true;
    size_t size =
        dns_answer(dns->network, owner_of_datagram(dns->network, &peer), bytes, (size_t)got, answer);
    if (size == 0 || dns->closed)
        return true;
    turn_around(&message);
    part = (struct iovec){.iov_base = answer, .iov_len = size};
    sendmsg(dns->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return true;
}

static void serve_pending(struct dns_socket *dns) {
    for (unsigned i = 0; i < QUESTIONS_PER_EVENT && !dns->closed; i++)
        if (!serve(dns))
            return;
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct dns_socket *dns = poll->data;
    (void)events;
    /* An ICMP error of an answer that nobody waited for: told once, read away, and it goes on. */
    int error;
    socklen_t size = sizeof error;
    if (status < 0 && getsockopt(dns->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 &&
        uv_poll_start(poll, UV_READABLE, on_readable) == 0)
        return;
    if (status < 0)
        close_socket(dns);
    else
        serve_pending(dns);
}

static bool begin(struct dns_socket *dns) {
    if (uv_poll_init(dns->network->loop, &dns->poll, dns->fd) != 0)
        return false;
    dns->polled = true;
    dns->poll.data = dns;
    uv_unref((uv_handle_t *)&dns->poll);
    return uv_poll_start(&dns->poll, UV_READABLE, on_readable) == 0;
}

static void on_socket(void *data, int fd) {
    struct dns_socket *dns = data;
    struct network *network = dns->network;
    bool first = dns->first;
    dns->fd = fd < 0 ? -1 : fd;
    if (dns->closed || fd < 0 || !begin(dns)) {
        bool polled = dns->polled;
        close_socket(dns);
        if (!polled)
            free_socket(dns);
    }
    if (first)
        network_started_one(network);
}

static bool is_open_at(const struct network *network, const uint8_t address[IP_ADDRESS_BYTES]) {
    for (struct link *at = network->dns_sockets.next; at != &network->dns_sockets; at = at->next) {
        const struct dns_socket *dns = LINK_OWNER(at, struct dns_socket, link);
        if (!dns->everywhere && memcmp(dns->address, address, IP_ADDRESS_BYTES) == 0)
            return true;
    }
    return false;
}

void dns_socket_open(struct network *network, int domain, const uint8_t *address, bool first) {
    struct gateway_request request = gateway_datagrams_everywhere(domain, DNS_PORT);
    if (network->gateway == NULL || (address != NULL && is_open_at(network, address)))
        return;
    struct dns_socket *dns = calloc(1, sizeof *dns);
    if (dns == NULL)
        return;
    *dns = (struct dns_socket){.network = network, .everywhere = address == NULL, .first = first, .fd = -1};
    if (address != NULL) {
        struct sockaddr_storage bound;
        memcpy(dns->address, address, IP_ADDRESS_BYTES);
        network_address_write(address, DNS_PORT, &bound);
        request = gateway_bound(GATEWAY_INNER, SOCK_DGRAM, (const struct sockaddr *)&bound);
    }
    if (gateway_client_socket(network->gateway, &request, on_socket, dns) != 0) {
        free(dns);
        return;
    }
    network_hold(network);
    network->starting += first ? 1 : 0;
    link_add(&network->dns_sockets, &dns->link);
}

void dns_sockets_sweep(struct network *network) {
    for (struct link *at = network->dns_sockets.next; at != &network->dns_sockets && !network->closing;
         at = at->next) {
        struct dns_socket *dns = LINK_OWNER(at, struct dns_socket, link);
        if (dns->polled)
            serve_pending(dns);
        if (!link_is_in_list(at))
            return;
    }
}

void dns_sockets_close(struct network *network) {
    while (!link_is_empty(&network->dns_sockets))
        close_socket(LINK_OWNER(network->dns_sockets.next, struct dns_socket, link));
}
