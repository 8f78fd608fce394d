/*
 * Names as addresses: each name that DNS inside answers has one address of 198.18.0.0/15 (RFC 2544, reserved
 * for benchmarks), so that a connection to the address is one to the name. Bounded; the longest unused are
 * recycled. Pure.
 */
#ifndef OS_SANDBOX_NETWORK_NAME_POOL_H
#define OS_SANDBOX_NETWORK_NAME_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/ip_address.h"

/* Two addresses for each, so that a recycled one's next name has another address than its last. */
#define NAME_POOL_MAX 65535u
/* A name that was asked for or connected to within this time keeps its address. */
#define NAME_POOL_KEEP_MS 60000u

struct name_pool;
struct pool_name;

/* At most so many names (NAME_POOL_MAX or fewer). seed: a number that commands cannot know. NULL: no memory.
 */
struct name_pool *name_pool_new(size_t most, uint32_t seed);
void name_pool_free(struct name_pool *pool);

/* The address of a name, in network order, given now where it had none. False: all are in use, or no memory.
 */
bool name_pool_address(struct name_pool *pool, const char *name, uint64_t now_ms, uint8_t address[4]);

/* Whether an address is one of the block's. */
bool name_pool_covers(const uint8_t address[IP_ADDRESS_BYTES]);

/* Whose address it is, or NULL. It holds until the next name_pool_address, unless it is pinned. */
struct pool_name *name_pool_find(struct name_pool *pool, const uint8_t address[IP_ADDRESS_BYTES]);
const char *pool_name_text(const struct pool_name *name);

/* A connection to it is open: it is not recycled until as many were unpinned. */
void name_pool_pin(struct name_pool *pool, struct pool_name *name);
void name_pool_unpin(struct name_pool *pool, struct pool_name *name, uint64_t now_ms);

#endif
