/* A set of paths that only grows: asked for a path, and for anything a path lies in. Not thread-safe. */
#ifndef OS_SANDBOX_EXEC_PATH_SET_H
#define OS_SANDBOX_EXEC_PATH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_set {
    struct path_entry {
        const char *path; /* NULL: free */
        uint64_t hash;
        size_t value;
    } * slots;   /* owned */
    size_t size; /* a power of two, or 0 */
    size_t count;
};

/* The path stays the caller's, and must stay. One that is there keeps its value. False: out of memory. */
bool path_set_add(struct path_set *set, const char *path, size_t value);

/* The value of the path's first bytes. */
bool path_set_find(const struct path_set *set, const char *path, size_t length, size_t *value);

/* True where the path, or a folder above it, is in the set. */
bool path_set_holds(const struct path_set *set, const char *path);

void path_set_clear(struct path_set *set);

#endif
