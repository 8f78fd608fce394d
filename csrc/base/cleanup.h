/* Scope-bound owners: one attribute per kind of resource, and a way to hand the resource on. */
#ifndef OS_SANDBOX_BASE_CLEANUP_H
#define OS_SANDBOX_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_fn(void *slot) {
    free(*(void **)slot);
}

static inline void cleanup_fd_fn(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_fn)))
#define cleanup_fd __attribute__((cleanup(cleanup_fd_fn)))

/* Takes the descriptor out of its owner: the owner is left with -1. */
static inline int steal_fd(int *fd) {
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* Closes the descriptor that *fd owns, if any. */
static inline void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

#endif
