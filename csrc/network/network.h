/*
 * The network of one session: what commands connect to arrives here, on the loop, is decided and carried.
 * Knows nothing of JavaScript, nor of runs but their numbers. Every function is to be called on the loop's
 * thread; no handle of it holds the loop but those of a pending question.
 */
#ifndef OS_SANDBOX_NETWORK_NETWORK_H
#define OS_SANDBOX_NETWORK_NETWORK_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "exec/port_table.h"
#include "policy/options.h"
#include "policy/upstream_proxy.h"
#include "violations/violation.h"

struct network;

enum network_mode {
    NETWORK_TRANSPARENT, /* a gateway: every address leads here */
    NETWORK_SESSION,     /* one network for all runs, without a gateway: the explicit proxy on its loopback */
    NETWORK_PER_RUN,     /* each run has its own, and brings its listener: network_add_run_listener */
};

/*
 * Something was refused. The violation has operation, host, port, why, pid, process and time, and no id; it
 * holds until the function returns. run: the low 32 bits of its number; 0: not known.
 */
typedef void (*network_denied_fn)(void *data, uint32_t run, const struct violation *violation);

/* The caller of OsSandbox is to be asked; network_answer gives the answer, once, unless it was withdrawn
 * before. */
typedef void (*network_ask_fn)(void *data, uint64_t question, const char *host, uint16_t port);
typedef void (*network_withdraw_fn)(void *data, uint64_t question);

struct network_config {
    uv_loop_t *loop;
    const struct options *options;         /* read, not kept */
    const struct upstream_proxy *upstream; /* copied; or NULL */
    enum network_mode mode;
    int gateway;   /* the gateway process's socket, taken; -1 with NETWORK_PER_RUN */
    int questions; /* the supervisors' questions (exec/question.h), taken; -1: none */
    int ports;     /* the port table's memfd, taken; -1: none */
    network_denied_fn denied;
    network_ask_fn ask;
    network_withdraw_fn withdraw; /* may be NULL */
    void *data;
};

/* ready: the listeners of the start are there; or err says why there are none (the network is to be closed
 * all the same). */
typedef void (*network_ready_fn)(void *data, const struct error *err);
typedef void (*network_closed_fn)(void *data);

/* Begins; ready is called once, later. NULL with err set: not even begun, and the descriptors are closed. */
struct network *network_start(const struct network_config *config, network_ready_fn ready, struct error *err);

/* New rules for connections from now on, in one step. 0, or -1: out of memory, nothing changed. */
int network_update(struct network *network, const struct options *options);

void network_answer(struct network *network, uint64_t question, bool allowed);

/* What proxy variables name: "100.127.255.253" or "127.0.0.1", and the port. */
const char *network_proxy_host(const struct network *network);
uint16_t network_proxy_port(const struct network *network);

/* NETWORK_PER_RUN: the run's explicit proxy; the descriptor is taken. */
void network_add_run_listener(struct network *network, uint32_t run, int listener);

/* A run begins: with allowLocalBinding its ports are opened on the host while it lasts. */
void network_run_started(struct network *network, uint32_t run);

/*
 * A run is over: what it had sent before is looked at and reported from inside this call; its connections
 * end, its questions are withdrawn, its answers forgotten. To be called before the run's result is made.
 */
void network_run_ended(struct network *network, uint32_t run);

/* Whether its gateway process is gone, that of a network which has one: what is open goes on, nothing new is
 * opened. */
bool network_has_lost_gateway(const struct network *network);

/*
 * Opens a port on the host's 127.0.0.1 that reaches that port inside, or finds the one that was opened
 * before. done is called later: the host's port, or 0: there can be none.
 */
typedef void (*network_exposed_fn)(void *data, uint16_t host_port);
void network_expose(struct network *network, uint16_t port, network_exposed_fn done, void *data);

/* Ends all connections; closed is called later, when every handle is gone and the memory is freed. Call it
 * once. No other callback is called after this (network_expose's pending ones hear 0 from inside). */
void network_close(struct network *network, network_closed_fn closed, void *data);

#endif
