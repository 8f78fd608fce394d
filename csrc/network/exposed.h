/*
 * Ports of the inside on the host's loopback: a listener on 127.0.0.1 whose connections are carried to the
 * same port inside. By request, and, with allowLocalBinding, for every port on which a command listens.
 */
#ifndef OS_SANDBOX_NETWORK_EXPOSED_H
#define OS_SANDBOX_NETWORK_EXPOSED_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "network/network.h"
#include "network/tunnel.h"
#include "platform/linux/gateway_client.h"

struct exposed_ports;

/* tunnels must live until closed was called; gateway until then, or until it was closed itself (whose answer
 * this waits for). NULL: out of memory. */
struct exposed_ports *exposed_ports_new(uv_loop_t *loop, struct gateway_client *gateway,
                                        struct tunnels *tunnels);

/* As network_expose. */
void exposed_ports_open(struct exposed_ports *ports, uint16_t port, network_exposed_fn done, void *data);

/* Whether that port of the host's loopback is one of these: what is dialed there comes back inside. */
bool exposed_ports_have(const struct exposed_ports *ports, uint16_t host_port);

/*
 * With allowLocalBinding: ports on which something listens inside are opened on the host, same number where
 * that is free, else any; those that were opened so are closed when nothing listens there any more. Looks
 * when told to (heard: a command has begun to listen; a run ended) and, while runs last, as the kernel tells
 * of sockets that end. own_port(data, port) tells listeners of the network's own on the inner loopback, which
 * are left out.
 */
void exposed_ports_follow(struct exposed_ports *ports, bool follow,
                          bool (*own_port)(void *data, uint16_t port), void *data);
void exposed_ports_heard(struct exposed_ports *ports);

/* Pending requests hear 0 from inside; closed is called later, and it is freed. */
void exposed_ports_close(struct exposed_ports *ports, void (*closed)(void *data), void *data);

#endif
