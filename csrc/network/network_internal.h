/* What the parts of a session's network share. */
#ifndef OS_SANDBOX_NETWORK_NETWORK_INTERNAL_H
#define OS_SANDBOX_NETWORK_NETWORK_INTERNAL_H

#include <sys/socket.h>
#include <uv.h>

#include "network/address.h"
#include "network/ask_book.h"
#include "network/asked_names.h"
#include "network/deadlines.h"
#include "network/dial.h"
#include "network/exposed.h"
#include "network/host_files.h"
#include "network/list.h"
#include "network/name_pool.h"
#include "network/network.h"
#include "network/tunnel.h"
#include "platform/linux/gateway_client.h"
#include "policy/network_rules.h"

/* Rules, and what else of the options holds for a connection from its beginning to its end. */
struct rule_set {
    struct network_rules *rules;
    uint32_t max_tunnels;
    bool follows; /* allowLocalBinding */
    unsigned users;
};

void rule_set_release(struct rule_set *rules);

/* What waits how long. */
enum network_wait {
    WAIT_REQUEST, /* from the accept to the complete request */
    WAIT_LINGER,  /* for the end of a connection that got its last reply */
    WAIT_ORPHAN,  /* for the end of a connection whose run is over */
    WAIT_DNS,     /* for the next question on a DNS connection */
    WAIT_ACCEPT,  /* until a listener tries again, when descriptors were missing */
    WAITS
};

struct network {
    uv_loop_t *loop;
    enum network_mode mode;
    network_denied_fn denied;
    network_ask_fn ask;
    network_withdraw_fn withdraw;
    void *data;

    struct rule_set *rules;
    bool has_upstream;
    struct upstream_proxy upstream;
    struct host_files files;

    struct gateway_client *gateway; /* NULL: none */
    struct port_table *ports;       /* NULL: none */
    uint64_t ports_noted;           /* as of the last look */
    struct tunnels *tunnels;
    struct exposed_ports *exposed; /* NULL: none */
    struct dial_account dials;
    struct name_pool *names;

    struct deadlines waits[WAITS];
    unsigned wait_count; /* of them that were made */

    struct ask_book *asks;
    uv_timer_t ask_timer; /* holds the loop while a question is open */

    struct link inbounds;
    unsigned inbound_count;
    unsigned spare_count; /* of them that count for no tunnel */
    struct link searches; /* owner_search.h */
    uv_timer_t search_timer;

    struct link listeners;
    unsigned demanded; /* of them on demand */
    unsigned starting; /* listeners and files that ready waits for */
    int proxy_error;   /* negative errno of the proxy's listener */
    struct error start_error;
    network_ready_fn ready; /* NULL: it was called */

    struct link dns_sockets;
    struct link dns_streams;
    unsigned dns_stream_count;
    struct asked_names asked_names;

    int questions;
    uv_poll_t question_poll;
    struct link pending_questions;
    struct link unexposed; /* of network_expose: there is nothing inside that could be reached */

    uint32_t *live_runs;
    size_t live_count;
    size_t live_capacity;
    uint32_t ending_run; /* whose end is being looked at: nothing is asked for it any more; 0: none */

    uint64_t sweeps; /* counts looks through all connections */

    bool closing;
    unsigned open; /* handles, requests and parts that are to end before it is freed */
    network_closed_fn closed;
    void *closed_data;
};

/* One thing more, or less, that must end before the network is freed. */
void network_hold(struct network *network);
void network_release(struct network *network);

/* Of a handle whose data is the network and that was held for. */
void network_on_handle_closed(uv_handle_t *handle);

/* One of the listeners, or files, of the start was had or not. */
void network_started_one(struct network *network);

/* Has the host's files read again, where they are not fresh. Nobody waits for it: what has changed counts
 * from the next connection, or command, on. */
void network_refresh_files(struct network *network);

/* The run that everything comes from where there is but one; 0: there are none, or several. */
uint32_t network_sole_run(const struct network *network);

/* Tells of a refusal. The callee may call any function of the network, network_close among them. */
void network_report(struct network *network, struct port_owner owner, const char *host, uint16_t port,
                    const char *why);

/* After anything that may have begun or ended a question. */
void network_arm_asks(struct network *network);

#endif
