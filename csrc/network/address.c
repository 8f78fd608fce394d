#include "network/address.h"

#include <netinet/in.h>
#include <string.h>

#define V4_OFFSET 12

socklen_t network_address_write(const uint8_t address[IP_ADDRESS_BYTES], uint16_t port,
                                struct sockaddr_storage *out) {
    memset(out, 0, sizeof *out);
    if (ip_address_is_v4(address)) {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&v4.sin_addr, address + V4_OFFSET, sizeof v4.sin_addr);
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(&v6.sin6_addr, address, sizeof v6.sin6_addr);
    memcpy(out, &v6, sizeof v6);
    return sizeof v6;
}

void network_address_read(const struct sockaddr *from, uint8_t address[IP_ADDRESS_BYTES], uint16_t *port) {
    memset(address, 0, IP_ADDRESS_BYTES);
    *port = 0;
    if (from->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, from, sizeof v4);
        address[10] = address[11] = 0xff;
        memcpy(address + V4_OFFSET, &v4.sin_addr, sizeof v4.sin_addr);
        *port = ntohs(v4.sin_port);
    } else if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, from, sizeof v6);
        memcpy(address, &v6.sin6_addr, IP_ADDRESS_BYTES);
        *port = ntohs(v6.sin6_port);
    }
}
