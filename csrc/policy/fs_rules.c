#include "policy/fs_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "policy/fs_denials.h"
#include "policy/git_place.h"
#include "policy/private_folders.h"
#include "policy/protected_paths.h"
#include "policy/read_regions.h"
#include "policy/write_roots.h"

char *fs_entry_expand(const char *entry, const char *base, const char *home) {
    if (strcmp(entry, "~") == 0)
        return strdup(home);
    if (strncmp(entry, "~/", 2) == 0)
        return path_join(home, entry + 2 + strspn(entry + 2, "/"));
    return path_join(base, entry);
}

size_t fs_entry_base(const char *entry, const char *base, const char *home) {
    bool below_home = entry[0] == '~' && (entry[1] == '/' || entry[1] == '\0');
    return entry[0] == '/' ? 0 : strlen(below_home ? home : base);
}

int fs_rules_push_of(struct fs_rules *rules, enum fs_rule_kind kind, enum fs_rule_origin origin,
                     struct resolved_path *file, const char *why, struct error *err) {
    if (rules->count == rules->capacity) {
        size_t capacity = rules->capacity == 0 ? 32 : rules->capacity * 2;
        struct fs_rule *items = realloc(rules->items, capacity * sizeof *items);
        if (items == NULL)
            return error_memory(err);
        rules->items = items;
        rules->capacity = capacity;
    }
    rules->items[rules->count++] = (struct fs_rule){.kind = kind,
                                                    .origin = origin,
                                                    .path = file->path,
                                                    .device = file->device,
                                                    .inode = file->inode,
                                                    .directory = S_ISDIR(file->mode),
                                                    .why = why};
    file->path = NULL;
    return 0;
}

int fs_rules_push(struct fs_rules *rules, enum fs_rule_kind kind, struct resolved_path *file, const char *why,
                  struct error *err) {
    return fs_rules_push_of(rules, kind, FS_ASKED, file, why, err);
}

int fs_rules_hold(struct fs_rules *rules, bool read, bool glob, const char *path, const char *why,
                  struct error *err) {
    if (rules->name_count == rules->name_capacity) {
        size_t capacity = rules->name_capacity == 0 ? 16 : rules->name_capacity * 2;
        struct fs_name_rule *names = realloc(rules->names, capacity * sizeof *names);
        if (names == NULL)
            return error_memory(err);
        rules->names = names;
        rules->name_capacity = capacity;
    }
    char *copy = strdup(path);
    if (copy == NULL)
        return error_memory(err);
    rules->names[rules->name_count++] =
        (struct fs_name_rule){.read = read, .glob = glob, .path = copy, .why = why};
    return 0;
}

void fs_rules_attribute(struct fs_rules *rules, size_t rule_count, size_t name_count,
                        struct fs_source source) {
    for (size_t i = rule_count; i < rules->count; i++)
        rules->items[i].source = source;
    for (size_t i = name_count; i < rules->name_count; i++)
        rules->names[i].source = source;
}

int fs_rules_warn(struct fs_rules *rules, struct error *err, const char *format, ...) {
    char text[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strvec_push(&rules->warnings, text) == 0 ? 0 : error_memory(err);
}

bool fs_rules_is_writable(const struct fs_rules *rules, const char *path) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_ALLOW_WRITE && path_is_within(path, rules->items[i].path))
            return true;
    return false;
}

bool fs_may_be_planted(const struct resolved_path *file, const struct fs_place *place) {
    for (size_t i = 0; i < file->link_folders.count; i++)
        if (path_memory_was_granted(place->memory, file->link_folders.items[i]))
            return true;
    return false;
}

static bool is_opened(const struct fs_rules *rules, const char *path) {
    for (size_t i = 0; i < rules->opened.count; i++)
        if (strcmp(rules->opened.items[i], path) == 0)
            return true;
    return false;
}

/* A rule by name is lifted by what is opened below it; of the very path the mounts tell. */
static void drop_opened_names(struct fs_rules *rules) {
    size_t kept = 0;
    for (size_t i = 0; i < rules->name_count; i++) {
        struct fs_name_rule *rule = &rules->names[i];
        if (rule->read && !rule->glob && is_opened(rules, rule->path))
            free(rule->path);
        else
            rules->names[kept++] = *rule;
    }
    rules->name_count = kept;
}

int fs_rules_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                     struct error *err) {
    *out = (struct fs_rules){0};
    int result = write_roots_resolve(options, place, out, err);
    if (result == 0)
        result = git_place_resolve(place, out, err);
    if (result == 0)
        result = protected_paths_resolve(options, place, out, err);
    size_t first_denial = out->count;
    if (result == 0)
        result = fs_denials_resolve(options, place, out, err);
    size_t last_denial = out->count;
    if (result == 0)
        result = read_regions_resolve(options, place, out, err);
    if (result == 0)
        result = private_folders_resolve(options, place, first_denial, last_denial, out, err);
    if (result == 0)
        drop_opened_names(out);
    else
        fs_rules_clear(out);
    return result;
}

void fs_rules_clear(struct fs_rules *rules) {
    for (size_t i = 0; i < rules->count; i++)
        free(rules->items[i].path);
    free(rules->items);
    for (size_t i = 0; i < rules->name_count; i++)
        free(rules->names[i].path);
    free(rules->names);
    strvec_clear(&rules->opened);
    strvec_clear(&rules->later);
    free(rules->common_dir);
    free(rules->worktree);
    free(rules->package_cache);
    strvec_clear(&rules->warnings);
    strvec_clear(&rules->read_denied);
    strvec_clear(&rules->write_denied);
    strvec_clear(&rules->read_denied_names);
    *rules = (struct fs_rules){0};
}
