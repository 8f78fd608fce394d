#include "network/judge.h"

#include <string.h>

const char why_not_allowed_name[] = "not in network.allowedDomains";
const char why_not_allowed_address[] = "not in network.allowedIPs";
const char why_own_address[] = "an address of this host";
static const char why_denied[] = "in network.deniedDomains";

/* The veth pair's subnets (gateway_wire.h), as prefixes of the 16-byte form. */
static const struct own_block {
    uint8_t bytes[IP_ADDRESS_BYTES];
    unsigned bits;
} own_blocks[] = {
    {{[10] = 0xff, 0xff, 100, 127, 255, 252}, 96 + GATEWAY_V4_PREFIX},
    {{0xfd, 0x6f, 0x73, 0x2d, 0x73, 0x62}, GATEWAY_V6_PREFIX},
};

static bool is_within(const uint8_t address[IP_ADDRESS_BYTES], const struct own_block *block) {
    unsigned whole = block->bits / 8;
    unsigned rest = block->bits % 8;
    if (memcmp(address, block->bytes, whole) != 0)
        return false;
    return rest == 0 || ((address[whole] ^ block->bytes[whole]) >> (8 - rest)) == 0;
}

bool network_is_own_address(const uint8_t address[IP_ADDRESS_BYTES]) {
    for (size_t i = 0; i < sizeof own_blocks / sizeof *own_blocks; i++)
        if (is_within(address, &own_blocks[i]))
            return true;
    return false;
}

static void deny(struct judgement *out, const char *why) {
    out->verdict = NETWORK_DENY;
    out->why = why;
}

static void decide(const struct rule_set *rules, struct judgement *out) {
    struct network_decision decision = network_rules_decide(rules->rules, &out->target);
    out->verdict = decision.verdict;
    out->why = decision.why;
}

/* The host's resolver may put a search domain behind a name (resolver(5)): that one is denied, too. */
static void decide_name(const struct host_files *files, const struct rule_set *rules, struct judgement *out) {
    const struct strvec *search = &files->resolver.search;
    decide(rules, out);
    for (size_t i = 0; i < search->count && out->verdict != NETWORK_DENY; i++) {
        struct network_target longer = {.port = out->target.port};
        if (strlen(out->target.name) + 1 + strlen(search->items[i]) > DOMAIN_NAME_MAX)
            continue;
        stpcpy(stpcpy(stpcpy(longer.name, out->target.name), "."), search->items[i]);
        if (!network_rules_denies(rules->rules, &longer))
            continue;
        /* One label alone is looked up there in the first place. */
        if (strchr(out->target.name, '.') == NULL)
            deny(out, why_denied);
        out->absolute = true;
    }
}

/* A client that looked the name up in the hosts file itself comes with the address that it found there. */
static void try_host_names(const struct host_files *files, const struct rule_set *rules,
                           struct judgement *out) {
    struct strvec names = {0};
    bool complete = host_files_names(files, out->target.address, &names) == 0;
    for (size_t i = 0; complete && i < names.count; i++) {
        struct judgement named = {0};
        if (network_target_parse(names.items[i], strlen(names.items[i]), out->target.port, &named.target) !=
                0 ||
            network_target_is_address(&named.target))
            continue;
        decide(rules, &named);
        if (named.verdict != NETWORK_ALLOW)
            continue;
        named.use_address = true;
        memcpy(named.address, out->target.address, IP_ADDRESS_BYTES);
        *out = named;
        break;
    }
    strvec_clear(&names);
}

/* True where the rules name neither the address nor what carries it. */
static bool is_unlisted(const struct rule_set *rules, struct judgement *out) {
    if (network_is_own_address(out->target.address)) {
        deny(out, why_own_address);
        return false;
    }
    decide(rules, out);
    return out->verdict == NETWORK_ASK ||
           (out->verdict == NETWORK_DENY && strcmp(out->why, why_not_allowed_address) == 0);
}

static void judge_address(struct network *network, const struct rule_set *rules, struct judgement *out) {
    if (!is_unlisted(rules, out))
        return;
    network_refresh_files(network);
    try_host_names(&network->files, rules, out);
}

void network_judge_written(const struct host_files *files, const struct rule_set *rules,
                           const struct network_target *target, struct judgement *out) {
    *out = (struct judgement){.target = *target};
    if (!network_target_is_address(target))
        decide_name(files, rules, out);
    else if (name_pool_covers(target->address))
        deny(out, why_not_allowed_name);
    else if (is_unlisted(rules, out))
        try_host_names(files, rules, out);
}

void network_judge(struct network *network, const struct rule_set *rules, const struct network_target *target,
                   struct judgement *out) {
    *out = (struct judgement){.target = *target};
    if (!network_target_is_address(target)) {
        decide_name(&network->files, rules, out);
        return;
    }
    if (!name_pool_covers(target->address)) {
        judge_address(network, rules, out);
        return;
    }
    out->name = name_pool_find(network->names, target->address);
    if (out->name == NULL) {
        deny(out, why_not_allowed_name);
        return;
    }
    strcpy(out->target.name, pool_name_text(out->name));
    decide_name(&network->files, rules, out);
}

void network_judge_again(struct network *network, const struct rule_set *rules, struct judgement *judgement) {
    if (network_target_is_address(&judgement->target))
        decide(rules, judgement);
    else
        decide_name(&network->files, rules, judgement);
}

void network_judge_local(const struct rule_set *rules, const uint8_t address[IP_ADDRESS_BYTES], uint16_t port,
                         struct judgement *out) {
    *out = (struct judgement){.target = {.name = "localhost", .port = port}};
    decide(rules, out);
    if (out->verdict == NETWORK_ALLOW)
        return;
    struct judgement literal = {.target = {.port = port}};
    memcpy(literal.target.address, address, IP_ADDRESS_BYTES);
    decide(rules, &literal);
    if (literal.verdict == NETWORK_ALLOW)
        *out = literal;
}
