#include "network/network_internal.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "network/dns_server.h"
#include "network/dns_stream.h"
#include "network/inbound.h"
#include "network/listeners.h"
#include "network/network_parts.h"
#include "network/owner_search.h"
#include "network/questions.h"

static const struct wait_row {
    uint64_t duration_ms;
    void (*expired)(void *data, struct deadline *deadline);
} wait_rows[WAITS] = {
    [WAIT_REQUEST] = {30000, inbound_on_slow},    [WAIT_LINGER] = {5000, inbound_on_lingered},
    [WAIT_ORPHAN] = {30000, inbound_on_lingered}, [WAIT_DNS] = {10000, dns_stream_on_idle},
    [WAIT_ACCEPT] = {100, listener_on_rested},
};

void network_free(struct network *network) {
    rule_set_release(network->rules);
    if (network->has_upstream)
        upstream_proxy_clear(&network->upstream);
    host_files_clear(&network->files);
    if (network->ports != NULL)
        port_table_unmap(network->ports);
    name_pool_free(network->names);
    ask_book_free(network->asks);
    lookups_release(network->dials.lookups);
    free(network->live_runs);
    free(network);
}

/* Everything has ended: only now nothing can call back any more. */
static void finish(struct network *network) {
    if (!network->closing || network->open > 0 || network->dials.open > 0)
        return;
    network_closed_fn closed = network->closed;
    void *data = network->closed_data;
    network_free(network);
    if (closed != NULL)
        closed(data);
}

void network_hold(struct network *network) {
    network->open++;
}

void network_release(struct network *network) {
    network->open--;
    finish(network);
}

static void on_part_closed(void *data) {
    network_release(data);
}

static void on_dials_idle(void *data) {
    finish(data);
}

void network_on_handle_closed(uv_handle_t *handle) {
    network_release(handle->data);
}

static void on_wait_closed(uv_handle_t *handle) {
    const struct deadlines *waits = handle->data;
    network_release(waits->data);
}

/* Once nothing of the network's own calls into them any more: from a callback of their own they could be
 * closed under their feet. */
static void on_last_timer_closed(uv_handle_t *handle) {
    struct network *network = handle->data;
    if (network->gateway != NULL) {
        network_hold(network);
        gateway_client_close(network->gateway, on_part_closed, network);
        network->gateway = NULL;
    }
    if (network->tunnels != NULL) {
        network_hold(network);
        tunnels_close(network->tunnels, on_part_closed, network);
        network->tunnels = NULL;
    }
    network_release(network);
}

static void on_exposed_closed(void *data) {
    struct network *network = data;
    network->exposed = NULL;
    uv_close((uv_handle_t *)&network->search_timer, on_last_timer_closed);
}

/* Of network_expose where there is nothing inside that could be reached. */
struct unexposed {
    struct link link;
    uv_timer_t timer;
    struct network *network;
    network_exposed_fn done;
    void *data;
};

static void tell_unexposed(struct unexposed *unexposed) {
    if (!link_is_in_list(&unexposed->link))
        return;
    link_remove(&unexposed->link);
    unexposed->done(unexposed->data, 0);
}

static void end_connections(struct network *network) {
    for (struct link *at; (at = network->inbounds.next) != &network->inbounds;)
        inbound_end(LINK_OWNER(at, struct inbound, link));
    owner_search_give_up(network);
    dns_streams_close(network);
    dns_sockets_close(network);
    questions_close(network);
    listeners_close_all(network);
    while (!link_is_empty(&network->unexposed))
        tell_unexposed(LINK_OWNER(network->unexposed.next, struct unexposed, link));
}

void network_close(struct network *network, network_closed_fn closed, void *data) {
    network->closing = true;
    network->closed = closed;
    network->closed_data = data;
    end_connections(network);
    for (unsigned i = 0; i < network->wait_count; i++)
        deadlines_close(&network->waits[i], on_wait_closed);
    uv_close((uv_handle_t *)&network->ask_timer, network_on_handle_closed);
    uv_timer_stop(&network->search_timer);
    if (network->exposed != NULL)
        exposed_ports_close(network->exposed, on_exposed_closed, network);
    else
        uv_close((uv_handle_t *)&network->search_timer, on_last_timer_closed);
}

static void on_ask(void *data, uint64_t question, const char *host, uint16_t port) {
    struct network *network = data;
    network_arm_asks(network);
    network->ask(network->data, question, host, port);
}

static void on_withdraw(void *data, uint64_t question) {
    struct network *network = data;
    if (!network->closing && network->withdraw != NULL)
        network->withdraw(network->data, question);
}

static void on_ask_timer(uv_timer_t *timer) {
    struct network *network = timer->data;
    ask_book_expire(network->asks, deadlines_now());
    network_arm_asks(network);
}

void network_arm_asks(struct network *network) {
    if (network->closing)
        return;
    uint64_t due = ask_book_due(network->asks);
    uint64_t now = deadlines_now();
    if (due == 0)
        uv_timer_stop(&network->ask_timer);
    else
        uv_timer_start(&network->ask_timer, on_ask_timer, due > now ? due - now : 1, 0);
}

void network_answer(struct network *network, uint64_t question, bool allowed) {
    if (network->closing)
        return;
    ask_book_answer(network->asks, question, allowed);
    network_arm_asks(network);
}

const char *network_proxy_host(const struct network *network) {
    return network->mode == NETWORK_TRANSPARENT ? GATEWAY_V4_OUTER : "127.0.0.1";
}

uint16_t network_proxy_port(const struct network *network) {
    (void)network;
    return GATEWAY_PROXY_PORT;
}

void network_add_run_listener(struct network *network, uint32_t run, int listener) {
    listener_take(network, run, listener);
}

static void on_unexposed_closed(uv_handle_t *handle) {
    struct unexposed *unexposed = handle->data;
    struct network *network = unexposed->network;
    tell_unexposed(unexposed);
    free(unexposed);
    network_release(network);
}

bool network_has_lost_gateway(const struct network *network) {
    return network->gateway != NULL && gateway_client_has_ended(network->gateway);
}

void network_expose(struct network *network, uint16_t port, network_exposed_fn done, void *data) {
    if (network->exposed != NULL && !network->closing && !network_has_lost_gateway(network)) {
        exposed_ports_open(network->exposed, port, done, data);
        return;
    }
    struct unexposed *unexposed = calloc(1, sizeof *unexposed);
    if (unexposed == NULL || uv_timer_init(network->loop, &unexposed->timer) != 0) {
        free(unexposed);
        done(data, 0);
        return;
    }
    unexposed->timer.data = unexposed;
    unexposed->network = network;
    unexposed->done = done;
    unexposed->data = data;
    link_add(&network->unexposed, &unexposed->link);
    network_hold(network);
    uv_close((uv_handle_t *)&unexposed->timer, on_unexposed_closed);
}

void network_make_lists(struct network *network) {
    link_head(&network->inbounds);
    link_head(&network->searches);
    link_head(&network->listeners);
    link_head(&network->dns_sockets);
    link_head(&network->dns_streams);
    link_head(&network->pending_questions);
    link_head(&network->unexposed);
    network->dials = (struct dial_account){.idle = on_dials_idle, .data = network};
}

struct ask_book *network_ask_book(struct network *network) {
    struct ask_hooks hooks = {.ask = on_ask, .withdraw = on_withdraw, .data = network};
    return ask_book_new(&hooks);
}

/* The handles that are there from the beginning to the end. */
int network_make_timers(struct network *network) {
    int failed = uv_timer_init(network->loop, &network->search_timer);
    failed = failed != 0 ? failed : uv_timer_init(network->loop, &network->ask_timer);
    if (failed != 0)
        return failed;
    network->search_timer.data = network;
    network->ask_timer.data = network;
    network->open += 2;
    uv_unref((uv_handle_t *)&network->search_timer);
    for (; network->wait_count < WAITS; network->wait_count++) {
        const struct wait_row *row = &wait_rows[network->wait_count];
        failed = deadlines_init(&network->waits[network->wait_count], network->loop, row->duration_ms,
                                row->expired, network);
        if (failed != 0)
            return failed;
        network_hold(network);
    }
    return 0;
}
