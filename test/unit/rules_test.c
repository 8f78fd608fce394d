#include "rules_run.h"

#include <sched.h>
#include <sys/mount.h>
#include <time.h>

static void protected_names_hold(void) {
    run_begins();
    host("mkdir -p n/deep/.vscode n/.claude");
    ok(!may(RULE_CREATE, "/n/.bashrc") && strstr(why, "shell start-up file") != NULL &&
           !may(RULE_WRITE, "/n/deep/.vscode/tasks.json") && !may(RULE_REMOVE, "/n/deep/.vscode"),
       "a protected name is refused for every act, with its reason");
    ok(may(RULE_CREATE, "/n/x") && may(RULE_CREATE, "/n/.VSCODE") && may(RULE_CREATE, "/n/.claude/x"),
       "other names are not");
    ok(make_folder("/n/stage") && make_folder("/n/stage/commands") && move("/n/stage", "/n/other"),
       "a folder may move");
    host("rmdir n/.claude");
    ok(!move("/n/other", "/n/.claude") && strstr(why, "agent configuration") != NULL,
       "but not to a name that protects what is in it");
    ok(remove_at("/n/other/commands") && move("/n/other", "/n/.claude"), "without that it may");
    ok(!may(RULE_SYMLINK, "/n/x/.claude") && !may(RULE_SYMLINK, "/n/.config") && may(RULE_SYMLINK, "/n/y"),
       "a symlink does not take the place of such a folder");
    host("mkdir n/.claude/agents");
    ok(!move("/n/.claude", "/n/free"), "nor does it lose it");
    ok(rules_refuse(rules, RULE_CREATE, "/dev/shm/.bashrc") == NULL &&
           rules_refuse(rules, RULE_WRITE, "/proc/1/.bashrc") == NULL &&
           rules_refuse(rules, RULE_WRITE, "") == NULL,
       "devices, processes, and what has no name are free");
    ok(rules_refuse(rules, RULE_CREATE, "") != NULL, "a new name that cannot be told is refused");
    policy.freed_names = 1;
    ok(may(RULE_CREATE, "/n/.bashrc") && !may(RULE_CREATE, "/n/.profile"), "what is freed is free, alone");
    policy.freed_names = 0;
    run_ends();
}

static void hooks_path(void) {
    host("mkdir -p p/.githooks p/x/y");
    run_begins();
    ok(may(RULE_CREATE, "/p/.githooks/x"), "a folder is free");
    session_index_add(session, INDEX_HOOKS, at("/p/.githooks"));
    session_index_add(session, INDEX_HOOKS, at("/p/x/y/none"));
    ok(!may(RULE_CREATE, "/p/.githooks/x") && strstr(why, "core.hooksPath") != NULL &&
           !may(RULE_REMOVE, "/p/.githooks") && may(RULE_CREATE, "/p/.githooks2"),
       "once it is known as one of hooks it is not");
    ok(!may(RULE_SYMLINK, "/p/x/y") && !may(RULE_SYMLINK, "/p") && may(RULE_SYMLINK, "/p/x/y2"),
       "no symlink stands on the way to it");
    ok(!move("/p", "/p2") && move("/p/x/y", "/p/x/z"), "nor is it moved with what is around it");
    ok(make_folder("/p/x/q") && make_folder("/p/x/q/none") && !move("/p/x/q", "/p/x/y"),
       "or moved to where hooks would be");
    host("mkdir -p p3/w");
    session_index_add(session, INDEX_HOOKS, at("/p3/w/none"));
    ok(move("/p3", "/p4") && !may(RULE_CREATE, "/p4/w/none") && !may(RULE_SYMLINK, "/p4/w"),
       "what is missing follows the folder that it would be in");
    run_ends();
}

static void rules_of_the_payload(void) {
    char denied[PATH_MAX], glob[PATH_MAX], closed[PATH_MAX], opened[PATH_MAX];
    snprintf(denied, sizeof denied, "%s/r/deny", scratch);
    snprintf(glob, sizeof glob, "%s/r/**/*.pem", scratch);
    snprintf(closed, sizeof closed, "%s/r/closed", scratch);
    snprintf(opened, sizeof opened, "%s/r/closed/open", scratch);
    struct payload_rule list[] = {{PAYLOAD_DENY_WRITE, 0, denied, "denied by denyWrite"},
                                  {PAYLOAD_DENY_READ, 1, glob, "denied by denyRead"},
                                  {PAYLOAD_DENY_READ, 0, closed, "closed"}};
    char pattern_opened[PATH_MAX];
    snprintf(pattern_opened, sizeof pattern_opened, "%s/r/a/b/open.pem/in", scratch);
    char *opened_items[] = {opened, pattern_opened};
    policy.rules = list;
    policy.rule_count = 3;
    policy.opened = opened_items;
    policy.opened_count = 2;
    host("mkdir -p r/a/b r/c r/closed r/deep/deny; echo x > r/a/b/k.pem");
    run_begins();
    ok(!may(RULE_CREATE, "/r/deny") && !may(RULE_CREATE, "/r/deny/x/y") && may(RULE_CREATE, "/r/deny2"),
       "a denied path holds for what is below it");
    ok(!may(RULE_SYMLINK, "/r") && may(RULE_CREATE, "/r"), "no symlink stands on the way to it");
    ok(!may(RULE_CREATE, "/r/x.pem") && !may(RULE_CREATE, "/r/q/r/x.pem/below") &&
           may(RULE_CREATE, "/r/x.pe") && may(RULE_CREATE, "/x.pem"),
       "a pattern as well");
    is_str(rules_refuse(rules, RULE_CREATE, glob), "denied by denyRead", "with its reason");
    ok(!move("/r/a", "/r/z") && move("/r/c", "/r/y"), "a folder that holds a match does not move");
    host("mv r/a out");
    ok(!move("/out", "/r/a"), "nor does one move in");
    ok(move("/r/deep", "/r/deep2"), "why %s", why ? why : "");
    ok(!move("/r/deep2", "/r/deny") && !move("/r", "/r3"), "or to a denied path, or from around one");
    ok(!may(RULE_WRITE, "/r/closed/x") && may(RULE_WRITE, "/r/closed/open/x"),
       "what is opened again inside a denied region may be written");
    ok(!may(RULE_WRITE, "/r/closed/open2"), "but not what is beside it");
    ok(!may(RULE_READ, "/r/a/b/k.pem") && !may(RULE_READ, "/r/new.pem/below") &&
           may(RULE_READ, "/r/a/b/k.pe"),
       "a pattern that denies reading is held for reading as well");
    ok(may(RULE_READ, "/r/deny") && may(RULE_READ, "/r/closed/x"), "other rules are not: those have masks");
    ok(may(RULE_READ, "/r/a/b/open.pem/in/x") && may(RULE_WRITE, "/r/a/b/open.pem/in/x") &&
           !may(RULE_READ, "/r/a/b/open.pem/x") && !may(RULE_READ, "/r/a/b/open.pem/in/y.pem"),
       "what is opened below a match may be read, but for another match in it");
    host("mkdir -p r/many && cd r/many && seq 20001 | xargs touch");
    ok(!move("/r/many", "/r/more") && strstr(why, "too large") != NULL,
       "a folder that is too large to be looked through stays");
    run_ends();
    policy.rule_count = policy.opened_count = 0;
}

static void common_directory(void) {
    char common[PATH_MAX];
    snprintf(common, sizeof common, "%s/c/.git", scratch);
    host("git init -q c && mkdir -p c/.git/worktrees/own c/.git/worktrees/other");
    policy.common_dir = common;
    policy.worktree = "own";
    run_begins();
    ok(may(RULE_CREATE, "/c/.git/objects/aa/b") && may(RULE_CREATE, "/c/.git/refs/heads/x.lock") &&
           may(RULE_CREATE, "/c/.git/packed-refs.lock") && may(RULE_CREATE, "/c/.git/logs/refs/x") &&
           may(RULE_CREATE, "/c/.git/worktrees/own/index.lock"),
       "a commit in a linked worktree may write what it needs");
    ok(!may(RULE_CREATE, "/c/.git/index.lock") && !may(RULE_WRITE, "/c/.git/HEAD") &&
           !may(RULE_CREATE, "/c/.git/worktrees/other/x") && !may(RULE_REMOVE, "/c/.git/worktrees") &&
           !may(RULE_CREATE, "/c/.git/packed-refsx"),
       "and nothing else of the common directory");
    ok(!may(RULE_CREATE, "/c/.git/hooks/x") && strstr(why, "git hooks") != NULL &&
           !may(RULE_CREATE, "/c/.git/worktrees/own/commondir"),
       "what is protected stays so");
    run_ends();
    policy.common_dir = policy.worktree = "";
}

/* A folder that is found in the other case as well stands for a volume that compares so. */
static int without_case(void) {
    char id[32], large[PATH_MAX], map[64];
    snprintf(id, sizeof id, "0 %d 1", (int)geteuid());
    snprintf(large, sizeof large, "%s", at("/f/Volume"));
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 1;
    snprintf(map, sizeof map, "/proc/self/uid_map");
    int fd = open(map, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, id, strlen(id)) < 0 || mount(large, at("/f/volume"), NULL, MS_BIND, NULL) != 0)
        return 2;
    close(fd);
    policy.common_dir = policy.worktree = "";
    char denied[PATH_MAX];
    snprintf(denied, sizeof denied, "%s", at("/f/Volume/Secret"));
    struct payload_rule rule = {PAYLOAD_DENY_WRITE, 0, denied, "denied by denyWrite"};
    policy.rules = &rule;
    policy.rule_count = 1;
    run_begins();
    int wrong = 0;
    wrong |= may(RULE_CREATE, "/f/Volume/.VSCODE") ? 4 : 0;
    wrong |= may(RULE_CREATE, "/f/Volume/.v\xc5\xbf"
                              "code/x")
                 ? 4
                 : 0;
    wrong |= may(RULE_CREATE, "/f/Volume/.Mcp.Json. ") ? 4 : 0;
    wrong |= may(RULE_WRITE, "/f/Volume/.GIT/CONFIG") || may(RULE_CREATE, "/f/Volume/.GIT/Hooks/x") ? 8 : 0;
    wrong |= may(RULE_CREATE, "/f/Volume/sECRET") || may(RULE_CREATE, "/f/Volume/SECRET/x") ? 16 : 0;
    wrong |= !may(RULE_CREATE, "/f/Volume/Readme") || !may(RULE_CREATE, "/f/Volume/x~1") ? 32 : 0;
    wrong |= !may(RULE_CREATE, "/f/.VSCODE") || !may(RULE_CREATE, "/f/.GIT/CONFIG") ? 64 : 0;
    rules_free(rules);
    return wrong;
}

static void case_is_ignored(void) {
    host("mkdir -p f/Volume/.GIT/Hooks f/volume f/.GIT");
    pid_t child = fork();
    if (child == 0)
        _exit(without_case());
    int status;
    waitpid(child, &status, 0);
    is_int(WEXITSTATUS(status), 0, "names compare without case where the file system does, and only there");
}

static void cost(void) {
    run_begins();
    struct timespec begin, end;
    enum { TIMES = 20000 };
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/some/project/node_modules/package/lib/Index.js", scratch);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    unsigned refused = 0;
    for (unsigned i = 0; i < TIMES; i++)
        refused += rules_refuse(rules, RULE_CREATE, path) != NULL;
    clock_gettime(CLOCK_MONOTONIC, &end);
    double each = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / TIMES;
    printf("# %.0f ns each\n", each);
    ok(refused == 0 && each < 100000, "a plain name costs no call");
    run_ends();
}

int main(void) {
    test_begins();
    protected_names_hold();
    hooks_path();
    rules_of_the_payload();
    common_directory();
    case_is_ignored();
    cost();
    return test_ends();
}
