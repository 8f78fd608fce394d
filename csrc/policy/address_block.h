/*
 * Entries of network.allowedIPs: "192.0.2.7", "192.0.2.0/24", "192.0.2.0/24:443", "2001:db8::/32",
 * "[2001:db8::/32]:443".
 */
#ifndef OS_SANDBOX_POLICY_ADDRESS_BLOCK_H
#define OS_SANDBOX_POLICY_ADDRESS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/ip_address.h"

#define ADDRESS_BLOCK_ONE (8 * IP_ADDRESS_BYTES) /* the prefix of a single address */

struct address_block {
    uint8_t address[IP_ADDRESS_BYTES]; /* IPv4 mapped */
    uint8_t prefix;                    /* leading bits of these bytes that count: for IPv4 96 to 128 */
};

struct address_pattern {
    struct address_block block;
    uint16_t port; /* 0: any */
};

/*
 * Reads one entry. A single address has every spelling of ip_address.h; a block has four decimal parts
 * ("10/8" would be 0.0.0.10 to a C library) and no bit set behind its prefix. An IPv6 block with a port is
 * written in brackets as a whole. 0, or -1 with an ERROR_OPTIONS whose text is the reason alone. *out is
 * written only on success.
 */
int address_pattern_parse(const char *text, struct address_pattern *out, struct error *err);

/* As address_pattern_parse, without a port and brackets, and bits behind the prefix are cleared. */
bool address_block_parse(const char *text, size_t length, struct address_block *out);

/* IPv6 blocks, "::/0" too, hold no IPv4 address. */
bool address_block_contains(const struct address_block *block, const uint8_t address[IP_ADDRESS_BYTES]);

#endif
