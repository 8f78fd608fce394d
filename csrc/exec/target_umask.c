#include "exec/target.h"

#include <errno.h>
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
    mode_t mask;
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

static bool next_change(struct umask_cache *cache, struct change *out) {
    bool found = false;
    pthread_mutex_lock(&cache->lock);
    int64_t time = now();
    for (size_t i = 0; i < CHANGES && !found; i++) {
        found = cache->changes[i].until > time;
        *out = cache->changes[i];
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static bool is_made(const struct change *change) {
    struct proc_status status;
    int error = change->thread == 0 ? EAGAIN : proc_status_of(change->thread, &status);
    return error == ESRCH || (error == 0 && status.mask == change->mask);
}

/* True where every umask(2) that was seen has been made. */
static bool are_changes_made(struct umask_cache *cache) {
    struct change change;
    while (next_change(cache, &change)) {
        if (!is_made(&change))
            return false;
        pthread_mutex_lock(&cache->lock);
        struct change *known = change_of(cache, change.thread);
        if (known->thread == change.thread && known->mask == change.mask)
            *known = (struct change){0};
        pthread_mutex_unlock(&cache->lock);
    }
    return true;
}

/* Without that every read would have to be a new one. */
static bool are_changes_seen(const struct call *call) {
    return (call->supervisor->payload->supervision & SUPERVISE_PATHS) != 0;
}

/* True where the thread's mask is known. Otherwise *generation is the one of what is read from now on. */
static bool look_up(struct umask_cache *cache, pid_t thread, mode_t *mask, uint64_t *generation) {
    pthread_mutex_lock(&cache->lock);
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
    bool lasting = are_changes_seen(call) && are_changes_made(cache);
    /* A thread that is gone gets no answer either: the strictest mask will do. */
    if (proc_status_of(call->thread, &status) != 0)
        return 0777;
    pthread_mutex_lock(&cache->lock);
    if (lasting && generation == cache->generation)
        remember(cache, call->thread, status.mask);
    pthread_mutex_unlock(&cache->lock);
    return status.mask;
}

void target_umask_changes(const struct call *call, mode_t mask) {
    struct umask_cache *cache = call->supervisor->umasks;
    pthread_mutex_lock(&cache->lock);
    struct change *change = change_of(cache, call->thread);
    bool alone = change->thread == call->thread || change->until <= now();
    *change = (struct change){
        .thread = alone ? call->thread : 0, .mask = mask & 0777, .until = now() + LIFETIME_NS};
    cache->generation++;
    remember(cache, call->thread, mask & 0777);
    pthread_mutex_unlock(&cache->lock);
}
