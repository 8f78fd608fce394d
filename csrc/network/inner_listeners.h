/* On which TCP ports something listens inside: asked of the kernel (sock_diag(7)), which also tells when one
 * ends. */
#ifndef OS_SANDBOX_NETWORK_INNER_LISTENERS_H
#define OS_SANDBOX_NETWORK_INNER_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* More are left out. */
#define INNER_LISTENERS_MAX 256

struct inner_listeners;

/* Those that can be reached over the loopback or the veth's address, each once, in no order. */
typedef void (*inner_listeners_found_fn)(void *data, const uint16_t *ports, unsigned count);
/* A listener on that port has ended; there may be another one on it. 0: one of whose port is not known. */
typedef void (*inner_listeners_ended_fn)(void *data, uint16_t port);

/*
 * Takes a NETLINK_SOCK_DIAG socket that was made inside, non-blocking, not bound. Its handle holds no loop.
 * NULL: out of memory or handles; it is closed then.
 */
struct inner_listeners *inner_listeners_new(uv_loop_t *loop, int fd, inner_listeners_found_fn found,
                                            inner_listeners_ended_fn ended, void *data);

/* Looks; found is called later, or not at all where the kernel does not answer. While it looks already it
 * will look again. */
void inner_listeners_look(struct inner_listeners *listeners);

/* Whether ends are told of. False: this kernel does not (before 4.2, or without CONFIG_INET_DIAG). */
bool inner_listeners_watch(struct inner_listeners *listeners, bool watch);

/* Nothing is called any more, but closed, later; then it is freed. */
void inner_listeners_close(struct inner_listeners *listeners, void (*closed)(void *data), void *data);

#endif
