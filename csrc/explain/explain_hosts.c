#include "explain/explain_hosts.h"

#include <string.h>

#include "network/judge.h"

static const uint8_t loopback[IP_ADDRESS_BYTES] = {[10] = 0xff, 0xff, 127, [15] = 1};

/* --- what was written --- */

static bool read_port(const char *text, uint16_t *port) {
    unsigned value = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 5 || strspn(text, "0123456789") != length)
        return false;
    for (size_t i = 0; i < length; i++)
        value = value * 10 + (unsigned)(text[i] - '0');
    *port = (uint16_t)value;
    return value > 0 && value <= UINT16_MAX;
}

/* The colon before a port; NULL: there is no port. */
static const char *port_colon(const char *text) {
    const char *colon = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');
    if (colon == NULL || (bracket != NULL && bracket > colon))
        return NULL;
    return bracket != NULL || strchr(text, ':') == colon ? colon : NULL;
}

static int read_target(const char *text, struct network_target *out) {
    const char *colon = port_colon(text);
    uint16_t port = 0;
    if (colon != NULL && !read_port(colon + 1, &port))
        return -1;
    return network_target_parse(text, colon == NULL ? strlen(text) : (size_t)(colon - text), port, out);
}

/* --- the rules --- */

static bool is_local(const struct network_target *target) {
    return network_target_is_address(target) ? ip_address_is_loopback(target->address)
                                             : network_name_is_localhost(target->name);
}

static struct network_decision decide(const struct network_rules *rules, const struct host_files *files,
                                      const struct network_target *wanted, uint16_t port) {
    const struct rule_set set = {.rules = (struct network_rules *)(uintptr_t)rules};
    struct network_target target = *wanted;
    struct judgement judgement;
    target.port = port;
    if (is_local(&target))
        network_judge_local(&set, network_target_is_address(&target) ? target.address : loopback, port,
                            &judgement);
    else
        network_judge_written(files, &set, &target, &judgement);
    struct network_decision by = network_rules_decide(rules, &judgement.target);
    bool same = by.verdict == judgement.verdict;
    return (struct network_decision){.verdict = judgement.verdict,
                                     .why = judgement.why,
                                     .list = same ? by.list : NULL,
                                     .entry = same ? by.entry : 0};
}

static int rank(enum network_verdict verdict) {
    return verdict == NETWORK_ALLOW ? 2 : verdict == NETWORK_ASK ? 1 : 0;
}

/* A port that no rule names: what holds there holds at every other one. */
static uint16_t unnamed_port(const uint16_t *ports, size_t count) {
    for (uint16_t port = UINT16_MAX; port > 0; port--) {
        size_t i = 0;
        while (i < count && ports[i] != port)
            i++;
        if (i == count)
            return port;
    }
    return 1;
}

static void decide_at_every_port(const struct network_rules *rules, const struct host_files *files,
                                 const struct network_target *target, struct explained_host *out) {
    uint16_t ports[EXPLAINED_PORTS_MAX];
    size_t count = network_rules_named_ports(rules, ports, sizeof ports / sizeof ports[0]);
    struct network_decision others = decide(rules, files, target, unnamed_port(ports, count));
    out->decision = others;
    for (size_t i = 0; i < count; i++) {
        struct network_decision there = decide(rules, files, target, ports[i]);
        if (rank(there.verdict) > rank(out->decision.verdict))
            out->decision = there;
    }
    out->but = rank(others.verdict) == rank(out->decision.verdict);
    for (size_t i = 0; i < count; i++) {
        bool best = rank(decide(rules, files, target, ports[i]).verdict) == rank(out->decision.verdict);
        if (best != out->but)
            out->ports[out->port_count++] = ports[i];
    }
    out->by_port = out->port_count > 0;
}

int explain_host(const struct network_rules *rules, const struct host_files *files, const char *text,
                 struct explained_host *out) {
    struct network_target target;
    *out = (struct explained_host){0};
    if (read_target(text, &target) != 0)
        return -1;
    network_target_host(&target, out->host);
    out->is_address = network_target_is_address(&target);
    out->is_local = is_local(&target);
    out->port = target.port;
    if (target.port != 0)
        out->decision = decide(rules, files, &target, target.port);
    else
        decide_at_every_port(rules, files, &target, out);
    return 0;
}
