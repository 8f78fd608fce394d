/* What a folder brings along, or takes away, when it gets another name. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "exec/rules_internal.h"

#define WALK_ENTRIES_MAX 20000
#define WALK_DEPTH_MAX 128
#define WHY_LARGE "too large a folder to be looked through"

/* The path below the folder, or NULL. */
static const char *below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return path_is_within(path, folder) && path[length] == '/' ? path + length + 1 : NULL;
}

static bool comes_along(int folder, const char *path, const char *from, const char *to) {
    const char *old = below(path, from);
    const char *new = below(path, to);
    return (old != NULL && folder_has(folder, old)) || (new != NULL &&folder_has(folder, new));
}

const char *literals_refuse_move(struct rules *rules, int folder, const char *from, const char *to) {
    const struct payload *payload = rules->payload;
    for (size_t i = 0; i < payload->rule_count; i++)
        if (payload->rules[i].glob == 0 && comes_along(folder, payload->rules[i].path, from, to))
            return payload->rules[i].why;
    const char *why = NULL;
    pthread_mutex_lock(&rules->lock);
    for (size_t i = 0; why == NULL && i < rules->hooks.size; i++)
        if (rules->hooks.slots[i].path != NULL && comes_along(folder, rules->hooks.slots[i].path, from, to))
            why = WHY_HOOKS_PATH;
    pthread_mutex_unlock(&rules->lock);
    return why;
}

bool hooks_follow(struct rules *rules, const char *from, const char *to) {
    size_t position = 0;
    enum index_kind kind;
    const char *path;
    size_t number;
    if (!atomic_load(&rules->has_hooks))
        return true;
    while (session_index_next(rules->index, &position, &kind, &path, &number)) {
        const char *rest = kind == INDEX_HOOKS ? below(path, from) : NULL;
        char moved[PATH_MAX];
        if (rest != NULL && ((size_t)snprintf(moved, sizeof moved, "%s/%s", to, rest) >= sizeof moved ||
                             session_index_add(rules->index, INDEX_HOOKS, moved) != 0))
            return false;
    }
    return true;
}

/* --- globs --- */

struct walk {
    const struct rules *rules;
    char from[PATH_MAX];
    char to[PATH_MAX];
    unsigned entries;
};

static bool append(char *path, size_t length, const char *name) {
    return (size_t)snprintf(path + length, PATH_MAX - length, "/%s", name) < PATH_MAX - length;
}

static const char *walk_folder(struct walk *walk, int folder, unsigned depth);

static const char *walk_entry(struct walk *walk, int folder, const struct dirent *entry, unsigned depth) {
    size_t from_length = strlen(walk->from);
    size_t to_length = strlen(walk->to);
    if (++walk->entries > WALK_ENTRIES_MAX || !append(walk->from, from_length, entry->d_name) ||
        !append(walk->to, to_length, entry->d_name))
        return WHY_LARGE;
    const char *why = globs_refuse(walk->rules, RULE_REMOVE, walk->from);
    if (why == NULL)
        why = globs_refuse(walk->rules, RULE_CREATE, walk->to);
    if (why == NULL && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)) {
        int child = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        /* What cannot be looked into could hold anything. */
        if (child >= 0)
            why = walk_folder(walk, child, depth + 1);
        else if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT)
            why = "a folder that cannot be looked through";
    }
    walk->from[from_length] = '\0';
    walk->to[to_length] = '\0';
    return why;
}

/* Closes the descriptor. */
static const char *walk_folder(struct walk *walk, int folder, unsigned depth) {
    DIR *listing = depth > WALK_DEPTH_MAX ? NULL : fdopendir(folder);
    const struct dirent *entry;
    const char *why = NULL;
    if (listing == NULL) {
        close(folder);
        return WHY_LARGE;
    }
    while (why == NULL && (entry = readdir(listing)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            why = walk_entry(walk, folder, entry, depth);
    closedir(listing);
    return why;
}

/* Whether what lies below the folder's path can match the rule. */
static bool is_near(const struct rules *rules, size_t rule, const char *path) {
    const char *pattern = rules->payload->rules[rule].path;
    size_t prefix = rules->prefixes[rule];
    size_t length = strlen(path);
    size_t shorter = prefix < length ? prefix : length;
    return memcmp(pattern, path, shorter) == 0 &&
           (prefix <= length ? prefix == length || path[prefix] == '/' || prefix == 0
                             : pattern[length] == '/');
}

const char *globs_refuse_move(const struct rules *rules, int folder, const char *from, const char *to) {
    bool near = false;
    for (size_t i = 0; i < rules->payload->rule_count; i++)
        near = near ||
               (rules->payload->rules[i].glob != 0 && (is_near(rules, i, from) || is_near(rules, i, to)));
    if (!near)
        return NULL;
    struct walk walk = {.rules = rules};
    if (snprintf(walk.from, sizeof walk.from, "%s", from) >= (int)sizeof walk.from ||
        snprintf(walk.to, sizeof walk.to, "%s", to) >= (int)sizeof walk.to)
        return WHY_LARGE;
    int opened = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return opened < 0 ? "a folder that cannot be looked through" : walk_folder(&walk, opened, 0);
}
