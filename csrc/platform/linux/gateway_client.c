#include "platform/linux/gateway_client.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/passfd.h"

/* More than can wait at once without a connection being refused; the kernel takes no more than somaxconn. */
#define BACKLOG 4096

/* A request that has no answer yet; exactly one of the functions is there. */
struct waiting {
    struct waiting *next;
    struct gateway_request request;
    gateway_socket_fn socket_done;
    gateway_owner_fn owner_done;
    void *data;
};

/* Answers come in the order of the requests: those that were sent are at the front. */
struct gateway_client {
    uv_poll_t watch;
    int fd;
    struct waiting *first;
    struct waiting **last;
    struct waiting **unsent; /* the first that was not sent yet: the socket was full */
    bool ended;              /* the gateway is gone */
    bool closing;
    gateway_closed_fn closed;
    void *closed_data;
};

static void on_ready(uv_poll_t *watch, int status, int events);

struct gateway_client *gateway_client_new(uv_loop_t *loop, int fd) {
    struct gateway_client *client = calloc(1, sizeof *client);
    if (client == NULL || uv_poll_init(loop, &client->watch, fd) != 0) {
        close(fd);
        free(client);
        return NULL;
    }
    client->fd = fd;
    client->last = client->unsent = &client->first;
    client->watch.data = client;
    uv_poll_start(&client->watch, UV_READABLE, on_ready);
    uv_unref((uv_handle_t *)&client->watch);
    return client;
}

/* The request at the front has its answer: socket, or a negative errno; or whose it is. */
static void finish_first(struct gateway_client *client, int socket, struct port_owner owner) {
    cleanup_free struct waiting *done = client->first;
    client->first = done->next;
    if (client->unsent == &done->next)
        client->unsent = &client->first;
    if (client->last == &done->next)
        client->last = &client->first;
    if (done->socket_done != NULL) {
        done->socket_done(done->data, socket);
        return;
    }
    if (socket >= 0)
        close(socket);
    done->owner_done(done->data, owner);
}

/* Whoever waits now hears that nothing comes; who asks again from there is not meant. */
static void finish_all(struct gateway_client *client, int failed) {
    struct waiting *next;
    struct waiting *all = client->first;
    client->first = NULL;
    client->last = client->unsent = &client->first;
    for (; all != NULL; all = next) {
        next = all->next;
        if (all->socket_done != NULL)
            all->socket_done(all->data, failed);
        else
            all->owner_done(all->data, (struct port_owner){0});
        free(all);
    }
}

/* 1: sent; 0: the socket is full; or a negative errno. */
static int send_request(const struct gateway_client *client, const struct gateway_request *request) {
    if (send_with_fds(client->fd, request, sizeof *request, NULL, 0) == 0)
        return 1;
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : -errno;
}

static void end(struct gateway_client *client) {
    client->ended = true;
    uv_poll_stop(&client->watch);
    finish_all(client, -EPIPE);
}

static void send_waiting(struct gateway_client *client) {
    while (*client->unsent != NULL) {
        int sent = send_request(client, &(*client->unsent)->request);
        if (sent == 0)
            return;
        if (sent < 0) {
            end(client);
            return;
        }
        client->unsent = &(*client->unsent)->next;
    }
    uv_poll_start(&client->watch, UV_READABLE, on_ready);
}

/* The answer to the first request, or none yet: false. */
static bool receive_one(struct gateway_client *client) {
    struct gateway_reply reply = {.version = 0};
    int fd = -1;
    size_t count = 0;
    ssize_t got = receive_with_fds(client->fd, &reply, sizeof reply, &fd, 1, &count);
    if (got < 0 && errno == EAGAIN)
        return false;
    /* The message is there, its descriptor is not: this process has too many files open. */
    if (got < 0 && errno == EPROTO && reply.version == GATEWAY_VERSION)
        reply.errnum = EMFILE;
    else if (got != (ssize_t)sizeof reply || reply.version != GATEWAY_VERSION || client->first == NULL ||
             client->unsent == &client->first) {
        close_fd(&fd);
        end(client);
        return false;
    }
    if (reply.errnum == 0 && count == 0 && client->first->socket_done != NULL)
        reply.errnum = EPROTO;
    finish_first(client, reply.errnum != 0 ? -reply.errnum : fd,
                 (struct port_owner){.run = reply.run, .pid = reply.pid});
    return !client->closing;
}

static void on_ready(uv_poll_t *watch, int status, int events) {
    struct gateway_client *client = watch->data;
    (void)status;
    (void)events;
    send_waiting(client);
    while (!client->ended && !client->closing && receive_one(client))
        ;
}

static int ask(struct gateway_client *client, const struct waiting *wanted) {
    if (client->closing)
        return -ECANCELED;
    if (client->ended)
        return -EPIPE;
    struct waiting *waiting = malloc(sizeof *waiting);
    if (waiting == NULL)
        return -ENOMEM;
    *waiting = *wanted;
    waiting->request.version = GATEWAY_VERSION;
    waiting->request.type = waiting->socket_done != NULL ? GATEWAY_SOCKET : GATEWAY_OWNER;
    bool first_unsent = *client->unsent == NULL;
    int sent = first_unsent ? send_request(client, &waiting->request) : 0;
    if (sent < 0) {
        free(waiting);
        return sent;
    }
    *client->last = waiting;
    client->last = &waiting->next;
    if (sent == 1)
        client->unsent = &waiting->next;
    else if (first_unsent)
        uv_poll_start(&client->watch, UV_READABLE | UV_WRITABLE, on_ready);
    return 0;
}

int gateway_client_socket(struct gateway_client *client, const struct gateway_request *request,
                          gateway_socket_fn done, void *data) {
    return ask(client, &(struct waiting){.request = *request, .socket_done = done, .data = data});
}

/* sockaddr and its kinds are one size each. */
static socklen_t address_size(const struct sockaddr *address) {
    return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int gateway_client_owner(struct gateway_client *client, const struct sockaddr *local, gateway_owner_fn done,
                         void *data) {
    struct waiting wanted = {.owner_done = done, .data = data};
    wanted.request.address_length = address_size(local);
    memcpy(&wanted.request.address, local, wanted.request.address_length);
    return ask(client, &wanted);
}

bool gateway_client_has_ended(const struct gateway_client *client) {
    return client->ended;
}

static void on_closed(uv_handle_t *handle) {
    struct gateway_client *client = handle->data;
    gateway_closed_fn closed = client->closed;
    void *data = client->closed_data;
    close(client->fd);
    free(client);
    if (closed != NULL)
        closed(data);
}

void gateway_client_close(struct gateway_client *client, gateway_closed_fn closed, void *data) {
    client->closing = true;
    client->closed = closed;
    client->closed_data = data;
    uv_close((uv_handle_t *)&client->watch, on_closed);
    finish_all(client, -ECANCELED);
}

static struct gateway_request stream_listener(enum gateway_place place, int domain,
                                              const struct in6_addr *address6, in_addr_t address4,
                                              uint16_t port) {
    struct gateway_request request = {
        .place = place, .domain = domain, .kind = SOCK_STREAM, .backlog = BACKLOG};
    if (domain == AF_INET6) {
        const struct sockaddr_in6 address = {
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *address6};
        memcpy(&request.address, &address, request.address_length = sizeof address);
    } else {
        const struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address4)};
        memcpy(&request.address, &address, request.address_length = sizeof address);
    }
    return request;
}

struct gateway_request gateway_listener_everywhere(uint16_t port) {
    struct gateway_request request = stream_listener(GATEWAY_OUTER, AF_INET6, &in6addr_any, 0, port);
    request.dual = 1;
    return request;
}

struct gateway_request gateway_listener_everywhere_v4(uint16_t port) {
    return stream_listener(GATEWAY_OUTER, AF_INET, NULL, INADDR_ANY, port);
}

struct gateway_request gateway_listener_loopback(int domain, uint16_t port) {
    return stream_listener(GATEWAY_INNER, domain, &in6addr_loopback, INADDR_LOOPBACK, port);
}

struct gateway_request gateway_datagrams_everywhere(int domain, uint16_t port) {
    struct gateway_request request = stream_listener(GATEWAY_OUTER, domain, &in6addr_any, INADDR_ANY, port);
    request.kind = SOCK_DGRAM;
    request.backlog = 0;
    request.packet_info = 1;
    return request;
}

struct gateway_request gateway_bound(enum gateway_place place, int kind, const struct sockaddr *address) {
    struct gateway_request request = {.place = place,
                                      .domain = address->sa_family,
                                      .kind = kind,
                                      .backlog = kind == SOCK_STREAM ? BACKLOG : 0,
                                      .address_length = address_size(address)};
    memcpy(&request.address, address, request.address_length);
    return request;
}

struct gateway_request gateway_stream_inside(int domain) {
    return (struct gateway_request){.place = GATEWAY_INNER, .domain = domain, .kind = SOCK_STREAM};
}

struct gateway_request gateway_diag_inside(void) {
    return (struct gateway_request){
        .place = GATEWAY_INNER, .domain = AF_NETLINK, .kind = SOCK_DGRAM, .protocol = NETLINK_SOCK_DIAG};
}
