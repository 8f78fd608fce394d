#include "policy/address_block.h"

#include <string.h>

#define V4_PREFIX 96 /* the bits that every mapped address begins with (RFC 4291, section 2.5.5.2) */

struct span {
    const char *start;
    size_t length;
};

static int refuse(struct error *err, const char *reason) {
    return error_set(err, ERROR_OPTIONS, 0, "%s", reason);
}

/* The bits behind the prefix set to 0. */
static void clear_host_bits(struct address_block *block) {
    for (unsigned i = 0; i < IP_ADDRESS_BYTES; i++) {
        unsigned kept = block->prefix <= 8 * i ? 0 : block->prefix - 8 * i;
        if (kept < 8)
            block->address[i] &= (uint8_t)(0xff00u >> kept);
    }
}

bool address_block_contains(const struct address_block *block, const uint8_t address[IP_ADDRESS_BYTES]) {
    if (ip_address_is_v4(block->address) != ip_address_is_v4(address))
        return false;
    unsigned whole = block->prefix / 8, rest = block->prefix % 8;
    return memcmp(block->address, address, whole) == 0 &&
           (rest == 0 || (block->address[whole] ^ address[whole]) >> (8 - rest) == 0);
}

static bool parse_address(struct span text, uint8_t address[IP_ADDRESS_BYTES]) {
    if (memchr(text.start, ':', text.length) != NULL)
        return ip_address_parse_v6(text.start, text.length, address);
    if (text.length > 1 && text.start[text.length - 1] == '.')
        text.length--;
    return ip_address_parse_v4(text.start, text.length, address);
}

static bool parse_prefix(struct span text, unsigned most, unsigned *prefix) {
    if (text.length == 0 || text.length > 3 || (text.length > 1 && text.start[0] == '0'))
        return false;
    *prefix = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] < '0' || text.start[i] > '9')
            return false;
        *prefix = *prefix * 10 + (unsigned)(text.start[i] - '0');
    }
    return *prefix <= most;
}

static const char not_an_address[] = "it is not an address; names are for allowedDomains";

/* An address, or address/length with whatever bits behind the length. */
static int read_block(struct span text, struct address_block *out, struct error *err) {
    const char *slash = memchr(text.start, '/', text.length);
    if (slash == NULL) {
        out->prefix = ADDRESS_BLOCK_ONE;
        return parse_address(text, out->address) ? 0 : refuse(err, not_an_address);
    }
    struct span address = {text.start, (size_t)(slash - text.start)};
    struct span length = {slash + 1, text.length - address.length - 1};
    bool v6 = memchr(address.start, ':', address.length) != NULL;
    if (v6 ? !ip_address_parse_v6(address.start, address.length, out->address)
           : !ip_address_parse_dotted(address.start, address.length, out->address))
        return refuse(err, v6 || !parse_address(address, out->address)
                               ? not_an_address
                               : "an IPv4 block is written with four decimal parts: 192.0.2.0/24");
    unsigned prefix;
    if (!parse_prefix(length, v6 ? ADDRESS_BLOCK_ONE : ADDRESS_BLOCK_ONE - V4_PREFIX, &prefix))
        return refuse(err, v6 ? "the prefix length of an IPv6 block is a whole number from 0 to 128"
                              : "the prefix length of an IPv4 block is a whole number from 0 to 32");
    out->prefix = (uint8_t)(v6 ? prefix : prefix + V4_PREFIX);
    return 0;
}

bool address_block_parse(const char *text, size_t length, struct address_block *out) {
    struct address_block block;
    if (read_block((struct span){text, length}, &block, NULL) != 0)
        return false;
    clear_host_bits(&block);
    *out = block;
    return true;
}

/* What was written says one thing in its address and another in its length: the caller is to choose. */
static int check_host_bits(const struct address_block *block, bool written_v4, struct error *err) {
    struct address_block masked = *block;
    clear_host_bits(&masked);
    if (memcmp(masked.address, block->address, sizeof masked.address) == 0)
        return 0;
    char text[IP_ADDRESS_TEXT];
    ip_address_format(masked.address, text);
    return error_set(err, ERROR_OPTIONS, 0, "bits behind the prefix length are set: did you mean %s/%u?",
                     text, written_v4 ? block->prefix - V4_PREFIX : block->prefix);
}

/* Where the port's colon stands, or NULL; -1 for what only brackets would make clear. */
static int find_port(const char *text, const char **colon, struct error *err) {
    *colon = NULL;
    if (text[0] == '[') {
        const char *close = strchr(text, ']');
        if (close != NULL && close[1] == '/')
            return refuse(err, "the prefix length stands inside the brackets: [2001:db8::/32]");
        if (close == NULL || (close[1] != '\0' && close[1] != ':'))
            return refuse(err,
                          "brackets hold an IPv6 address or block, with \":port\" or nothing behind them");
        *colon = close[1] == ':' ? close + 1 : NULL;
        return 0;
    }
    const char *slash = strchr(text, '/');
    const char *first = strchr(text, ':'), *last = strrchr(text, ':');
    if (first == last) {
        *colon = first;
        return 0;
    }
    if (slash != NULL && last > slash)
        return refuse(err, "an IPv6 block with a port is written in brackets: [2001:db8::/32]:443");
    return 0;
}

int address_pattern_parse(const char *text, struct address_pattern *out, struct error *err) {
    if (*text == '\0')
        return refuse(err, "it is empty");
    if (strcmp(text, "*") == 0)
        return refuse(err, "all addresses are 0.0.0.0/0 and ::/0");
    const char *colon;
    if (find_port(text, &colon, err) != 0)
        return -1;
    struct address_pattern parsed = {0};
    struct span host = {text, colon == NULL ? strlen(text) : (size_t)(colon - text)};
    bool bracketed = text[0] == '[';
    if (bracketed)
        host = (struct span){host.start + 1, host.length - 2};
    bool v6 = memchr(host.start, ':', host.length) != NULL;
    if (bracketed && !v6)
        return refuse(err, "brackets hold an IPv6 address or block, with \":port\" or nothing behind them");
    if (read_block(host, &parsed.block, err) != 0 || check_host_bits(&parsed.block, !v6, err) != 0)
        return -1;
    if (colon != NULL && !ip_port_parse(colon + 1, strlen(colon + 1), &parsed.port))
        return refuse(err, "a port is a whole number from 1 to 65535");
    *out = parsed;
    return 0;
}
