#include "network/listeners.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/dns_stream.h"
#include "network/inbound.h"

/* A client that is answered at once comes back within the same event: few, so that those that went are seen
 * in between (EXCESS_MAX of inbound.c counts them). */
#define ACCEPTS_PER_EVENT 16u
#define DNS_PORT 53

static const uint8_t loopback_v4[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 127, 0, 0, 1};

static bool is_on_loopback(enum listener_kind kind) {
    return kind == LISTENER_LOOPBACK || kind == LISTENER_PROXY || kind == LISTENER_RESOLVER;
}

/* Where the supervisors find it; false: they need not know of it. */
static bool place_of(const struct listener *listener, enum port_place *place) {
    *place = is_on_loopback(listener->kind) ? PORT_LOOPBACK : PORT_GATEWAY;
    return listener->kind != LISTENER_RUN_PROXY && listener->network->ports != NULL;
}

static struct listener *find(const struct network *network, enum port_place wanted, uint16_t port,
                             const uint8_t *address) {
    for (struct link *at = network->listeners.next; at != &network->listeners; at = at->next) {
        struct listener *listener = LINK_OWNER(at, struct listener, link);
        enum port_place place = is_on_loopback(listener->kind) ? PORT_LOOPBACK : PORT_GATEWAY;
        if (listener->port == port && place == wanted && listener->kind != LISTENER_RUN_PROXY &&
            (address == NULL || memcmp(listener->address, address, IP_ADDRESS_BYTES) == 0))
            return listener;
    }
    return NULL;
}

bool listeners_have_loopback(const struct network *network, uint16_t port) {
    return find(network, PORT_LOOPBACK, port, NULL) != NULL;
}

static void tell_table(const struct listener *listener, bool open) {
    enum port_place place;
    if (!place_of(listener, &place))
        return;
    /* The other family's may still be there. */
    if (open || find(listener->network, place, listener->port, NULL) == NULL)
        port_table_set_listening(listener->network->ports, place, listener->port, open);
}

static void free_listener(struct listener *listener) {
    struct network *network = listener->network;
    free(listener);
    network_release(network);
}

static void on_poll_closed(uv_handle_t *handle) {
    free_listener(handle->data);
}

static void tell_waiters(struct listener *listener, bool open) {
    for (struct link *at; (at = link_take(&listener->waiters)) != NULL;) {
        struct listener_waiter *waiter = LINK_OWNER(at, struct listener_waiter, link);
        waiter->opened(waiter, open);
    }
}

/* Out of the network's lists; what it is part of stays until handle or request are done. */
static void take_out(struct listener *listener) {
    listener->state = LISTENER_CLOSED;
    link_remove(&listener->link);
    deadlines_remove(&listener->rest);
    if (listener->demanded)
        listener->network->demanded--;
}

static void close_handle(struct listener *listener) {
    close_fd(&listener->fd);
    if (listener->polled)
        uv_close((uv_handle_t *)&listener->poll, on_poll_closed);
    else
        free_listener(listener);
}

void listener_close(struct listener *listener) {
    bool opening = listener->state == LISTENER_OPENING;
    if (listener->state == LISTENER_CLOSED)
        return;
    take_out(listener);
    tell_table(listener, false);
    if (listener->polled)
        uv_poll_stop(&listener->poll);
    tell_waiters(listener, false);
    /* The gateway's answer is still to come. */
    if (!opening)
        close_handle(listener);
}

/* What a connection came for, by what it connected to. */
static void dispatch(struct listener *listener, int fd, const struct sockaddr_storage *peer) {
    struct network *network = listener->network;
    struct sockaddr_storage local = {0};
    socklen_t size = sizeof local;
    if (getsockname(fd, (struct sockaddr *)&local, &size) != 0) {
        close(fd);
        return;
    }
    uint8_t address[IP_ADDRESS_BYTES];
    uint16_t port;
    network_address_read((const struct sockaddr *)&local, address, &port);
    if (port == DNS_PORT && listener->kind != LISTENER_LOOPBACK) {
        dns_stream_accept(network, fd, peer);
        return;
    }
    bool proxy = listener->kind == LISTENER_PROXY || listener->kind == LISTENER_RUN_PROXY ||
                 (port == GATEWAY_PROXY_PORT && network_is_own_address(address));
    enum inbound_place place = proxy ? INBOUND_PROXY : INBOUND_TRANSPARENT;
    if (listener->kind == LISTENER_LOOPBACK)
        place = INBOUND_LOCAL;
    inbound_accept(network, fd, place, listener->run, &local, peer);
}

/* No descriptors, no memory: it would be readable again at once. */
static void rest(struct listener *listener) {
    uv_poll_stop(&listener->poll);
    deadlines_add(&listener->network->waits[WAIT_ACCEPT], &listener->rest);
}

static void accept_pending(struct listener *listener, unsigned most) {
    for (unsigned i = 0; i < most && listener->state == LISTENER_OPEN;) {
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof peer;
        int fd = accept4(listener->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                rest(listener);
            return;
        }
        i++;
        listener->used_ms = deadlines_now();
        dispatch(listener, fd, &peer);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events) {
    struct listener *listener = poll->data;
    (void)events;
    if (status < 0)
        rest(listener);
    else
        accept_pending(listener, ACCEPTS_PER_EVENT);
}

void listener_on_rested(void *data, struct deadline *deadline) {
    (void)data;
    struct listener *listener = LINK_OWNER(deadline, struct listener, rest);
    if (uv_poll_start(&listener->poll, UV_READABLE, on_readable) != 0)
        listener_close(listener);
}

void listeners_sweep(struct network *network) {
    /* One that is taken from may close others, in what is told of it: only the state of each counts. */
    for (struct link *at = network->listeners.next; at != &network->listeners && !network->closing;) {
        struct listener *listener = LINK_OWNER(at, struct listener, link);
        if (listener->state == LISTENER_OPEN)
            accept_pending(listener, UINT16_MAX);
        at = link_is_in_list(at) ? at->next : network->listeners.next;
    }
}

static bool begin_accepting(struct listener *listener) {
    if (uv_poll_init(listener->network->loop, &listener->poll, listener->fd) != 0)
        return false;
    listener->polled = true;
    listener->poll.data = listener;
    uv_unref((uv_handle_t *)&listener->poll);
    if (uv_poll_start(&listener->poll, UV_READABLE, on_readable) != 0)
        return false;
    listener->state = LISTENER_OPEN;
    listener->used_ms = deadlines_now();
    return true;
}

static struct gateway_request request_of(const struct listener *listener) {
    if (listener->kind == LISTENER_EVERYWHERE)
        return gateway_listener_everywhere(listener->port);
    if (listener->kind == LISTENER_EVERYWHERE_V4)
        return gateway_listener_everywhere_v4(listener->port);
    if (listener->kind == LISTENER_LOOPBACK || memcmp(listener->address, loopback_v4, IP_ADDRESS_BYTES) == 0)
        return gateway_listener_loopback(ip_address_is_v4(listener->address) ? AF_INET : AF_INET6,
                                         listener->port);
    struct sockaddr_storage address;
    network_address_write(listener->address, listener->port, &address);
    return gateway_bound(GATEWAY_INNER, SOCK_STREAM, (const struct sockaddr *)&address);
}

static int ask_gateway(struct listener *listener);

static void fail(struct listener *listener, int error) {
    struct network *network = listener->network;
    bool first = listener->first;
    if (first && listener->port == GATEWAY_PROXY_PORT && listener->kind != LISTENER_LOOPBACK)
        network->proxy_error = error;
    if (listener->state != LISTENER_CLOSED) {
        take_out(listener);
        tell_waiters(listener, false);
    }
    close_handle(listener);
    if (first)
        network_started_one(network);
}

static void on_socket(void *data, int fd) {
    struct listener *listener = data;
    struct network *network = listener->network;
    if (listener->state == LISTENER_CLOSED) {
        bool awaited = listener->first;
        listener->fd = fd < 0 ? -1 : fd;
        close_handle(listener);
        if (awaited)
            network_started_one(network);
        return;
    }
    /* A socket for both families where there is no IPv6. */
    if (fd < 0 && listener->kind == LISTENER_EVERYWHERE && fd != -EADDRINUSE) {
        listener->kind = LISTENER_EVERYWHERE_V4;
        if (ask_gateway(listener) == 0)
            return;
    }
    listener->fd = fd < 0 ? -1 : fd;
    if (fd < 0 || !begin_accepting(listener)) {
        fail(listener, fd < 0 ? fd : -ENOMEM);
        return;
    }
    tell_table(listener, true);
    bool first = listener->first;
    tell_waiters(listener, true);
    if (first)
        network_started_one(network);
}

static int ask_gateway(struct listener *listener) {
    struct network *network = listener->network;
    struct gateway_request request = request_of(listener);
    return network->gateway == NULL ? -ENOTCONN
                                    : gateway_client_socket(network->gateway, &request, on_socket, listener);
}

static struct listener *add(struct network *network, enum listener_kind kind, uint16_t port) {
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return NULL;
    network_hold(network);
    listener->network = network;
    listener->kind = kind;
    listener->port = port;
    listener->fd = -1;
    link_head(&listener->waiters);
    link_add(&network->listeners, &listener->link);
    return listener;
}

/* Room for one more on demand. */
static void make_room(struct network *network) {
    struct listener *oldest = NULL;
    if (network->demanded < LISTENERS_DEMANDED_MAX)
        return;
    for (struct link *at = network->listeners.next; at != &network->listeners; at = at->next) {
        struct listener *listener = LINK_OWNER(at, struct listener, link);
        if (listener->demanded && listener->state == LISTENER_OPEN &&
            (oldest == NULL || listener->used_ms < oldest->used_ms))
            oldest = listener;
    }
    if (oldest != NULL)
        listener_close(oldest);
}

static void open_new(struct network *network, const struct listener_request *request,
                     struct listener_waiter *waiter) {
    if (request->demanded)
        make_room(network);
    struct listener *listener = network->demanded < LISTENERS_DEMANDED_MAX || !request->demanded
                                    ? add(network, request->kind, request->port)
                                    : NULL;
    if (listener == NULL) {
        if (waiter != NULL)
            waiter->opened(waiter, false);
        return;
    }
    if (request->address != NULL)
        memcpy(listener->address, request->address, IP_ADDRESS_BYTES);
    listener->demanded = request->demanded;
    network->demanded += request->demanded ? 1 : 0;
    if (request->first) {
        listener->first = true;
        network->starting++;
    }
    if (waiter != NULL)
        link_add(&listener->waiters, &waiter->link);
    int failed = ask_gateway(listener);
    if (failed != 0)
        fail(listener, failed);
}

void listener_open(struct network *network, const struct listener_request *request,
                   struct listener_waiter *waiter) {
    enum port_place place = is_on_loopback(request->kind) ? PORT_LOOPBACK : PORT_GATEWAY;
    struct listener *found = find(network, place, request->port, request->address);
    if (found == NULL)
        open_new(network, request, waiter);
    else if (waiter != NULL && found->state == LISTENER_OPENING)
        link_add(&found->waiters, &waiter->link);
    else if (waiter != NULL)
        waiter->opened(waiter, true);
}

void listener_take(struct network *network, uint32_t run, int fd) {
    struct listener *listener = network->closing ? NULL : add(network, LISTENER_RUN_PROXY, 0);
    if (listener == NULL) {
        close(fd);
        return;
    }
    listener->run = run;
    listener->fd = fd;
    if (!begin_accepting(listener)) {
        take_out(listener);
        close_handle(listener);
    }
}

static void close_those(struct network *network, bool (*is_one)(const struct listener *, const void *),
                        const void *data) {
    for (struct link *at = network->listeners.next; at != &network->listeners;) {
        struct listener *listener = LINK_OWNER(at, struct listener, link);
        at = at->next;
        if (is_one(listener, data))
            listener_close(listener);
    }
}

static bool is_any(const struct listener *listener, const void *data) {
    (void)listener;
    (void)data;
    return true;
}

void listeners_close_all(struct network *network) {
    close_those(network, is_any, NULL);
}

static bool is_of_run(const struct listener *listener, const void *run) {
    return listener->kind == LISTENER_RUN_PROXY && listener->run == *(const uint32_t *)run;
}

void listeners_close_run(struct network *network, uint32_t run) {
    close_those(network, is_of_run, &run);
}

struct kept_ports {
    const uint16_t *ports;
    size_t count;
};

static bool is_dropped(const struct listener *listener, const void *data) {
    const struct kept_ports *kept = data;
    if (listener->kind != LISTENER_LOOPBACK)
        return false;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->ports[i] == listener->port)
            return false;
    return true;
}

void listeners_close_loopback(struct network *network, const uint16_t *kept, size_t count) {
    struct kept_ports ports = {.ports = kept, .count = count};
    close_those(network, is_dropped, &ports);
}
