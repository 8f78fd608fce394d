/* Between the one form of addresses (policy/ip_address.h) and those of sockets. Pure. */
#ifndef OS_SANDBOX_NETWORK_ADDRESS_H
#define OS_SANDBOX_NETWORK_ADDRESS_H

#include <stdint.h>
#include <sys/socket.h>

#include "policy/ip_address.h"

/* Fills *out, AF_INET for an IPv4 address; port in host order. Returns the size that counts. */
socklen_t network_address_write(const uint8_t address[IP_ADDRESS_BYTES], uint16_t port,
                                struct sockaddr_storage *out);

/* The address of an AF_INET or AF_INET6 one, and its port in host order; all zero of any other. */
void network_address_read(const struct sockaddr *from, uint8_t address[IP_ADDRESS_BYTES], uint16_t *port);

#endif
