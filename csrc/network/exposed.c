#include "network/exposed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/exposed_internal.h"

#define BACKLOG 128
/* So many connections are accepted at once; where there are no descriptors it is tried again after a while.
 */
#define ACCEPTS_PER_EVENT 16u
#define RESUME_MS 100u

void exposed_ports_release(struct exposed_ports *all) {
    if (--all->open > 0)
        return;
    void (*closed)(void *data) = all->closed;
    void *data = all->data;
    free(all);
    closed(data);
}

/* A listener on the host's loopback, which is not blocking; port 0: any. -1 with errno. */
static int listen_on_host(uint16_t port, uint16_t *host_port) {
    struct sockaddr_in here = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    const int on = 1;
    cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* Connections of an earlier listener that are not forgotten yet do not hold the port. */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&here, sizeof here) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&here, &size) != 0)
        return -1;
    *host_port = ntohs(here.sin_port);
    return steal_fd(&fd);
}

static void on_resume(uv_timer_t *timer);

static void pause_accepting(struct exposed_port *one) {
    uv_poll_stop(&one->poll);
    one->paused = true;
    if (!uv_is_active((uv_handle_t *)&one->all->resume))
        uv_timer_start(&one->all->resume, on_resume, RESUME_MS, 0);
}

static void on_connection(uv_poll_t *poll, int status, int events) {
    struct exposed_port *one = poll->data;
    (void)events;
    for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
        int fd = accept4(one->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            exposed_carry_start(one->all, fd, one->port);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS || status < 0)
            pause_accepting(one);
        if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

static void on_resume(uv_timer_t *timer) {
    struct exposed_ports *all = timer->data;
    for (struct exposed_port *one = all->ports; one != NULL; one = one->next) {
        if (one->paused)
            uv_poll_start(&one->poll, UV_READABLE, on_connection);
        one->paused = false;
    }
}

struct exposed_port *exposed_port_find(const struct exposed_ports *all, uint16_t port) {
    struct exposed_port *one = all->ports;
    while (one != NULL && one->port != port)
        one = one->next;
    return one;
}

bool exposed_ports_have(const struct exposed_ports *all, uint16_t host_port) {
    const struct exposed_port *one = all->ports;
    while (one != NULL && one->host_port != host_port)
        one = one->next;
    return one != NULL;
}

static void on_port_closed(uv_handle_t *handle) {
    struct exposed_port *one = handle->data;
    struct exposed_ports *all = one->all;
    free(one);
    exposed_ports_release(all);
}

struct exposed_port *exposed_port_open(struct exposed_ports *all, uint16_t port) {
    struct exposed_port *one = exposed_port_find(all, port);
    if (one != NULL || all->over || port == 0 || all->count >= EXPOSED_MAX)
        return one;
    uint16_t host_port = 0;
    cleanup_fd int fd = listen_on_host(port, &host_port);
    if (fd < 0)
        fd = listen_on_host(0, &host_port);
    if (fd < 0 || (one = calloc(1, sizeof *one)) == NULL || uv_poll_init(all->loop, &one->poll, fd) != 0) {
        free(one);
        return NULL;
    }
    one->all = all;
    one->fd = steal_fd(&fd);
    one->port = port;
    one->host_port = host_port;
    one->poll.data = one;
    uv_unref((uv_handle_t *)&one->poll);
    all->open++;
    one->next = all->ports;
    all->ports = one;
    all->count++;
    if (uv_poll_start(&one->poll, UV_READABLE, on_connection) != 0)
        pause_accepting(one);
    return one;
}

void exposed_ports_sweep(struct exposed_ports *all) {
    for (struct exposed_port **at = &all->ports; *at != NULL;) {
        struct exposed_port *one = *at;
        if (one->requested || one->followed) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        all->count--;
        uv_close((uv_handle_t *)&one->poll, on_port_closed);
        close_fd(&one->fd);
    }
}

/* Gives the answers that wait, the oldest first; none: 0 to all. */
static void give_answers(struct exposed_ports *all, bool none) {
    struct exposed_answer *one;
    while ((one = all->answers) != NULL) {
        all->answers = one->next;
        one->done(one->data, none ? 0 : one->host_port);
        free(one);
    }
}

static void on_answer(uv_timer_t *timer) {
    give_answers(timer->data, false);
}

void exposed_ports_open(struct exposed_ports *all, uint16_t port, network_exposed_fn done, void *data) {
    struct exposed_answer *answer = all->over ? NULL : calloc(1, sizeof *answer);
    if (answer == NULL) {
        done(data, 0);
        return;
    }
    struct exposed_port *one = exposed_port_open(all, port);
    if (one != NULL)
        one->requested = true;
    *answer =
        (struct exposed_answer){.done = done, .data = data, .host_port = one == NULL ? 0 : one->host_port};
    struct exposed_answer **end = &all->answers;
    while (*end != NULL)
        end = &(*end)->next;
    *end = answer;
    uv_timer_start(&all->answer, on_answer, 0, 0);
}

struct exposed_ports *exposed_ports_new(uv_loop_t *loop, struct gateway_client *gateway,
                                        struct tunnels *tunnels) {
    struct exposed_ports *all = calloc(1, sizeof *all);
    if (all == NULL)
        return NULL;
    all->loop = loop;
    all->gateway = gateway;
    all->tunnels = tunnels;
    uv_timer_t *const timers[] = {&all->answer, &all->resume, &all->look};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++) {
        uv_timer_init(loop, timers[i]);
        timers[i]->data = all;
        uv_unref((uv_handle_t *)timers[i]);
        all->open++;
    }
    return all;
}

static void on_timer_closed(uv_handle_t *handle) {
    exposed_ports_release(handle->data);
}

static void on_listeners_closed(void *data) {
    exposed_ports_release(data);
}

void exposed_ports_close(struct exposed_ports *all, void (*closed)(void *data), void *data) {
    all->over = true;
    all->closed = closed;
    all->data = data;
    give_answers(all, true);
    for (struct exposed_port *one = all->ports; one != NULL; one = one->next)
        one->requested = false;
    exposed_follow_stop(all);
    exposed_carry_stop_all(all);
    if (all->listeners != NULL)
        inner_listeners_close(all->listeners, on_listeners_closed, all);
    all->listeners = NULL;
    uv_timer_t *const timers[] = {&all->answer, &all->resume, &all->look};
    for (size_t i = 0; i < sizeof timers / sizeof timers[0]; i++)
        uv_close((uv_handle_t *)timers[i], on_timer_closed);
}
