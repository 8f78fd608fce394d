#include "policy/fs_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "platform/resolve.h"
#include "policy/credentials.h"

/* Where the framework's bash tool writes its logs. */
#define TASK_LOGS "~/.operon/tasks"

/* Never writable, whatever a write root covers: kernel switches that the owner of the host may turn. */
static const char *const always_read_only[] = {"/sys"};

char *fs_entry_expand(const char *entry, const char *base, const char *home) {
    if (strcmp(entry, "~") == 0)
        return strdup(home);
    if (strncmp(entry, "~/", 2) == 0)
        return path_join(home, entry + 2 + strspn(entry + 2, "/"));
    return path_join(base, entry);
}

static int push_rule(struct fs_rules *rules, enum fs_rule_kind kind, struct resolved_path *file, struct error *err) {
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
                                                    .directory = S_ISDIR(file->mode)};
    file->path = NULL;
    return 0;
}

static int warn(struct fs_rules *rules, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int warn(struct fs_rules *rules, struct error *err, const char *format, ...) {
    char text[8192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return strvec_push(&rules->warnings, text) == 0 ? 0 : error_memory(err);
}

/* A candidate for a write root. */
struct grant {
    char *written; /* expanded, as asked for */
    struct resolved_path file;
    bool found;
    bool refused;
};

struct grants {
    struct grant *items;
    size_t count;
};

static void grants_clear(struct grants *grants) {
    for (size_t i = 0; i < grants->count; i++) {
        free(grants->items[i].written);
        resolved_path_clear(&grants->items[i].file);
    }
    free(grants->items);
}

static int add_grant(struct grants *grants, const char *entry, const struct fs_place *place, struct error *err) {
    struct grant *grant = &grants->items[grants->count++];
    grant->written = fs_entry_expand(entry, place->cwd, place->home);
    if (grant->written == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(grant->written, &grant->file, err);
    if (outcome == RESOLVE_FAILED)
        return -1;
    grant->found = outcome == RESOLVE_FOUND;
    return 0;
}

static int collect_grants(const struct fs_options *options, const struct fs_place *place, struct grants *grants,
                          struct error *err) {
    const char *const fixed[] = {place->cwd, place->tmpdir, "/tmp", TASK_LOGS};
    const size_t fixed_count = sizeof fixed / sizeof fixed[0];
    grants->items =
        calloc(fixed_count + options->allow_write.count + place->additional_dirs->count, sizeof *grants->items);
    if (grants->items == NULL)
        return error_memory(err);
    for (size_t i = 0; i < fixed_count; i++)
        if (add_grant(grants, fixed[i], place, err) != 0)
            return -1;
    for (size_t i = 0; i < options->allow_write.count; i++)
        if (add_grant(grants, options->allow_write.items[i], place, err) != 0)
            return -1;
    for (size_t i = 0; i < place->additional_dirs->count; i++)
        if (add_grant(grants, place->additional_dirs->items[i], place, err) != 0)
            return -1;
    return 0;
}

/* True where a symlink on the grant's way lies inside a root that stands, so that a command could have made it. */
static bool leads_through_root(const struct grant *grant, const struct grants *grants, bool direct_only) {
    for (size_t l = 0; l < grant->file.link_folders.count; l++)
        for (size_t i = 0; i < grants->count; i++) {
            const struct grant *root = &grants->items[i];
            if (root == grant || !root->found || root->refused)
                continue;
            if (direct_only && root->file.link_folders.count > 0)
                continue;
            if (path_is_within(grant->file.link_folders.items[l], root->file.path))
                return true;
        }
    return false;
}

static bool inside_direct_root(const struct grant *grant, const struct grants *grants) {
    for (size_t i = 0; i < grants->count; i++) {
        const struct grant *root = &grants->items[i];
        if (root != grant && root->found && root->file.link_folders.count == 0 &&
            path_is_within(grant->file.path, root->file.path))
            return true;
    }
    return false;
}

/*
 * A command that may write in /tmp can replace /tmp/work by a symlink to /etc; the next run of a machine whose cwd is
 * /tmp/work must not be granted /etc. Roots reached without any symlink stand; others are judged against those first,
 * then against each other, so that a planted one cannot vouch for itself.
 */
static int refuse_planted_grants(const struct grants *grants, struct fs_rules *out, struct error *err) {
    for (int direct_only = 1; direct_only >= 0; direct_only--)
        for (size_t i = 0; i < grants->count; i++) {
            struct grant *grant = &grants->items[i];
            if (!grant->found || grant->refused || grant->file.link_folders.count == 0)
                continue;
            if (!leads_through_root(grant, grants, direct_only != 0) || inside_direct_root(grant, grants))
                continue;
            grant->refused = true;
            if (warn(out, err,
                     "%s is not writable in the sandbox: it leads to %s through a symlink that a command could have "
                     "made; name the real path",
                     grant->written, grant->file.path) != 0)
                return -1;
        }
    return 0;
}

/* Root without capabilities is an ordinary user: what others own is closed to it, which surprises in containers. */
static int warn_of_foreign_owner(const struct grant *grant, struct fs_rules *out, struct error *err) {
    if (geteuid() != 0 || grant->file.owner == 0 || (grant->file.mode & S_IWOTH) != 0)
        return 0;
    return warn(out, err,
                "%s belongs to uid %u: a command of root has no capabilities in the sandbox and cannot write there; run "
                "as that user, or change the owner",
                grant->file.path, grant->file.owner);
}

/* Grants that a person is likely not to mean. */
static int judge_grant(struct grant *grant, const struct fs_place *place, struct fs_rules *out, struct error *err) {
    bool is_root = strcmp(grant->file.path, "/") == 0;
    if (is_root && grant->written != NULL && strcmp(grant->written, place->tmpdir) == 0 &&
        strcmp(place->tmpdir, place->cwd) != 0) {
        grant->refused = true;
        return warn(out, err, "the temporary directory is /: it is not made writable in the sandbox");
    }
    if (strcmp(grant->written, place->cwd) != 0)
        return 0;
    if (is_root || strcmp(grant->file.path, place->home) == 0)
        return warn(out, err, "the working directory is %s: everything below it is writable for commands",
                    grant->file.path);
    return 0;
}

static int push_grants(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                       struct error *err) {
    struct grants grants = {0};
    int result = collect_grants(options, place, &grants, err);
    if (result == 0)
        result = refuse_planted_grants(&grants, out, err);
    for (size_t i = 0; result == 0 && i < grants.count; i++) {
        struct grant *grant = &grants.items[i];
        if (!grant->found || grant->refused)
            continue;
        result = judge_grant(grant, place, out, err);
        if (result == 0)
            result = warn_of_foreign_owner(grant, out, err);
        if (result == 0 && !grant->refused)
            result = push_rule(out, FS_ALLOW_WRITE, &grant->file, err);
    }
    grants_clear(&grants);
    return result;
}

static bool has_glob(const char *entry) {
    return strpbrk(entry, "*?[{") != NULL;
}

/* One path of a rule that denies; option is NULL for the built-in ones. */
static int push_denial(enum fs_rule_kind kind, const char *entry, const struct fs_place *place, const char *option,
                       struct fs_rules *out, struct error *err) {
    cleanup_free char *path = fs_entry_expand(entry, place->cwd, place->home);
    if (path == NULL)
        return error_memory(err);
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    if (outcome == RESOLVE_FAILED)
        return -1;
    if (outcome == RESOLVE_UNREACHABLE && option != NULL && file.owner == geteuid())
        return error_set(err, ERROR_OPTIONS, 0,
                         "%s: %s lies in a folder that is closed to its own owner, who could open it again; it cannot be "
                         "protected there",
                         option, path);
    if (outcome == RESOLVE_ABSENT && option != NULL && has_glob(entry))
        return error_set(err, ERROR_OPTIONS, 0, "%s: globs are not supported by this version, and no file is named %s",
                         option, path);
    if (outcome == RESOLVE_FOUND && kind == FS_DENY_READ && strcmp(file.path, "/") == 0) {
        resolved_path_clear(&file);
        return error_set(err, ERROR_OPTIONS, 0, "%s: / cannot be read-denied, nothing could run", option ? option : "");
    }
    int result = outcome == RESOLVE_FOUND ? push_rule(out, kind, &file, err) : 0;
    resolved_path_clear(&file);
    return result;
}

static int push_denials(enum fs_rule_kind kind, const struct strvec *entries, const char *option,
                        const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < entries->count; i++) {
        char name[64];
        snprintf(name, sizeof name, "filesystem.%s[%zu]", option, i);
        if (push_denial(kind, entries->items[i], place, name, out, err) != 0)
            return -1;
    }
    return 0;
}

static int push_built_in(const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < sizeof always_read_only / sizeof always_read_only[0]; i++)
        if (push_denial(FS_DENY_WRITE, always_read_only[i], place, NULL, out, err) != 0)
            return -1;
    for (size_t i = 0; i < credential_path_count; i++) {
        cleanup_free char *path = path_join(place->home, credential_paths[i].below_home);
        if (path == NULL)
            return error_memory(err);
        if (push_denial(FS_DENY_READ, path, place, NULL, out, err) != 0)
            return -1;
    }
    return 0;
}

int fs_rules_resolve(const struct fs_options *options, const struct fs_place *place, struct fs_rules *out,
                     struct error *err) {
    *out = (struct fs_rules){0};
    if (push_grants(options, place, out, err) == 0 && push_built_in(place, out, err) == 0 &&
        push_denials(FS_DENY_WRITE, &options->deny_write, "denyWrite", place, out, err) == 0 &&
        push_denials(FS_DENY_READ, &options->deny_read, "denyRead", place, out, err) == 0)
        return 0;
    fs_rules_clear(out);
    return -1;
}

void fs_rules_clear(struct fs_rules *rules) {
    for (size_t i = 0; i < rules->count; i++)
        free(rules->items[i].path);
    free(rules->items);
    strvec_clear(&rules->warnings);
    *rules = (struct fs_rules){0};
}
