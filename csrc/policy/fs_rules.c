#include "policy/fs_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/path.h"
#include "policy/credentials.h"
#include "policy/write_roots.h"

char *fs_entry_expand(const char *entry, const char *base, const char *home) {
    if (strcmp(entry, "~") == 0)
        return strdup(home);
    if (strncmp(entry, "~/", 2) == 0)
        return path_join(home, entry + 2 + strspn(entry + 2, "/"));
    return path_join(base, entry);
}

int fs_rules_push(struct fs_rules *rules, enum fs_rule_kind kind, struct resolved_path *file, const char *why,
                  struct error *err) {
    if (rules->count == rules->capacity) {
        size_t capacity = rules->capacity == 0 ? 32 : rules->capacity * 2;
        struct fs_rule *items = realloc(rules->items, capacity * sizeof *items);
        if (items == NULL)
            return error_memory(err);
        rules->items = items;
        rules->capacity = capacity;
    }
    rules->items[rules->count++] = (struct fs_rule){.kind = kind,
                                                    .path = file->path,
                                                    .device = file->device,
                                                    .inode = file->inode,
                                                    .directory = S_ISDIR(file->mode),
                                                    .why = why};
    file->path = NULL;
    return 0;
}

int fs_rules_warn(struct fs_rules *rules, struct error *err, const char *format, ...) {
    char text[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strvec_push(&rules->warnings, text) == 0 ? 0 : error_memory(err);
}

/* Why an entry of the options that denies cannot be honoured: an error, so that nothing runs open. */
static int refuse_entry(enum fs_rule_kind kind, const char *entry, const char *path,
                        enum resolve_outcome outcome, const struct resolved_path *file, struct error *err) {
    if (outcome == RESOLVE_ABSENT && glob_has_magic(entry))
        return error_set(err, ERROR_OPTIONS, 0,
                         "globs are not supported by this version, and no file is named %s", path);
    if (outcome != RESOLVE_FOUND || kind != FS_DENY_READ)
        return 0;
    if (strcmp(file->path, "/") == 0)
        return error_set(err, ERROR_OPTIONS, 0, "/ cannot be read-denied, nothing could run");
    if (path_is_within(file->path, "/proc"))
        return error_set(err, ERROR_OPTIONS, 0,
                         "%s: commands have a /proc of their own, which cannot be read-denied", path);
    return 0;
}

/* A kind of denial, and what a violation says of it. */
struct denial_source {
    enum fs_rule_kind kind;
    const char *why;
};

static const struct denial_source kernel_files = {FS_DENY_WRITE, "kernel files"};
static const struct denial_source credentials = {FS_DENY_READ, "credentials, denied by default"};
static const struct denial_source deny_write = {FS_DENY_WRITE, "denied by denyWrite"};
static const struct denial_source deny_read = {FS_DENY_READ, "denied by denyRead"};

static int push_name(const char *path, struct fs_rules *out, struct error *err) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    /* What ends with a slash has no name that commands would be known by. */
    if (*name == '\0')
        return 0;
    return strvec_push(&out->read_denied_names, name) == 0 ? 0 : error_memory(err);
}

/*
 * What is there becomes a rule. A folder on the way that is closed to its own owner is hidden as it is: a
 * command, as that owner, could open it again, and an earlier one may have closed it for that.
 */
static int push_file(const struct denial_source *source, const char *written, enum resolve_outcome outcome,
                     struct resolved_path *file, struct fs_rules *out, struct error *err) {
    enum fs_rule_kind kind = source->kind;
    if (outcome == RESOLVE_FAILED)
        return -1;
    if (outcome == RESOLVE_UNREACHABLE && file->owner == geteuid())
        kind = FS_DENY_READ;
    else if (outcome != RESOLVE_FOUND)
        return 0;
    if (kind == FS_DENY_READ && (push_name(written, out, err) != 0 || push_name(file->path, out, err) != 0))
        return -1;
    return fs_rules_push(out, kind, file, source->why, err);
}

static int push_resolved(const struct denial_source *source, const char *path, struct fs_rules *out,
                         struct error *err) {
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = push_file(source, path, outcome, &file, out, err);
    resolved_path_clear(&file);
    return result;
}

/* What the path led to in earlier runs stays denied: a command may have turned a link on its way. */
static int push_earlier_targets(const struct denial_source *source, const char *path,
                                const struct fs_place *place, struct fs_rules *out, struct error *err) {
    struct strvec targets = {0};
    int result = path_memory_denied(place->memory, path, &targets) == 0 ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < targets.count; i++)
        result = push_resolved(source, targets.items[i], out, err);
    strvec_clear(&targets);
    return result;
}

/* A mount cannot lie on a symlink: one in a write root can be replaced, and its new target is another file.
 */
static int warn_of_link(const char *path, const struct resolved_path *file, struct fs_rules *out,
                        struct error *err) {
    for (size_t l = 0; l < file->link_folders.count; l++)
        for (size_t i = 0; i < out->count; i++)
            if (out->items[i].kind == FS_ALLOW_WRITE &&
                path_is_within(file->link_folders.items[l], out->items[i].path))
                return fs_rules_warn(
                    out, err,
                    "%s leads through a symlink that commands can replace: %s is protected, the link is not",
                    path, file->path);
    return 0;
}

/* Follows a denied path, says what its links mean, remembers where they led, and makes the rules. */
static int push_denied(const struct denial_source *source, const char *path, enum resolve_outcome outcome,
                       struct resolved_path *file, const struct fs_place *place, struct fs_rules *out,
                       struct error *err) {
    if (outcome == RESOLVE_FOUND && file->link_folders.count > 0) {
        if (warn_of_link(path, file, out, err) != 0)
            return -1;
        if (path_memory_deny(place->memory, path, file->path) != 0)
            return error_memory(err);
    }
    if (push_file(source, path, outcome, file, out, err) != 0)
        return -1;
    return push_earlier_targets(source, path, place, out, err);
}

static int push_entry(const struct denial_source *source, const char *entry, const struct fs_place *place,
                      struct fs_rules *out, struct error *err) {
    cleanup_free char *path = fs_entry_expand(entry, place->cwd, place->home);
    struct resolved_path file = {0};
    if (path == NULL ||
        strvec_push(source->kind == FS_DENY_READ ? &out->read_denied : &out->write_denied, path) != 0)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result =
        outcome == RESOLVE_FAILED ? -1 : refuse_entry(source->kind, entry, path, outcome, &file, err);
    if (result == 0)
        result = push_denied(source, path, outcome, &file, place, out, err);
    resolved_path_clear(&file);
    return result;
}

static int push_entries(const struct denial_source *source, const struct strvec *entries, const char *option,
                        const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < entries->count; i++)
        if (push_entry(source, entries->items[i], place, out, err) != 0)
            return error_wrap(err, "filesystem.%s[%zu]", option, i);
    return 0;
}

/* Nothing can run where one of these is hidden. */
static const char *const indispensable[] = {"/usr", "/etc", "/dev", "/proc", "/tmp"};

static bool is_too_wide(const char *target, const struct fs_place *place) {
    for (size_t i = 0; i < sizeof indispensable / sizeof indispensable[0]; i++)
        if (path_is_within(indispensable[i], target))
            return true;
    return path_is_within(place->home, target) || path_is_within(place->cwd, target) ||
           path_is_within(target, "/proc");
}

/* A link that a command put where no credentials are must not hide the system: it is passed over, and that is
 * said. */
static int push_credential(const char *path, const struct fs_place *place, struct fs_rules *out,
                           struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result;
    if (outcome == RESOLVE_FOUND && is_too_wide(file.path, place))
        result =
            fs_rules_warn(out, err, "%s leads to %s, which cannot be hidden from commands", path, file.path);
    else
        result = push_denied(&credentials, path, outcome, &file, place, out, err);
    resolved_path_clear(&file);
    return result;
}

static int push_credentials(const char *home, const struct fs_place *place, struct fs_rules *out,
                            struct error *err) {
    for (size_t i = 0; i < credential_path_count; i++) {
        cleanup_free char *path = path_join(home, credential_paths[i].below_home);
        if (path == NULL)
            return error_memory(err);
        if (push_credential(path, place, out, err) != 0)
            return -1;
    }
    return 0;
}

static int push_built_in(const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < place->always_read_only->count; i++)
        if (push_resolved(&kernel_files, place->always_read_only->items[i], out, err) != 0)
            return -1;
    if (push_credentials(place->home, place, out, err) != 0)
        return -1;
    return place->account_home == NULL ? 0 : push_credentials(place->account_home, place, out, err);
}

int fs_rules_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                     struct error *err) {
    *out = (struct fs_rules){0};
    if (write_roots_resolve(options, place, out, err) == 0 && push_built_in(place, out, err) == 0 &&
        push_entries(&deny_write, &options->deny_write, "denyWrite", place, out, err) == 0 &&
        push_entries(&deny_read, &options->deny_read, "denyRead", place, out, err) == 0)
        return 0;
    fs_rules_clear(out);
    return -1;
}

void fs_rules_clear(struct fs_rules *rules) {
    for (size_t i = 0; i < rules->count; i++)
        free(rules->items[i].path);
    free(rules->items);
    strvec_clear(&rules->warnings);
    strvec_clear(&rules->read_denied);
    strvec_clear(&rules->write_denied);
    strvec_clear(&rules->read_denied_names);
    *rules = (struct fs_rules){0};
}
