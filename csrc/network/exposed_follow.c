/* With allowLocalBinding: the host's ports follow what listens inside. */
#include <unistd.h>

#include "network/exposed_internal.h"

/* A command that is about to listen is heard of a moment before it does: looks after so many milliseconds. */
static const unsigned delays_ms[] = {20, 100, 500};
#define DELAYS (sizeof delays_ms / sizeof delays_ms[0])

/* Where the kernel does not tell of sockets that end. */
#define UNTOLD_LOOK_MS 200u

/* Other ends come together with one: a process that dies has several. */
#define AFTER_END_MS 10u

static void on_look(uv_timer_t *timer);

/* In how many milliseconds there is a look anyway; UINT64_MAX: none. */
static uint64_t next_look(const struct exposed_ports *all) {
    return uv_is_active((const uv_handle_t *)&all->look) ? uv_timer_get_due_in(&all->look) : UINT64_MAX;
}

static void look_in(struct exposed_ports *all, unsigned ms) {
    if (!all->over && all->follow && next_look(all) > ms)
        uv_timer_start(&all->look, on_look, ms, 0);
}

static bool has_followed(const struct exposed_ports *all) {
    for (const struct exposed_port *one = all->ports; one != NULL; one = one->next)
        if (one->followed)
            return true;
    return false;
}

static void on_found(void *data, const uint16_t *ports, unsigned count) {
    struct exposed_ports *all = data;
    if (!all->follow)
        return;
    for (struct exposed_port *one = all->ports; one != NULL; one = one->next)
        one->followed = false;
    for (unsigned i = 0; i < count; i++) {
        struct exposed_port *one = all->own_port != NULL && all->own_port(all->own_data, ports[i])
                                       ? NULL
                                       : exposed_port_open(all, ports[i]);
        if (one != NULL)
            one->followed = true;
    }
    exposed_ports_sweep(all);
    bool any = has_followed(all);
    all->untold = !inner_listeners_watch(all->listeners, any) && any;
    if (all->untold)
        look_in(all, UNTOLD_LOOK_MS);
}

static void on_ended(void *data, uint16_t port) {
    struct exposed_ports *all = data;
    const struct exposed_port *one = port == 0 ? NULL : exposed_port_find(all, port);
    if (port == 0 || (one != NULL && one->followed))
        look_in(all, AFTER_END_MS);
}

static void on_look(uv_timer_t *timer) {
    struct exposed_ports *all = timer->data;
    if (all->listeners == NULL)
        return; /* it looks when there is one */
    inner_listeners_look(all->listeners);
    if (all->step < DELAYS)
        look_in(all, delays_ms[all->step++]);
}

static void on_diag(void *data, int socket) {
    struct exposed_ports *all = data;
    all->asked = false;
    if (socket >= 0 && !all->over) {
        all->listeners = inner_listeners_new(all->loop, socket, on_found, on_ended, all);
        all->open += all->listeners != NULL ? 1 : 0;
        look_in(all, 0);
    } else if (socket >= 0) {
        close(socket);
    }
    exposed_ports_release(all);
}

/* The first one needs a socket from inside. */
static void ask_for_diag(struct exposed_ports *all) {
    const struct gateway_request request = gateway_diag_inside();
    if (all->listeners != NULL || all->asked)
        return;
    if (gateway_client_socket(all->gateway, &request, on_diag, all) == 0) {
        all->asked = true;
        all->open++;
    }
}

void exposed_ports_heard(struct exposed_ports *all) {
    all->step = 0;
    if (next_look(all) >
        delays_ms[0]) /* else there was one just now: a command cannot make us look all the time */
        look_in(all, 0);
}

void exposed_ports_follow(struct exposed_ports *all, bool follow, bool (*own_port)(void *data, uint16_t port),
                          void *data) {
    bool begins = follow && !all->follow;
    all->follow = follow;
    all->own_port = own_port;
    all->own_data = data;
    if (begins) {
        ask_for_diag(all);
        exposed_ports_heard(all);
    } else if (!follow) {
        exposed_follow_stop(all);
    }
}

void exposed_follow_stop(struct exposed_ports *all) {
    uv_timer_stop(&all->look);
    all->follow = false;
    if (all->listeners != NULL)
        inner_listeners_watch(all->listeners, false);
    for (struct exposed_port *one = all->ports; one != NULL; one = one->next)
        one->followed = false;
    exposed_ports_sweep(all);
}
