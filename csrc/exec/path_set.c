#include "exec/path_set.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a, so that the hashes of all folders above a path come along with its own. */
#define HASH_START 0xcbf29ce484222325u
#define HASH_PRIME 0x100000001b3u

static uint64_t hash_more(uint64_t hash, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * HASH_PRIME;
    return hash;
}

/* Where the path is, or would go. */
static struct path_entry *slot_of(const struct path_set *set, uint64_t hash, const char *path,
                                  size_t length) {
    size_t at = (size_t)(hash ^ hash >> 32) & (set->size - 1);
    for (;; at = (at + 1) & (set->size - 1)) {
        struct path_entry *entry = &set->slots[at];
        if (entry->path == NULL)
            return entry;
        if (entry->hash == hash && strncmp(entry->path, path, length) == 0 && entry->path[length] == '\0')
            return entry;
    }
}

static bool grow(struct path_set *set) {
    struct path_set larger = {.size = set->size == 0 ? 16 : 2 * set->size, .count = set->count};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < set->size; i++) {
        const struct path_entry *entry = &set->slots[i];
        if (entry->path != NULL)
            *slot_of(&larger, entry->hash, entry->path, strlen(entry->path)) = *entry;
    }
    free(set->slots);
    *set = larger;
    return true;
}

bool path_set_add(struct path_set *set, const char *path, size_t value) {
    size_t length = strlen(path);
    uint64_t hash = hash_more(HASH_START, path, length);
    if (2 * (set->count + 1) > set->size && !grow(set))
        return false;
    struct path_entry *entry = slot_of(set, hash, path, length);
    if (entry->path != NULL)
        return true;
    *entry = (struct path_entry){.path = path, .hash = hash, .value = value};
    set->count++;
    return true;
}

bool path_set_find(const struct path_set *set, const char *path, size_t length, size_t *value) {
    if (set->count == 0)
        return false;
    const struct path_entry *entry = slot_of(set, hash_more(HASH_START, path, length), path, length);
    if (entry->path == NULL)
        return false;
    *value = entry->value;
    return true;
}

bool path_set_holds(const struct path_set *set, const char *path) {
    uint64_t hash = HASH_START;
    if (set->count == 0)
        return false;
    for (size_t at = 0;; at++) {
        bool ends = path[at] == '\0' || (path[at] == '/' && at > 0);
        if (ends && slot_of(set, hash, path, at)->path != NULL)
            return true;
        if (path[at] == '\0')
            return false;
        hash = hash_more(hash, path + at, 1);
    }
}

void path_set_clear(struct path_set *set) {
    free(set->slots);
    *set = (struct path_set){0};
}
