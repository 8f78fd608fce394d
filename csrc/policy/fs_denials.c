#include "policy/fs_denials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/path.h"
#include "policy/credentials.h"
#include "policy/fs_pattern.h"

/* A kind of denial, and what a violation says of it. */
struct denial_source {
    enum fs_rule_kind kind;
    enum fs_rule_origin origin;
    const char *why;
};

static const struct denial_source kernel_files = {FS_DENY_WRITE, FS_DEFAULT, "kernel files"};
static const struct denial_source credentials = {FS_DENY_READ, FS_DEFAULT, "credentials, denied by default"};
static const struct denial_source deny_write = {FS_DENY_WRITE, FS_ASKED, "denied by denyWrite"};
static const struct denial_source deny_read = {FS_DENY_READ, FS_ASKED, "denied by denyRead"};

/* What is to be made of one denied path. */
struct denied {
    const struct denial_source *source;
    const char *written; /* expanded, as written */
    bool by_pattern;     /* a rule by name covers it already */
};

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
static int push_file(const struct denied *denied, enum resolve_outcome outcome, struct resolved_path *file,
                     struct fs_rules *out, struct error *err) {
    const struct denial_source *source = denied->source;
    enum fs_rule_kind kind = source->kind;
    if (outcome == RESOLVE_FAILED)
        return -1;
    if (outcome == RESOLVE_UNREACHABLE && file->owner == geteuid())
        kind = FS_DENY_READ;
    else if (outcome != RESOLVE_FOUND)
        return 0;
    if (kind == FS_DENY_READ &&
        (push_name(denied->written, out, err) != 0 || push_name(file->path, out, err) != 0))
        return -1;
    return fs_rules_push_of(out, kind, source->origin, file, source->why, err);
}

/* The links on the way are kept as they are where a command could replace them; what the path leads to is
 * held by name, so that it holds when it comes, or when the host puts another file there. */
static int hold(const struct denied *denied, enum resolve_outcome outcome, const struct resolved_path *file,
                struct fs_rules *out, struct error *err) {
    const struct denial_source *source = denied->source;
    for (size_t i = 0; i < file->links.count; i++)
        if (fs_rules_is_writable(out, file->links.items[i]) &&
            fs_rules_hold(out, false, false, file->links.items[i], source->why, err) != 0)
            return -1;
    bool there = outcome == RESOLVE_FOUND || outcome == RESOLVE_ABSENT;
    bool covered = denied->by_pattern && file->links.count == 0;
    if (!there || covered || (source->origin != FS_ASKED && !fs_rules_is_writable(out, file->path)))
        return 0;
    return fs_rules_hold(out, source->kind == FS_DENY_READ, false, file->path, source->why, err);
}

static int push_later(const struct denied *denied, enum resolve_outcome outcome,
                      const struct resolved_path *file, struct fs_rules *out, struct error *err) {
    if (denied->source->kind != FS_DENY_READ || outcome != RESOLVE_ABSENT)
        return 0;
    return strvec_push(&out->later, file->path) == 0 ? 0 : error_memory(err);
}

static int push_target(const struct denied *denied, enum resolve_outcome outcome, struct resolved_path *file,
                       struct fs_rules *out, struct error *err) {
    if (hold(denied, outcome, file, out, err) != 0 || push_later(denied, outcome, file, out, err) != 0)
        return -1;
    return push_file(denied, outcome, file, out, err);
}

static int push_resolved(const struct denied *denied, const char *path, struct fs_rules *out,
                         struct error *err) {
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = push_target(denied, outcome, &file, out, err);
    resolved_path_clear(&file);
    return result;
}

/* What the path led to in earlier runs stays denied: a command may have turned a link on its way. now: what
 * it leads to, or NULL. */
static int push_earlier_targets(const struct denied *denied, const char *now, const struct fs_place *place,
                                struct fs_rules *out, struct error *err) {
    struct strvec targets = {0};
    int result = path_memory_denied(place->memory, denied->written, &targets) == 0 ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < targets.count; i++)
        if (now == NULL || strcmp(targets.items[i], now) != 0)
            result = push_resolved(denied, targets.items[i], out, err);
    strvec_clear(&targets);
    return result;
}

/* A mount cannot lie on a symlink: without a supervisor one in a write root can be replaced, and its new
 * target is another file. */
static int warn_of_link(const char *path, const struct resolved_path *file, struct fs_rules *out,
                        struct error *err) {
    for (size_t i = 0; i < file->links.count; i++)
        if (fs_rules_is_writable(out, file->links.items[i]))
            return fs_rules_warn(
                out, err,
                "%s leads through a symlink that commands can replace: %s is protected, the link is not",
                path, file->path);
    return 0;
}

/* Says what the links on a denied path's way mean, remembers where they led, and makes the rules. */
static int push_denied(const struct denied *denied, enum resolve_outcome outcome, struct resolved_path *file,
                       const struct fs_place *place, struct fs_rules *out, struct error *err) {
    bool there = outcome == RESOLVE_FOUND || outcome == RESOLVE_ABSENT;
    if (there && file->links.count > 0) {
        if (!place->supervised && warn_of_link(denied->written, file, out, err) != 0)
            return -1;
        if (path_memory_deny(place->memory, denied->written, file->path) != 0)
            return error_memory(err);
    }
    /* A rule takes it out of file. */
    const char *now = file->path;
    if (push_target(denied, outcome, file, out, err) != 0)
        return -1;
    return push_earlier_targets(denied, now, place, out, err);
}

/* --- the options' entries --- */

/* Why an entry of the options that denies cannot be honoured: an error, so that nothing runs open. */
static int refuse_entry(enum fs_rule_kind kind, const char *path, enum resolve_outcome outcome,
                        const struct resolved_path *file, struct error *err) {
    if (outcome != RESOLVE_FOUND || kind != FS_DENY_READ)
        return 0;
    if (strcmp(file->path, "/") == 0)
        return error_set(err, ERROR_OPTIONS, 0, "/ cannot be read-denied, nothing could run");
    if (path_is_within(file->path, "/proc"))
        return error_set(err, ERROR_OPTIONS, 0,
                         "%s: commands have a /proc of their own, which cannot be read-denied", path);
    return 0;
}

static int push_match(const struct denial_source *source, const char *path, const struct fs_place *place,
                      struct fs_rules *out, struct error *err) {
    const struct denied denied = {source, path, true};
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = push_denied(&denied, outcome, &file, place, out, err);
    resolved_path_clear(&file);
    return result;
}

/* What matches now becomes rules, what will match is held by the pattern. */
static int push_pattern(const struct denial_source *source, const char *pattern, const struct fs_place *place,
                        struct fs_rules *out, struct error *err) {
    struct strvec found = {0};
    int result = fs_rules_hold(out, source->kind == FS_DENY_READ, true, pattern, source->why, err);
    if (result == 0)
        result = glob_walk_find(place->globs, pattern, &found, err);
    for (size_t i = 0; result == 0 && i < found.count; i++)
        result = push_match(source, found.items[i], place, out, err);
    strvec_clear(&found);
    return result;
}

/* The links before a pattern's first character: kept, and where they led is remembered. */
static int push_lead(const struct denial_source *source, const struct fs_pattern *pattern,
                     const struct fs_place *place, struct fs_rules *out, struct error *err) {
    const struct denied denied = {source, pattern->lead, true};
    const struct resolved_path *file = &pattern->folder;
    if (file->links.count == 0)
        return 0;
    if (!place->supervised && warn_of_link(pattern->lead, file, out, err) != 0)
        return -1;
    if (path_memory_deny(place->memory, pattern->lead, file->path) != 0)
        return error_memory(err);
    /* Its own target is no denied path: only the links count. */
    return hold(&denied, RESOLVE_UNREACHABLE, file, out, err);
}

static int push_glob(const struct denial_source *source, const char *path, size_t base,
                     const struct fs_place *place, struct fs_rules *out, struct error *err) {
    struct fs_pattern pattern;
    struct strvec leads = {0};
    int result = fs_pattern_split(path, base, &pattern, err);
    if (result == 0)
        result = push_lead(source, &pattern, place, out, err);
    if (result == 0 && path_memory_denied(place->memory, pattern.lead, &leads) != 0)
        result = error_memory(err);
    /* With links it was just remembered. */
    if (result == 0 && pattern.folder.links.count == 0)
        result = strvec_push(&leads, pattern.folder.path) == 0 ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < leads.count; i++) {
        cleanup_free char *real = fs_pattern_at(&pattern, leads.items[i]);
        result = real == NULL ? error_memory(err) : push_pattern(source, real, place, out, err);
    }
    if (result == 0 && pattern.as_written != NULL)
        result = fs_rules_hold(out, source->kind == FS_DENY_READ, true, pattern.as_written, source->why, err);
    strvec_clear(&leads);
    fs_pattern_clear(&pattern);
    return result;
}

static int push_entry(const struct denial_source *source, const char *entry, const struct fs_place *place,
                      struct fs_rules *out, struct error *err) {
    cleanup_free char *path = fs_entry_expand(entry, place->cwd, place->home);
    const size_t base = fs_entry_base(entry, place->cwd, place->home);
    struct resolved_path file = {0};
    if (path == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : refuse_entry(source->kind, path, outcome, &file, err);
    const struct denied denied = {source, path, false};
    if (result == 0 && outcome == RESOLVE_ABSENT && glob_has_magic(path + base))
        result = push_glob(source, path, base, place, out, err);
    else if (result == 0 &&
             strvec_push(source->kind == FS_DENY_READ ? &out->read_denied : &out->write_denied, path) != 0)
        result = error_memory(err);
    else if (result == 0)
        result = push_denied(&denied, outcome, &file, place, out, err);
    resolved_path_clear(&file);
    return result;
}

static int push_entries(const struct denial_source *source, const struct strvec *entries, const char *option,
                        const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < entries->count; i++) {
        const size_t rules = out->count;
        const size_t names = out->name_count;
        if (push_entry(source, entries->items[i], place, out, err) != 0)
            return error_wrap(err, "filesystem.%s[%zu]", option, i);
        fs_rules_attribute(out, rules, names, (struct fs_source){option, i});
    }
    return 0;
}

/* --- the defaults --- */

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
    const struct denied denied = {&credentials, path, false};
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result;
    if (outcome == RESOLVE_FOUND && is_too_wide(file.path, place))
        result =
            fs_rules_warn(out, err, "%s leads to %s, which cannot be hidden from commands", path, file.path);
    else
        result = push_denied(&denied, outcome, &file, place, out, err);
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
    for (size_t i = 0; i < place->always_read_only->count; i++) {
        const struct denied denied = {&kernel_files, place->always_read_only->items[i], true};
        if (push_resolved(&denied, denied.written, out, err) != 0)
            return -1;
    }
    if (push_credentials(place->home, place, out, err) != 0)
        return -1;
    return place->account_home == NULL ? 0 : push_credentials(place->account_home, place, out, err);
}

int fs_denials_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                       struct error *err) {
    if (push_built_in(place, out, err) != 0 ||
        push_entries(&deny_write, &options->deny_write, "denyWrite", place, out, err) != 0)
        return -1;
    return push_entries(&deny_read, &options->deny_read, "denyRead", place, out, err);
}
