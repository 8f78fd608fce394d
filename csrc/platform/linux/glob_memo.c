#include "platform/linux/glob_memo.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Of everything that a cache remembers. */
#define BYTES_MAX (64u << 20)
#define PATTERNS_MAX 64
#define STATES_MAX 1024

struct pattern_memo {
    struct pattern_memo *next;
    struct glob_cache *cache; /* NULL: of one walk alone */
    char *text;
    struct glob *glob;
    unsigned users; /* under the cache's mutex */
    pthread_mutex_t mutex;
    unsigned char *states;
    size_t state_count;
    struct folder_memo **buckets; /* a power of two */
    size_t bucket_count;
    size_t count;
    size_t bytes;
    uint32_t walk;
    size_t passed; /* kept folders that this walk came by */
    bool overflowed;
};

struct glob_cache {
    pthread_mutex_t mutex;
    struct pattern_memo *patterns; /* the last used first */
    size_t pattern_count;
    atomic_size_t bytes;
};

/* --- folders --- */

static bool same_time(const struct timespec *left, const struct timespec *right) {
    return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

static size_t bucket_of(const struct pattern_memo *memo, uint64_t device, uint64_t inode, uint16_t state) {
    uint64_t hash = (inode ^ device << 40 ^ (uint64_t)state << 20) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 20) & (memo->bucket_count - 1);
}

static struct folder_memo **slot_of(struct pattern_memo *memo, uint64_t device, uint64_t inode,
                                    uint16_t state) {
    struct folder_memo **slot = &memo->buckets[bucket_of(memo, device, inode, state)];
    while (*slot != NULL && ((*slot)->inode != inode || (*slot)->device != device || (*slot)->state != state))
        slot = &(*slot)->next;
    return slot;
}

static void drop(struct pattern_memo *memo, struct folder_memo **slot) {
    struct folder_memo *folder = *slot;
    size_t size = sizeof *folder + folder->size;
    *slot = folder->next;
    memo->count--;
    memo->bytes -= size;
    if (memo->cache != NULL)
        atomic_fetch_sub(&memo->cache->bytes, size);
    free(folder);
}

/* Drops all, or all that the last walk did not come by. */
static void sweep(struct pattern_memo *memo, bool all) {
    for (size_t i = 0; i < memo->bucket_count; i++) {
        struct folder_memo **slot = &memo->buckets[i];
        while (*slot != NULL) {
            if (all || (*slot)->walk != memo->walk)
                drop(memo, slot);
            else
                slot = &(*slot)->next;
        }
    }
}

/* False: it stays as it is, which is slower and no worse. */
static bool grow(struct pattern_memo *memo) {
    size_t count = memo->bucket_count == 0 ? 64 : memo->bucket_count * 4;
    struct folder_memo **buckets = calloc(count, sizeof(struct folder_memo *));
    if (buckets == NULL)
        return false;
    struct folder_memo **old = memo->buckets;
    size_t old_count = memo->bucket_count;
    memo->buckets = buckets;
    memo->bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct folder_memo *folder = old[i], *next; folder != NULL; folder = next) {
            struct folder_memo **slot =
                &buckets[bucket_of(memo, folder->device, folder->inode, folder->state)];
            next = folder->next;
            folder->next = *slot;
            *slot = folder;
        }
    }
    free(old);
    return true;
}

static void pass(struct pattern_memo *memo, struct folder_memo *folder) {
    memo->passed += folder->walk != memo->walk;
    folder->walk = memo->walk;
    folder->users++;
}

struct folder_memo *pattern_memo_find(struct pattern_memo *memo, const struct stat *facts, uint16_t state) {
    if (memo->bucket_count == 0)
        return NULL;
    struct folder_memo *folder = *slot_of(memo, facts->st_dev, facts->st_ino, state);
    if (folder == NULL || !same_time(&folder->modified, &facts->st_mtim) ||
        !same_time(&folder->changed, &facts->st_ctim))
        return NULL;
    pass(memo, folder);
    return folder;
}

/* False: the table does not take it. */
static bool insert(struct pattern_memo *memo, struct folder_memo *folder) {
    size_t size = sizeof *folder + folder->size;
    if (memo->cache == NULL || (memo->count >= memo->bucket_count && !grow(memo) && memo->bucket_count == 0))
        return false;
    struct folder_memo **slot = slot_of(memo, folder->device, folder->inode, folder->state);
    if (*slot != NULL && (*slot)->users > 0)
        return false;
    if (*slot != NULL)
        drop(memo, slot);
    if (atomic_fetch_add(&memo->cache->bytes, size) + size > BYTES_MAX) {
        atomic_fetch_sub(&memo->cache->bytes, size);
        memo->overflowed = true;
        return false;
    }
    slot = &memo->buckets[bucket_of(memo, folder->device, folder->inode, folder->state)];
    folder->next = *slot;
    *slot = folder;
    memo->count++;
    memo->bytes += size;
    return true;
}

struct folder_memo *pattern_memo_add(struct pattern_memo *memo, const struct stat *facts, uint16_t state,
                                     const char *entries, size_t size, bool keep) {
    struct folder_memo *folder = malloc(sizeof *folder + size);
    if (folder == NULL)
        return NULL;
    *folder = (struct folder_memo){
        .device = facts->st_dev,
        .inode = facts->st_ino,
        .modified = facts->st_mtim,
        .changed = facts->st_ctim,
        .walk = memo->walk - 1,
        .state = state,
        .size = size,
    };
    if (size > 0)
        memcpy(folder->entries, entries, size);
    folder->kept = keep && insert(memo, folder);
    if (folder->kept)
        pass(memo, folder);
    return folder;
}

void folder_memo_release(struct folder_memo *folder) {
    if (folder->kept)
        folder->users--;
    else
        free(folder);
}

/* --- patterns --- */

static void pattern_free(struct pattern_memo *memo) {
    sweep(memo, true);
    free(memo->buckets);
    free(memo->states);
    free(memo->text);
    glob_free(memo->glob);
    pthread_mutex_destroy(&memo->mutex);
    free(memo);
}

static struct pattern_memo *pattern_new(struct glob_cache *cache, const char *pattern) {
    struct pattern_memo *memo = calloc(1, sizeof *memo);
    if (memo == NULL)
        return NULL;
    pthread_mutex_init(&memo->mutex, NULL);
    memo->cache = cache;
    memo->text = strdup(pattern);
    errno = EINVAL;
    memo->glob = memo->text == NULL ? NULL : glob_compile(pattern);
    if (memo->glob != NULL)
        return memo;
    int errnum = memo->text == NULL || errno == ENOMEM ? ENOMEM : EINVAL;
    pattern_free(memo);
    errno = errnum;
    return NULL;
}

/* Frees the one that was not used for the longest time, where nobody uses it now. */
static void forget_oldest(struct glob_cache *cache) {
    struct pattern_memo **oldest = NULL;
    for (struct pattern_memo **slot = &cache->patterns; *slot != NULL; slot = &(*slot)->next)
        if ((*slot)->users == 0)
            oldest = slot;
    if (oldest == NULL)
        return;
    struct pattern_memo *memo = *oldest;
    *oldest = memo->next;
    cache->pattern_count--;
    pattern_free(memo);
}

static struct pattern_memo *find_pattern(struct glob_cache *cache, const char *pattern) {
    struct pattern_memo **slot = &cache->patterns;
    while (*slot != NULL && strcmp((*slot)->text, pattern) != 0)
        slot = &(*slot)->next;
    struct pattern_memo *memo = *slot;
    if (memo != NULL)
        *slot = memo->next;
    else if ((memo = pattern_new(cache, pattern)) == NULL)
        return NULL;
    else
        cache->pattern_count++;
    memo->next = cache->patterns;
    cache->patterns = memo;
    memo->users++;
    if (cache->pattern_count > PATTERNS_MAX)
        forget_oldest(cache);
    return memo;
}

struct pattern_memo *pattern_memo_take(struct glob_cache *cache, const char *pattern) {
    struct pattern_memo *memo;
    if (cache == NULL) {
        memo = pattern_new(NULL, pattern);
    } else {
        pthread_mutex_lock(&cache->mutex);
        memo = find_pattern(cache, pattern);
        pthread_mutex_unlock(&cache->mutex);
    }
    if (memo == NULL)
        return NULL;
    pthread_mutex_lock(&memo->mutex);
    memo->walk++;
    memo->passed = 0;
    memo->overflowed = false;
    return memo;
}

void pattern_memo_give(struct pattern_memo *memo) {
    struct glob_cache *cache = memo->cache;
    if (memo->overflowed || memo->count > 2 * memo->passed + 64)
        sweep(memo, memo->overflowed);
    pthread_mutex_unlock(&memo->mutex);
    if (cache == NULL) {
        pattern_free(memo);
        return;
    }
    pthread_mutex_lock(&cache->mutex);
    memo->users--;
    pthread_mutex_unlock(&cache->mutex);
}

const struct glob *pattern_memo_glob(const struct pattern_memo *memo) {
    return memo->glob;
}

const unsigned char *pattern_memo_state_at(const struct pattern_memo *memo, uint16_t number) {
    return memo->states + number * glob_state_size(memo->glob);
}

int pattern_memo_state(struct pattern_memo *memo, const unsigned char *state) {
    size_t size = glob_state_size(memo->glob);
    for (size_t i = 0; i < memo->state_count; i++)
        if (memcmp(memo->states + i * size, state, size) == 0)
            return (int)i;
    if (memo->state_count == STATES_MAX)
        return -1;
    unsigned char *states = realloc(memo->states, (memo->state_count + 1) * size);
    if (states == NULL)
        return -1;
    memo->states = states;
    memcpy(states + memo->state_count * size, state, size);
    return (int)memo->state_count++;
}

/* --- the cache --- */

struct glob_cache *glob_cache_new(void) {
    struct glob_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL)
        pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

void glob_cache_free(struct glob_cache *cache) {
    if (cache == NULL)
        return;
    for (struct pattern_memo *memo = cache->patterns, *next; memo != NULL; memo = next) {
        next = memo->next;
        pattern_free(memo);
    }
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}
