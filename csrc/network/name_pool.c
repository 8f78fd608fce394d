#include "network/name_pool.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "network/list.h"

#define BLOCK 0xc6120000u /* 198.18.0.0 */
#define BLOCK_MASK 0xfffe0000u
#define V4_OFFSET 12
#define BUCKETS_FIRST 64u

struct pool_name {
    struct link unused; /* by last use, oldest first; in no list while pinned */
    struct pool_name *chain;
    uint64_t used_ms;
    uint32_t hash;
    uint32_t slot;
    unsigned pins;
    char text[];
};

/* flip: which of the slot's two addresses its name has. */
struct slot {
    struct pool_name *name;
    bool flip;
};

struct name_pool {
    struct slot *slots;
    size_t count;
    size_t capacity;
    size_t most;
    struct pool_name **buckets; /* a power of two */
    size_t bucket_count;
    uint32_t seed;
    struct link unused;
};

/* FNV-1a, begun at the seed. */
static uint32_t hash_name(const struct name_pool *pool, const char *name) {
    uint32_t hash = 2166136261u ^ pool->seed;
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    return hash ^ (hash >> 15);
}

struct name_pool *name_pool_new(size_t most, uint32_t seed) {
    struct name_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->most = most < NAME_POOL_MAX ? most : NAME_POOL_MAX;
    pool->seed = seed;
    pool->bucket_count = BUCKETS_FIRST;
    pool->buckets = calloc(pool->bucket_count, sizeof(struct pool_name *));
    link_head(&pool->unused);
    if (pool->buckets != NULL)
        return pool;
    free(pool);
    return NULL;
}

void name_pool_free(struct name_pool *pool) {
    if (pool == NULL)
        return;
    for (size_t i = 0; i < pool->count; i++)
        free(pool->slots[i].name);
    free(pool->slots);
    free(pool->buckets);
    free(pool);
}

static struct pool_name **bucket_of(const struct name_pool *pool, uint32_t hash) {
    return &pool->buckets[hash & (pool->bucket_count - 1)];
}

static struct pool_name *find_name(const struct name_pool *pool, const char *name, uint32_t hash) {
    for (struct pool_name *at = *bucket_of(pool, hash); at != NULL; at = at->chain)
        if (at->hash == hash && strcmp(at->text, name) == 0)
            return at;
    return NULL;
}

static void chain_name(struct name_pool *pool, struct pool_name *name) {
    struct pool_name **bucket = bucket_of(pool, name->hash);
    name->chain = *bucket;
    *bucket = name;
}

static void unchain_name(struct name_pool *pool, struct pool_name *name) {
    struct pool_name **at = bucket_of(pool, name->hash);
    while (*at != name)
        at = &(*at)->chain;
    *at = name->chain;
}

/* More buckets, where memory allows: without them it only becomes slower. */
static void spread(struct name_pool *pool) {
    struct pool_name **buckets = calloc(pool->bucket_count * 2, sizeof(struct pool_name *));
    if (buckets == NULL)
        return;
    free(pool->buckets);
    pool->buckets = buckets;
    pool->bucket_count *= 2;
    for (size_t i = 0; i < pool->count; i++)
        if (pool->slots[i].name != NULL)
            chain_name(pool, pool->slots[i].name);
}

static bool grow(struct name_pool *pool) {
    if (pool->count < pool->capacity)
        return true;
    size_t capacity = pool->capacity == 0 ? BUCKETS_FIRST : pool->capacity * 2;
    struct slot *slots = realloc(pool->slots, capacity * sizeof *slots);
    if (slots == NULL)
        return false;
    pool->slots = slots;
    pool->capacity = capacity;
    return true;
}

/* A slot without a name: a new one, or that of the longest unused name. */
static struct slot *free_slot(struct name_pool *pool, uint64_t now_ms) {
    if (pool->count < pool->most && grow(pool)) {
        pool->slots[pool->count] = (struct slot){0};
        return &pool->slots[pool->count++];
    }
    if (link_is_empty(&pool->unused))
        return NULL;
    struct pool_name *oldest = LINK_OWNER(pool->unused.next, struct pool_name, unused);
    if (now_ms - oldest->used_ms < NAME_POOL_KEEP_MS)
        return NULL;
    struct slot *slot = &pool->slots[oldest->slot];
    link_remove(&oldest->unused);
    unchain_name(pool, oldest);
    free(oldest);
    *slot = (struct slot){.name = NULL, .flip = !slot->flip};
    return slot;
}

static struct pool_name *add_name(struct name_pool *pool, const char *text, uint32_t hash, uint64_t now_ms) {
    size_t size = strlen(text) + 1;
    struct pool_name *name = calloc(1, sizeof *name + size);
    struct slot *slot = name == NULL ? NULL : free_slot(pool, now_ms);
    if (slot == NULL) {
        free(name);
        return NULL;
    }
    memcpy(name->text, text, size);
    name->hash = hash;
    name->slot = (uint32_t)(slot - pool->slots);
    slot->name = name;
    chain_name(pool, name);
    link_add(&pool->unused, &name->unused);
    if (pool->count > pool->bucket_count)
        spread(pool);
    return name;
}

static void use_name(struct name_pool *pool, struct pool_name *name, uint64_t now_ms) {
    name->used_ms = now_ms;
    if (name->pins > 0)
        return;
    link_remove(&name->unused);
    link_add(&pool->unused, &name->unused);
}

bool name_pool_address(struct name_pool *pool, const char *name, uint64_t now_ms, uint8_t address[4]) {
    uint32_t hash = hash_name(pool, name);
    struct pool_name *found = find_name(pool, name, hash);
    if (found == NULL)
        found = add_name(pool, name, hash, now_ms);
    if (found == NULL)
        return false;
    use_name(pool, found, now_ms);
    uint32_t flip = pool->slots[found->slot].flip ? 1 : 0;
    uint32_t network_order = htonl(BLOCK + 1 + found->slot * 2 + flip);
    memcpy(address, &network_order, sizeof network_order);
    return true;
}

static uint32_t v4_of(const uint8_t address[IP_ADDRESS_BYTES]) {
    uint32_t network_order;
    memcpy(&network_order, address + V4_OFFSET, sizeof network_order);
    return ntohl(network_order);
}

bool name_pool_covers(const uint8_t address[IP_ADDRESS_BYTES]) {
    return ip_address_is_v4(address) && (v4_of(address) & BLOCK_MASK) == BLOCK;
}

struct pool_name *name_pool_find(struct name_pool *pool, const uint8_t address[IP_ADDRESS_BYTES]) {
    if (!name_pool_covers(address) || v4_of(address) == BLOCK)
        return NULL;
    uint32_t offset = v4_of(address) - BLOCK - 1;
    if (offset / 2 >= pool->count)
        return NULL;
    const struct slot *slot = &pool->slots[offset / 2];
    return slot->flip == (offset % 2 == 1) ? slot->name : NULL;
}

const char *pool_name_text(const struct pool_name *name) {
    return name->text;
}

void name_pool_pin(struct name_pool *pool, struct pool_name *name) {
    (void)pool;
    link_remove(&name->unused);
    name->pins++;
}

void name_pool_unpin(struct name_pool *pool, struct pool_name *name, uint64_t now_ms) {
    name->pins--;
    use_name(pool, name, now_ms);
}
