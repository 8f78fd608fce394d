/* Literal addresses in the spellings that C libraries and URLs accept, as one 16-byte form (IPv4 mapped). */
#ifndef OS_SANDBOX_POLICY_IP_ADDRESS_H
#define OS_SANDBOX_POLICY_IP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_ADDRESS_BYTES 16
#define IP_ADDRESS_TEXT 46 /* the longest text with its NUL */

/*
 * True where the last label is a number ("1.2.3.4", "0x7f.1", "3232235777"): URL and C parsers take such a
 * host for an IPv4 address and never for a name.
 */
bool ip_address_ends_in_number(const char *host, size_t length);

/* Reads IPv4 with one to four parts, each decimal, octal (0…) or hex (0x…). Writes address only when it
 * returns true. */
bool ip_address_parse_v4(const char *text, size_t length, uint8_t address[IP_ADDRESS_BYTES]);

/* Reads IPv4 as four decimal parts without leading zeros, the one spelling that every reader takes alike.
 * Writes address only when true. */
bool ip_address_parse_dotted(const char *text, size_t length, uint8_t address[IP_ADDRESS_BYTES]);

/* Reads IPv6 without brackets and zone; a mapped address comes out as its IPv4. Writes address only when
 * true. */
bool ip_address_parse_v6(const char *text, size_t length, uint8_t address[IP_ADDRESS_BYTES]);

/* True for an address that is IPv4 in its mapped form. */
bool ip_address_is_v4(const uint8_t address[IP_ADDRESS_BYTES]);

/* Writes the canonical text: dotted IPv4, or IPv6 in lower case. */
void ip_address_format(const uint8_t address[IP_ADDRESS_BYTES], char text[IP_ADDRESS_TEXT]);

/* 127.0.0.0/8 and ::1. */
bool ip_address_is_loopback(const uint8_t address[IP_ADDRESS_BYTES]);

/* Reads a port as people write it: 1 to 65535, no sign, no leading zero. Writes *port only when true. */
bool ip_port_parse(const char *text, size_t length, uint16_t *port);

#endif
