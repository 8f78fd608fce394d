/* Which addresses may not be dialed, whatever name leads to them. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/dial.h"
#include "network/dial_address.h"

#define V4_OFFSET 12 /* of an IPv4 address in its mapped form */

enum own { NOT_OWN, OWN, UNCHECKED };

/*
 * Whether the address is one of this host's: a datagram socket that is connected to it gets it as its source
 * address, too. No packet is sent.
 */
static enum own is_own(const uint8_t address[IP_ADDRESS_BYTES], uint16_t port) {
    struct sockaddr_storage to;
    socklen_t size = dial_address_to(address, port == 0 ? 9 : port, &to);
    cleanup_fd int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT ? NOT_OWN : UNCHECKED; /* without that family it cannot be dialed */
    if (connect(fd, (const struct sockaddr *)&to, size) != 0)
        return NOT_OWN; /* no way there: the dial will say so */
    struct sockaddr_storage from = {0};
    socklen_t from_size = sizeof from;
    if (getsockname(fd, (struct sockaddr *)&from, &from_size) != 0)
        return UNCHECKED;
    uint8_t source[IP_ADDRESS_BYTES];
    dial_address_from((const struct sockaddr *)&from, source);
    return memcmp(source, address, IP_ADDRESS_BYTES) == 0 ? OWN : NOT_OWN;
}

/* Forms of IPv6 that lead to an IPv4 address. */
static const struct {
    uint8_t prefix[V4_OFFSET];
    uint8_t prefix_size;
    uint8_t at; /* where the IPv4 address begins */
} embedding[] = {
    {{0x00, 0x64, 0xff, 0x9b}, 12, 12}, /* NAT64, RFC 6052 section 2.1 */
    {{0x20, 0x02}, 2, 2},               /* 6to4, RFC 3056 section 2 */
    {{0}, 12, 12},                      /* IPv4-compatible, RFC 4291 section 2.5.5.1 */
};

/* The IPv4 address that an IPv6 one leads to, in its mapped form. */
static bool embedded(const uint8_t address[IP_ADDRESS_BYTES], uint8_t out[IP_ADDRESS_BYTES]) {
    for (size_t i = 0; i < sizeof embedding / sizeof embedding[0]; i++) {
        if (memcmp(address, embedding[i].prefix, embedding[i].prefix_size) != 0)
            continue;
        memset(out, 0, IP_ADDRESS_BYTES);
        out[10] = out[11] = 0xff;
        memcpy(out + V4_OFFSET, address + embedding[i].at, IP_ADDRESS_BYTES - V4_OFFSET);
        return true;
    }
    return false;
}

const char *dial_address_refusal(const struct network_rules *rules, const uint8_t address[IP_ADDRESS_BYTES],
                                 uint16_t port) {
    const char *denied = network_rules_denied_address(rules, address, port);
    if (denied != NULL)
        return denied;
    if (network_rules_names_address(rules, address, port))
        return NULL;
    const char *class = network_address_class(address);
    if (class != NULL)
        return class;
    uint8_t inner[IP_ADDRESS_BYTES];
    enum own own = is_own(address, port);
    if (own == NOT_OWN && embedded(address, inner))
        own = is_own(inner, port);
    return own == OWN         ? "an address of this host"
           : own == UNCHECKED ? "an address that cannot be checked"
                              : NULL;
}
