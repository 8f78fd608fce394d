#include "base/socket_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"

static bool is_below(const char *folder, const char *path) {
    size_t size = strlen(folder) + sizeof "**";
    cleanup_free char *pattern = malloc(size);
    if (pattern == NULL)
        return false;
    snprintf(pattern, size, "%s**", folder);
    return glob_match(pattern, path);
}

static bool matches(const char *entry, const char *path) {
    size_t length = strlen(entry);
    return length > 0 && entry[length - 1] == '/' ? is_below(entry, path) : glob_match(entry, path);
}

bool socket_list_has(char *const *entries, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (matches(entries[i], path))
            return true;
    return false;
}
