#include "policy/name_fold.h"
#include "policy/protected_names.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

/* --- the table --- */

static const char *const wanted[] = {
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".ripgreprc",
    ".mcp.json",
    ".srt-settings.json",
    ".config/os-sandbox/",
    ".vscode/",
    ".idea/",
    ".cursor/",
    ".codex/",
    ".devcontainer/",
    ".husky/",
    ".claude/commands/",
    ".claude/agents/",
    ".claude/skills/",
    ".claude/hooks/",
    ".claude/settings.json",
    ".claude/settings.local.json",
};

static void table(void) {
    size_t count = sizeof wanted / sizeof wanted[0];
    unsigned wrong = 0;
    is_int((long long)protected_name_count, (long long)count, "the table has the policy's names");
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(wanted[i]);
        bool folder = wanted[i][length - 1] == '/';
        int row = protected_name_find(wanted[i]);
        wrong += row < 0 || protected_names[row].folder != folder ||
                 strncmp(protected_names[row].why, "protected: ", 11) != 0 ||
                 strlen(protected_names[row].read_by) == 0;
    }
    is_int(wrong, 0, "each with a reason and what reads it");
    ok(protected_name_find(".vscode") == protected_name_find(".vscode/"),
       "a slash behind a name says nothing");
    ok(protected_name_find(".git/hooks") < 0 && protected_name_find("") < 0 && protected_name_find("/") < 0 &&
           protected_name_find(".vscode//") < 0 && protected_name_find(".vsc") < 0,
       "other entries name no row");
}

static bool is_protected(const char *path) {
    return protected_name_of(path, 0, false) != NULL;
}

static void spellings(void) {
    ok(is_protected("/w/.bashrc") && is_protected("/.bashrc") && is_protected("/a/b/c/d/e/.mcp.json"),
       "a name is protected at any depth");
    ok(is_protected("/w/.vscode") && is_protected("/w/.vscode/tasks.json") &&
           is_protected("/w/.claude/commands/a/b"),
       "a folder with all that is below it");
    ok(!is_protected("/w/bashrc") && !is_protected("/w/x.bashrc") && !is_protected("/w/.bashrc2") &&
           !is_protected("/w/.bashr") && !is_protected("/w/.") && !is_protected("/"),
       "whole components count");
    ok(!is_protected("/w/.claude") && !is_protected("/w/.claude/x") && !is_protected("/w/.config/x") &&
           !is_protected("/w/commands") && is_protected("/w/.config/os-sandbox"),
       "of two components both");
    ok(!is_protected("/w/.VSCODE") && protected_name_of("/w/.VSCODE/x", 0, true) != NULL,
       "case counts, or not");
    uint64_t freed = (uint64_t)1 << protected_name_find(".vscode/");
    ok(protected_name_of("/w/.vscode/x", freed, false) == NULL &&
           protected_name_of("/w/.idea/x", freed, false) != NULL,
       "what is freed is no name, and nothing else");
    ok(protected_name_of("/w/.vscode/.idea", freed, false) != NULL, "but for another one in it");
}

static unsigned below_count(const char *folder, uint64_t freed, bool fold, const char *child) {
    size_t at = 0;
    const char *found;
    unsigned count = 0;
    while (protected_name_below(folder, freed, fold, &at, &found))
        count += child == NULL || strcmp(found, child) == 0;
    return count;
}

static void below(void) {
    is_int(below_count("/w/.claude", 0, false, NULL), 6,
           "a folder is asked for what its name protects in it");
    is_int(below_count("/w/.claude", 0, false, "settings.json"), 1, "by the path below it");
    is_int(below_count("/w/.config", 0, false, "os-sandbox"), 1, "another one");
    is_int(below_count("/w/x.claude", 0, false, NULL), 0, "whole components count here, too");
    is_int(below_count("/w/.CLAUDE", 0, true, NULL), 6, "without case where that is asked");
    is_int(below_count("/w/.claude", (uint64_t)1 << protected_name_find(".claude/hooks/"), false, NULL), 5,
           "what is freed is left out");
    is_int(below_count("/w", 0, false, NULL) + below_count("/", 0, false, NULL), 0,
           "other folders have none");
}

/* --- a naive model: lists of components --- */

struct parts {
    char text[512];
    const char *names[64];
    size_t count;
};

static void split(const char *path, struct parts *out) {
    snprintf(out->text, sizeof out->text, "%s", path);
    out->count = 0;
    for (char *at = strtok(out->text, "/"); at != NULL; at = strtok(NULL, "/"))
        out->names[out->count++] = at;
}

static bool model_protects(const char *path, uint64_t freed, bool fold) {
    int (*compare)(const char *, const char *) = fold ? strcasecmp : strcmp;
    struct parts parts, row;
    split(path, &parts);
    for (size_t i = 0; i < protected_name_count; i++) {
        if ((freed >> i & 1) != 0)
            continue;
        split(protected_names[i].path, &row);
        for (size_t at = 0; at + row.count <= parts.count; at++) {
            size_t same = 0;
            while (same < row.count && compare(parts.names[at + same], row.names[same]) == 0)
                same++;
            if (same == row.count)
                return true;
        }
    }
    return false;
}

static bool model_is_git(const struct parts *parts, size_t count) {
    for (size_t i = count; i-- > 0;) {
        if (strcmp(parts->names[i], ".git") != 0)
            continue;
        if (i + 1 == count)
            return true;
        if (strcmp(parts->names[i + 1], "worktrees") == 0)
            return i + 3 == count;
        if (strcmp(parts->names[i + 1], "modules") != 0 || i + 2 == count)
            return false;
        for (size_t j = i + 2; j < count; j++)
            if (strcmp(parts->names[j], "objects") == 0 || strcmp(parts->names[j], "refs") == 0 ||
                strcmp(parts->names[j], "logs") == 0)
                return false;
        return true;
    }
    return false;
}

/* The candidates as text: part, count of components, by name, whole. */
static void model_candidates(const char *path, char *into, size_t size) {
    static const char *const files[] = {"config", "config.worktree", "commondir", "gitdir"};
    struct parts parts;
    split(path, &parts);
    into[0] = '\0';
    for (size_t i = 0; i < parts.count; i++) {
        int part = strcmp(parts.names[i], "hooks") == 0 ? GIT_PART_HOOKS : -1;
        for (size_t j = 0; j < 4 && i + 1 == parts.count; j++)
            if (strcmp(parts.names[i], files[j]) == 0)
                part = j < 2 ? GIT_PART_CONFIG : GIT_PART_LINK;
        if (part >= 0)
            snprintf(into + strlen(into), size - strlen(into), "%d:%zu:%d:%d ", part, i,
                     model_is_git(&parts, i), i + 1 == parts.count);
    }
}

static void found_candidates(const char *path, char *into, size_t size) {
    struct git_candidate found;
    size_t at = 0;
    into[0] = '\0';
    while (git_candidate_next(path, false, &at, &found)) {
        size_t depth = 0;
        for (size_t i = 0; i < found.directory; i++)
            depth += path[i] == '/';
        snprintf(into + strlen(into), size - strlen(into), "%d:%zu:%d:%d ", (int)found.part, depth,
                 found.is_directory, found.whole);
    }
}

static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % limit);
}

static void random_path(char *into, size_t size) {
    static const char *const names[] = {
        "a",         ".git",    "hooks",  "config",  "config.worktree", "commondir", "gitdir",   "modules",
        "worktrees", "objects", "refs",   "logs",    ".claude",         ".config",   "commands", "os-sandbox",
        "hooks2",    ".gitx",   "xhooks", ".CLAUDE", "Commands",        ".",         "x"};
    size_t length = 0;
    unsigned count = 1 + random_below(7);
    for (unsigned i = 0; i < count; i++) {
        unsigned kind = random_below(3);
        const char *name = names[random_below(sizeof names / sizeof names[0])];
        if (kind == 0)
            name = protected_names[random_below((unsigned)protected_name_count)].path;
        length += (size_t)snprintf(into + length, size - length, "/%s", name);
        if (random_below(8) == 0 && length > 1)
            into[length - 1 - random_below(2)] ^= ' ';
    }
}

static void like_the_model(void) {
    char path[512], found[256], modelled[256];
    unsigned wrong = 0, wrong_git = 0, protects = 0, candidates = 0;
    for (unsigned i = 0; i < 300000; i++) {
        random_path(path, sizeof path);
        if (path[0] != '/')
            continue;
        uint64_t freed = random_below(4) == 0 ? (uint64_t)random_state : 0;
        bool fold = random_below(2) == 0;
        bool got = protected_name_of(path, freed, fold) != NULL;
        protects += got;
        wrong += got != model_protects(path, freed, fold);
        found_candidates(path, found, sizeof found);
        model_candidates(path, modelled, sizeof modelled);
        candidates += found[0] != '\0';
        if (strcmp(found, modelled) != 0 && wrong_git++ == 0) {
            diag("path", path);
            diag("found", found);
            diag("modelled", modelled);
        }
    }
    is_int(wrong, 0, "random paths are protected as a naive model says");
    is_int(wrong_git, 0, "and have its candidates for parts of git directories");
    ok(protects > 10000 && candidates > 10000, "of which there are many");
}

/* --- git --- */

static void git_names(void) {
    static const char *const yes[] = {"/w/.git",
                                      "/.git",
                                      "/w/.git/modules/a",
                                      "/w/.git/modules/a/b",
                                      "/w/.git/worktrees/t",
                                      "/w/.git/modules/a/modules/b"};
    static const char *const no[] = {"/w",
                                     "/w/x.git",
                                     "/w/.git/modules",
                                     "/w/.git/worktrees",
                                     "/w/.git/worktrees/t/x",
                                     "/w/.git/refs",
                                     "/w/.git/modules/a/refs/heads",
                                     "/w/.gitx",
                                     "/"};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        wrong += !git_is_directory_name(yes[i], strlen(yes[i]), false);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        wrong += git_is_directory_name(no[i], strlen(no[i]), false);
    is_int(wrong, 0, "git directories are known by their names");
    ok(git_is_worktree_name("/w/.git/worktrees/t/HEAD", 19, false) &&
           !git_is_worktree_name("/w/.git/modules/t", 17, false),
       "and those of linked worktrees, by a path's first bytes");
    ok(git_is_directory_name("/w/.GIT", 7, true) && !git_is_directory_name("/w/.GIT", 7, false) &&
           git_is_dot_git("/w/.Git", true) && !git_is_dot_git("/w/.Git", false) &&
           git_is_dot_git("/.git", false) && !git_is_dot_git("/w/x.git", false),
       "without case where that is asked");
    ok(git_marks_directory("HEAD", false) && !git_marks_directory("head", false) &&
           git_marks_directory("head", true) && git_marks_directory("refs", false) &&
           git_marks_directory(".git", false) && git_marks_directory("config.worktree", false) &&
           !git_marks_directory("index", true) && !git_marks_directory("", false),
       "and names that make a folder one");
}

/* --- folding --- */

static void folds_to(const char *path, const char *folded) {
    char got[512];
    bool differs = path_fold(path, got, sizeof got);
    is_str(differs ? got : path, folded, folded);
    if (differs)
        ok(path_may_fold(path), "and it is seen before");
}

static void folding(void) {
    folds_to("/W/.VsCode/Tasks.json", "/w/.vscode/tasks.json");
    folds_to("/w/.v\xc5\xbf"
             "code",
             "/w/.vscode");
    folds_to("/w/hoo\xe2\x84\xaa"
             "s",
             "/w/hooks");
    folds_to("/w/.con\xef\xac\x81g/os-sandbox", "/w/.config/os-sandbox");
    folds_to("/w/.g\xe2\x80\x8cit\xef\xbb\xbf", "/w/.git");
    folds_to("/w/.git. . /x...", "/w/.git/x");
    folds_to("/w/../.", "/w/../.");
    folds_to("/w/\xff\xc5/\xc3\xbc", "/w/\xff\xc5/\xc3\xbc");
    ok(!path_may_fold("/w/plain.c/.git"), "a plain path is told by a look");
    char small[4];
    ok(!path_fold("/WWWW", small, sizeof small), "what does not fit is not folded");
    ok(name_is_short_form("GIT~1", 5) && !name_is_short_form("~1", 2) && !name_is_short_form("x~", 2),
       "short forms are told");
}

int main(void) {
    table();
    spellings();
    below();
    like_the_model();
    git_names();
    folding();
    return done_testing();
}
