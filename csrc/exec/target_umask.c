#include "exec/target.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "exec/proc_status.h"

/*
 * A mask belongs to a thread's fs_struct, which the threads of a process share unless one left with
 * unshare(CLONE_FS): so it is remembered by thread. A change is remembered by process as well: what is read
 * of its threads for a while after umask(2) was seen may be from before. Either is forgotten after LIFETIME,
 * when a number may be another's.
 */
#define LIFETIME_NS 1000000000LL
enum { THREADS = 256, CHANGES = 64 };

struct mask_entry {
    pid_t thread; /* of a change: the process */
    pid_t process;
    mode_t mask;
    int64_t until;
};

struct umask_cache {
    pthread_mutex_t lock;
    uint64_t generation; /* counts the changes */
    struct mask_entry threads[THREADS];
    struct mask_entry changes[CHANGES];
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

static struct mask_entry *slot(struct mask_entry *entries, size_t count, pid_t id) {
    return &entries[(size_t)id % count];
}

/* The entry of the id, while it holds; the lock is held. */
static const struct mask_entry *lookup(struct mask_entry *entries, size_t count, pid_t id) {
    const struct mask_entry *entry = slot(entries, count, id);
    return entry->thread == id && entry->until > now() ? entry : NULL;
}

/* What was read of the thread: 0, or an errno. */
static int mask_read(struct umask_cache *cache, pid_t thread, struct mask_entry *out) {
    struct proc_status status;
    pthread_mutex_lock(&cache->lock);
    uint64_t generation = cache->generation;
    pthread_mutex_unlock(&cache->lock);
    int error = proc_status_of(thread, &status);
    if (error != 0)
        return error;
    pthread_mutex_lock(&cache->lock);
    const struct mask_entry *change = lookup(cache->changes, CHANGES, status.process);
    *out = (struct mask_entry){.thread = thread,
                               .process = status.process,
                               .mask = change == NULL ? status.mask : change->mask,
                               .until = now() + LIFETIME_NS};
    if (change != NULL || generation == cache->generation)
        *slot(cache->threads, THREADS, thread) = *out;
    pthread_mutex_unlock(&cache->lock);
    return 0;
}

/* The thread's entry, out of the cache or read. */
static int mask_entry_of(const struct call *call, struct mask_entry *out) {
    struct umask_cache *cache = call->supervisor->umasks;
    pthread_mutex_lock(&cache->lock);
    const struct mask_entry *known = lookup(cache->threads, THREADS, call->thread);
    if (known != NULL)
        *out = *known;
    pthread_mutex_unlock(&cache->lock);
    return known != NULL ? 0 : mask_read(cache, call->thread, out);
}

mode_t target_umask(const struct call *call) {
    struct mask_entry entry;
    /* A thread that is gone gets no answer either: the strictest mask will do. */
    return mask_entry_of(call, &entry) == 0 ? entry.mask : 0777;
}

void target_umask_changes(const struct call *call, mode_t mask) {
    struct umask_cache *cache = call->supervisor->umasks;
    struct mask_entry entry;
    if (mask_entry_of(call, &entry) != 0)
        return;
    struct mask_entry change = {
        .thread = entry.process, .process = entry.process, .mask = mask & 0777, .until = now() + LIFETIME_NS};
    pthread_mutex_lock(&cache->lock);
    cache->generation++;
    *slot(cache->changes, CHANGES, entry.process) = change;
    for (size_t i = 0; i < THREADS; i++) {
        struct mask_entry *known = &cache->threads[i];
        if (known->process == entry.process) {
            known->mask = change.mask;
            known->until = change.until;
        }
    }
    pthread_mutex_unlock(&cache->lock);
}
