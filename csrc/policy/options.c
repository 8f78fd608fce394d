#include "policy/options.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/address_block.h"
#include "policy/domain_pattern.h"
#include "policy/json_util.h"
#include "policy/option_place.h"
#include "policy/option_table.h"
#include "policy/protected_names.h"
#include "policy/upstream_proxy.h"

static int fail(struct error *err, const char *place, const char *expected, const json_t *found,
                const char *reason) {
    char what[JSON_FOUND_SIZE];
    json_describe(found, what);
    bool more = reason != NULL;
    return error_set(err, ERROR_OPTIONS, 0, "%s: expected %s, found %s%s%s%s", place, expected, what,
                     more ? " (" : "", more ? reason : "", more ? ")" : "");
}

static int check_path(const char *text, struct error *reason) {
    if (strlen(text) >= PATH_MAX)
        return error_set(reason, ERROR_OPTIONS, 0, "a path has at most %d bytes", PATH_MAX - 1);
    if (text[0] == '~' && text[1] != '\0' && text[1] != '/')
        return error_set(reason, ERROR_OPTIONS, 0, "only \"~\" and \"~/…\" stand for a home directory");
    return 0;
}

static int check_fixed_path(const char *text, struct error *reason) {
    if (text[0] != '/' && text[0] != '~')
        return error_set(reason, ERROR_OPTIONS, 0, "a sandbox has no directory that it would be relative to");
    return check_path(text, reason);
}

static int check_domain(const char *text, struct error *reason) {
    struct domain_pattern pattern;
    return domain_pattern_parse(text, &pattern, reason);
}

static int check_address(const char *text, struct error *reason) {
    struct address_pattern pattern;
    return address_pattern_parse(text, &pattern, reason);
}

static int check_upstream(const char *text, struct error *reason) {
    if (strcmp(text, "direct") == 0)
        return 0;
    struct upstream_proxy proxy = {0};
    int result = upstream_proxy_parse(text, &proxy, reason);
    upstream_proxy_clear(&proxy);
    return result;
}

static int check_default_read(const char *text, struct error *reason) {
    (void)reason;
    return strcmp(text, "allow") == 0 || strcmp(text, "deny") == 0 ? 0 : -1;
}

/* What is protected by name and can be freed otherwise, or not at all. */
static const struct {
    const char *name, *reason;
} not_freed[] = {
    {"hooks", "hooks cannot be freed"},
    {".git/hooks", "hooks cannot be freed"},
    {".git", "hooks cannot be freed; for the configuration see allowGitConfig"},
    {".git/config", "see allowGitConfig"},
    {".git/config.worktree", "see allowGitConfig"},
    {"config", "see allowGitConfig"},
    {"config.worktree", "see allowGitConfig"},
    {"commondir", "links of a git directory cannot be freed"},
    {".git/commondir", "links of a git directory cannot be freed"},
    {"gitdir", "links of a git directory cannot be freed"},
    {".git/gitdir", "links of a git directory cannot be freed"},
};

static int check_protected(const char *text, struct error *reason) {
    if (protected_name_find(text) >= 0)
        return 0;
    size_t length = strlen(text);
    while (length > 1 && text[length - 1] == '/')
        length--;
    for (size_t i = 0; i < sizeof not_freed / sizeof not_freed[0]; i++)
        if (strlen(not_freed[i].name) == length && strncmp(text, not_freed[i].name, length) == 0)
            return error_set(reason, ERROR_OPTIONS, 0, "%s", not_freed[i].reason);
    return -1;
}

static const struct entry_rule {
    const char *one, *many;
    int (*check)(const char *text, struct error *reason);
    bool secret; /* it may hold a password: errors do not show it */
} entry_rules[] = {
    [OPTION_ENTRY_TEXT] = {"a non-empty string", "a list of non-empty strings", NULL},
    [OPTION_ENTRY_PATH] = {"a path", "a list of paths", check_path},
    [OPTION_ENTRY_FIXED_PATH] = {"an absolute path", NULL, check_fixed_path},
    [OPTION_ENTRY_DOMAIN] = {"a domain pattern", "a list of domain patterns", check_domain},
    [OPTION_ENTRY_ADDRESS] = {"an address or a block of addresses", "a list of addresses and blocks of them",
                              check_address},
    [OPTION_ENTRY_UPSTREAM] = {"\"direct\" or the URL of an HTTP proxy", NULL, check_upstream, true},
    [OPTION_ENTRY_DEFAULT_READ] = {"\"allow\" or \"deny\"", NULL, check_default_read},
    [OPTION_ENTRY_PROTECTED] = {"a protected name such as \".vscode/\"", "a list of protected names",
                                check_protected},
};

/* As fail, for a text; reason is never NULL for a secret one. */
static int fail_text(struct error *err, const char *place, const struct entry_rule *rule, const json_t *value,
                     const char *reason) {
    if (!rule->secret)
        return fail(err, place, rule->one, value, reason);
    return error_set(err, ERROR_OPTIONS, 0, "%s: expected %s, found a string (%s)", place, rule->one, reason);
}

static int check_entry(const json_t *value, const struct entry_rule *rule, const char *place,
                       struct error *err) {
    if (!json_is_string(value))
        return fail(err, place, rule->one, value, NULL);
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (length == 0)
        return fail_text(err, place, rule, value, "it is empty");
    if (strlen(text) != length)
        return fail_text(err, place, rule, value, "it contains a NUL character");
    if (length > OPTION_STRING_MAX)
        return fail_text(err, place, rule, value, "it is too long");
    struct error reason = {0};
    if (rule->check != NULL && rule->check(text, &reason) != 0)
        return fail_text(err, place, rule, value, reason.text[0] != '\0' ? reason.text : NULL);
    return 0;
}

static int too_many(struct error *err, const char *place, size_t count) {
    return error_set(err, ERROR_OPTIONS, 0, "%s: expected at most %d entries, found %zu", place,
                     OPTION_LIST_MAX, count);
}

static int read_strings(const json_t *value, enum option_entry entry, const char *place, struct strvec *out,
                        struct error *err) {
    const struct entry_rule *rule = &entry_rules[entry];
    if (!json_is_array(value))
        return fail(err, place, rule->many, value, NULL);
    size_t count = json_array_size(value);
    if (count > OPTION_LIST_MAX)
        return too_many(err, place, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        char item_place[OPTION_PLACE_SIZE + 16];
        snprintf(item_place, sizeof item_place, "%s[%zu]", place, i);
        if (check_entry(item, rule, item_place, err) != 0)
            return -1;
        if (strvec_push(out, json_string_value(item)) != 0)
            return error_memory(err);
    }
    return 0;
}

static int read_string(const json_t *value, enum option_entry entry, const char *place, char **out,
                       struct error *err) {
    if (check_entry(value, &entry_rules[entry], place, err) != 0)
        return -1;
    *out = strdup(json_string_value(value));
    return *out == NULL ? error_memory(err) : 0;
}

static bool is_placeholder(const json_t *value) {
    return json_object_size(value) == 1 && json_is_string(json_object_get(value, JSON_UNSUPPORTED_KEY));
}

static int read_ignore_rule(const char *command, const json_t *lines, const char *place,
                            struct ignore_rule *rule, struct error *err) {
    if (*command == '\0')
        return error_set(err, ERROR_OPTIONS, 0, "%s: expected \"*\" or part of a command as key, found \"\"",
                         place);
    if (strlen(command) > OPTION_STRING_MAX)
        return error_set(err, ERROR_OPTIONS, 0, "%s: expected keys of at most %d bytes, found one of %zu",
                         place, OPTION_STRING_MAX, strlen(command));
    char rule_place[OPTION_PLACE_SIZE];
    option_place_of_key(place, command, rule_place);
    rule->command = strdup(command);
    if (rule->command == NULL)
        return error_memory(err);
    return read_strings(lines, OPTION_ENTRY_TEXT, rule_place, &rule->lines, err);
}

static int read_ignore_rules(json_t *value, const char *place, struct options *options, struct error *err) {
    if (!json_is_object(value) || is_placeholder(value))
        return fail(err, place, "an object of lists of strings", value, NULL);
    size_t count = json_object_size(value);
    if (count > OPTION_LIST_MAX)
        return too_many(err, place, count);
    options->ignore = calloc(count + 1, sizeof *options->ignore);
    if (options->ignore == NULL)
        return error_memory(err);
    options->ignore_count = count;
    struct ignore_rule *rule = options->ignore;
    const char *command;
    json_t *lines;
    json_object_foreach(value, command, lines) {
        if (read_ignore_rule(command, lines, place, rule++, err) != 0)
            return -1;
    }
    return 0;
}

static int read_boolean(const json_t *value, const char *place, bool *out, struct error *err) {
    if (!json_is_boolean(value))
        return fail(err, place, "true or false", value, NULL);
    *out = json_is_true(value);
    return 0;
}

static void store_number(uint64_t number, const struct option_row *row, void *slot) {
    uint32_t narrow = (uint32_t)number;
    if (row->most > UINT32_MAX)
        memcpy(slot, &number, sizeof number);
    else
        memcpy(slot, &narrow, sizeof narrow);
}

static int read_number(const json_t *value, const struct option_row *row, const char *place, void *slot,
                       struct error *err) {
    double number = json_number_value(value);
    if (json_is_number(value) && number >= (double)row->least && number <= (double)row->most &&
        number == (double)(uint64_t)number) {
        store_number((uint64_t)number, row, slot);
        return 0;
    }
    char expected[80];
    snprintf(expected, sizeof expected, "a whole number from %" PRIu64 " to %" PRIu64, row->least, row->most);
    return fail(err, place, expected, value, NULL);
}

/* The function itself stays in JS: true stands for it. */
static int read_function(const json_t *value, const char *place, bool *out, struct error *err) {
    if (!json_is_true(value))
        return fail(err, place, "a function", value, NULL);
    *out = true;
    return 0;
}

static int unsupported(struct error *err, const char *place) {
    return error_set(err, ERROR_OPTIONS, 0, "%s: not supported by this version", place);
}

static int read_group(json_t *value, const char *group, struct options *options, struct error *err);

static int read_option(json_t *value, const struct option_row *row, const char *place,
                       struct options *options, struct error *err) {
    void *slot = (char *)options + row->offset;
    if (row->support == OPTION_LATER)
        return json_is_one_of(value, row->inert) ? 0 : unsupported(err, place);
    switch (row->kind) {
    case OPTION_OBJECT:
        return read_group(value, row->key, options, err);
    case OPTION_STRINGS:
        return read_strings(value, row->entry, place, slot, err);
    case OPTION_BOOLEAN:
        return read_boolean(value, place, slot, err);
    case OPTION_FUNCTION:
        return read_function(value, place, slot, err);
    case OPTION_STRING_LISTS:
        return read_ignore_rules(value, place, options, err);
    case OPTION_STRING:
        return read_string(value, row->entry, place, slot, err);
    case OPTION_NUMBER:
        return read_number(value, row, place, slot, err);
    }
    return unsupported(err, place);
}

static int unknown_option(struct error *err, const char *group, const char *place) {
    char known[512] = "";
    size_t used = 0;
    const struct option_row *row;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++) {
        if (strcmp(row->group, group) != 0)
            continue;
        int wrote = snprintf(known + used, sizeof known - used, "%s%s", used == 0 ? "" : ", ", row->key);
        used += (size_t)wrote;
        if (used >= sizeof known)
            break;
    }
    return error_set(err, ERROR_OPTIONS, 0, "%s: expected one of %s, found an unknown option", place, known);
}

static int read_group(json_t *value, const char *group, struct options *options, struct error *err) {
    if (!json_is_object(value) || is_placeholder(value))
        return fail(err, *group == '\0' ? "options" : group, "an object", value, NULL);
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member) {
        char place[OPTION_PLACE_SIZE];
        option_place_of_key(group, key, place);
        const struct option_row *row = option_table_find(group, key);
        if (row == NULL)
            return unknown_option(err, group, place);
        if (read_option(member, row, place, options, err) != 0)
            return -1;
    }
    return 0;
}

/* The document as a value the caller owns, or NULL with an error. */
static json_t *load_document(const char *json, size_t length, struct error *err) {
    if (length > OPTION_DOCUMENT_MAX) {
        error_set(err, ERROR_OPTIONS, 0, "options: expected at most %u bytes, found %zu", OPTION_DOCUMENT_MAX,
                  length);
        return NULL;
    }
    json_error_t problem;
    /* Integers as reals: one that does not fit 64 bits then gets an error with its path. */
    json_t *document = json_loadb(
        json, length, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL,
        &problem);
    if (document != NULL)
        return document;
    /* jansson leaves the text empty at most places where memory ran out. */
    if (json_error_code(&problem) == json_error_out_of_memory || problem.text[0] == '\0') {
        error_memory(err);
        return NULL;
    }
    char text[JSON_ERROR_TEXT_LENGTH];
    json_escape_text(problem.text, strlen(problem.text), false, text, sizeof text);
    error_set(err, ERROR_OPTIONS, 0, "options: expected one JSON document, found an error at byte %d (%s)",
              problem.position, text);
    return NULL;
}

/* Other systems believe the log: no command may write in it, wherever it lies. */
static int deny_log(struct options *options, struct error *err) {
    if (options->violation_log == NULL || strvec_push(&options->fs.deny_write, options->violation_log) == 0)
        return 0;
    return error_memory(err);
}

int options_parse(const char *json, size_t length, struct options **out, struct error *err) {
    cleanup_json json_t *document = load_document(json, length, err);
    if (document == NULL)
        return -1;
    struct options *options = calloc(1, sizeof *options);
    if (options == NULL)
        return error_memory(err);
    options->monitor_violations = true;
    options->fs.writable_cwd = true;
    if (read_group(document, "", options, err) != 0 || deny_log(options, err) != 0) {
        options_free(options);
        return -1;
    }
    *out = options;
    return 0;
}

void options_free(struct options *options) {
    if (options == NULL)
        return;
    strvec_clear(&options->fs.allow_write);
    strvec_clear(&options->fs.deny_write);
    strvec_clear(&options->fs.deny_read);
    strvec_clear(&options->fs.allow_read);
    strvec_clear(&options->fs.allow_protected);
    free(options->fs.default_read);
    strvec_clear(&options->network.allowed_domains);
    strvec_clear(&options->network.denied_domains);
    strvec_clear(&options->network.allowed_ips);
    strvec_clear(&options->network.allow_unix_sockets);
    free(options->network.upstream_proxy);
    for (size_t i = 0; i < options->ignore_count; i++) {
        free(options->ignore[i].command);
        strvec_clear(&options->ignore[i].lines);
    }
    free(options->ignore);
    free(options->violation_log);
    free(options);
}

bool fs_options_are_strict(const struct fs_options *options) {
    return options->default_read != NULL && strcmp(options->default_read, "deny") == 0;
}

uint64_t fs_options_freed_names(const struct fs_options *options) {
    uint64_t freed = 0;
    for (size_t i = 0; i < options->allow_protected.count; i++) {
        int row = protected_name_find(options->allow_protected.items[i]);
        if (row >= 0)
            freed |= (uint64_t)1 << row;
    }
    return freed;
}
