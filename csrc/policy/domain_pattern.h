/* Patterns of network.allowedDomains and deniedDomains: "example.com", "*.example.com:443", "*", "192.0.2.7".
 */
#ifndef OS_SANDBOX_POLICY_DOMAIN_PATTERN_H
#define OS_SANDBOX_POLICY_DOMAIN_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/ip_address.h"

#define DOMAIN_NAME_MAX 253
#define DOMAIN_LABEL_MAX 63

enum domain_pattern_kind {
    DOMAIN_PATTERN_NAME,       /* that name only */
    DOMAIN_PATTERN_SUBDOMAINS, /* "*.name": every depth below the name, not the name itself */
    DOMAIN_PATTERN_ANY,        /* "*": every name, no literal address */
    DOMAIN_PATTERN_V4,
    DOMAIN_PATTERN_V6,
};

struct domain_pattern {
    enum domain_pattern_kind kind;
    /* Lower case, no trailing dot, no "*."; an address in its canonical text; empty for "*". */
    char name[DOMAIN_NAME_MAX + 1];
    uint8_t address[IP_ADDRESS_BYTES]; /* IPv4 mapped; all zero for names */
    uint16_t port;                     /* 0: any */
};

/*
 * Reads one pattern. 0, or -1 with an ERROR_OPTIONS whose text is the reason alone ("schemes are not part of
 * a pattern"), for the caller to put beside the option's path. *out is written only on success.
 */
int domain_pattern_parse(const char *text, struct domain_pattern *out, struct error *err);

/*
 * A name in its canonical form: lower case, labels of 1 to 63 letters, digits, "-" and "_", at most 253 bytes
 * together (RFC 1035, section 2.3.4); the caller took a trailing dot off. 0, or -1 as domain_pattern_parse.
 * name is written only on success.
 */
int domain_name_parse(const char *text, size_t length, char name[DOMAIN_NAME_MAX + 1], struct error *err);

#endif
