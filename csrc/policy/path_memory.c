#include "policy/path_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

struct path_memory {
    pthread_mutex_t mutex;
    struct strvec roots;
    struct strvec denials; /* pairs: written, target */
};

struct path_memory *path_memory_new(void) {
    struct path_memory *memory = calloc(1, sizeof *memory);
    if (memory != NULL)
        pthread_mutex_init(&memory->mutex, NULL);
    return memory;
}

void path_memory_free(struct path_memory *memory) {
    if (memory == NULL)
        return;
    strvec_clear(&memory->roots);
    strvec_clear(&memory->denials);
    pthread_mutex_destroy(&memory->mutex);
    free(memory);
}

static bool is_granted(const struct path_memory *memory, const char *path) {
    for (size_t i = 0; i < memory->roots.count; i++)
        if (path_is_within(path, memory->roots.items[i]))
            return true;
    return false;
}

int path_memory_grant(struct path_memory *memory, const char *root) {
    pthread_mutex_lock(&memory->mutex);
    int result = is_granted(memory, root) ? 0 : strvec_push(&memory->roots, root);
    pthread_mutex_unlock(&memory->mutex);
    return result;
}

bool path_memory_was_granted(struct path_memory *memory, const char *path) {
    pthread_mutex_lock(&memory->mutex);
    bool granted = is_granted(memory, path);
    pthread_mutex_unlock(&memory->mutex);
    return granted;
}

static bool is_pair(const struct path_memory *memory, size_t at, const char *written, const char *target) {
    return strcmp(memory->denials.items[at], written) == 0 &&
           (target == NULL || strcmp(memory->denials.items[at + 1], target) == 0);
}

int path_memory_deny(struct path_memory *memory, const char *written, const char *target) {
    pthread_mutex_lock(&memory->mutex);
    int result = 0;
    size_t at = 0;
    while (at < memory->denials.count && !is_pair(memory, at, written, target))
        at += 2;
    if (at >= memory->denials.count) {
        result = strvec_push(&memory->denials, written);
        if (result == 0 && (result = strvec_push(&memory->denials, target)) != 0)
            free(memory->denials.items[--memory->denials.count]);
    }
    pthread_mutex_unlock(&memory->mutex);
    return result;
}

int path_memory_denied(struct path_memory *memory, const char *written, struct strvec *targets) {
    pthread_mutex_lock(&memory->mutex);
    int result = 0;
    for (size_t at = 0; result == 0 && at < memory->denials.count; at += 2)
        if (is_pair(memory, at, written, NULL))
            result = strvec_push(targets, memory->denials.items[at + 1]);
    pthread_mutex_unlock(&memory->mutex);
    return result;
}
