/* How a network begins, and gets new rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/network_internal.h"
#include "network/network_parts.h"
#include "network/network_runs.h"
#include "network/ports.h"
#include "network/questions.h"

void rule_set_release(struct rule_set *rules) {
    if (rules == NULL || --rules->users > 0)
        return;
    network_rules_free(rules->rules);
    free(rules);
}

/* NULL: out of memory. */
static struct rule_set *rule_set_new(const struct network_options *options) {
    struct rule_set *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return NULL;
    rules->users = 1;
    rules->max_tunnels = options->max_tunnels == 0 ? NETWORK_TUNNELS_DEFAULT : options->max_tunnels;
    rules->follows = options->allow_local_binding;
    rules->rules = network_rules_new(options);
    if (rules->rules != NULL)
        return rules;
    free(rules);
    return NULL;
}

int network_update(struct network *network, const struct options *options) {
    if (network->closing)
        return 0;
    struct rule_set *rules = rule_set_new(&options->network);
    if (rules == NULL)
        return -1;
    rule_set_release(network->rules);
    network->rules = rules;
    /* Another function may be asked from now on; what is asked already is decided by the new rules, too. */
    ask_book_forget_answers(network->asks);
    /* Until the files were read everything is still to be opened. */
    if (network->ready == NULL) {
        ports_open_by_rules(network, false);
        network_follow_ports(network);
    }
    return 0;
}

void network_started_one(struct network *network) {
    if (--network->starting > 0 || network->closing)
        return;
    struct error err = network->start_error;
    if (err.kind == ERROR_NONE && network->proxy_error != 0)
        error_set(&err, ERROR_HOST, -network->proxy_error, "the network's proxy cannot listen");
    network_ready_fn ready = network->ready;
    network->ready = NULL;
    ready(network->data, err.kind == ERROR_NONE ? NULL : &err);
}

static void on_files_read(void *data) {
    struct network *network = data;
    if (!network->closing && network->start_error.kind == ERROR_NONE) {
        ports_open_first(network);
        ports_open_by_rules(network, true);
        network_follow_ports(network);
    }
    network_started_one(network);
    network_release(network);
}

static char *copy_text(const char *text) {
    return text == NULL ? NULL : strdup(text);
}

static int copy_upstream(struct network *network, const struct upstream_proxy *from) {
    if (from == NULL)
        return 0;
    network->has_upstream = true;
    network->upstream = *from;
    network->upstream.authorization = copy_text(from->authorization);
    network->upstream.except = copy_text(from->except);
    bool lost = (from->authorization != NULL && network->upstream.authorization == NULL) ||
                (from->except != NULL && network->upstream.except == NULL);
    return lost ? -1 : 0;
}

/* All that has no handle on the loop. 0, or -1 with err. */
static int make_parts(struct network *network, const struct network_config *config, struct error *err) {
    network->rules = rule_set_new(&config->options->network);
    network->names = name_pool_new(NAME_POOL_MAX, (uint32_t)(uv_hrtime() ^ (uintptr_t)network));
    network->asks = network_ask_book(network);
    network->dials.lookups = lookups_new();
    if (network->rules == NULL || network->dials.lookups == NULL || network->names == NULL ||
        network->asks == NULL || copy_upstream(network, config->upstream) != 0)
        return error_memory(err);
    if (config->ports < 0)
        return 0;
    network->ports = port_table_map(config->ports);
    return network->ports == NULL ? error_set(err, ERROR_HOST, errno, "the network's port table") : 0;
}

/* What has handles: a failure is told by ready, and network_close closes what there is. */
static void make_handles(struct network *network, int *gateway, int *questions) {
    struct error *err = &network->start_error;
    int failed = network_make_timers(network);
    if (failed == 0 && *gateway >= 0) {
        network->gateway = gateway_client_new(network->loop, steal_fd(gateway));
        failed = network->gateway == NULL ? -ENOMEM : 0;
    }
    if (failed == 0) {
        network->tunnels = tunnels_new(network->loop);
        failed = network->tunnels == NULL ? -ENOMEM : 0;
    }
    if (failed == 0 && network->gateway != NULL) {
        network->exposed = exposed_ports_new(network->loop, network->gateway, network->tunnels);
        failed = network->exposed == NULL ? -ENOMEM : 0;
    }
    if (failed == 0 && *questions >= 0) {
        network->questions = steal_fd(questions);
        failed = questions_begin(network);
    }
    if (failed != 0)
        error_set(err, ERROR_HOST, -failed, "the session's network");
}

struct network *network_start(const struct network_config *config, network_ready_fn ready,
                              struct error *err) {
    cleanup_fd int gateway = config->gateway;
    cleanup_fd int questions = config->questions;
    cleanup_fd int ports = config->ports;
    (void)ports;
    struct network *network = calloc(1, sizeof *network);
    if (network == NULL) {
        error_memory(err);
        return NULL;
    }
    network->loop = config->loop;
    network->mode = config->mode;
    network->denied = config->denied;
    network->ask = config->ask;
    network->withdraw = config->withdraw;
    network->data = config->data;
    network->ready = ready;
    network->questions = -1;
    network->starting = 1;
    network_make_lists(network);
    if (make_parts(network, config, err) != 0) {
        network_free(network);
        return NULL;
    }
    if (!host_files_refresh(&network->files, network->loop, on_files_read, network)) {
        error_set(err, ERROR_HOST, 0, "uv_queue_work");
        network_free(network);
        return NULL;
    }
    network_hold(network);
    make_handles(network, &gateway, &questions);
    return network;
}
