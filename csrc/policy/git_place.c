#include "policy/git_place.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "platform/look.h"

/* A link of git's is a path and a few bytes more. */
#define LINK_FILE_MAX ((size_t)PATH_MAX + 64)

/* gitrepository-layout(5): what a commit, a fetch or a gc in a linked worktree writes in the common
 * directory; and what protected_paths.c closes in any git directory. */
static const char *const not_denied[] = {"objects", "refs",      "logs",  "rr-cache", "packed-refs",
                                         "shallow", "worktrees", "hooks", "config",   "config.worktree"};
/* Those of them that are folders, for a run that has nobody to hold new names in the common directory. */
static const char *const folders_of_commits[] = {"objects", "refs", "logs"};
/* In the worktree's own git directory: what leads elsewhere, or is configuration. */
static const char *const kept_in_own[] = {"commondir", "gitdir", "config.worktree"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char kept[] = "protected: git directory of another worktree";
static const char kept_link[] = "protected: link of a git directory";

struct place {
    char *own;    /* C/worktrees/NAME */
    char *common; /* C */
    const char *name;
};

static void place_clear(struct place *place) {
    free(place->own);
    free(place->common);
}

static char *below(const char *folder, const char *name) {
    return path_join(folder[1] == '\0' ? "" : folder, name);
}

/* The path in a file of git's, as written: what stands behind the prefix, without the newline. NULL: there is
 * none. */
static char *link_text(const char *file, const char *prefix) {
    size_t length = 0;
    cleanup_free char *text = look_at_file(file, LINK_FILE_MAX, &length);
    if (text == NULL || strlen(text) != length || strncmp(text, prefix, strlen(prefix)) != 0)
        return NULL;
    const char *path = text + strlen(prefix);
    size_t end = strlen(path);
    while (end > 0 && (path[end - 1] == '\n' || path[end - 1] == '\r'))
        end--;
    return end == 0 ? NULL : strndup(path, end);
}

/* What the path in folder/file leads to, by no symlink that a command could have made. NULL: nothing such. */
static char *follow(const char *folder, const char *file, const char *prefix, const struct fs_place *place) {
    struct error ignored = {0};
    struct resolved_path found = {0};
    cleanup_free char *from = below(folder, file);
    cleanup_free char *text = from == NULL ? NULL : link_text(from, prefix);
    cleanup_free char *path = text == NULL ? NULL : path_join(folder, text);
    char *real = NULL;
    if (path != NULL && path_resolve(path, &found, &ignored) == RESOLVE_FOUND &&
        !fs_may_be_planted(&found, place)) {
        real = found.path;
        found.path = NULL;
    }
    resolved_path_clear(&found);
    return real;
}

static bool is_folder(const char *folder, const char *name) {
    struct error ignored = {0};
    struct resolved_path found = {0};
    cleanup_free char *path = below(folder, name);
    bool is = path != NULL && path_resolve(path, &found, &ignored) == RESOLVE_FOUND &&
              found.links.count == 0 && S_ISDIR(found.mode);
    resolved_path_clear(&found);
    return is;
}

/* Splits C/worktrees/NAME. */
static bool split_own(struct place *found) {
    char *name = strrchr(found->own, '/');
    char *middle = name == NULL ? NULL : memrchr(found->own, '/', (size_t)(name - found->own));
    if (middle == NULL || middle == found->own || strncmp(middle, "/worktrees/", 11) != 0)
        return false;
    found->name = name + 1;
    found->common = strndup(found->own, (size_t)(middle - found->own));
    return found->common != NULL;
}

/* True where the worktree's git directory says the same: only git's own links go both ways, and a command
 * that can write one end cannot write the other. */
static bool leads_back(const struct place *found, const char *cwd, const struct fs_place *place) {
    cleanup_free char *back = follow(found->own, "gitdir", "", place);
    cleanup_free char *common = follow(found->own, "commondir", "", place);
    cleanup_free char *dot_git = below(cwd, ".git");
    return back != NULL && common != NULL && dot_git != NULL && strcmp(back, dot_git) == 0 &&
           strcmp(common, found->common) == 0 && is_folder(found->common, "objects") &&
           is_folder(found->common, "refs");
}

/* --- rules --- */

/* A rule for what is at the path itself, if anything is: a symlink there is passed over. */
static int push(struct fs_rules *out, enum fs_rule_kind kind, const char *folder, const char *name,
                const char *why, struct error *err) {
    struct resolved_path file = {0};
    cleanup_free char *path = below(folder, name);
    if (path == NULL)
        return error_memory(err);
    enum resolve_outcome outcome = path_resolve(path, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND && file.links.count == 0)
        result = fs_rules_push(out, kind, &file, why, err);
    resolved_path_clear(&file);
    return result;
}

static int grant(const struct fs_place *place, struct fs_rules *out, const char *path, struct error *err) {
    if (path_memory_grant(place->memory, path) != 0)
        return error_memory(err);
    return push(out, FS_ALLOW_WRITE, path, "", NULL, err);
}

static bool is_one_of(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Every entry of the folder but those. */
static int deny_others(struct fs_rules *out, const char *folder, const char *const *but, size_t count,
                       struct error *err) {
    struct strvec names = {0};
    int result = look_at_folder(folder, &names) ? 0
                                                : error_set(err, ERROR_HOST, 0,
                                                            "%s: the git directory of this worktree cannot "
                                                            "be read",
                                                            folder);
    for (size_t i = 0; result == 0 && i < names.count; i++)
        if (!is_one_of(names.items[i], but, count))
            result = push(out, FS_DENY_WRITE, folder, names.items[i], kept, err);
    strvec_clear(&names);
    return result;
}

static int deny_own_links(struct fs_rules *out, const struct place *found, struct error *err) {
    for (size_t i = 0; i < COUNT(kept_in_own); i++)
        if (push(out, FS_DENY_WRITE, found->own, kept_in_own[i], kept_link, err) != 0)
            return -1;
    return 0;
}

static int grant_supervised(const struct place *found, const struct fs_place *place, struct fs_rules *out,
                            struct error *err) {
    cleanup_free char *worktrees = below(found->common, "worktrees");
    if (worktrees == NULL || (out->common_dir = strdup(found->common)) == NULL ||
        (out->worktree = strdup(found->name)) == NULL)
        return error_memory(err);
    if (grant(place, out, found->common, err) != 0 ||
        deny_others(out, found->common, not_denied, COUNT(not_denied), err) != 0)
        return -1;
    return deny_others(out, worktrees, &found->name, 1, err);
}

static int grant_unsupervised(const struct place *found, const struct fs_place *place, struct fs_rules *out,
                              struct error *err) {
    for (size_t i = 0; i < COUNT(folders_of_commits); i++) {
        cleanup_free char *path = below(found->common, folders_of_commits[i]);
        if (path == NULL)
            return error_memory(err);
        if (is_folder(path, "") && grant(place, out, path, err) != 0)
            return -1;
    }
    return grant(place, out, found->own, err);
}

static const char *granted_cwd(const struct fs_rules *rules, const char *real) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == FS_ALLOW_WRITE && rules->items[i].directory &&
            strcmp(rules->items[i].path, real) == 0)
            return rules->items[i].path;
    return NULL;
}

static int resolve_at(const char *cwd, const struct fs_place *place, struct fs_rules *out,
                      struct error *err) {
    struct place found = {.own = follow(cwd, ".git", "gitdir: ", place)};
    int result = 0;
    if (found.own != NULL && split_own(&found) && leads_back(&found, cwd, place) &&
        !fs_rules_is_writable(out, found.common)) {
        result = place->supervised ? grant_supervised(&found, place, out, err)
                                   : grant_unsupervised(&found, place, out, err);
        if (result == 0)
            result = deny_own_links(out, &found, err);
    }
    place_clear(&found);
    return result;
}

int git_place_resolve(const struct fs_place *place, struct fs_rules *out, struct error *err) {
    struct resolved_path file = {0};
    enum resolve_outcome outcome = path_resolve(place->cwd, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    const char *cwd = outcome == RESOLVE_FOUND ? granted_cwd(out, file.path) : NULL;
    cleanup_free char *copy = cwd == NULL ? NULL : strdup(cwd);
    if (result == 0 && copy != NULL)
        result = resolve_at(copy, place, out, err);
    resolved_path_clear(&file);
    return result;
}
