/* Which addresses may not be dialed, whatever name leads to them. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "network/address.h"
#include "network/dial.h"
#include "network/dial_internal.h"
#include "policy/address_class.h"

const char dial_unchecked[] = "an address that cannot be checked";

enum own { NOT_OWN, OWN, UNCHECKED };

/*
 * Whether the address is one of this host's: a datagram socket that is connected to it gets it as its source
 * address, too. No packet is sent.
 */
static enum own is_own(const uint8_t address[IP_ADDRESS_BYTES], uint16_t port) {
    struct sockaddr_storage to;
    socklen_t size = network_address_write(address, port == 0 ? 9 : port, &to);
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
    uint16_t source_port;
    network_address_read((const struct sockaddr *)&from, source, &source_port);
    return memcmp(source, address, IP_ADDRESS_BYTES) == 0 ? OWN : NOT_OWN;
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
    uint8_t inside[ADDRESS_INSIDE_MAX][IP_ADDRESS_BYTES];
    size_t count = address_inside(address, inside);
    enum own own = is_own(address, port);
    for (size_t i = 0; own == NOT_OWN && i < count; i++)
        own = is_own(inside[i], port);
    return own == OWN ? "an address of this host" : own == UNCHECKED ? dial_unchecked : NULL;
}
