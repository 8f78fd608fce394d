/* Asks the session's gateway process for sockets (exec/gateway_wire.h), on the loop: never waits. */
#ifndef OS_SANDBOX_PLATFORM_LINUX_GATEWAY_CLIENT_H
#define OS_SANDBOX_PLATFORM_LINUX_GATEWAY_CLIENT_H

#include <stdint.h>
#include <uv.h>

#include "exec/gateway_wire.h"
#include "exec/port_table.h"

struct gateway_client;

/* socket: the answer, which the callee owns and closes; or a negative errno. Never called from inside the
 * asking call. */
typedef void (*gateway_socket_fn)(void *data, int socket);
typedef void (*gateway_owner_fn)(void *data, struct port_owner owner);
typedef void (*gateway_closed_fn)(void *data);

/* Takes the descriptor (the addon's end). Its handle does not hold the loop. NULL: out of memory, or no
 * handle (the descriptor is closed then, too). */
struct gateway_client *gateway_client_new(uv_loop_t *loop, int fd);

/* Type and version are filled in. 0; or a negative errno, where the callback is not called. */
int gateway_client_socket(struct gateway_client *client, const struct gateway_request *request,
                          gateway_socket_fn done, void *data);
int gateway_client_owner(struct gateway_client *client, const struct sockaddr *local, gateway_owner_fn done,
                         void *data);

/* Whether the process at the other end is gone: every request fails from now on. */
bool gateway_client_has_ended(const struct gateway_client *client);

/* Whoever waits hears -ECANCELED (owner 0) from inside this call; then closes, calls closed later, and is
 * freed. */
void gateway_client_close(struct gateway_client *client, gateway_closed_fn closed, void *data);

/* Requests for the usual kinds. Port in host order. */
struct gateway_request gateway_listener_everywhere(uint16_t port);    /* outer, [::] and 0.0.0.0, TCP */
struct gateway_request gateway_listener_everywhere_v4(uint16_t port); /* where IPv6 is missing */
struct gateway_request gateway_listener_loopback(int domain,
                                                 uint16_t port); /* inner, 127.0.0.1 or ::1, TCP */
struct gateway_request gateway_datagrams_everywhere(int domain,
                                                    uint16_t port); /* outer, UDP with packet_info */
struct gateway_request gateway_bound(enum gateway_place place, int kind,
                                     const struct sockaddr *address); /* TCP: listens */
struct gateway_request gateway_stream_inside(int domain);             /* inner, unbound: to be connected */
struct gateway_request gateway_diag_inside(void);                     /* inner, NETLINK_SOCK_DIAG */

#endif
