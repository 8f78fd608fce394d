#include "exec/target.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "exec/proc_status.h"

/*
 * A mask belongs to a thread's fs_struct, which threads and even processes may share (clone(2), CLONE_FS) and
 * leave (unshare(2)): who shares it cannot be seen. So it is remembered by thread, and a umask(2) of anybody
 * makes all others' forgotten. It is seen before it is made: until its thread makes another call, what is
 * read of others may be from before, and is not remembered. Nothing is remembered for longer than LIFETIME,
 * when a number may be another thread's.
 */
#define LIFETIME_NS 1000000000LL
enum { THREADS = 256, CHANGES = 64 };

struct mask_entry {
    pid_t thread;
    mode_t mask;
    uint64_t generation;
    int64_t until;
};

/* A umask(2) that may not be made yet. */
struct change {
    pid_t thread; /* 0: of several */
    int64_t until;
};

struct umask_cache {
    pthread_mutex_t lock;
    uint64_t generation; /* counts the changes */
    struct mask_entry threads[THREADS];
    struct change changes[CHANGES];
};

struct umask_cache *umask_cache_new(void) {
    struct umask_cache *cache = calloc(1, sizeof *cache);
    if (cache != NULL)
        pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return (int64_t)time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct change *change_of(struct umask_cache *cache, pid_t thread) {
    return &cache->changes[(size_t)thread % CHANGES];
}

static void remember(struct umask_cache *cache, pid_t thread, mode_t mask) {
    cache->threads[(size_t)thread % THREADS] = (struct mask_entry){
        .thread = thread, .mask = mask, .generation = cache->generation, .until = now() + LIFETIME_NS};
}

static bool is_changing(const struct umask_cache *cache) {
    int64_t time = now();
    for (size_t i = 0; i < CHANGES; i++)
        if (cache->changes[i].until > time)
            return true;
    return false;
}

/* Without that every read would have to be a new one. */
static bool are_changes_seen(const struct call *call) {
    return (call->supervisor->payload->supervision & SUPERVISE_PATHS) != 0;
}

/* True where the thread's mask is known. Otherwise *generation is the one of what is read from now on. */
static bool look_up(struct umask_cache *cache, pid_t thread, mode_t *mask, uint64_t *generation) {
    pthread_mutex_lock(&cache->lock);
    struct change *own = change_of(cache, thread);
    if (own->thread == thread)
        *own = (struct change){0};
    const struct mask_entry *entry = &cache->threads[(size_t)thread % THREADS];
    bool known = entry->thread == thread && entry->generation == cache->generation && entry->until > now();
    *mask = entry->mask;
    *generation = cache->generation;
    pthread_mutex_unlock(&cache->lock);
    return known;
}

mode_t target_umask(const struct call *call) {
    struct umask_cache *cache = call->supervisor->umasks;
    struct proc_status status;
    uint64_t generation;
    mode_t mask;
    if (look_up(cache, call->thread, &mask, &generation))
        return mask;
    /* A thread that is gone gets no answer either: the strictest mask will do. */
    if (proc_status_of(call->thread, &status) != 0)
        return 0777;
    pthread_mutex_lock(&cache->lock);
    if (generation == cache->generation && !is_changing(cache) && are_changes_seen(call))
        remember(cache, call->thread, status.mask);
    pthread_mutex_unlock(&cache->lock);
    return status.mask;
}

void target_umask_changes(const struct call *call, mode_t mask) {
    struct umask_cache *cache = call->supervisor->umasks;
    pthread_mutex_lock(&cache->lock);
    struct change *change = change_of(cache, call->thread);
    bool alone = change->thread == call->thread || change->until <= now();
    *change = (struct change){.thread = alone ? call->thread : 0, .until = now() + LIFETIME_NS};
    cache->generation++;
    remember(cache, call->thread, mask & 0777);
    pthread_mutex_unlock(&cache->lock);
}
