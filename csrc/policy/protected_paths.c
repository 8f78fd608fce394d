#include "policy/protected_paths.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "platform/look.h"
#include "policy/git_config.h"
#include "policy/protected_names.h"

/* git itself takes larger ones; hooksPath of such is held by the supervisor once git was run. */
#define GIT_CONFIG_MAX ((size_t)1 << 20)

static const char why_hooks[] = "protected: git hooks";
static const char why_config[] = "protected: git configuration, see allowGitConfig";
static const char why_link[] = "protected: link of a git directory";
static const char why_included[] = "protected: file that git configuration includes";
static const char why_file[] = "protected: a .git file is not re-pointed";

/* githooks(5), git-config(1) "FILES", gitrepository-layout(5) */
static const struct git_row {
    const char *name;
    const char *why;
    bool config;
} git_rows[] = {
    {"hooks", why_hooks, false},    {"config", why_config, true}, {"config.worktree", why_config, true},
    {"commondir", why_link, false}, {"gitdir", why_link, false},
};

static char *below(const char *folder, const char *name) {
    return path_join(folder[1] == '\0' ? "" : folder, name);
}

/* True where a write root is the path or lies below it: nothing could be done there any more. */
static bool holds_a_root(const struct fs_rules *rules, const char *path) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_ALLOW_WRITE && path_is_within(rules->items[i].path, path))
            return true;
    return false;
}

/* The symlinks on the path's way. Its own name is held without that where it is a protected one. */
static int hold_links(const char *path, const struct resolved_path *file, const char *why,
                      struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < file->links.count; i++) {
        const char *link = file->links.items[i];
        if (strcmp(link, path) != 0 && fs_rules_is_writable(out, link) &&
            fs_rules_hold(out, false, false, link, why, err) != 0)
            return -1;
    }
    return 0;
}

/* A link's name is held by the supervisor; what it leads to bears no such name, and is held by its path. */
static int push(const char *path, const char *why, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    bool there = outcome == RESOLVE_FOUND;
    bool linked = (there || outcome == RESOLVE_ABSENT) && file.links.count > 0;
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (linked)
        result = hold_links(path, &file, why, out, err);
    if (linked && (!fs_rules_is_writable(out, file.path) || holds_a_root(out, file.path)))
        there = linked = false;
    if (result == 0 && linked)
        result = fs_rules_hold(out, false, false, file.path, why, err);
    if (result == 0 && there)
        result = fs_rules_push_of(out, FS_DENY_WRITE, FS_DEFAULT, &file, why, err);
    resolved_path_clear(&file);
    return result;
}

/* The same of a path that bears no protected name: it is held as well, whether something is there or not. */
static int push_led(const char *path, const char *why, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (result == 0 && outcome != RESOLVE_UNREACHABLE)
        result = hold_links("", &file, why, out, err);
    bool held = result == 0 && outcome != RESOLVE_UNREACHABLE && fs_rules_is_writable(out, file.path) &&
                !holds_a_root(out, file.path);
    if (held)
        result = fs_rules_hold(out, false, false, file.path, why, err);
    if (result == 0 && held && outcome == RESOLVE_FOUND)
        result = fs_rules_push_of(out, FS_DENY_WRITE, FS_DEFAULT, &file, why, err);
    resolved_path_clear(&file);
    return result;
}

static int push_names(const char *root, uint64_t freed, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < protected_name_count; i++) {
        cleanup_free char *path = below(root, protected_names[i].path);
        if (path == NULL)
            return error_memory(err);
        if ((freed & (uint64_t)1 << i) == 0 && push(path, protected_names[i].why, out, err) != 0)
            return -1;
    }
    return 0;
}

/* --- repositories --- */

struct repository {
    const char *directory; /* real path of the git directory */
    const char *top;       /* what core.hooksPath is relative to: the worktree, or the bare repository */
};

static int push_hooks_path(const char *value, const struct repository *repository,
                           const struct fs_place *place, struct fs_rules *out, struct error *err) {
    cleanup_free char *path = fs_entry_expand(value, repository->top, place->home);
    struct resolved_path file = {0};
    if (path == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (result == 0 && outcome != RESOLVE_UNREACHABLE)
        result = hold_links("", &file, why_hooks, out, err);
    if (result == 0 && outcome != RESOLVE_UNREACHABLE && fs_rules_is_writable(out, file.path)) {
        if (holds_a_root(out, file.path))
            result = fs_rules_warn(
                out, err,
                "%s: core.hooksPath is %s, where commands write: hooks that they put there are not refused",
                repository->directory, file.path);
        else if ((result = fs_rules_hold(out, false, false, file.path, why_hooks, err)) == 0 &&
                 outcome == RESOLVE_FOUND)
            result = fs_rules_push_of(out, FS_DENY_WRITE, FS_DEFAULT, &file, why_hooks, err);
    }
    resolved_path_clear(&file);
    return result;
}

/* What a configuration leads to: hooks, and files that it includes (git-config(1), "Includes"). */
struct leads {
    struct strvec hooks;
    struct strvec included;
    bool failed;
};

static struct strvec *leads_by(struct leads *leads, const char *key) {
    if (strcmp(key, "core.hookspath") == 0)
        return &leads->hooks;
    bool includes = fnmatch("includeif.*.path", key, 0) == 0 || strcmp(key, "include.path") == 0;
    return includes ? &leads->included : NULL;
}

static bool note_lead(const struct git_config_entry *entry, void *data) {
    struct leads *leads = data;
    struct strvec *into = leads_by(leads, entry->key);
    if (into == NULL || entry->value == NULL || entry->value[0] == '\0')
        return true;
    leads->failed = strvec_push(into, entry->value) != 0;
    return !leads->failed;
}

static int push_included(const char *value, const struct repository *repository, const struct fs_place *place,
                         struct fs_rules *out, struct error *err) {
    cleanup_free char *path = fs_entry_expand(value, repository->directory, place->home);
    return path == NULL ? error_memory(err) : push_led(path, why_included, out, err);
}

static int push_leads_of(const char *config, const struct repository *repository,
                         const struct fs_place *place, struct fs_rules *out, struct error *err) {
    size_t length = 0;
    cleanup_free char *path = below(repository->directory, config);
    if (path == NULL)
        return error_memory(err);
    cleanup_free char *text = look_at_file(path, GIT_CONFIG_MAX, &length);
    struct leads leads = {0};
    if (text != NULL)
        git_config_read(text, length, note_lead, &leads);
    int result = leads.failed ? error_memory(err) : 0;
    for (size_t i = 0; result == 0 && i < leads.hooks.count; i++)
        result = push_hooks_path(leads.hooks.items[i], repository, place, out, err);
    for (size_t i = 0; result == 0 && i < leads.included.count; i++)
        result = push_included(leads.included.items[i], repository, place, out, err);
    strvec_clear(&leads.hooks);
    strvec_clear(&leads.included);
    return result;
}

static int push_repository(const struct repository *repository, bool config_is_free,
                           const struct fs_place *place, struct fs_rules *out, struct error *err) {
    for (size_t i = 0; i < sizeof git_rows / sizeof git_rows[0]; i++) {
        const struct git_row *row = &git_rows[i];
        cleanup_free char *path = below(repository->directory, row->name);
        if (path == NULL)
            return error_memory(err);
        if (!(row->config && config_is_free) && push(path, row->why, out, err) != 0)
            return -1;
        if (row->config && push_leads_of(row->name, repository, place, out, err) != 0)
            return -1;
    }
    return 0;
}

static bool is_folder(const char *folder, const char *name) {
    struct error ignored = {0};
    struct resolved_path found = {0};
    cleanup_free char *path = below(folder, name);
    bool is = path != NULL && path_resolve(path, &found, &ignored) == RESOLVE_FOUND && S_ISDIR(found.mode);
    resolved_path_clear(&found);
    return is;
}

/* is_git_directory() in git's setup.c */
static bool is_bare_repository(const char *root) {
    return is_folder(root, "objects") && is_folder(root, "refs");
}

static int push_git(const char *root, bool config_is_free, const struct fs_place *place, struct fs_rules *out,
                    struct error *err) {
    struct resolved_path file = {0};
    cleanup_free char *dot_git = below(root, ".git");
    if (dot_git == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(dot_git, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND && S_ISDIR(file.mode))
        result = push_repository(&(struct repository){file.path, root}, config_is_free, place, out, err);
    else if (outcome == RESOLVE_FOUND)
        result = push(dot_git, why_file, out, err);
    else if (result == 0 && is_bare_repository(root))
        result = push_repository(&(struct repository){root, root}, config_is_free, place, out, err);
    resolved_path_clear(&file);
    return result;
}

/* A root that bears such a name itself, or lies below one: it is asked for in vain. */
static int push_root(const char *root, uint64_t freed, struct fs_rules *out, bool *done, struct error *err) {
    const struct protected_name *name = protected_name_of(root, freed, false);
    *done = name != NULL;
    if (name == NULL)
        return 0;
    if (fs_rules_warn(out, err, "%s is not writable in the sandbox (%s)", root, name->why) != 0)
        return -1;
    return push(root, name->why, out, err);
}

static int push_all(const char *root, const struct fs_options *options, const struct fs_place *place,
                    struct fs_rules *out, struct error *err) {
    const uint64_t freed = fs_options_freed_names(options);
    bool done;
    if (push_root(root, freed, out, &done, err) != 0)
        return -1;
    if (done)
        return 0;
    return push_names(root, freed, out, err) == 0 &&
                   push_git(root, options->allow_git_config, place, out, err) == 0
               ? 0
               : -1;
}

int protected_paths_resolve(const struct fs_options *options, const struct fs_place *place,
                            struct fs_rules *out, struct error *err) {
    const size_t roots = out->count;
    for (size_t i = 0; i < roots; i++) {
        const struct fs_rule *rule = &out->items[i];
        cleanup_free char *root = rule->kind == FS_ALLOW_WRITE ? strdup(rule->path) : NULL;
        bool same = false;
        for (size_t j = 0; root != NULL && j < i; j++)
            same = same || (out->items[j].kind == FS_ALLOW_WRITE && strcmp(out->items[j].path, root) == 0);
        if (rule->kind != FS_ALLOW_WRITE || same)
            continue;
        if (root == NULL)
            return error_memory(err);
        if (push_all(root, options, place, out, err) != 0)
            return -1;
    }
    /* A linked worktree's hooks are those of the common directory, but relative to it. */
    if (out->common_dir == NULL)
        return 0;
    const struct repository common = {out->common_dir, place->cwd};
    return push_leads_of("config", &common, place, out, err);
}
