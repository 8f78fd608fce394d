/* Ranges of addresses that mean this host, the link, or a machine's credentials, whatever name leads there.
 */
#ifndef OS_SANDBOX_POLICY_ADDRESS_CLASS_H
#define OS_SANDBOX_POLICY_ADDRESS_CLASS_H

#include <stddef.h>
#include <stdint.h>

#include "policy/ip_address.h"

#define ADDRESS_INSIDE_MAX 4 /* IPv4 addresses that one IPv6 address may carry */

/*
 * Static words for the range that has the address, or carries it inside an IPv6 form ("a loopback address"),
 * or NULL. *prefix (may be NULL): that of the range over the 16 bytes; 128 for what is carried.
 */
const char *address_class(const uint8_t address[IP_ADDRESS_BYTES], unsigned *prefix);

/*
 * The IPv4 addresses to which translators and tunnels carry an IPv6 address: IPv4-compatible and -translated,
 * NAT64, 6to4, Teredo (server and client). Returns how many; 0 for IPv4.
 */
size_t address_inside(const uint8_t address[IP_ADDRESS_BYTES],
                      uint8_t inside[ADDRESS_INSIDE_MAX][IP_ADDRESS_BYTES]);

#endif
