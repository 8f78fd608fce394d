#include <string.h>

#include "plan/sbpl_internal.h"
#include "plan/sbpl_regex.h"
#include "policy/protected_names.h"

#define AND_BELOW "(/.*)?$"

/* A git directory by its name: .git, or a bare one as git clone --bare calls it. */
#define GIT_DIRECTORY "\\.[gG][iI][tT]"

static void add_regex(struct sbpl_rule *rule, const struct sbpl_text *regex) {
    rule->out->failed = rule->out->failed || regex->failed;
    if (!regex->failed)
        sbpl_rule_string(rule, "regex", regex->data);
}

static bool folds(const struct sbpl_profile *profile) {
    return !profile->request->case_sensitive;
}

/* --- names that are protected wherever they are --- */

static bool is_freed(const struct sbpl_profile *profile, size_t row) {
    return (fs_options_freed_names(&profile->request->options->fs) >> row & 1) != 0;
}

/* The first bytes of a row, at any depth. */
static void add_name(struct sbpl_profile *profile, struct sbpl_rule *rule, size_t row, size_t length,
                     const char *end) {
    struct sbpl_text regex = {0};
    sbpl_text_add(&regex, "/");
    sbpl_regex_add_text(&regex, protected_names[row].path, length, folds(profile));
    sbpl_text_add(&regex, end);
    add_regex(rule, &regex);
    sbpl_text_clear(&regex);
}

/* True where an earlier row that counts stands in the same folder, whose name has so many bytes. */
static bool is_repeated(const struct sbpl_profile *profile, size_t row, size_t length) {
    for (size_t i = 0; i < row; i++)
        if (!is_freed(profile, i) &&
            strncmp(protected_names[i].path, protected_names[row].path, length + 1) == 0)
            return true;
    return false;
}

static void add_names(struct sbpl_profile *profile) {
    struct sbpl_rule rule = sbpl_profile_rule(profile, SBPL_DENY_WRITE);
    for (size_t i = 0; i < protected_name_count; i++)
        if (!is_freed(profile, i))
            add_name(profile, &rule, i, strlen(protected_names[i].path), AND_BELOW);
    sbpl_rule_end(&rule);
    /* The folders of those: neither moved away, nor is another one moved to their place. */
    struct sbpl_rule folders = sbpl_profile_rule(profile, "deny file-write-unlink file-write-create");
    for (size_t i = 0; i < protected_name_count; i++) {
        const char *slash = strchr(protected_names[i].path, '/');
        for (; slash != NULL; slash = strchr(slash + 1, '/')) {
            const size_t length = (size_t)(slash - protected_names[i].path);
            if (!is_freed(profile, i) && !is_repeated(profile, i, length))
                add_name(profile, &folders, i, length, "$");
        }
    }
    sbpl_rule_end(&folders);
}

/* --- git directories --- */

/* "(hooks(/.*)?|config|…)$" of the parts that count. */
static void add_parts(struct sbpl_profile *profile, struct sbpl_text *regex) {
    enum git_part part;
    const char *name;
    const bool config_is_free = profile->request->options->fs.allow_git_config;
    bool first = true;
    for (size_t i = 0; (name = git_part_name(i, &part)) != NULL; i++) {
        if (part == GIT_PART_CONFIG && config_is_free)
            continue;
        sbpl_text_add(regex, first ? "(" : "|");
        sbpl_regex_add_text(regex, name, strlen(name), folds(profile));
        first = false;
    }
    sbpl_text_add(regex, ")" AND_BELOW);
}

static void add_word(struct sbpl_profile *profile, struct sbpl_text *regex, const char *word) {
    sbpl_regex_add_text(regex, word, strlen(word), folds(profile));
}

/* Parts in the git directory itself and in those of its linked worktrees. */
static void add_git(struct sbpl_profile *profile, struct sbpl_rule *rule) {
    struct sbpl_text regex = {0};
    sbpl_text_add(&regex, GIT_DIRECTORY "/(");
    add_word(profile, &regex, "worktrees");
    sbpl_text_add(&regex, "/[^/]*/)?");
    add_parts(profile, &regex);
    add_regex(rule, &regex);
    sbpl_text_clear(&regex);
}

/* Data of a submodule's git directory, whose names are anything. */
static void add_not_data(struct sbpl_profile *profile, struct sbpl_text *out) {
    struct sbpl_text regex = {0};
    const char *name;
    sbpl_text_add(&regex, "/" GIT_DIRECTORY "/");
    add_word(profile, &regex, "modules");
    sbpl_text_add(&regex, "/(.*/)?(");
    for (size_t i = 0; (name = git_data_name(i)) != NULL; i++) {
        sbpl_text_add(&regex, i == 0 ? "" : "|");
        add_word(profile, &regex, name);
    }
    sbpl_text_add(&regex, ")/");
    sbpl_text_add(out, " (require-not (regex ");
    out->failed = out->failed || regex.failed;
    sbpl_text_add_string(out, regex.failed ? "" : regex.data);
    sbpl_text_add(out, "))");
    sbpl_text_clear(&regex);
}

/* Where the git directories of submodules lie, at any depth: what is to match below that. */
static void add_modules(struct sbpl_profile *profile, struct sbpl_rule *rule, bool folders) {
    struct sbpl_text regex = {0};
    sbpl_text_add(&regex, "/" GIT_DIRECTORY "/");
    add_word(profile, &regex, "modules");
    if (folders) {
        sbpl_text_add(&regex, AND_BELOW);
    } else {
        sbpl_text_add(&regex, "/.*/");
        add_parts(profile, &regex);
    }
    sbpl_rule_filter(rule);
    sbpl_text_add(rule->out, "(require-all (regex ");
    rule->out->failed = rule->out->failed || regex.failed;
    sbpl_text_add_string(rule->out, regex.failed ? "" : regex.data);
    sbpl_text_add(rule->out, ")");
    add_not_data(profile, rule->out);
    if (folders)
        sbpl_text_add(rule->out, " (vnode-type DIRECTORY)");
    sbpl_text_add(rule->out, ")");
    sbpl_text_clear(&regex);
}

static void add_git_directories(struct sbpl_profile *profile) {
    struct sbpl_rule parts = sbpl_profile_rule(profile, SBPL_DENY_WRITE);
    add_git(profile, &parts);
    add_modules(profile, &parts, false);
    sbpl_rule_end(&parts);
    /* A .git that is a file is not re-pointed either. */
    struct sbpl_rule itself = sbpl_profile_rule(profile, "deny file-write-unlink file-write-data");
    sbpl_rule_string(&itself, "regex", GIT_DIRECTORY "$");
    sbpl_rule_end(&itself);
    struct sbpl_rule folders = sbpl_profile_rule(profile, "deny file-write-unlink");
    struct sbpl_text regex = {0};
    sbpl_text_add(&regex, GIT_DIRECTORY "/");
    add_word(profile, &regex, "worktrees");
    sbpl_text_add(&regex, "(/[^/]*)?$");
    add_regex(&folders, &regex);
    sbpl_text_clear(&regex);
    add_modules(profile, &folders, true);
    sbpl_rule_end(&folders);
}

/* --- names that a disk takes for others --- */

/* What HFS+ leaves out of names when it compares them: U+200C to U+200F, U+202A to U+202E, U+206A to U+206F,
 * U+FEFF (git's utf8.c, next_hfs_char). */
#define IGNORED "(\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf)"

/* A name with one of those in it, that could be a protected one or a part of a git directory. */
static void add_ignored(struct sbpl_profile *profile) {
    struct sbpl_rule rule = sbpl_profile_rule(profile, SBPL_DENY_WRITE);
    sbpl_rule_string(&rule, "regex", "/" IGNORED "+[.cCgGhH][^/]*" AND_BELOW);
    sbpl_rule_string(&rule, "regex", "/[.cCgGhH][^/]*" IGNORED "[^/]*" AND_BELOW);
    sbpl_rule_end(&rule);
}

void sbpl_add_protected(struct sbpl_profile *profile) {
    add_names(profile);
    add_git_directories(profile);
    add_ignored(profile);
}
