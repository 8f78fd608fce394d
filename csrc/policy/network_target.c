/* What a client wrote as a host, and how it is shown. */
#include <string.h>

#include "policy/network_rules.h"

static bool parse_bracketed(const char *host, size_t length, uint8_t address[IP_ADDRESS_BYTES]) {
    return length > 2 && host[length - 1] == ']' && ip_address_parse_v6(host + 1, length - 2, address);
}

int network_target_parse(const char *host, size_t length, uint16_t port, struct network_target *out) {
    struct network_target parsed = {.port = port};
    bool found = false;
    if (length > 0 && host[0] == '[') {
        found = parse_bracketed(host, length, parsed.address);
    } else if (length > 0 && memchr(host, ':', length) != NULL) {
        found = ip_address_parse_v6(host, length, parsed.address);
    } else {
        if (length > 1 && host[length - 1] == '.')
            length--;
        found = ip_address_ends_in_number(host, length)
                    ? ip_address_parse_v4(host, length, parsed.address)
                    : domain_name_parse(host, length, parsed.name, NULL) == 0;
    }
    if (!found)
        return -1;
    *out = parsed;
    return 0;
}

bool network_target_is_address(const struct network_target *target) {
    return target->name[0] == '\0';
}

void network_target_host(const struct network_target *target, char text[DOMAIN_NAME_MAX + 1]) {
    if (network_target_is_address(target))
        ip_address_format(target->address, text);
    else
        strcpy(text, target->name);
}

bool network_name_is_localhost(const char *name) {
    const char *last = strrchr(name, '.');
    return strcmp(last == NULL ? name : last + 1, "localhost") == 0;
}

bool network_target_equal(const struct network_target *a, const struct network_target *b) {
    return a->port == b->port && strcmp(a->name, b->name) == 0 &&
           (!network_target_is_address(a) || memcmp(a->address, b->address, IP_ADDRESS_BYTES) == 0);
}
