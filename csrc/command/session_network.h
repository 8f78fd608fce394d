/* The network of a session: when it is started and how, and what it reports to whom. */
#ifndef OS_SANDBOX_COMMAND_SESSION_NETWORK_H
#define OS_SANDBOX_COMMAND_SESSION_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/error.h"
#include "command/session.h"
#include "network/network.h"
#include "platform/backend.h"
#include "policy/upstream_proxy.h"
#include "violations/collector.h"

enum session_network_state { NETWORK_AWAITED, NETWORK_STARTING, NETWORK_UP, NETWORK_FAILED };

struct session_network {
    enum session_network_state state;
    enum network_mode mode;
    struct network *network; /* NULL: none */
    char proxy[64];          /* URL of the explicit proxy, once it is up */
    struct error error;      /* why there is none */
    struct error gap;        /* why clients that ignore proxy variables do not get through */
    const struct options *options;
    struct upstream_proxy upstream;
    bool has_upstream;
    struct error upstream_error;   /* why the one of the host's environment is not used */
    struct collector unattributed; /* what was refused to nobody knows which run */
    struct session_calls calls;
    uv_timer_t timer; /* while it starts */
    bool has_timer;
    unsigned exposing; /* requests for exposed ports that wait */
};

/* Copies of the configuration, but for the options. 0, or -1 with err set. */
int session_network_init(struct session *session, const struct session_config *config, struct error *err);

/* Its memory, when all of it was closed. */
void session_network_clear(struct session_network *net);

/* Starts it with what the backend gives; all descriptors are taken. */
void session_network_take(struct session *session, const struct backend_network *given);

/* What runs get is known: where that is no network of the session's, another one is started for theirs. */
void session_network_choose(struct session *session);

/* Whether it is up, or will not be. session_settle_start is called when that comes to be so. */
bool session_network_is_settled(const struct session *session);

/* A run's explicit proxy, where the run's network is its own; the descriptor is taken. */
void session_network_add_listener(struct session *session, uint64_t run, int listener);

/* What a run is given by way of network: NULL: none. */
const char *session_network_proxy(const struct session *session);

/* What users should know of it by now; NULL: nothing. */
const char *session_network_warning(const struct session *session);

void session_network_run_started(struct session *session, uint64_t run);
void session_network_run_ended(struct session *session, uint64_t run);

/* Nothing can be run any more. Its handles are counted with the session's. */
void session_network_close(struct session *session);

#endif
