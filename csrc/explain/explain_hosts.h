/* Whether a command may reach a host, and which rule says so: asked of the functions that decide about
 * connections. Looks no name up. */
#ifndef OS_SANDBOX_EXPLAIN_EXPLAIN_HOSTS_H
#define OS_SANDBOX_EXPLAIN_EXPLAIN_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/host_files.h"
#include "policy/network_rules.h"

/* Ports that rules name, of which each is told. */
#define EXPLAINED_PORTS_MAX 1024

struct explained_host {
    char host[DOMAIN_NAME_MAX + 1];
    bool is_address;
    bool is_local; /* localhost: the sandbox's own, but for ports of this host that a rule names */
    uint16_t port; /* 0: none was asked about */
    struct network_decision decision; /* without a port: the best one of any port */
    bool by_port;                     /* it does not hold at every port: */
    bool but;                         /* at all but these; else at these alone */
    uint16_t ports[EXPLAINED_PORTS_MAX];
    size_t port_count;
};

/* text: HOST, HOST:PORT, an address, [ADDRESS]:PORT. 0, or -1 where it is none of these. */
int explain_host(const struct network_rules *rules, const struct host_files *files, const char *text,
                 struct explained_host *out);

#endif
