#include "network/owner_search.h"

#include <stdlib.h>

struct owner_request {
    struct owner_search *search; /* NULL: it was ended */
};

static bool take(struct owner_search *search) {
    if (search->network->ports == NULL)
        return false;
    struct port_owner owner = port_table_take(search->network->ports, search->transport, search->port);
    uint32_t sole = network_sole_run(search->network);
    if (owner.run == 0 || (sole != 0 && owner.run != sole))
        return false;
    search->owner = owner;
    search->settled = true;
    return true;
}

/*
 * Before that, what is there may be of a connection that had the port before, and of another run: one that
 * was never accepted leaves its note. The supervisor's own replaces it right after the connect. Where there
 * is one run alone there is no other.
 */
static bool is_trusted(const struct owner_search *search) {
    return search->from_ms <= deadlines_now() || network_sole_run(search->network) != 0;
}

/* The end: known, or never to be known. */
static void settle(struct owner_search *search) {
    link_remove(&search->link);
    search->settled = true;
    if (search->owner.run == 0)
        search->owner.run = network_sole_run(search->network);
    if (!search->needed)
        return;
    search->needed = false;
    search->found(search);
}

static void on_gateway_owner(void *data, struct port_owner owner) {
    struct owner_request *request = data;
    struct owner_search *search = request->search;
    free(request);
    if (search == NULL)
        return;
    search->request = NULL;
    search->owner = owner;
    settle(search);
}

/* False: there is nobody to ask. */
static bool ask_gateway(struct owner_search *search) {
    struct network *network = search->network;
    struct owner_request *request = network->gateway == NULL ? NULL : malloc(sizeof *request);
    if (request == NULL)
        return false;
    request->search = search;
    if (gateway_client_owner(network->gateway, (const struct sockaddr *)&search->peer, on_gateway_owner,
                             request) != 0) {
        free(request);
        return false;
    }
    search->request = request;
    return true;
}

void owner_search_on_timer(uv_timer_t *timer) {
    struct network *network = timer->data;
    uint64_t now = deadlines_now();
    /* found may end others: each is taken out first, and those that go on are put into a new list. */
    struct link looked_at;
    link_head(&looked_at);
    for (struct link *at; (at = link_take(&network->searches)) != NULL;) {
        struct owner_search *search = LINK_OWNER(at, struct owner_search, link);
        bool taken = is_trusted(search) && take(search);
        bool over = taken || (search->until_ms <= now && search->needed && !ask_gateway(search));
        if (over)
            settle(search);
        else if (search->until_ms > now)
            link_add(&looked_at, &search->link);
    }
    for (struct link *at; (at = link_take(&looked_at)) != NULL;)
        link_add(&network->searches, at);
    if (network->closing)
        owner_search_give_up(network);
    if (link_is_empty(&network->searches))
        uv_timer_stop(timer);
}

static void begin_looking(struct owner_search *search) {
    struct network *network = search->network;
    search->from_ms = deadlines_now() + OWNER_NOTED_MS;
    search->until_ms = deadlines_now() + OWNER_SEARCH_MS;
    link_add(&network->searches, &search->link);
    if (!uv_is_active((uv_handle_t *)&network->search_timer) && !network->closing)
        uv_timer_start(&network->search_timer, owner_search_on_timer, 1, 1);
}

/* A port of an IPv6 socket that speaks IPv4 is noted as IPv4's. */
static bool is_v4(const struct sockaddr_storage *peer) {
    uint8_t address[IP_ADDRESS_BYTES];
    uint16_t port;
    network_address_read((const struct sockaddr *)peer, address, &port);
    return ip_address_is_v4(address);
}

void owner_search_begin(struct owner_search *search, struct network *network,
                        const struct sockaddr_storage *peer, void (*found)(struct owner_search *search)) {
    uint8_t address[IP_ADDRESS_BYTES];
    *search = (struct owner_search){.network = network, .peer = *peer, .found = found};
    network_address_read((const struct sockaddr *)peer, address, &search->port);
    search->transport = is_v4(peer) ? PORT_TCP4 : PORT_TCP6;
    if (network->ports != NULL && !(network_sole_run(network) != 0 && take(search)))
        begin_looking(search);
}

void owner_search_set(struct owner_search *search, struct network *network, struct port_owner owner) {
    *search = (struct owner_search){.network = network, .owner = owner, .settled = true};
}

bool owner_search_need(struct owner_search *search) {
    if (search->settled)
        return true;
    if (is_trusted(search) && take(search)) {
        link_remove(&search->link);
        return true;
    }
    if (link_is_in_list(&search->link) || search->request != NULL || ask_gateway(search)) {
        search->needed = true;
        return false;
    }
    settle(search);
    return true;
}

void owner_search_hurry(struct owner_search *search) {
    if (search->settled || (!take(search) && network_sole_run(search->network) == 0))
        return;
    if (search->request != NULL) {
        search->request->search = NULL;
        search->request = NULL;
    }
    settle(search);
}

void owner_search_end(struct owner_search *search) {
    link_remove(&search->link);
    if (search->request != NULL)
        search->request->search = NULL;
    search->request = NULL;
    search->needed = false;
}

void owner_search_give_up(struct network *network) {
    for (struct link *at; (at = link_take(&network->searches)) != NULL;)
        settle(LINK_OWNER(at, struct owner_search, link));
}

struct port_owner owner_of_datagram(const struct network *network, const struct sockaddr_storage *peer) {
    struct port_owner owner = {0};
    uint8_t address[IP_ADDRESS_BYTES];
    uint16_t port;
    network_address_read((const struct sockaddr *)peer, address, &port);
    if (network->ports != NULL)
        owner = port_table_look(network->ports, is_v4(peer) ? PORT_UDP4 : PORT_UDP6, port);
    if (owner.run == 0)
        owner.run = network_sole_run(network);
    return owner;
}
