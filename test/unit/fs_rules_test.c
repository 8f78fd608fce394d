/* fs_rules_resolve on a real tree below /var/tmp: never below /tmp, which is a write root. Rules are compared
 * as text, with the tree's path left out. */
#include "policy/fs_rules.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static char top[] = "/var/tmp/fs-rules-test.XXXXXX";

static char *below(const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", top, name) < 0)
        abort();
    return path;
}

static void folder(const char *name) {
    cleanup_free char *path = below(name);
    if (mkdir(path, 0700) != 0)
        abort();
}

/* A file with a text in which %s, if any, is the tree's path. */
static void file(const char *name, const char *text) {
    cleanup_free char *path = below(name);
    FILE *out = fopen(path, "we");
    if (out == NULL)
        abort();
    for (const char *mark; (mark = strstr(text, "%s")) != NULL; text = mark + 2)
        fprintf(out, "%.*s%s", (int)(mark - text), text, top);
    fputs(text, out);
    fclose(out);
}

static void symlink_to(const char *target, const char *name) {
    cleanup_free char *path = below(name);
    if (symlink(target, path) != 0)
        abort();
}

/* What a run asks for. */
struct asked {
    const char *cwd; /* below the tree; NULL: "work" */
    bool unsupervised;
    const char *deny_read, *deny_write, *allow_read, *allow_write; /* one entry each */
    const char *default_read;
    const char *freed;
    bool git_config;
    const char *path; /* the command's PATH, below the tree */
    const char *program;
};

static void list(struct strvec *out, const char *entry) {
    if (entry != NULL && strvec_push(out, entry) != 0)
        abort();
}

static struct path_memory *memory;

static int resolve(const struct asked *asked, struct fs_rules *rules, struct error *err) {
    struct fs_options options = {.allow_git_config = asked->git_config, .writable_cwd = true};
    struct strvec none = {0};
    struct strvec read_only = {0};
    cleanup_free char *home = below("home");
    cleanup_free char *cwd = below(asked->cwd == NULL ? "work" : asked->cwd);
    cleanup_free char *path = below(asked->path == NULL ? "nowhere" : asked->path);
    options.default_read = asked->default_read == NULL ? NULL : strdup(asked->default_read);
    list(&options.deny_read, asked->deny_read);
    list(&options.deny_write, asked->deny_write);
    list(&options.allow_read, asked->allow_read);
    list(&options.allow_write, asked->allow_write);
    list(&options.allow_protected, asked->freed);
    struct fs_place place = {.home = home,
                             .tmpdir = "/tmp",
                             .cwd = cwd,
                             .additional_dirs = &none,
                             .always_read_only = &read_only,
                             .memory = memory,
                             .supervised = !asked->unsupervised,
                             .search_path = path,
                             .program = asked->program,
                             .start = cwd};
    int result = fs_rules_resolve(&options, &place, rules, err);
    strvec_clear(&options.deny_read);
    strvec_clear(&options.deny_write);
    strvec_clear(&options.allow_read);
    strvec_clear(&options.allow_write);
    strvec_clear(&options.allow_protected);
    free(options.default_read);
    return result;
}

/* The tree's path is left out; what lies outside of it is passed over. */
static void add(char text[4096], const char *sign, const char *path) {
    size_t length = strlen(top);
    if (strncmp(path, top, length) != 0 || path[length] != '/')
        return;
    size_t used = strlen(text);
    snprintf(text + used, 4096 - used, "%s%s%s", used == 0 ? "" : " ", sign, path + length + 1);
}

static const char *const kinds[] = {
    [FS_ALLOW_WRITE] = "+",    [FS_DENY_WRITE] = "-",       [FS_DENY_READ] = "!",
    [FS_ALLOW_READ] = "?",     [FS_SHOW_LINK] = ">",        [FS_SHOW_FOLDER] = ".",
    [FS_PRIVATE_TMP] = "tmp:", [FS_PRIVATE_COPY] = "copy:", [FS_PRIVATE_EMPTY] = "empty:"};

static void rules_text(const struct fs_rules *rules, char text[4096]) {
    text[0] = '\0';
    for (size_t i = 0; i < rules->count; i++)
        add(text, kinds[rules->items[i].kind], rules->items[i].path);
    for (size_t i = 0; i < rules->name_count; i++) {
        char sign[8];
        snprintf(sign, sizeof sign, "%s%s:", rules->names[i].read ? "!" : "-",
                 rules->names[i].glob ? "*" : "");
        add(text, sign, rules->names[i].path);
    }
    for (size_t i = 0; i < rules->later.count; i++)
        if (strstr(rules->later.items[i], "/home/") == NULL)
            add(text, "later:", rules->later.items[i]);
}

static void gives(const char *name, const char *wanted, const struct asked *asked) {
    struct fs_rules rules;
    struct error err = {0};
    char text[4096];
    memory = path_memory_new();
    if (resolve(asked, &rules, &err) != 0) {
        ok(false, "%s: %s", name, err.text);
    } else {
        rules_text(&rules, text);
        is_str(text, wanted, name);
        fs_rules_clear(&rules);
    }
    path_memory_free(memory);
}

#define GIVES(name, wanted, ...) gives(name, wanted, &(struct asked){__VA_ARGS__})

static void denials(void) {
    folder("work");
    folder("work/d");
    file("work/d/f", "");
    file("work/a[1]", "");
    file("work/x.pem", "");
    file("work/d/y.pem", "");
    folder("outside");
    file("outside/key", "");
    symlink_to("../outside/key", "work/link.pem");
    symlink_to("key", "outside/shown");
    symlink_to("../outside/none", "work/dangling");
    symlink_to("loop", "work/loop");
    symlink_to("d", "work/to-d");

    GIVES("the cwd is a write root", "+work", 0);
    GIVES("a denied file is a rule, and one by name", "+work -work/d/f -:work/d/f", .deny_write = "d/f");
    GIVES("every spelling is the same", "+work !work/d/f !:work/d/f", .deny_read = ".//d/../d/./f/");
    GIVES("what is not there is denied by name and later", "+work !:work/new/x later:work/new/x",
          .deny_read = "new//x/");
    GIVES("write-denied only by name", "+work -:work/new", .deny_write = "new");
    GIVES("below a file nothing is, and may come", "+work -:work/d/f/x", .deny_write = "d/f/x");
    GIVES("a link is kept, and what it leads to denied", "+work !outside/key -:work/link.pem !:outside/key",
          .deny_read = "link.pem");
    GIVES("a link to nothing likewise", "+work -:work/dangling !:outside/none later:outside/none",
          .deny_read = "dangling");
    GIVES("a link on the way likewise", "+work -work/d/f -:work/to-d -:work/d/f", .deny_write = "to-d/f");
    GIVES("and where the rest is not there", "+work -:work/to-d -:work/d/new", .deny_write = "to-d/new");
    GIVES("outside the roots links are the host's", "+outside !outside/key !:outside/key", .cwd = "outside",
          .deny_read = "../work/link.pem");
    GIVES("glob characters in the name of a file are text", "+work -work/a[1] -:work/a[1]",
          .deny_write = "a[1]");
    GIVES("a glob is its matches and a pattern", "+work !work/x.pem !*:work/x*.pem", .deny_read = "./x*.pem");
    GIVES("a match that is a link is kept, and what it leads to denied",
          "+work !outside/key !*:work/l*.pem -:work/link.pem !:outside/key", .deny_read = "l*.pem");
    GIVES("a glob behind a link is resolved, and kept as written",
          "+work -work/d/y.pem -:work/to-d -*:work/d/*.pem -*:work/to-d/*.pem", .deny_write = "to-d/*.pem");
    GIVES("a glob below what is not there is a pattern", "+work !*:work/new/**/x",
          .deny_read = "new/**//./x");
}

static void folder_with_characters(void) {
    folder("work/{a,b}");
    GIVES("a relative glob starts in its folder, whatever that is called",
          "+work/{a,b} !*:work/\\{a,b}/*.key", .cwd = "work/{a,b}", .deny_read = "*.key");
}

static void a_loop_is_kept(void) {
    struct fs_rules rules;
    struct error err = {0};
    bool kept = false;
    memory = path_memory_new();
    if (resolve(&(struct asked){.deny_read = "loop"}, &rules, &err) == 0) {
        cleanup_free char *loop = below("work/loop");
        for (size_t i = 0; i < rules.name_count; i++)
            kept |= strcmp(rules.names[i].path, loop) == 0;
        fs_rules_clear(&rules);
    }
    ok(kept, "a loop of links is kept by name");
    path_memory_free(memory);
}

static void earlier_targets(void) {
    struct fs_rules rules;
    struct error err = {0};
    char text[4096] = "";
    memory = path_memory_new();
    const struct asked asked = {.deny_read = "to-d/new", .unsupervised = true};
    if (resolve(&asked, &rules, &err) == 0) {
        ok(rules.warnings.count == 1 && strstr(rules.warnings.items[0], "the link is not") != NULL,
           "without a supervisor it is said that a link is not protected");
        fs_rules_clear(&rules);
    }
    cleanup_free char *link = below("work/to-d");
    unlink(link);
    symlink_to("../outside", "work/to-d");
    if (resolve(&asked, &rules, &err) == 0) {
        rules_text(&rules, text);
        fs_rules_clear(&rules);
    }
    is_str(text, "+work -:work/to-d !:outside/new !:work/d/new later:outside/new later:work/d/new",
           "where a link led in an earlier run stays denied, although nothing is there");
    path_memory_free(memory);
}

static void reads(void) {
    GIVES("allowRead is a rule", "+work !work/d ?work/d/f !:work/d", .deny_read = "d", .allow_read = "d/f");
    GIVES("and so is each match of a glob", "+work !work/d ?work/d/y.pem !:work/d", .deny_read = "d",
          .allow_read = "d/*.pem");
    GIVES("so is a root in a region", "+work/d !work ?work/d !:work", .cwd = "work/d", .deny_read = "..",
          .allow_read = ".");
    GIVES("and what lies outside of one", "+work !outside ?outside/key !:outside", .deny_read = "../outside",
          .allow_read = "../outside/key");
    GIVES("on one path the mounts tell", "+work !work/d ?work/d", .deny_read = "d", .allow_read = "d");
    GIVES("a link that leads to it is shown", "+work !outside >outside/shown ?outside/key !:outside",
          .deny_read = "../outside", .allow_read = "../outside/shown");
    GIVES("allowRead of nothing opens nothing", "+work !work/d !:work/d", .deny_read = "d",
          .allow_read = "none/*");
    GIVES("allowRead does not follow a link that a command could have made", "+work !outside !:outside",
          .deny_read = "../outside", .allow_read = "link.pem");
    GIVES("nor does a glob", "+work !outside ?work/x.pem !:outside", .deny_read = "../outside",
          .allow_read = "*.pem");
}

static void programs(void) {
    folder("opt");
    folder("opt/node-22");
    folder("opt/node-22/bin");
    file("opt/node-22/bin/node", "");
    cleanup_free char *node = below("opt/node-22/bin/node");
    chmod(node, 0755);
    folder("links");
    folder("links/bin");
    symlink_to("../../opt/node-22/bin/node", "links/bin/node");
    folder("work/bin");
    symlink_to("../../outside/tool", "work/bin/node");
    file("outside/tool", "");
    cleanup_free char *tool = below("outside/tool");
    chmod(tool, 0755);
    GIVES("strictly, roots are open", "+work ?work", .default_read = "deny");
    GIVES("and the installation of node on the PATH", "+work ?work ?opt/node-22 ?opt/node-22/bin/node",
          .default_read = "deny", .path = "opt/node-22/bin");
    GIVES("also behind a link of the host's", "+work ?work ?links ?opt/node-22 ?opt/node-22/bin/node",
          .default_read = "deny", .path = "links/bin");
    GIVES("not behind one that a command could have made", "+work ?work", .default_read = "deny",
          .path = "work/bin");
    GIVES("and the command's file", "+work ?work ?outside/tool", .default_read = "deny",
          .program = "../outside/tool");
    GIVES("which has to be a program", "+work ?work", .default_read = "deny", .program = "../outside/key");
    GIVES("and no link of a command's", "+work ?work", .default_read = "deny", .program = "bin/node");

    struct fs_rules rules;
    struct error err = {0};
    bool closed[3] = {false};
    memory = path_memory_new();
    if (resolve(&(struct asked){.default_read = "deny"}, &rules, &err) == 0) {
        for (size_t i = 0; i < rules.count; i++) {
            const struct fs_rule *rule = &rules.items[i];
            closed[0] |= rule->kind == FS_DENY_READ && strcmp(rule->path, "/etc") == 0;
            closed[1] |= rule->kind == FS_DENY_READ && strcmp(rule->path, "/proc") == 0;
            closed[2] |= rule->kind == FS_ALLOW_READ && strcmp(rule->path, "/usr/bin") == 0;
        }
        fs_rules_clear(&rules);
    }
    path_memory_free(memory);
    ok(closed[0] && !closed[1] && closed[2], "strictly, /etc is closed, /proc is not, and /usr/bin is open");
}

static void protected_names_there(void) {
    folder("work/.vscode");
    file("work/.bashrc", "");
    folder("work/d/.vscode");
    GIVES("protected names at the top of a root are rules", "+work -work/.bashrc -work/.vscode", 0);
    GIVES("but freed ones", "+work -work/.bashrc", .freed = ".vscode/");
    GIVES("a protected root is said to be none", "+work/.vscode -work/.vscode", .cwd = "work/.vscode");
    cleanup_free char *rc = below("work/.bashrc");
    unlink(rc);
    symlink_to("d/f", "work/.bashrc");
    GIVES("of a link the target is one", "+work -work/d/f -work/.vscode -:work/d/f", 0);
    unlink(rc);
    symlink_to(".", "work/.bashrc");
    GIVES("not the root itself", "+work -work/.vscode", 0);
    unlink(rc);
    symlink_to("../outside/key", "work/.bashrc");
    GIVES("nor what is not writable anyway", "+work -work/.vscode", 0);
    unlink(rc);
    symlink_to("link.pem", "work/.bashrc");
    GIVES("but a link between is kept", "+work -work/.vscode -:work/link.pem", 0);
    unlink(rc);
    symlink_to("d/none", "work/.bashrc");
    GIVES("of a link to nothing the target's name is kept", "+work -work/.vscode -:work/d/none", 0);
}

static void repositories(void) {
    folder("repo");
    folder("repo/.git");
    folder("repo/.git/hooks");
    folder("repo/.git/objects");
    folder("repo/.git/refs");
    folder("repo/.git/logs");
    folder("repo/.git/info");
    folder("repo/.git/worktrees");
    file("repo/.git/HEAD", "");
    file("repo/.git/config", "[core]\n\thooksPath = dev/hooks\n");
    GIVES("hooks and configuration of a repository are rules, also a folder of hooks to come",
          "+repo -repo/.git/hooks -repo/.git/config -:repo/dev/hooks", .cwd = "repo");
    folder("repo/dev");
    folder("repo/dev/hooks");
    GIVES("and one that is there",
          "+repo -repo/.git/hooks -repo/.git/config -repo/dev/hooks -:repo/dev/hooks", .cwd = "repo");
    GIVES("allowGitConfig frees the configuration alone",
          "+repo -repo/.git/hooks -repo/dev/hooks -:repo/dev/hooks", .cwd = "repo", .git_config = true);
    GIVES("a git directory as a root is a bare repository",
          "+repo/.git -repo/.git/hooks -repo/.git/config -:repo/.git/dev/hooks", .cwd = "repo/.git");
    file("repo/.git/config", "[core]\n\thooksPath = .\n");
    GIVES("hooks at the top of a root close nothing", "+repo -repo/.git/hooks -repo/.git/config",
          .cwd = "repo");
    file("repo/.git/config", "");
}

static void worktrees(void) {
    static const char *const own[] = {"tree", "other", "stray"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        char name[256];
        char text[256];
        folder(own[i]);
        snprintf(name, sizeof name, "%s/.git", own[i]);
        snprintf(text, sizeof text, "gitdir: %%s/repo/.git/worktrees/%s\n", own[i]);
        file(name, text);
        snprintf(name, sizeof name, "repo/.git/worktrees/%s", own[i]);
        folder(name);
        snprintf(name, sizeof name, "repo/.git/worktrees/%s/commondir", own[i]);
        file(name, "../..\n");
        snprintf(name, sizeof name, "repo/.git/worktrees/%s/gitdir", own[i]);
        snprintf(text, sizeof text, "%%s/%s/.git\n", strcmp(own[i], "stray") == 0 ? "tree" : own[i]);
        file(name, text);
    }
    struct fs_rules rules;
    struct error err = {0};
    char text[4096] = "";
    memory = path_memory_new();
    if (resolve(&(struct asked){.cwd = "tree"}, &rules, &err) == 0) {
        cleanup_free char *common = below("repo/.git");
        is_str(rules.common_dir, common, "a worktree's common directory is known");
        is_str(rules.worktree, "tree", "and its name");
        rules_text(&rules, text);
        static const char *const wanted[] = {"+tree",
                                             "+repo/.git",
                                             "-repo/.git/HEAD",
                                             "-repo/.git/config",
                                             "-repo/.git/hooks",
                                             "-repo/.git/info",
                                             "-repo/.git/worktrees/other",
                                             "-repo/.git/worktrees/stray",
                                             "-repo/.git/worktrees/tree/commondir",
                                             "-repo/.git/worktrees/tree/gitdir",
                                             "-tree/.git"};
        size_t length = sizeof wanted / sizeof wanted[0] - 1;
        for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
            const char *at = strstr(text, wanted[i]);
            length += strlen(wanted[i]);
            ok(at != NULL && (at[strlen(wanted[i])] == ' ' || at[strlen(wanted[i])] == '\0'), "it gives %s",
               wanted[i]);
        }
        is_int((long long)strlen(text), (long long)length, "and no more");
        ok(path_memory_was_granted(memory, common), "the grant is remembered");
        fs_rules_clear(&rules);
    }
    path_memory_free(memory);
    GIVES("without a supervisor only the folders of a commit",
          "+tree +repo/.git/objects +repo/.git/refs +repo/.git/logs +repo/.git/worktrees/tree "
          "-repo/.git/worktrees/tree/commondir -repo/.git/worktrees/tree/gitdir -tree/.git",
          .cwd = "tree", .unsupervised = true);
    GIVES("a worktree that is not led back to is none", "+stray -stray/.git", .cwd = "stray");
    GIVES("in a root the common directory is the root's",
          "+tree +repo -tree/.git -repo/.git/hooks -repo/.git/config", .cwd = "tree",
          .allow_write = "../repo");
    cleanup_free char *back = below("repo/.git/worktrees/tree/commondir");
    unlink(back);
    GIVES("without its link it is none", "+tree -tree/.git", .cwd = "tree");
}

static void credentials(void) {
    struct fs_rules rules;
    struct error err = {0};
    memory = path_memory_new();
    folder("home");
    folder("home/.aws");
    for (int in_root = 0; in_root < 2; in_root++) {
        size_t held = 0;
        bool later = false;
        cleanup_free char *netrc = below("home/.netrc");
        if (resolve(&(struct asked){.cwd = in_root ? "home" : "work"}, &rules, &err) != 0)
            continue;
        for (size_t i = 0; i < rules.name_count; i++)
            held += rules.names[i].read;
        for (size_t i = 0; i < rules.later.count; i++)
            later |= strcmp(rules.later.items[i], netrc) == 0;
        ok(later, "credentials that are not there are masked later");
        ok(in_root ? held > 20 : held == 0, "and held by name where commands may write: %d", in_root);
        fs_rules_clear(&rules);
    }
    path_memory_free(memory);
    GIVES("credentials are opened by allowRead", "+outside !home/.aws ?home/.aws", .cwd = "outside",
          .allow_read = "~/.aws");
}

int main(void) {
    if (mkdtemp(top) == NULL)
        abort();
    denials();
    folder_with_characters();
    a_loop_is_kept();
    reads();
    earlier_targets();
    programs();
    protected_names_there();
    repositories();
    worktrees();
    credentials();
    cleanup_free char *command = NULL;
    if (asprintf(&command, "rm -rf '%s'", top) < 0 || system(command) != 0)
        diag("left behind", top);
    return done_testing();
}
