#include "exec/rules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/path.h"
#include "exec/rules_internal.h"
#include "policy/name_fold.h"
#include "policy/protected_names.h"

/* --- set up --- */

/* How long the folder is that everything lies in which the pattern matches. */
static size_t glob_prefix(const char *pattern) {
    size_t length = strcspn(pattern, "*?[{\\");
    while (length > 0 && pattern[length] != '/')
        length--;
    return length;
}

static bool read_rules(struct rules *rules) {
    const struct payload *payload = rules->payload;
    char folded[PATH_MAX];
    rules->prefixes = calloc(payload->rule_count + 1, sizeof *rules->prefixes);
    rules->folded = calloc(payload->rule_count + 1, sizeof *rules->folded);
    if (rules->prefixes == NULL || rules->folded == NULL)
        return false;
    for (size_t i = 0; i < payload->rule_count; i++) {
        const struct payload_rule *rule = &payload->rules[i];
        rules->has_globs = rules->has_globs || rule->glob != 0;
        if (rule->glob != 0) {
            rules->prefixes[i] = glob_prefix(rule->path);
            continue;
        }
        bool folds = path_fold(rule->path, folded, sizeof folded);
        rules->folded[i] = strdup(folds ? folded : rule->path);
        if (rules->folded[i] == NULL)
            return false;
    }
    return true;
}

/* The run's own descriptors come first. */
static size_t most_descriptors(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return 0;
    return files.rlim_cur / 4 < MADE_MAX ? (size_t)files.rlim_cur / 4 : MADE_MAX;
}

struct rules *rules_new(const struct payload *payload, int root, struct session_index *index) {
    struct rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return NULL;
    rules->payload = payload;
    rules->root = root;
    rules->owns_index = index == NULL;
    rules->index = rules->owns_index ? session_index_new() : index;
    rules->made_max = most_descriptors();
    if (rules->index != NULL && read_rules(rules) && pthread_mutex_init(&rules->lock, NULL) == 0)
        return rules;
    rules_free(rules);
    return NULL;
}

void rules_free(struct rules *rules) {
    if (rules == NULL)
        return;
    for (size_t i = 0; i < rules->made_count; i++) {
        close_fd(&rules->made[i].fd);
        free(rules->made[i].path);
    }
    pending_free(rules);
    for (size_t i = 0; i < rules->text_count; i++)
        free(rules->texts[i]);
    for (size_t i = 0; rules->folded != NULL && i < rules->payload->rule_count; i++)
        free(rules->folded[i]);
    path_set_clear(&rules->hooks);
    path_set_clear(&rules->hooks_folded);
    path_set_clear(&rules->made_before);
    if (rules->owns_index)
        session_index_free(rules->index);
    free(rules->made);
    free(rules->texts);
    free(rules->folded);
    free(rules->prefixes);
    free(rules);
}

/* --- the payload's rules --- */

/* denied: the first bytes of the path, for which the rule holds. What is opened lies below that. */
static bool is_opened_again(const struct rules *rules, const struct payload_rule *rule, size_t denied,
                            const char *path) {
    const struct payload *payload = rules->payload;
    for (size_t i = 0; rule->kind == PAYLOAD_DENY_READ && i < payload->opened_count; i++)
        if (strlen(payload->opened[i]) > denied && path_is_within(path, payload->opened[i]))
            return true;
    return false;
}

/* How much of the path matches: all of it, or a folder above. 0: nothing. */
static size_t glob_holds(const char *pattern, size_t prefix, const char *path) {
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof part || length <= prefix || strncmp(pattern, path, prefix) != 0 ||
        path[prefix] != '/')
        return 0;
    memcpy(part, path, length + 1);
    while (length > prefix) {
        if (glob_match(pattern, part))
            return length;
        while (length > prefix && part[length - 1] != '/')
            length--;
        if (length > 0)
            length--;
        part[length] = '\0';
    }
    return 0;
}

const char *globs_refuse(const struct rules *rules, enum rule_act act, const char *path) {
    const struct payload *payload = rules->payload;
    for (size_t i = 0; rules->has_globs && i < payload->rule_count; i++) {
        const struct payload_rule *rule = &payload->rules[i];
        if (rule->glob == 0 || (act == RULE_READ && rule->kind != PAYLOAD_DENY_READ))
            continue;
        size_t denied = glob_holds(rule->path, rules->prefixes[i], path);
        if (denied > 0 && !is_opened_again(rules, rule, denied, path))
            return rule->why;
    }
    return NULL;
}

static const char *literals_refuse(const struct rules *rules, const char *path) {
    const struct payload *payload = rules->payload;
    for (size_t i = 0; i < payload->rule_count; i++) {
        const struct payload_rule *rule = &payload->rules[i];
        if (rule->glob == 0 && path_is_within(path, rule->path) &&
            !is_opened_again(rules, rule, strlen(rule->path), path))
            return rule->why;
    }
    return NULL;
}

/* A literal that is the path but for its spelling, where names compare without case. */
static const char *folded_literals_refuse(const struct rules *rules, const char *folded, const char *judged) {
    char literal[PATH_MAX];
    const struct payload *payload = rules->payload;
    for (size_t i = 0; i < payload->rule_count; i++) {
        const struct payload_rule *rule = &payload->rules[i];
        if (rule->glob != 0 || !path_is_within(folded, rules->folded[i]))
            continue;
        const char *own = rules_fold(rules, rule->path, literal, sizeof literal) ? literal : rule->path;
        if (path_is_within(judged, own) && !is_opened_again(rules, rule, strlen(own), judged))
            return rule->why;
    }
    return NULL;
}

/* --- a linked worktree's common directory --- */

/* gitrepository-layout(5): what a commit, a branch, a gc write there. */
static const char *const common_names[] = {
    "objects",         "refs",    "logs",         "rr-cache", "packed-refs", "packed-refs.lock",
    "packed-refs.new", "shallow", "shallow.lock", "gc.pid",   "gc.pid.lock",
};

static bool is_own_worktree(const struct rules *rules, const char *rest) {
    const char *own = rules->payload->worktree;
    size_t length = own == NULL ? 0 : strlen(own);
    return length > 0 && strncmp(rest, own, length) == 0 && (rest[length] == '\0' || rest[length] == '/');
}

static const char *common_refuse(const struct rules *rules, const char *path) {
    static const char worktrees[] = "worktrees/";
    const char *common = rules->payload->common_dir;
    if (common == NULL || common[0] == '\0' || !path_is_within(path, common) || path[strlen(common)] == '\0')
        return NULL;
    const char *rest = path + strlen(common) + 1;
    size_t length = strcspn(rest, "/");
    for (size_t i = 0; i < sizeof common_names / sizeof common_names[0]; i++)
        if (strlen(common_names[i]) == length && memcmp(common_names[i], rest, length) == 0)
            return NULL;
    if (strncmp(rest, worktrees, sizeof worktrees - 1) == 0 &&
        is_own_worktree(rules, rest + sizeof worktrees - 1))
        return NULL;
    return "protected: git directory of another worktree";
}

/* --- the judge --- */

static const char *hooks_refuse(struct rules *rules, const char *path) {
    pthread_mutex_lock(&rules->lock);
    bool held = path_set_holds(&rules->hooks, path);
    pthread_mutex_unlock(&rules->lock);
    return held ? WHY_HOOKS_PATH : NULL;
}

/* What others have added to the index meanwhile. */
static bool is_up_to_date(struct rules *rules) {
    if (!rules_is_stale(rules))
        return true;
    pthread_mutex_lock(&rules->lock);
    bool synced = rules_sync(rules);
    pthread_mutex_unlock(&rules->lock);
    return synced;
}

/*
 * A symlink by which something else would be found under a name that is protected, or denied: in place of
 * .claude, .config, or of a folder on the way to it.
 */
static const char *link_refuse(struct rules *rules, const char *path) {
    const struct payload *payload = rules->payload;
    const char *child;
    size_t at = 0;
    if (protected_name_below(path, payload->freed_names, false, &at, &child))
        return protected_names[at - 1].why;
    for (size_t i = 0; i < payload->rule_count; i++)
        if (payload->rules[i].glob == 0 && path_is_within(payload->rules[i].path, path))
            return payload->rules[i].why;
    const char *why = NULL;
    pthread_mutex_lock(&rules->lock);
    for (size_t i = 0; why == NULL && i < rules->hooks.size; i++)
        if (rules->hooks.slots[i].path != NULL && path_is_within(rules->hooks.slots[i].path, path))
            why = WHY_HOOKS_PATH;
    pthread_mutex_unlock(&rules->lock);
    return why;
}

/* fold: the path is one of rules_fold's. */
static const char *judge(struct rules *rules, enum rule_act act, const char *path, bool fold) {
    if (act == RULE_READ)
        return globs_refuse(rules, act, path);
    const struct protected_name *name = protected_name_of(path, rules->payload->freed_names, false);
    if (name != NULL)
        return name->why;
    const char *why = act == RULE_SYMLINK ? link_refuse(rules, path) : NULL;
    if (why == NULL)
        why = git_refuse(rules, act, path, fold);
    if (why == NULL && atomic_load(&rules->has_hooks))
        why = hooks_refuse(rules, path);
    if (why == NULL)
        why = literals_refuse(rules, path);
    if (why == NULL)
        why = globs_refuse(rules, act, path);
    return why != NULL ? why : common_refuse(rules, path);
}

/* Whether the path, folded throughout, is one that any rule may be about. */
static bool is_interesting(struct rules *rules, const char *folded) {
    struct git_candidate part;
    const char *child;
    size_t at = 0;
    size_t below = 0;
    const char *last = strrchr(folded, '/') + 1;
    bool held = false;
    if (protected_name_of(folded, rules->payload->freed_names, false) != NULL ||
        git_candidate_next(folded, true, &at, &part) || git_marks_directory(last, true) ||
        (strstr(folded, "/.git/") != NULL && git_is_directory_name(folded, strlen(folded), true)) ||
        (last[0] == '.' && protected_name_below(folded, rules->payload->freed_names, false, &below, &child)))
        return true;
    for (size_t i = 0; !held && i < rules->payload->rule_count; i++)
        held = rules->payload->rules[i].glob != 0
                   ? strncasecmp(folded, rules->payload->rules[i].path, rules->prefixes[i]) == 0
                   : path_is_within(folded, rules->folded[i]);
    if (!held && atomic_load(&rules->has_hooks)) {
        pthread_mutex_lock(&rules->lock);
        held = path_set_holds(&rules->hooks_folded, folded);
        pthread_mutex_unlock(&rules->lock);
    }
    return held;
}

static bool has_short_form(const char *path) {
    for (const char *at = path; (at = strchr(at, '~')) != NULL; at++)
        if (at[1] >= '0' && at[1] <= '9')
            return true;
    return false;
}

/* The path as its file system takes it, where that is another text and any rule may be about it. */
static bool take_fold(struct rules *rules, const char *path, char *folded, char *into) {
    if (!path_may_fold(path))
        return false;
    bool differs = path_fold(path, folded, PATH_MAX);
    if (!(differs && is_interesting(rules, folded)) && !has_short_form(path))
        return false;
    return rules_fold(rules, path, into, PATH_MAX);
}

bool rules_are_none_for(const char *path) {
    return path_is_within(path, "/dev") || path_is_within(path, "/proc");
}

const char *rules_refuse(struct rules *rules, enum rule_act act, const char *path) {
    char folded[PATH_MAX];
    char own[PATH_MAX];
    /* What has no name is nobody's to protect, but a name that is to be made has one. */
    if (path[0] != '/')
        return act == RULE_WRITE || act == RULE_READ ? NULL : "a path that cannot be told";
    if (rules_are_none_for(path))
        return NULL;
    if (!is_up_to_date(rules))
        return WHY_MEMORY;
    const char *why = judge(rules, act, path, false);
    if (why != NULL || !take_fold(rules, path, folded, own))
        return why;
    why = judge(rules, act, own, true);
    return why != NULL || act == RULE_READ ? why : folded_literals_refuse(rules, folded, own);
}

const char *rules_refuse_unmade(struct rules *rules, const char *path) {
    const struct protected_name *name = protected_name_of(path, rules->payload->freed_names, false);
    if (name != NULL)
        return name->why;
    if (!is_up_to_date(rules))
        return WHY_MEMORY;
    const char *why = atomic_load(&rules->has_hooks) ? hooks_refuse(rules, path) : NULL;
    if (why == NULL)
        why = literals_refuse(rules, path);
    if (why == NULL)
        why = globs_refuse(rules, RULE_CREATE, path);
    return why != NULL ? why : common_refuse(rules, path);
}

void rules_note(struct rules *rules, const char *path) {
    char folded[PATH_MAX];
    char own[PATH_MAX];
    if (path[0] != '/' || rules_are_none_for(path))
        return;
    git_note(rules, path, false);
    if (take_fold(rules, path, folded, own))
        git_note(rules, own, true);
}

/* --- moves --- */

/* Entries that the folder's name protects. */
static const char *names_refuse(const struct rules *rules, int folder, const char *path) {
    const char *child;
    size_t at = 0;
    while (protected_name_below(path, rules->payload->freed_names, false, &at, &child))
        if (folder_has(folder, child))
            return protected_names[at - 1].why;
    return NULL;
}

static const char *judge_move(struct rules *rules, int folder, const char *from, const char *to, bool fold) {
    const char *why = names_refuse(rules, folder, from);
    if (why == NULL)
        why = names_refuse(rules, folder, to);
    if (why == NULL)
        why = git_refuse_move(rules, folder, from, to, fold);
    if (why == NULL)
        why = literals_refuse_move(rules, folder, from, to);
    return why != NULL ? why : globs_refuse_move(rules, folder, from, to);
}

const char *rules_refuse_move(struct rules *rules, int folder, const char *from, const char *to) {
    char folded[PATH_MAX];
    char own_from[PATH_MAX];
    char own_to[PATH_MAX];
    if (from[0] != '/' || to[0] != '/')
        return "a path that cannot be told";
    if (!is_up_to_date(rules))
        return WHY_MEMORY;
    const char *why = judge_move(rules, folder, from, to, false);
    bool folds_from = why == NULL && take_fold(rules, from, folded, own_from);
    bool folds_to = why == NULL && take_fold(rules, to, folded, own_to);
    if (folds_from || folds_to)
        why = judge_move(rules, folder, folds_from ? own_from : from, folds_to ? own_to : to, true);
    return why != NULL || hooks_follow(rules, from, to) ? why : WHY_HOOKS_PATH;
}

void rules_note_move(struct rules *rules, const char *from, const char *to) {
    char folded[PATH_MAX];
    char own[PATH_MAX];
    if (from[0] != '/' || to[0] != '/')
        return;
    git_note_move(rules, from, to, false);
    if (take_fold(rules, to, folded, own))
        git_note_move(rules, from, own, true);
}

uint64_t rules_moves(const struct rules *rules) {
    return session_index_moves(rules->index);
}

void rules_move_begins(struct rules *rules) {
    session_index_move_begins(rules->index);
}

void rules_move_ended(struct rules *rules) {
    session_index_move_ended(rules->index);
}
