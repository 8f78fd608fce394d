#include "policy/private_folders.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

static bool is_folder(enum resolve_outcome outcome, const struct resolved_path *file) {
    return outcome == RESOLVE_FOUND && S_ISDIR(file->mode);
}

static bool has_rule(const struct fs_rules *rules, enum fs_rule_kind kind, const char *path) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == kind && strcmp(rules->items[i].path, path) == 0)
            return true;
    return false;
}

static bool is_private(const struct fs_rules *rules, const char *path) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_PRIVATE_TMP && path_is_within(path, rules->items[i].path))
            return true;
    return false;
}

/* --- temporary directories --- */

static int push_tmp(const char *path, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (is_folder(outcome, &file) && !is_private(out, file.path)) {
        if (has_rule(out, FS_ALLOW_WRITE, file.path))
            result =
                fs_rules_warn(out, err, "%s is a write root: it is the host's, and not private", file.path);
        else if (file.path[1] == '\0')
            result = fs_rules_warn(out, err, "the temporary directory is /: it is not made private");
        else
            result = fs_rules_push(out, FS_PRIVATE_TMP, &file, NULL, err);
    }
    resolved_path_clear(&file);
    return result;
}

/* --- npm's cache --- */

/* What stands in the place of a folder that others are in would hide them. */
static bool holds_the_machine(const char *path, const struct fs_place *place) {
    return path_is_within(place->home, path) || path_is_within(place->cwd, path);
}

static bool holds_denied(const struct fs_rules *rules, size_t first, size_t last, const char *path) {
    for (size_t i = first; i < last; i++)
        if ((rules->items[i].kind == FS_DENY_READ || rules->items[i].kind == FS_DENY_WRITE) &&
            path_is_within(rules->items[i].path, path))
            return true;
    return false;
}

static int push_cache(const struct fs_place *place, size_t first_denial, size_t last_denial,
                      struct resolved_path *file, struct fs_rules *out, struct error *err) {
    enum fs_rule_kind kind = FS_PRIVATE_COPY;
    if (fs_may_be_planted(file, place) || holds_the_machine(file->path, place)) {
        out->cache_is_missing = true;
        return fs_rules_warn(out, err,
                             "npm's cache is not shown to commands, they have an empty one: %s leads to %s",
                             place->package_cache, file->path);
    }
    if (holds_denied(out, first_denial, last_denial, file->path)) {
        kind = FS_PRIVATE_EMPTY;
        if (fs_rules_warn(out, err,
                          "npm's cache is not shown to commands, they have an empty one: something in %s is "
                          "denied",
                          file->path) != 0)
            return -1;
    }
    return fs_rules_push(out, kind, file, NULL, err);
}

static int resolve_cache(const struct fs_options *options, const struct fs_place *place, size_t first_denial,
                         size_t last_denial, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(place->package_cache, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (result == 0 && !options->package_cache) {
        out->package_cache = outcome == RESOLVE_UNREACHABLE ? NULL : file.path;
        file.path = out->package_cache == NULL ? file.path : NULL;
    } else if (result == 0 && is_folder(outcome, &file)) {
        result = push_cache(place, first_denial, last_denial, &file, out, err);
    } else if (result == 0) {
        out->cache_is_missing = true;
    }
    resolved_path_clear(&file);
    return result;
}

/* --- where the command starts --- */

/* It is there, as its caller says so, though nothing in it need be to see. */
static int show_start(const struct fs_place *place, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(place->start, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    bool shown = file.path != NULL && (file.path[1] == '\0' || fs_rules_is_writable(out, file.path));
    if (is_folder(outcome, &file) && !shown)
        result = fs_rules_push(out, FS_SHOW_FOLDER, &file, NULL, err);
    resolved_path_clear(&file);
    return result;
}

int private_folders_resolve(const struct fs_options *options, const struct fs_place *place,
                            size_t first_denial, size_t last_denial, struct fs_rules *out,
                            struct error *err) {
    if (options->private_tmp && (push_tmp("/tmp", out, err) != 0 || push_tmp(place->tmpdir, out, err) != 0))
        return -1;
    if (place->package_cache != NULL &&
        resolve_cache(options, place, first_denial, last_denial, out, err) != 0)
        return -1;
    if (place->start == NULL || (!options->private_tmp && !fs_options_are_strict(options)))
        return 0;
    return show_start(place, out, err);
}
