/*
 * From what a client wants to what it gets: the address of a name, a name of the hosts file, the sandbox's
 * own addresses, and then the rules. The same for every way in.
 */
#ifndef OS_SANDBOX_NETWORK_JUDGE_H
#define OS_SANDBOX_NETWORK_JUDGE_H

#include "network/network_internal.h"

extern const char why_not_allowed_name[];
extern const char why_not_allowed_address[];
extern const char why_own_address[];

struct judgement {
    enum network_verdict verdict;
    const char *why;              /* of NETWORK_DENY; static */
    struct network_target target; /* what is decided and shown; the name where an address stands for one */
    struct pool_name *name;       /* of the pool; or NULL. Holds until the network's next look-up */
    bool use_address;             /* the name is dialed at that address, of the hosts file */
    uint8_t address[IP_ADDRESS_BYTES]; /* with use_address */
    bool absolute;                     /* the name is looked up as it is, never below a search domain */
};

void network_judge(struct network *network, const struct rule_set *rules, const struct network_target *target,
                   struct judgement *out);

/* The same of a target as somebody wrote it, without a network: no address stands for a name there. */
void network_judge_written(const struct host_files *files, const struct rule_set *rules,
                           const struct network_target *target, struct judgement *out);

/* The same target by other rules. */
void network_judge_again(struct network *network, const struct rule_set *rules, struct judgement *judgement);

/* A connection to a listener on the loopback inside: the host's own port, if a rule names it by either
 * spelling. */
void network_judge_local(const struct rule_set *rules, const uint8_t address[IP_ADDRESS_BYTES], uint16_t port,
                         struct judgement *out);

/* Whether it is one of the gateway's or the inner side's own addresses. */
bool network_is_own_address(const uint8_t address[IP_ADDRESS_BYTES]);

#endif
