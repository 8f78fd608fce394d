#include "policy/network_rules.h"

#include <stdlib.h>
#include <string.h>

#include "policy/address_block.h"
#include "policy/address_class.h"

enum rule_kind { RULE_NAME, RULE_BELOW, RULE_EVERY_NAME, RULE_BLOCK };

struct rule {
    enum rule_kind kind;
    uint16_t port; /* 0: any */
    char *name;    /* of RULE_NAME and RULE_BELOW */
    size_t length;
    struct address_block block;
};

struct rule_list {
    struct rule *items;
    size_t count;
};

struct network_rules {
    struct rule_list allowed, denied;
    size_t domain_count; /* of the allowed ones; addresses follow */
    bool ask;
};

static const char denied_by_rule[] = "in network.deniedDomains";
static const char localhost[] = "localhost";
static const uint8_t loopback_v4[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 127, [15] = 1};
static const uint8_t loopback_v6[IP_ADDRESS_BYTES] = {[15] = 1};

/* Making and freeing. */

static int read_domain(const char *text, struct rule *rule) {
    static const enum rule_kind kinds[] = {
        [DOMAIN_PATTERN_NAME] = RULE_NAME,      [DOMAIN_PATTERN_SUBDOMAINS] = RULE_BELOW,
        [DOMAIN_PATTERN_ANY] = RULE_EVERY_NAME, [DOMAIN_PATTERN_V4] = RULE_BLOCK,
        [DOMAIN_PATTERN_V6] = RULE_BLOCK,
    };
    struct domain_pattern pattern;
    if (domain_pattern_parse(text, &pattern, NULL) != 0)
        return -1;
    rule->kind = kinds[pattern.kind];
    rule->port = pattern.port;
    rule->block.prefix = ADDRESS_BLOCK_ONE;
    memcpy(rule->block.address, pattern.address, IP_ADDRESS_BYTES);
    if (rule->kind != RULE_NAME && rule->kind != RULE_BELOW)
        return 0;
    rule->length = strlen(pattern.name);
    rule->name = strdup(pattern.name);
    return rule->name == NULL ? -1 : 0;
}

static int read_address(const char *text, struct rule *rule) {
    struct address_pattern pattern;
    if (address_pattern_parse(text, &pattern, NULL) != 0)
        return -1;
    rule->kind = RULE_BLOCK;
    rule->port = pattern.port;
    rule->block = pattern.block;
    return 0;
}

static int append(struct rule_list *list, const struct strvec *texts,
                  int (*read)(const char *text, struct rule *rule)) {
    for (size_t i = 0; i < texts->count; i++)
        if (read(texts->items[i], &list->items[list->count++]) != 0)
            return -1;
    return 0;
}

static void clear(struct rule_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].name);
    free(list->items);
}

struct network_rules *network_rules_new(const struct network_options *options) {
    struct network_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return NULL;
    rules->ask = options->has_ask;
    rules->domain_count = options->allowed_domains.count;
    struct rule_list *allowed = &rules->allowed, *denied = &rules->denied;
    allowed->items =
        calloc(options->allowed_domains.count + options->allowed_ips.count + 1, sizeof *allowed->items);
    denied->items = calloc(options->denied_domains.count + 1, sizeof *denied->items);
    if (allowed->items != NULL && denied->items != NULL &&
        append(allowed, &options->allowed_domains, read_domain) == 0 &&
        append(allowed, &options->allowed_ips, read_address) == 0 &&
        append(denied, &options->denied_domains, read_domain) == 0)
        return rules;
    network_rules_free(rules);
    return NULL;
}

void network_rules_free(struct network_rules *rules) {
    if (rules == NULL)
        return;
    clear(&rules->allowed);
    clear(&rules->denied);
    free(rules);
}

/* What one rule has. */

static bool has_name(const struct rule *rule, const char *name, size_t length) {
    if (rule->kind == RULE_EVERY_NAME)
        return true;
    if (rule->kind == RULE_NAME)
        return length == rule->length && memcmp(name, rule->name, length) == 0;
    if (rule->kind != RULE_BELOW || length <= rule->length)
        return false;
    size_t below = length - rule->length;
    return name[below - 1] == '.' && memcmp(name + below, rule->name, rule->length) == 0;
}

static bool names_localhost(const struct rule *rule) {
    return rule->kind == RULE_NAME && strcmp(rule->name, localhost) == 0;
}

/* Whether an allowing rule names an address that has no other way in, and not just everything around it. */
static bool names_address(const struct rule *rule, const uint8_t address[IP_ADDRESS_BYTES]) {
    if (names_localhost(rule))
        return ip_address_is_loopback(address);
    if (rule->kind != RULE_BLOCK || !address_block_contains(&rule->block, address))
        return false;
    unsigned range;
    address_class(address, &range);
    return rule->block.prefix >= range;
}

/* Whether it opens something of this host's loopback to who asks for localhost. */
static bool names_this_host(const struct rule *rule) {
    return names_address(rule, loopback_v4) || names_address(rule, loopback_v6);
}

/* Rules for loopback alone have no part in what others offer. */
static bool is_for_loopback(const struct rule *rule) {
    if (rule->kind != RULE_BLOCK)
        return names_localhost(rule);
    return ip_address_is_loopback(rule->block.address) && names_address(rule, rule->block.address);
}

/* Denying. */

/* Translators carry it to an address that the rule denies: it is that address by another way. */
static bool carries_into(const uint8_t address[IP_ADDRESS_BYTES], const struct address_block *block) {
    uint8_t inside[ADDRESS_INSIDE_MAX][IP_ADDRESS_BYTES];
    size_t count = address_inside(address, inside);
    for (size_t i = 0; i < count; i++)
        if (address_block_contains(block, inside[i]))
            return true;
    return false;
}

static bool denies(const struct rule *rule, const struct network_target *target, size_t length) {
    if (!network_target_is_address(target))
        return has_name(rule, target->name, length) ||
               (rule->kind == RULE_BLOCK && network_name_is_localhost(target->name) &&
                address_block_contains(&rule->block, loopback_v4));
    if (rule->kind == RULE_BLOCK)
        return address_block_contains(&rule->block, target->address) ||
               carries_into(target->address, &rule->block);
    return names_localhost(rule) && ip_address_is_loopback(target->address);
}

/* At that port; 0: at every port. NULL: none does. */
static const struct rule *denying(const struct network_rules *rules, const struct network_target *target,
                                  uint16_t port) {
    size_t length = strlen(target->name);
    for (size_t i = 0; i < rules->denied.count; i++) {
        const struct rule *rule = &rules->denied.items[i];
        if ((rule->port == 0 || rule->port == port) && denies(rule, target, length))
            return rule;
    }
    return NULL;
}

static bool is_denied(const struct network_rules *rules, const struct network_target *target, uint16_t port) {
    return denying(rules, target, port) != NULL;
}

bool network_rules_denies(const struct network_rules *rules, const struct network_target *target) {
    return is_denied(rules, target, target->port);
}

/* Allowing. */

static bool allows(const struct rule *rule, const struct network_target *target, size_t length,
                   bool named_only) {
    if (network_target_is_address(target))
        return named_only ? names_address(rule, target->address)
                          : rule->kind == RULE_BLOCK && address_block_contains(&rule->block, target->address);
    return named_only ? names_this_host(rule) : has_name(rule, target->name, length);
}

/* named_only: nothing but a rule that names the target opens it. With port 0 any port will do that is not
 * denied. NULL: none does. */
static const struct rule *allowing(const struct network_rules *rules, const struct network_target *target,
                                   bool named_only) {
    size_t length = strlen(target->name);
    for (size_t i = 0; i < rules->allowed.count; i++) {
        const struct rule *rule = &rules->allowed.items[i];
        bool at_port = rule->port == 0 || target->port == 0 || rule->port == target->port;
        if (!at_port || !allows(rule, target, length, named_only))
            continue;
        if (target->port != 0 || rule->port == 0 || !is_denied(rules, target, rule->port))
            return rule;
    }
    return NULL;
}

static bool is_allowed(const struct network_rules *rules, const struct network_target *target,
                       bool named_only) {
    return allowing(rules, target, named_only) != NULL;
}

static struct network_decision decide_by(const struct network_rules *rules, enum network_verdict verdict,
                                         const struct rule *rule) {
    if (verdict == NETWORK_DENY)
        return (struct network_decision){.verdict = verdict,
                                         .why = denied_by_rule,
                                         .list = "deniedDomains",
                                         .entry = (size_t)(rule - rules->denied.items)};
    size_t entry = (size_t)(rule - rules->allowed.items);
    bool domain = entry < rules->domain_count;
    return (struct network_decision){.verdict = verdict,
                                     .list = domain ? "allowedDomains" : "allowedIPs",
                                     .entry = domain ? entry : entry - rules->domain_count};
}

static struct network_decision deny(const char *why) {
    return (struct network_decision){.verdict = NETWORK_DENY, .why = why};
}

struct network_decision network_rules_decide(const struct network_rules *rules,
                                             const struct network_target *target) {
    const struct rule *rule = denying(rules, target, target->port);
    if (rule != NULL)
        return decide_by(rules, NETWORK_DENY, rule);
    bool address = network_target_is_address(target);
    const uint8_t *special = address                                   ? target->address
                             : network_name_is_localhost(target->name) ? loopback_v4
                                                                       : NULL;
    const char *class = special == NULL ? NULL : network_address_class(special);
    rule = allowing(rules, target, class != NULL);
    if (rule != NULL)
        return decide_by(rules, NETWORK_ALLOW, rule);
    if (class != NULL)
        return deny(class);
    if (rules->ask)
        return (struct network_decision){.verdict = NETWORK_ASK};
    return deny(address ? "not in network.allowedIPs" : "not in network.allowedDomains");
}

bool network_rules_may_resolve(const struct network_rules *rules, const char *name, const char **why) {
    struct network_target target = {0};
    size_t length = strnlen(name, sizeof target.name - 1);
    memcpy(target.name, name, length);
    struct network_decision decision = network_rules_decide(rules, &target);
    if (decision.verdict == NETWORK_DENY)
        *why = decision.why;
    return decision.verdict != NETWORK_DENY;
}

const char *network_rules_denied_address(const struct network_rules *rules,
                                         const uint8_t address[IP_ADDRESS_BYTES], uint16_t port) {
    struct network_target target = {.port = port};
    memcpy(target.address, address, IP_ADDRESS_BYTES);
    return is_denied(rules, &target, port) ? denied_by_rule : NULL;
}

bool network_rules_names_address(const struct network_rules *rules, const uint8_t address[IP_ADDRESS_BYTES],
                                 uint16_t port) {
    if (network_rules_denied_address(rules, address, port) != NULL)
        return false;
    struct network_target target = {.port = port};
    memcpy(target.address, address, IP_ADDRESS_BYTES);
    return is_allowed(rules, &target, true);
}

const char *network_address_class(const uint8_t address[IP_ADDRESS_BYTES]) {
    return address_class(address, NULL);
}

/* Ports. */

static bool every_name_is_denied(const struct network_rules *rules, uint16_t port) {
    for (size_t i = 0; i < rules->denied.count; i++) {
        const struct rule *rule = &rules->denied.items[i];
        if (rule->kind == RULE_EVERY_NAME && (rule->port == 0 || rule->port == port))
            return true;
    }
    return false;
}

bool network_rules_may_use_port(const struct network_rules *rules, uint16_t port) {
    if (rules->ask)
        return true;
    bool no_names = every_name_is_denied(rules, port);
    for (size_t i = 0; i < rules->allowed.count; i++) {
        const struct rule *rule = &rules->allowed.items[i];
        bool at_port = rule->port == 0 || rule->port == port;
        if (at_port && !is_for_loopback(rule) && (rule->kind == RULE_BLOCK || !no_names))
            return true;
    }
    return false;
}

bool network_rules_are_closed(const struct network_rules *rules) {
    return !rules->ask && rules->allowed.count == 0;
}

static bool has_port(const uint16_t *ports, size_t count, uint16_t port) {
    for (size_t i = 0; i < count; i++)
        if (ports[i] == port)
            return true;
    return false;
}

size_t network_rules_ports(const struct network_rules *rules, uint16_t *ports, size_t max) {
    size_t count = 0;
    for (size_t i = 0; i < rules->allowed.count && count < max; i++) {
        const struct rule *rule = &rules->allowed.items[i];
        if (rule->port != 0 && !is_for_loopback(rule) && !has_port(ports, count, rule->port))
            ports[count++] = rule->port;
    }
    return count;
}

size_t network_rules_local_ports(const struct network_rules *rules, uint16_t *ports, size_t max, bool *any) {
    struct network_target target = {.name = "localhost"};
    size_t count = 0;
    bool every = false;
    for (size_t i = 0; i < rules->allowed.count; i++) {
        const struct rule *rule = &rules->allowed.items[i];
        if (!names_this_host(rule) || is_denied(rules, &target, rule->port))
            continue;
        every = every || rule->port == 0;
        if (rule->port != 0 && count < max && !has_port(ports, count, rule->port))
            ports[count++] = rule->port;
    }
    if (any != NULL)
        *any = every;
    return count;
}

static size_t add_ports(const struct rule_list *list, uint16_t *ports, size_t count, size_t max) {
    for (size_t i = 0; i < list->count && count < max; i++)
        if (list->items[i].port != 0 && !has_port(ports, count, list->items[i].port))
            ports[count++] = list->items[i].port;
    return count;
}

size_t network_rules_named_ports(const struct network_rules *rules, uint16_t *ports, size_t max) {
    return add_ports(&rules->denied, ports, add_ports(&rules->allowed, ports, 0, max), max);
}
