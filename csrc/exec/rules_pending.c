/*
 * What a thread saw when it judged a name that can make a git directory: only it knows what there was before
 * it made that name. The folder stays open, so that neither a move nor lost permissions hide it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exec/rules_internal.h"

/* A name that was judged is made at once, or after a slow file system's answer. */
#define PENDING_SECONDS 10L

static time_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec;
}

static void clear(struct pending *pending) {
    if (pending->number == 0)
        return;
    close_fd(&pending->folder);
    free(pending->path);
    *pending = (struct pending){.folder = -1};
}

void pending_free(struct rules *rules) {
    for (size_t i = 0; i < rules->pending_count; i++)
        clear(&rules->pending[i]);
    free(rules->pending);
}

static bool is_own(const struct pending *pending) {
    return pending->number != 0 && pthread_equal(pending->thread, pthread_self()) != 0;
}

static bool is_name(const struct pending *pending, const char *path) {
    return strcmp(strrchr(pending->path, '/'), strrchr(path, '/')) == 0;
}

/* NULL: the thread has judged no such name there. */
static struct pending *find(const struct rules *rules, const char *path, const struct git_look *look) {
    for (size_t i = 0; i < rules->pending_count; i++) {
        struct pending *pending = &rules->pending[i];
        if (is_own(pending) && pending->device == look->device && pending->inode == look->inode &&
            is_name(pending, path))
            return now() - pending->since <= PENDING_SECONDS ? pending : NULL;
    }
    return NULL;
}

bool pending_has(const struct rules *rules, const char *path, const struct git_look *look) {
    const struct pending *pending = find(rules, path, look);
    return pending != NULL && pending->absent;
}

/* One that nobody waits for any more: the thread's own oldest, where it has as many as it can need. */
static struct pending *free_place(struct rules *rules) {
    struct pending *oldest = NULL;
    struct pending *unused = NULL;
    size_t own = 0;
    for (size_t i = 0; i < rules->pending_count; i++) {
        struct pending *pending = &rules->pending[i];
        bool is_mine = is_own(pending);
        own += is_mine;
        if (is_mine && (oldest == NULL || pending->number < oldest->number))
            oldest = pending;
        if (!is_mine && (pending->number == 0 || now() - pending->since > 2 * PENDING_SECONDS))
            unused = pending;
    }
    if (own >= PENDING_OF_THREAD || unused != NULL) {
        struct pending *place = own >= PENDING_OF_THREAD ? oldest : unused;
        clear(place);
        return place;
    }
    struct pending *larger = reallocarray(rules->pending, rules->pending_count + 1, sizeof *rules->pending);
    if (larger == NULL)
        return NULL;
    rules->pending = larger;
    return &larger[rules->pending_count++];
}

static bool set_path(struct pending *pending, const char *path) {
    char *own = strdup(path);
    if (own == NULL)
        return false;
    free(pending->path);
    pending->path = own;
    return true;
}

/* A name that is judged a second time, once it is there, is what it was the first time. */
bool pending_put(struct rules *rules, const char *path, const struct git_look *look, bool absent,
                 bool completes) {
    struct pending *known = find(rules, path, look);
    if (known != NULL) {
        known->absent = known->absent || absent;
        known->completes = known->completes || completes;
        known->number = ++rules->pending_number;
        return set_path(known, path);
    }
    cleanup_fd int folder = fcntl(look->fd, F_DUPFD_CLOEXEC, 3);
    struct pending *place = folder < 0 ? NULL : free_place(rules);
    if (place == NULL)
        return false;
    *place = (struct pending){.folder = -1};
    if (!set_path(place, path))
        return false;
    place->thread = pthread_self();
    place->number = ++rules->pending_number;
    place->since = now();
    place->folder = steal_fd(&folder);
    place->device = look->device;
    place->inode = look->inode;
    place->absent = absent;
    place->completes = completes;
    return true;
}

/* By the path, or where its folder has another one by now the last of that name. */
bool pending_take(struct rules *rules, const char *path, struct pending *out) {
    struct pending *best = NULL;
    for (size_t i = 0; i < rules->pending_count; i++) {
        struct pending *pending = &rules->pending[i];
        if (!is_own(pending) || !is_name(pending, path))
            continue;
        bool same = strcmp(pending->path, path) == 0;
        bool best_is_same = best != NULL && strcmp(best->path, path) == 0;
        if (best == NULL || same > best_is_same || (same == best_is_same && pending->number > best->number))
            best = pending;
    }
    if (best == NULL)
        return false;
    *out = *best;
    free(out->path);
    out->path = NULL;
    *best = (struct pending){.folder = -1};
    return true;
}
