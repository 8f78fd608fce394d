#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/path.h"
#include "plan/sbpl_internal.h"
#include "plan/sbpl_regex.h"
#include "plan/sbpl_tables.h"

/* What the rules deny by name, whether something is there or not. */
struct denied_name {
    const char *path;
    bool read; /* reading too: but for what allowRead opens below it */
    bool glob;
};

/* True where a folder above the path matches. */
static bool matches_above(const char *pattern, const char *path) {
    cleanup_free char *folder = strdup(path);
    char *slash = folder == NULL ? NULL : strrchr(folder, '/');
    for (; slash != NULL && slash != folder; slash = strrchr(folder, '/')) {
        *slash = '\0';
        if (glob_match(pattern, folder))
            return true;
    }
    return false;
}

/* What matches a pattern itself, inside of what is opened, is denied by the regions where it is there. */
static bool is_exception(const struct denied_name *denied, const char *opened) {
    if (!denied->read)
        return false;
    if (denied->glob)
        return matches_above(denied->path, opened);
    return path_is_within(opened, denied->path) && strcmp(opened, denied->path) != 0;
}

/* Adds the filter with its exceptions around it. */
static void add_filter(struct sbpl_rule *rule, const struct fs_rules *rules, const struct denied_name *denied,
                       const char *kind, const char *argument) {
    struct sbpl_text exceptions = {0};
    struct sbpl_rule opened = {.out = &exceptions, .head = "require-not (require-any"};
    for (size_t i = 0; i < rules->opened.count; i++)
        if (is_exception(denied, rules->opened.items[i]))
            sbpl_rule_path(&opened, "subpath", rules->opened.items[i]);
    const bool some = opened.filters > 0;
    sbpl_rule_end(&opened);
    sbpl_rule_filter(rule);
    sbpl_text_add(rule->out, some ? "(require-all (" : "(");
    sbpl_text_add(rule->out, kind);
    sbpl_text_add(rule->out, " ");
    sbpl_text_add_string(rule->out, argument);
    sbpl_text_add(rule->out, ")");
    if (some) {
        sbpl_text_add(rule->out, " ");
        sbpl_text_add(rule->out, exceptions.data == NULL ? "" : exceptions.data);
        sbpl_text_add(rule->out, "))");
    }
    rule->out->failed = rule->out->failed || exceptions.failed;
    sbpl_text_clear(&exceptions);
}

static int add_regex(struct sbpl_rule *rule, const struct sbpl_request *request,
                     const struct denied_name *denied, struct error *err) {
    struct sbpl_text regex = {0};
    const bool fold = !request->case_sensitive;
    int result = denied->glob ? sbpl_regex_of_glob(denied->path, fold, true, &regex, err)
                              : sbpl_regex_of_path(denied->path, fold, &regex, err);
    if (result == 0)
        add_filter(rule, request->rules, denied, "regex", regex.data);
    sbpl_text_clear(&regex);
    return result;
}

static bool is_repeated(const struct fs_rules *rules, size_t index) {
    const struct fs_name_rule *name = &rules->names[index];
    for (size_t i = 0; i < index; i++)
        if (rules->names[i].read == name->read && rules->names[i].glob == name->glob &&
            strcmp(rules->names[i].path, name->path) == 0)
            return true;
    return false;
}

static int add_named(struct sbpl_profile *profile, bool read, struct error *err) {
    const struct fs_rules *rules = profile->request->rules;
    struct sbpl_rule rule = sbpl_profile_rule(profile, read ? SBPL_DENY_ALL : SBPL_DENY_WRITE);
    for (size_t i = 0; i < rules->name_count; i++) {
        const struct denied_name denied = {rules->names[i].path, read, rules->names[i].glob};
        if (rules->names[i].read == read && !is_repeated(rules, i) &&
            add_regex(&rule, profile->request, &denied, err) != 0)
            return -1;
    }
    sbpl_rule_end(&rule);
    return 0;
}

/* --- credentials --- */

static bool is_opened(const struct fs_rules *rules, const char *path) {
    for (size_t i = 0; i < rules->opened.count; i++)
        if (strcmp(rules->opened.items[i], path) == 0)
            return true;
    return false;
}

static void add_denied(struct sbpl_rule *rule, const struct fs_rules *rules, const char *path) {
    const struct denied_name denied = {path, true, false};
    for (enum sbpl_name name = SBPL_NAME_OWN; name < SBPL_NAMES && !is_opened(rules, path); name++) {
        struct sbpl_text text = {0};
        if (sbpl_text_add_name(&text, path, name))
            add_filter(rule, rules, &denied, "subpath", text.data);
        rule->out->failed = rule->out->failed || text.failed;
        sbpl_text_clear(&text);
    }
}

static int add_credentials(struct sbpl_profile *profile, struct error *err) {
    const struct sbpl_request *request = profile->request;
    const char *const homes[] = {request->home, request->account_home};
    struct sbpl_rule rule = sbpl_profile_rule(profile, SBPL_DENY_ALL);
    for (size_t i = 0; i < request->rules->later.count; i++)
        add_denied(&rule, request->rules, request->rules->later.items[i]);
    for (size_t h = 0; h < sizeof homes / sizeof homes[0]; h++)
        for (size_t i = 0; homes[h] != NULL && i < sbpl_credential_count; i++) {
            cleanup_free char *path =
                path_join(homes[h][1] == '\0' ? "" : homes[h], sbpl_credentials[i].path);
            if (path == NULL)
                return error_memory(err);
            add_denied(&rule, request->rules, path);
        }
    sbpl_rule_end(&rule);
    return 0;
}

int sbpl_add_names(struct sbpl_profile *profile, struct error *err) {
    if (add_named(profile, false, err) != 0 || add_named(profile, true, err) != 0)
        return -1;
    return add_credentials(profile, err);
}
