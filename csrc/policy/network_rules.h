/*
 * What commands may reach: the network options as one immutable table, and the one function that decides.
 * Pure: looks nothing up.
 */
#ifndef OS_SANDBOX_POLICY_NETWORK_RULES_H
#define OS_SANDBOX_POLICY_NETWORK_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/domain_pattern.h"
#include "policy/ip_address.h"
#include "policy/options.h"

struct network_rules;

/* What a connection is for: a name, or a literal address. */
struct network_target {
    char name[DOMAIN_NAME_MAX + 1];    /* lower case, A-labels, no trailing dot; "": the address counts */
    uint8_t address[IP_ADDRESS_BYTES]; /* meaningful where name is "" */
    uint16_t port;                     /* 0: not known (a DNS question) */
};

enum network_verdict { NETWORK_DENY, NETWORK_ALLOW, NETWORK_ASK };

struct network_decision {
    enum network_verdict verdict;
    const char *why;  /* of NETWORK_DENY: static text, "not in network.allowedDomains"; else NULL */
    const char *list; /* the option's list that decided, "allowedDomains"; NULL: none */
    size_t entry;     /* and the entry in it */
};

/* Copies what it needs. NULL: out of memory. */
struct network_rules *network_rules_new(const struct network_options *options);
void network_rules_free(struct network_rules *rules);

/*
 * Reads a host as a client wrote it (length bytes, not NUL-terminated): a name, IPv4 in every spelling of C
 * libraries and URLs, IPv6 with or without brackets (mapped comes out as IPv4). Names are put into their
 * canonical form. 0; or -1 for what no host can be: an empty label, a byte that is no letter, digit, "-", "_"
 * or dot, NUL, "%", a zone, over 253 bytes, a last label that is a number in a name that is no address. *out
 * is written only on success.
 */
int network_target_parse(const char *host, size_t length, uint16_t port, struct network_target *out);

/* The host as it is shown: the name, or the address without brackets. */
void network_target_host(const struct network_target *target, char text[DOMAIN_NAME_MAX + 1]);

bool network_target_is_address(const struct network_target *target);

/* localhost, or a name below it (RFC 6761, section 6.3). The name is canonical. */
bool network_name_is_localhost(const char *name);

/* The same name or address, and port. */
bool network_target_equal(const struct network_target *a, const struct network_target *b);

/*
 * Denied beats allowed; what neither list decides is NETWORK_ASK where there is an onAskHost, else denied. A
 * literal address that network_address_class knows is denied unless a rule names it
 * (network_rules_names_address), and never asked about. So is localhost: localhost, 127.0.0.1 and ::1 in a
 * rule name the same loopback. An address that carries a denied IPv4 address (6to4, NAT64, …) is denied with
 * it. With port 0: allowed at some port; denied where it is at every port.
 */
struct network_decision network_rules_decide(const struct network_rules *rules,
                                             const struct network_target *target);

/* Whether a denying rule has it, whatever else is allowed. */
bool network_rules_denies(const struct network_rules *rules, const struct network_target *target);

/* Whether a name (canonical, as network_target_parse leaves it) may be allowed at any port at all, by a list
 * or by asking: whether DNS answers it. *why is set where not. */
bool network_rules_may_resolve(const struct network_rules *rules, const char *name, const char **why);

/* Whether anything may be reached at that port (TCP, of others than this host): whether a listener there has
 * a use. */
bool network_rules_may_use_port(const struct network_rules *rules, uint16_t port);

/* Whether nothing at all can be allowed: neither a list nor an onAskHost. */
bool network_rules_are_closed(const struct network_rules *rules);

/* Ports that allowing rules name, but for those of localhost, each once. */
size_t network_rules_ports(const struct network_rules *rules, uint16_t *ports, size_t max);

/* Every port that any rule names, each once. */
size_t network_rules_named_ports(const struct network_rules *rules, uint16_t *ports, size_t max);

/*
 * Ports of this host's own loopback that rules name: localhost:5432, 127.0.0.1:5432, [::1]:5432; denied ones
 * left out. *any (may be NULL): a rule names localhost or a loopback address without a port.
 */
size_t network_rules_local_ports(const struct network_rules *rules, uint16_t *ports, size_t max, bool *any);

/*
 * What an address is that no wildcard opens: "a loopback address", "the unspecified address", "a link-local
 * address", "a multicast address", "a metadata service" and its kind (address_class.h), also inside
 * IPv4-mapped, IPv4-compatible, 6to4, Teredo and NAT64 forms; NULL: none of these. Private ranges are none.
 */
const char *network_address_class(const uint8_t address[IP_ADDRESS_BYTES]);

/*
 * Whether an allowing rule names that address, so that it may be dialed though network_address_class knows it
 * or it is this host's own: the address itself, a block that lies wholly inside such a range (127.0.0.0/8;
 * never 0.0.0.0/0), or localhost for loopback addresses; and no denying rule does.
 */
bool network_rules_names_address(const struct network_rules *rules, const uint8_t address[IP_ADDRESS_BYTES],
                                 uint16_t port);

/*
 * "in network.deniedDomains" where a denying rule has that address, which a name that was allowed may have
 * led to; else NULL. To be asked before network_rules_names_address, for every address that is dialed.
 */
const char *network_rules_denied_address(const struct network_rules *rules,
                                         const uint8_t address[IP_ADDRESS_BYTES], uint16_t port);

#endif
