/* libFuzzer target: any bytes as a host that a client asks for, decided by rules that hold every kind. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/address_block.h"
#include "policy/network_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds) {
    if (!holds)
        abort();
}

static void add(struct strvec *list, const char *text) {
    check(strvec_push(list, text) == 0);
}

static struct network_rules *make_rules(void) {
    struct network_options options = {.has_ask = true};
    add(&options.allowed_domains, "*");
    add(&options.allowed_domains, "127.0.0.1:5432");
    add(&options.allowed_ips, "0.0.0.0/0");
    add(&options.allowed_ips, "::/0");
    add(&options.denied_domains, "*.example.com");
    add(&options.denied_domains, "192.0.2.7");
    struct network_rules *rules = network_rules_new(&options);
    check(rules != NULL);
    strvec_clear(&options.allowed_domains);
    strvec_clear(&options.allowed_ips);
    strvec_clear(&options.denied_domains);
    return rules;
}

/* What must hold of every host, whatever these rules say. */
static void check_decision(const struct network_rules *rules, const struct network_target *target) {
    struct network_decision decision = network_rules_decide(rules, target);
    check((decision.verdict == NETWORK_DENY) == (decision.why != NULL));
    check(decision.verdict != NETWORK_ASK); /* all names and addresses are decided by lists */
    if (!network_target_is_address(target)) {
        const char *why = NULL;
        bool may = network_rules_may_resolve(rules, target->name, &why);
        check(may == (why == NULL));
        check(may || decision.verdict == NETWORK_DENY);
        return;
    }
    bool named = network_rules_names_address(rules, target->address, target->port);
    bool denied = network_rules_denied_address(rules, target->address, target->port) != NULL;
    bool special = network_address_class(target->address) != NULL;
    check(!(named && denied));
    check((decision.verdict == NETWORK_ALLOW) == (!denied && (named || !special)));
    check(network_rules_decide(rules, target).why == decision.why);
}

static void check_host(const struct network_rules *rules, const char *host, size_t size, uint16_t port) {
    struct network_target target, again;
    if (network_target_parse(host, size, port, &target) != 0)
        return;
    char text[DOMAIN_NAME_MAX + 1];
    network_target_host(&target, text);
    check(strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") == strlen(text) && text[0] != '\0');
    check(network_target_parse(text, strlen(text), port, &again) == 0);
    check(network_target_equal(&target, &again));
    check_decision(rules, &target);
}

static void check_entry(const char *text) {
    struct address_pattern pattern, again;
    struct error err = {0};
    if (address_pattern_parse(text, &pattern, &err) != 0) {
        check(err.kind == ERROR_OPTIONS && err.text[0] != '\0');
        return;
    }
    check(address_block_contains(&pattern.block, pattern.block.address));
    bool v4 = ip_address_is_v4(pattern.block.address);
    char address[IP_ADDRESS_TEXT], written[IP_ADDRESS_TEXT + 8];
    ip_address_format(pattern.block.address, address);
    snprintf(written, sizeof written, "%s/%u", address,
             v4 ? pattern.block.prefix - 96u : pattern.block.prefix);
    check(address_pattern_parse(written, &again, NULL) == 0);
    check(memcmp(&again.block, &pattern.block, sizeof again.block) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct network_rules *rules;
    if (rules == NULL)
        rules = make_rules();
    /* A heap block of exactly the size, so that an over-read shows; one with a NUL for what wants a text. */
    char *host = malloc(size == 0 ? 1 : size), *text = malloc(size + 1);
    check(host != NULL && text != NULL);
    if (size > 0) {
        memcpy(host, data, size);
        memcpy(text, data, size);
    }
    text[size] = '\0';
    check_host(rules, host, size, 5432);
    check_entry(text);
    free(host);
    free(text);
    return 0;
}
