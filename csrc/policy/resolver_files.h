/* What the host's resolv.conf and hosts files say (resolver(5), hosts(5)). Pure: the caller reads the files.
 */
#ifndef OS_SANDBOX_POLICY_RESOLVER_FILES_H
#define OS_SANDBOX_POLICY_RESOLVER_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/strvec.h"
#include "policy/ip_address.h"

#define RESOLVERS_MAX 3

struct resolver_file {
    uint8_t loopback[RESOLVERS_MAX]
                    [IP_ADDRESS_BYTES]; /* nameservers on this host's loopback; the C library's default
                                           (127.0.0.1) where the file names none at all */
    size_t loopback_count;
    struct strvec search; /* search domains, canonical */
};

/* 0, or -1: out of memory. The caller clears *out. text need not be NUL-terminated. */
int resolver_file_parse(const char *text, size_t size, struct resolver_file *out);
void resolver_file_clear(struct resolver_file *file);

/* Takes the lines out, in place, whose address no name could open (network_address_class). The size that is
 * left.
 */
size_t hosts_file_shorten(char *text, size_t size);

/* The names that a hosts file gives to an address, canonical, appended to out. 0, or -1: out of memory. */
int hosts_file_names(const char *text, size_t size, const uint8_t address[IP_ADDRESS_BYTES],
                     struct strvec *out);

#endif
