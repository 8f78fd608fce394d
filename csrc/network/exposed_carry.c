/* An accepted connection's way inside: a socket that the gateway makes there, connected where the port
 * answers. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/address.h"
#include "network/exposed_internal.h"

struct exposed_carry {
    struct exposed_carry *next;
    struct exposed_ports *all;
    uv_poll_t poll;
    bool has_poll;
    int accepted; /* -1: nobody waits for it any more */
    int inside;
    uint16_t port;
    unsigned attempt; /* of the addresses */
};

/* A server may listen on one of them alone. */
static const char *const addresses[] = {"127.0.0.1", "::1", GATEWAY_V4_INNER, GATEWAY_V6_INNER};
#define ADDRESSES (sizeof addresses / sizeof addresses[0])

static void reset(int *fd) {
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (*fd >= 0)
        setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close_fd(fd);
}

static void leave_list(struct exposed_carry *carry) {
    for (struct exposed_carry **at = &carry->all->carries; *at != NULL; at = &(*at)->next) {
        if (*at == carry) {
            *at = carry->next;
            carry->all->carry_count--;
            return;
        }
    }
}

static void on_poll_closed(uv_handle_t *handle) {
    struct exposed_carry *carry = handle->data;
    struct exposed_ports *all = carry->all;
    free(carry);
    exposed_ports_release(all);
}

/* It is over: the client is reset, unless its connection was handed on. */
static void finish(struct exposed_carry *carry) {
    struct exposed_ports *all = carry->all;
    leave_list(carry);
    reset(&carry->accepted);
    if (carry->has_poll) {
        uv_close((uv_handle_t *)&carry->poll, on_poll_closed);
        close_fd(&carry->inside);
        return;
    }
    close_fd(&carry->inside);
    free(carry);
    exposed_ports_release(all);
}

static void to_address(const char *text, uint8_t address[IP_ADDRESS_BYTES]) {
    size_t length = strlen(text);
    if (!ip_address_parse_v4(text, length, address))
        ip_address_parse_v6(text, length, address);
}

static void try_next(struct exposed_carry *carry);

static void connected(struct exposed_carry *carry) {
    const struct tunnel_end ends[TUNNEL_SIDES] = {
        [TUNNEL_CLIENT] = {.fd = carry->accepted}, [TUNNEL_UPSTREAM] = {.fd = carry->inside}};
    uv_poll_stop(&carry->poll);
    carry->accepted = carry->inside = -1;
    tunnel_start(carry->all->tunnels, ends, NULL, NULL);
    finish(carry);
}

static void on_connected(uv_poll_t *poll, int status, int events) {
    struct exposed_carry *carry = poll->data;
    int errnum = 0;
    socklen_t size = sizeof errnum;
    (void)status; /* an error of the socket's: SO_ERROR says which */
    (void)events;
    if (getsockopt(carry->inside, SOL_SOCKET, SO_ERROR, &errnum, &size) != 0)
        errnum = errno;
    if (errnum == 0)
        connected(carry);
    else
        try_next(carry);
}

static void on_socket(void *data, int socket);

static void ask_for_socket(struct exposed_carry *carry) {
    uint8_t address[IP_ADDRESS_BYTES];
    to_address(addresses[carry->attempt], address);
    struct gateway_request request = gateway_stream_inside(ip_address_is_v4(address) ? AF_INET : AF_INET6);
    if (gateway_client_socket(carry->all->gateway, &request, on_socket, carry) != 0)
        finish(carry);
}

/* The next address has a carry of its own: this one's handle belongs to its socket. */
static void try_next(struct exposed_carry *carry) {
    struct exposed_ports *all = carry->all;
    struct exposed_carry *next =
        carry->attempt + 1 < ADDRESSES && !all->over ? calloc(1, sizeof *next) : NULL;
    if (next != NULL) {
        *next = (struct exposed_carry){.next = all->carries,
                                       .all = all,
                                       .accepted = carry->accepted,
                                       .inside = -1,
                                       .port = carry->port,
                                       .attempt = carry->attempt + 1};
        carry->accepted = -1;
        all->carries = next;
        all->carry_count++;
        all->open++;
        ask_for_socket(next);
    }
    finish(carry);
}

/* Begins to connect. False: not even that. */
static bool begin(struct exposed_carry *carry) {
    uint8_t address[IP_ADDRESS_BYTES];
    struct sockaddr_storage to;
    to_address(addresses[carry->attempt], address);
    socklen_t size = network_address_write(address, carry->port, &to);
    if (connect(carry->inside, (const struct sockaddr *)&to, size) != 0 && errno != EINPROGRESS)
        return false;
    if (uv_poll_init(carry->all->loop, &carry->poll, carry->inside) != 0)
        return false;
    carry->has_poll = true;
    carry->poll.data = carry;
    uv_unref((uv_handle_t *)&carry->poll);
    return uv_poll_start(&carry->poll, UV_WRITABLE, on_connected) == 0;
}

static void on_socket(void *data, int socket) {
    struct exposed_carry *carry = data;
    carry->inside = socket < 0 ? -1 : socket;
    if (carry->all->over || carry->accepted < 0)
        finish(carry);
    else if (socket < 0 || !begin(carry))
        try_next(carry);
}

void exposed_carry_start(struct exposed_ports *all, int accepted, uint16_t port) {
    cleanup_fd int owned = accepted;
    struct exposed_carry *carry = all->carry_count < EXPOSED_WAITING_MAX ? calloc(1, sizeof *carry) : NULL;
    if (carry == NULL) {
        reset(&owned);
        return;
    }
    *carry = (struct exposed_carry){
        .next = all->carries, .all = all, .accepted = steal_fd(&owned), .inside = -1, .port = port};
    all->carries = carry;
    all->carry_count++;
    all->open++;
    ask_for_socket(carry);
}

void exposed_carry_stop_all(struct exposed_ports *all) {
    struct exposed_carry *next;
    for (struct exposed_carry *carry = all->carries; carry != NULL; carry = next) {
        next = carry->next;
        reset(&carry->accepted);
        if (carry->has_poll)
            finish(carry);
        /* Else the gateway still answers: then it is over. */
    }
}
