/* What the files of exposed ports share. */
#ifndef OS_SANDBOX_NETWORK_EXPOSED_INTERNAL_H
#define OS_SANDBOX_NETWORK_EXPOSED_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "network/exposed.h"
#include "network/inner_listeners.h"

/* More than so many ports are not opened, and more than so many connections do not wait to be carried. */
#define EXPOSED_MAX 256u
#define EXPOSED_WAITING_MAX 256u

/* A listener on the host. */
struct exposed_port {
    struct exposed_port *next;
    struct exposed_ports *all;
    uv_poll_t poll;
    int fd;
    uint16_t port; /* inside */
    uint16_t host_port;
    bool requested; /* stays until the end */
    bool followed;  /* something listens inside */
    bool paused;
};

/* An answer that is given from the loop. */
struct exposed_answer {
    struct exposed_answer *next;
    network_exposed_fn done;
    void *data;
    uint16_t host_port;
};

struct exposed_carry; /* an accepted connection that is not connected inside yet */

struct exposed_ports {
    uv_loop_t *loop;
    struct gateway_client *gateway;
    struct tunnels *tunnels;
    unsigned open; /* handles, and requests to the gateway */
    bool over;
    void (*closed)(void *data);
    void *data;

    struct exposed_port *ports;
    unsigned count;
    struct exposed_carry *carries;
    unsigned carry_count;

    struct exposed_answer *answers;
    uv_timer_t answer; /* at once */
    uv_timer_t resume; /* accepting, after it was not possible */

    bool follow;
    bool asked; /* the gateway, for the diag socket */
    struct inner_listeners *listeners;
    uv_timer_t look;
    unsigned step; /* of the looks after something was heard */
    bool untold;   /* the kernel does not tell of ends */
    bool (*own_port)(void *data, uint16_t port);
    void *own_data;
};

/* The port, opened where it is not; NULL: there can be none. */
struct exposed_port *exposed_port_open(struct exposed_ports *all, uint16_t port);
struct exposed_port *exposed_port_find(const struct exposed_ports *all, uint16_t port);
/* Closes those that neither a request nor a listener inside keeps open. */
void exposed_ports_sweep(struct exposed_ports *all);
/* A handle is closed or a request answered: with the last one everything is freed. */
void exposed_ports_release(struct exposed_ports *all);

/* Of exposed_carry.c. Takes the accepted connection. */
void exposed_carry_start(struct exposed_ports *all, int accepted, uint16_t port);
void exposed_carry_stop_all(struct exposed_ports *all);

/* Of exposed_follow.c. */
void exposed_follow_stop(struct exposed_ports *all);

#endif
