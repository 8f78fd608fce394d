#include "network/ports.h"

#include <netinet/in.h>
#include <string.h>

#include "network/dns_server.h"
#include "network/listeners.h"

#define DNS_PORT 53
/* Of what rules name; the rest is opened on demand. */
#define RULE_PORTS_MAX 512u

/* What programs connect to most (IANA's registry of service names): ssh, http, https, mysql, postgresql,
 * redis, http-alt, https-alt, git. */
static const uint16_t usual_ports[] = {22, 80, 443, 3306, 5432, 6379, 8080, 8443, 9418};

static const uint8_t loopback_v4[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
static const uint8_t loopback_v6[IP_ADDRESS_BYTES] = {[15] = 1};

static void open_everywhere(struct network *network, uint16_t port, bool first) {
    struct listener_request request = {.kind = LISTENER_EVERYWHERE, .port = port, .first = first};
    listener_open(network, &request, NULL);
}

static void open_loopback(struct network *network, enum listener_kind kind,
                          const uint8_t address[IP_ADDRESS_BYTES], uint16_t port, bool first) {
    struct listener_request request = {.kind = kind, .port = port, .address = address, .first = first};
    listener_open(network, &request, NULL);
}

void ports_open_resolvers(struct network *network, bool first) {
    const struct resolver_file *resolver = &network->files.resolver;
    for (size_t i = 0; i < resolver->loopback_count && network->mode == NETWORK_TRANSPARENT; i++) {
        int domain = ip_address_is_v4(resolver->loopback[i]) ? AF_INET : AF_INET6;
        dns_socket_open(network, domain, resolver->loopback[i], first);
        open_loopback(network, LISTENER_RESOLVER, resolver->loopback[i], DNS_PORT, first);
    }
}

static void open_dns(struct network *network) {
    dns_socket_open(network, AF_INET, NULL, true);
    dns_socket_open(network, AF_INET6, NULL, true);
    open_everywhere(network, DNS_PORT, true);
    ports_open_resolvers(network, true);
}

void ports_open_first(struct network *network) {
    switch (network->mode) {
    case NETWORK_TRANSPARENT:
        open_everywhere(network, GATEWAY_PROXY_PORT, true);
        open_dns(network);
        break;
    case NETWORK_SESSION:
        open_loopback(network, LISTENER_PROXY, loopback_v4, GATEWAY_PROXY_PORT, true);
        break;
    case NETWORK_PER_RUN:
        break;
    }
}

static size_t local_ports(const struct network *network, uint16_t ports[RULE_PORTS_MAX], bool *any) {
    size_t count = network_rules_local_ports(network->rules->rules, ports, RULE_PORTS_MAX, any);
    return count < RULE_PORTS_MAX ? count : RULE_PORTS_MAX;
}

void ports_open_local(struct network *network, bool first) {
    uint16_t ports[RULE_PORTS_MAX];
    size_t count = network->gateway == NULL ? 0 : local_ports(network, ports, NULL);
    for (size_t i = 0; i < count; i++) {
        open_loopback(network, LISTENER_LOOPBACK, loopback_v4, ports[i], first);
        open_loopback(network, LISTENER_LOOPBACK, loopback_v6, ports[i], first);
    }
}

static void open_outward(struct network *network, bool first) {
    uint16_t ports[RULE_PORTS_MAX];
    size_t count = network_rules_ports(network->rules->rules, ports, RULE_PORTS_MAX);
    for (size_t i = 0; i < count && i < RULE_PORTS_MAX; i++)
        open_everywhere(network, ports[i], first);
    for (size_t i = 0; i < sizeof usual_ports / sizeof *usual_ports; i++)
        if (network_rules_may_use_port(network->rules->rules, usual_ports[i]))
            open_everywhere(network, usual_ports[i], first);
}

static void set_flags(struct network *network, bool any_loopback) {
    uint32_t flags = any_loopback ? PORT_TABLE_ANY_LOOPBACK : 0;
    if (network->mode == NETWORK_TRANSPARENT)
        flags |= PORT_TABLE_TRANSPARENT;
    if (network_rules_are_closed(network->rules->rules))
        flags |= PORT_TABLE_CLOSED;
    if (network->ports != NULL)
        port_table_set_flags(network->ports, flags);
}

void ports_open_by_rules(struct network *network, bool first) {
    uint16_t ports[RULE_PORTS_MAX];
    bool any = false;
    size_t count = local_ports(network, ports, &any);
    /* One that is no rule's any more would only be in the way of a command's own. */
    listeners_close_loopback(network, ports, count);
    if (network->mode == NETWORK_TRANSPARENT)
        open_outward(network, first);
    ports_open_local(network, first);
    set_flags(network, any);
}
