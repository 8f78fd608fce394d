/* path_resolve and fs_rules_resolve on a real tree below /var/tmp: never below /tmp, which is a write root.
 */
#include "platform/resolve.h"
#include "policy/fs_rules.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/var/tmp/os-sandbox-resolve-XXXXXX";

static const char *at(const char *name) {
    static char path[4][256];
    static unsigned turn;
    char *text = path[turn++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", top, name);
    return text;
}

static void resolves(const char *written, const char *wanted, size_t links, const char *name) {
    struct resolved_path got;
    struct error err = {0};
    enum resolve_outcome outcome = path_resolve(written, &got, &err);
    struct stat facts = {0};
    stat(wanted, &facts);
    bool same = outcome == RESOLVE_FOUND && strcmp(got.path, wanted) == 0 && got.inode == facts.st_ino &&
                got.device == facts.st_dev && got.link_folders.count == links;
    if (!ok(same, "%s", name))
        diag("got", outcome == RESOLVE_FOUND ? got.path : err.text);
    resolved_path_clear(&got);
}

static void is_absent(const char *written, const char *name) {
    struct resolved_path got;
    struct error err = {0};
    ok(path_resolve(written, &got, &err) == RESOLVE_ABSENT, "%s", name);
    resolved_path_clear(&got);
}

/* What is not there has the path that it would have, and the links on the way. */
static void would_be(const char *written, const char *wanted, const char *link, const char *name) {
    struct resolved_path got;
    struct error err = {0};
    bool same = path_resolve(written, &got, &err) == RESOLVE_ABSENT && strcmp(got.path, wanted) == 0 &&
                got.links.count == (link == NULL ? 0 : 1) &&
                (link == NULL || strcmp(got.links.items[0], link) == 0);
    if (!ok(same, "%s", name))
        diag("got", got.path == NULL ? "nothing" : got.path);
    resolved_path_clear(&got);
}

static void make_tree(void) {
    if (mkdtemp(top) == NULL || mkdir(at("real"), 0700) != 0 || mkdir(at("real/sub"), 0700) != 0 ||
        mkdir(at("work"), 0700) != 0 || symlink("real", at("relative")) != 0 ||
        symlink(at("real"), at("absolute")) != 0 || symlink("../real/sub", at("work/up")) != 0 ||
        symlink("loop", at("loop")) != 0 || symlink("nowhere", at("dangling")) != 0 ||
        symlink("/etc", at("work/planted")) != 0)
        ok(false, "the tree is made: %s", strerror(errno));
    FILE *file = fopen(at("real/file"), "we");
    if (file != NULL)
        fclose(file);
}

static void remove_tree(void) {
    static const char *const names[] = {"work/planted", "dangling", "loop",      "work/up",  "absolute",
                                        "relative",     "work",     "real/file", "real/sub", "real"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        remove(at(names[i]));
    rmdir(top);
}

static void spellings(void) {
    resolves(at("real/file"), at("real/file"), 0, "a plain path is itself");
    resolves(at("./real//sub/../file"), at("real/file"), 0, "dots and double slashes are resolved");
    resolves(at("real/sub/"), at("real/sub"), 0, "a trailing slash says nothing");
    resolves(at("relative/file"), at("real/file"), 1, "a relative symlink is followed");
    resolves(at("absolute/sub"), at("real/sub"), 1, "an absolute symlink is followed");
    resolves(at("work/up"), at("real/sub"), 1, "a symlink with .. is followed");
    resolves(at("work/up/../file"), at("real/file"), 1, ".. behind a symlink is the target's parent");
    resolves("/", "/", 0, "the root is itself");
    resolves("//..//", "/", 0, "above the root is the root");
    is_absent(at("none"), "what is not there is absent");
    is_absent(at("real/file/x"), "below a file there is nothing");
    is_absent(at("loop"), "a loop of symlinks leads nowhere");
    is_absent(at("dangling"), "a dangling symlink leads nowhere");
    would_be(at("none"), at("none"), NULL, "what is not there has a path");
    would_be(at("none/a/../b//./c/"), at("none/b/c"), NULL, "which is normal");
    would_be(at("real/file/x"), at("real/file/x"), NULL, "below a file, too");
    would_be(at("dangling"), at("nowhere"), at("dangling"), "that of a dangling symlink is its target");
    would_be(at("dangling/x"), at("nowhere/x"), at("dangling"), "also on the way");
    would_be(at("work/up/none/x"), at("real/sub/none/x"), at("work/up"), "links before it are followed");
    would_be(at("none/../../../../../../../x"), "/x", NULL, "and above the root is the root");
    struct resolved_path got;
    struct error err = {0};
    char link[256];
    snprintf(link, sizeof link, "%s", at("relative"));
    ok(path_resolve(at("relative/file"), &got, &err) == RESOLVE_FOUND && got.links.count == 1 &&
           strcmp(got.links.items[0], link) == 0,
       "of what is there the links on the way are told as well");
    resolved_path_clear(&got);
}

static const struct fs_rule *rule_at(const struct fs_rules *rules, enum fs_rule_kind kind, const char *path) {
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == kind && strcmp(rules->items[i].path, path) == 0)
            return &rules->items[i];
    return NULL;
}

static void rules_of_a_run(void) {
    struct strvec dirs = {0};
    struct fs_options options = {.writable_cwd = true};
    struct fs_rules rules;
    struct error err = {0};
    char work[256];
    snprintf(work, sizeof work, "%s", at("work"));
    struct path_memory *memory = path_memory_new();
    struct strvec read_only = {0};
    strvec_push(&read_only, "/sys");
    struct fs_place place = {.home = top,
                             .tmpdir = "/tmp",
                             .cwd = work,
                             .additional_dirs = &dirs,
                             .memory = memory,
                             .always_read_only = &read_only};
    strvec_push(&options.allow_write, at("work/planted"));
    strvec_push(&options.allow_write, at("relative"));
    strvec_push(&options.allow_write, at("none"));
    strvec_push(&options.deny_read, "~/real/sub");
    strvec_push(&options.deny_write, "./up/");
    strvec_push(&options.deny_write, "not-there");
    ok(fs_rules_resolve(&options, &place, &rules, &err) == 0, "rules are resolved");
    ok(rule_at(&rules, FS_ALLOW_WRITE, work) != NULL, "the cwd is a write root");
    ok(rule_at(&rules, FS_ALLOW_WRITE, "/tmp") != NULL, "/tmp is a write root");
    ok(rule_at(&rules, FS_ALLOW_WRITE, at("real")) != NULL,
       "a root behind a symlink of the host's is its target");
    ok(rule_at(&rules, FS_ALLOW_WRITE, "/etc") == NULL,
       "a root behind a symlink inside another root is not granted");
    ok(rules.warnings.count == 2 && strstr(rules.warnings.items[0], "planted") != NULL, "and that is said");
    const struct fs_rule *hidden = rule_at(&rules, FS_DENY_READ, at("real/sub"));
    ok(hidden != NULL && hidden->directory, "~ is the home directory");
    ok(rule_at(&rules, FS_DENY_WRITE, at("real/sub")) != NULL,
       "a relative entry is relative to the cwd, and followed");
    ok(strstr(rules.warnings.items[1], "up/ leads through a symlink") != NULL,
       "that its link is not protected is said");
    is_int((long long)rules.read_denied.count, 1, "denials are kept as written");
    ok(rule_at(&rules, FS_DENY_WRITE, "/sys") != NULL, "/sys is always closed");
    fs_rules_clear(&rules);

    /* As a command of the first run could: its link now leads elsewhere, and a link stands where a folder
     * stood. */
    remove(at("work/up"));
    if (symlink("/etc", at("work/up")) != 0)
        ok(false, "the link is turned");
    strvec_clear(&options.allow_write);
    ok(fs_rules_resolve(&options, &place, &rules, &err) == 0, "rules are resolved again");
    ok(rule_at(&rules, FS_DENY_WRITE, at("real/sub")) != NULL, "what a denial led to once stays denied");
    ok(rule_at(&rules, FS_DENY_WRITE, "/etc") != NULL, "and what it leads to now is denied too");
    fs_rules_clear(&rules);
    place.cwd = at("work/up");
    ok(fs_rules_resolve(&options, &place, &rules, &err) == 0 &&
           rule_at(&rules, FS_ALLOW_WRITE, "/etc") == NULL,
       "a cwd that an earlier run could have planted is not granted");
    fs_rules_clear(&rules);
    place.cwd = work;

    strvec_clear(&options.deny_read);
    strvec_clear(&options.deny_write);
    path_memory_free(memory);
    strvec_clear(&read_only);
}

int main(void) {
    make_tree();
    spellings();
    rules_of_a_run();
    remove_tree();
    return done_testing();
}
