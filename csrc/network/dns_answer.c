/* What DNS inside answers to one message. */
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

#include "network/dns_server.h"

static const uint8_t loopback[4] = {127, 0, 0, 1};

static bool is_of_names(uint16_t type) {
    return type == DNS_A || type == DNS_AAAA || type == DNS_SVCB || type == DNS_HTTPS;
}

/* The length of the name before a search domain: all of it where it ends in none. */
static size_t length_before_search(const struct network *network, const char *name) {
    size_t length = strlen(name);
    size_t shortest = length;
    const struct strvec *search = &network->files.resolver.search;
    for (size_t i = 0; i < search->count; i++) {
        size_t tail = strlen(search->items[i]);
        if (tail > 0 && tail + 1 < length && name[length - tail - 1] == '.' &&
            strcmp(name + length - tail, search->items[i]) == 0 && length - tail - 1 < shortest)
            shortest = length - tail - 1;
    }
    return shortest;
}

/* This host's own name, with a search domain or without: programs look it up for no reason of their own. */
static bool is_own_name(const char *name, const char *shown) {
    struct utsname host;
    if (uname(&host) != 0)
        return false;
    size_t first = strcspn(host.nodename, ".");
    return strcasecmp(name, host.nodename) == 0 || strcasecmp(shown, host.nodename) == 0 ||
           (strlen(shown) == first && strncasecmp(shown, host.nodename, first) == 0);
}

/* A refused name is reported once per look-up, without the search domain that the resolver put behind it. */
static void report(struct network *network, struct port_owner owner, const struct dns_question *question,
                   const char *why) {
    char shown[DNS_NAME_MAX + 1];
    const char *shown_why = why;
    memcpy(shown, question->name, sizeof shown);
    size_t length = length_before_search(network, shown);
    bool searched = length < strlen(shown);
    shown[length] = '\0';
    struct network_target target;
    if (is_own_name(question->name, shown) || shown[0] == '_' ||
        network_target_parse(shown, length, 0, &target) != 0 || network_target_is_address(&target))
        return;
    if (searched && (network_name_is_localhost(shown) ||
                     network_rules_may_resolve(network->rules->rules, shown, &shown_why)))
        return;
    if (asked_names_count(&network->asked_names, owner.run, shown, question->name, question->type,
                          deadlines_now()))
        network_report(network, owner, shown, 0, shown_why);
}

/* What the name has: its address, nothing of that type, or no being. */
static enum dns_answer_kind answer_name(struct network *network, struct port_owner owner,
                                        const struct dns_question *question, uint8_t address[4]) {
    const char *why = "not in network.allowedDomains";
    struct network_target target;
    if (network_name_is_localhost(question->name)) {
        memcpy(address, loopback, sizeof loopback);
        return question->type == DNS_A ? DNS_ADDRESS : DNS_NO_DATA;
    }
    /* "192.0.2.7" as a name is none. */
    if (network_target_parse(question->name, strlen(question->name), 0, &target) != 0 ||
        network_target_is_address(&target))
        return DNS_NXDOMAIN;
    if (!network_rules_may_resolve(network->rules->rules, target.name, &why)) {
        report(network, owner, question, why);
        return DNS_NXDOMAIN;
    }
    if (question->type != DNS_A)
        return DNS_NO_DATA;
    return name_pool_address(network->names, target.name, deadlines_now(), address) ? DNS_ADDRESS
                                                                                    : DNS_SERVFAIL;
}

size_t dns_answer(struct network *network, struct port_owner owner, const uint8_t *message, size_t size,
                  uint8_t out[DNS_ANSWER_MAX]) {
    struct dns_question question = {0};
    bool malformed = false;
    uint8_t address[4] = {0};
    enum dns_answer_kind kind;
    if (dns_question_parse(message, size, &question, &malformed) != 0) {
        if (!malformed)
            return 0;
        kind = DNS_FORMERR;
    } else if (!question.internet || !is_of_names(question.type)) {
        kind = DNS_REFUSED;
    } else if (!question.usable) {
        kind = DNS_NXDOMAIN;
    } else {
        kind = answer_name(network, owner, &question, address);
    }
    return dns_answer_make(message, &question, kind, address, DNS_TTL_S, out);
}
