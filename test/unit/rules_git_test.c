#include "rules_run.h"

static void foreign_repositories(void) {
    host("git init -q h && mkdir -p h/.git/logs/refs/heads && git init -q --bare h/bare.git && mkdir h/src "
         "&& echo x > h/src/x");
    run_begins();
    ok(!may(RULE_WRITE, "/h/.git/config") && strstr(why, "allowGitConfig") != NULL, "config is protected");
    ok(!may(RULE_CREATE, "/h/.git/config.worktree") && !may(RULE_CREATE, "/h/.git/commondir") &&
           !may(RULE_CREATE, "/h/.git/hooks/post-commit") && !may(RULE_WRITE, "/h/.git/hooks/x.sample") &&
           !may(RULE_REMOVE, "/h/.git/hooks"),
       "with hooks and links");
    ok(!may(RULE_WRITE, "/h/bare.git/config") && !may(RULE_CREATE, "/h/bare.git/hooks/post-receive"),
       "in a bare repository, too");
    ok(may(RULE_CREATE, "/h/.git/index.lock") && may(RULE_CREATE, "/h/.git/HEAD") &&
           may(RULE_CREATE, "/h/.git/refs/heads/config") && may(RULE_CREATE, "/h/.git/config.lock") &&
           may(RULE_CREATE, "/h/.git/logs/refs/heads/hooks/x"),
       "what git writes at work is not");
    ok(may(RULE_CREATE, "/h/src/config") && may(RULE_CREATE, "/h/src/hooks/x"), "nor such names elsewhere");
    ok(!may(RULE_REMOVE, "/h/bare.git/refs") && !may(RULE_REMOVE, "/h/bare.git/objects") &&
           !may(RULE_REMOVE, "/h/bare.git/HEAD"),
       "it stays a git directory that can be told");
    ok(!move("/h/bare.git", "/h/b2") && !move("/h/.git", "/h/git2"), "and does not move");
    ok(move("/h", "/h2") && move("/h2", "/h"), "with the folder around it it does");
    policy.allow_git_config = 1;
    ok(may(RULE_WRITE, "/h/.git/config") && may(RULE_CREATE, "/h/.git/config.worktree") &&
           !may(RULE_CREATE, "/h/.git/hooks/x") && !may(RULE_CREATE, "/h/.git/commondir"),
       "allowGitConfig frees configuration alone");
    policy.allow_git_config = 0;
    host("git -C h/bare.git config core.pager evil; git -C h config core.pager evil");
    ok(chmod(at("/h/bare.git"), 0) == 0 &&
           (geteuid() == 0 || (!may(RULE_WRITE, "/h/bare.git/config") && may(RULE_WRITE, "/h/bare.git/x"))),
       "one that cannot be looked at counts as a git directory");
    chmod(at("/h/bare.git"), 0755);
    run_ends();
    ok(lines[0] == '\0', "the end takes nothing out of what is the host's");
    host("test \"$(git -C h config core.pager)\" = evil && touch h/kept");
    ok(there("/h/kept"), "and changes nothing there");
}

static void made_repositories(void) {
    run_begins();
    host("mkdir -p m/s2");
    ok(make_folder("/m/a") && make_repository("/m/a/.git"), "git init works");
    ok(make_repository("/m/b.git"), "git init --bare works");
    ok(make_repository("/m/separate") && write_file("/m/a2", "x"), "and with a separate directory");
    ok(!write_file("/m/a/.git/hooks/post-commit", "evil") && strstr(why, "git hooks") != NULL,
       "no active hook is made in it");
    ok(make_folder("/m/t.git") && make_folder("/m/t.git/hooks") &&
           write_file("/m/t.git/hooks/post-commit", "evil") && make_folder("/m/t.git/refs") &&
           write_file("/m/t.git/HEAD", "ref: refs/heads/main\n") &&
           write_file("/m/t.git/config", "[core]\n\tsshCommand = evil\n") && make_folder("/m/t.git/objects"),
       "but before anybody can tell what it is to be");
    ok(write_file("/m/t.git/config", "[core]\n\tsshCommand = evil2\n"), "its configuration may be written");
    ok(make_folder("/m/s") && make_folder("/m/s/hooks") && write_file("/m/s/hooks/pre-push", "evil") &&
           !move("/m/s", "/m/s2/.git") && strstr(why, "git hooks") != NULL,
       "a folder with hooks does not become .git");
    ok(make_folder("/m/q") && make_folder("/m/q/hooks") &&
           write_file("/m/q/config", "[alias]\n\tx = !evil\n") && make_folder("/m/r") &&
           move("/m/q", "/m/r/.git") && write_file("/m/r/.git/config", "[alias]\n\ty = !evil\n"),
       "one without does, and is the run's");
    ok(make_folder("/m/h") && write_file("/m/h/post-commit", "x") &&
           remove_at("/m/b.git/hooks/pre-commit.sample") && remove_at("/m/b.git/hooks") &&
           !move("/m/h", "/m/b.git/hooks"),
       "nor are hooks moved in under their name");
    run_ends();
    ok(told("t.git/hooks/post-commit") && told("t.git/config") && told("/a/.git/config") &&
           told("r/.git/config") && told("taken out"),
       "the end tells what was taken out");
    ok(!there("/m/t.git/hooks/post-commit"), "hooks are gone");
    host("! grep -r '^[^#;]*evil' m/*/config m/*/.git/config && touch m/harmless");
    ok(there("/m/harmless"), "and so is what git would run of the configuration");

    run_begins();
    ok(!write_file("/m/a/.git/config", "x") && !may(RULE_CREATE, "/m/a/.git/hooks/post-commit"),
       "in a later run it is like any other");
    ok(remove_at("/m/a/.git/config") && remove_at("/m/a/.git/objects"), "but can be removed");
    ok(!may(RULE_CREATE, "/m/a/.git/config"), "what remains of it still is one by its name");
    host("rm -rf m/b.git && git init -q --bare m/b.git");
    ok(!may(RULE_REMOVE, "/m/b.git/config"), "one of the host's at the same path is the host's");
    ok(make_folder("/m/a/.git/objects") && !write_file("/m/a/.git/config", "x"),
       "to make it whole again gives no right to what is in it");
    host("git init -q m/x; rm -rf m/x/.git/hooks; git -C m/x config core.pager evil");
    run_ends();
    run_begins();
    ok(lines[0] == '\0', "the end of a run that made nothing takes nothing out");
    run_ends();
}

static void identity(void) {
    host("mkdir i && git init -q --bare i/host.git && git -C i/host.git config core.pager evil");
    run_begins();
    ok(make_repository("/i/x"), "a repository is made");
    host("mv i/x i/gone && cp -a i/host.git i/x");
    ok(!write_file("/i/x/config", "[core]\n\tpager = evil\n"), "what comes to its path is another one");
    ok(write_file("/i/gone/config", "[core]\n\tpager = evil\n"), "it stays the run's at a new one");
    ok(make_folder("/i/l") && may(RULE_SYMLINK, "/i/l/.git") && symlink("../host.git", at("/i/l/.git")) == 0,
       "a symlink to one of the host's may be made");
    rules_note(rules, at("/i/l/.git"));
    run_ends();
    host("grep -q '^.pager = evil' i/host.git/config && grep -q '^.pager = evil' i/x/config && touch i/kept");
    ok(there("/i/kept"), "the end leaves others alone");
    ok(told("/i/gone/config") && !told("host.git"), "and finds what was moved");
}

static void dot_git_files(void) {
    host("mkdir -p d/sub d/new && echo 'gitdir: ../x' > d/sub/.git");
    run_begins();
    ok(!write_file("/d/sub/.git", "gitdir: ../evil\n") && strstr(why, "not re-pointed") != NULL,
       "a .git file that is there is not written");
    ok(write_file("/d/other", "x") && !move("/d/other", "/d/sub/.git"), "nor replaced");
    ok(write_file("/d/new/.git", "gitdir: ../x\n") && write_file("/d/new/.git", "gitdir: ../y\n"),
       "a new one is, again too");
    ok(remove_at("/d/sub/.git"), "and one may go");
    ok(!write_file("/d/sub/.git", "gitdir: ../evil\n") && !make_folder("/d/sub/.git") &&
           move("/d/sub", "/d/sub2") && !write_file("/d/sub2/.git", "gitdir: ../evil\n"),
       "but no other one comes into its folder");
    ok(move("/d/sub2", "/d/gone") && make_folder("/d/sub") && write_file("/d/sub/.git", "gitdir: ../x\n"),
       "one comes into a new folder of that name");
    ok(remove_at("/d/new/.git") && write_file("/d/new/.git", "gitdir: ../y\n"),
       "and where it was the run's own");
    run_ends();
    run_begins();
    ok(!write_file("/d/gone/.git", "gitdir: ../evil\n"), "in no run of the session");
    run_ends();
}

static void worktrees_and_submodules(void) {
    host("git init -q w && git -C w -c user.name=x -c user.email=x commit -q --allow-empty -m x && "
         "git -C w worktree add -q ../wt");
    run_begins();
    ok(make_folder("/w/.git/worktrees/n") && write_file("/w/.git/worktrees/n/gitdir", "x") &&
           write_file("/w/.git/worktrees/n/HEAD", "ref: refs/heads/n\n") &&
           write_file("/w/.git/worktrees/n/commondir", "../..\n"),
       "git worktree add works");
    ok(!write_file("/w/.git/worktrees/wt/commondir", "../../../evil\n") &&
           !write_file("/w/.git/worktrees/wt/gitdir", "x"),
       "the links of one that is there stay");
    ok(make_folder("/w/.git/modules") && make_repository("/w/.git/modules/a"), "git submodule update works");
    ok(make_folder("/w/.git/modules/b") && make_repository("/w/.git/modules/b/c"),
       "for a name with a slash, too");
    ok(!move("/w/.git/modules", "/w/m") && !move("/w/.git/worktrees", "/w/m"), "stores stay where they are");
    ok(remove_at("/w/.git/worktrees/wt/commondir") && remove_at("/w/.git/worktrees/wt/gitdir") &&
           remove_at("/w/.git/worktrees/wt/HEAD"),
       "git worktree remove works");
    ok(!write_file("/w/.git/worktrees/wt/commondir", "../../../evil\n"), "what is left is not re-pointed");
    run_ends();
    ok(told("modules/a/config") && told("modules/b/c/config") && !told("w/.git/config"),
       "the end looks at submodules made, not at the repository's own");
}

static void unwhole(void) {
    host("mkdir -p u/src/hooks u/src/refs && echo x > u/src/hooks/useState.ts");
    run_begins();
    ok(make_folder("/u/src/objects") && write_file("/u/p", "x"), "a folder gets names as git's");
    ok(make_folder("/u/y") && make_folder("/u/y/.git") && make_folder("/u/y/.git/info"), "a .git is begun");
    run_ends();
    ok(there("/u/src/hooks/useState.ts") && lines[0] == '\0', "what git would not take is let be");
    run_begins();
    ok(write_file("/u/src/HEAD", ""), "nor with a HEAD that says nothing");
    run_ends();
    ok(there("/u/src/hooks/useState.ts") && lines[0] == '\0', "for which it is no git directory");
    run_begins();
    ok(make_folder("/u/z") && make_folder("/u/z/hooks") && write_file("/u/z/hooks/x", "x") &&
           make_folder("/u/z/objects") && make_folder("/u/z/refs"),
       "another one is begun");
    run_ends();
    ok(there("/u/z/hooks/x"), "and let be");
    run_begins();
    ok(write_file("/u/z/HEAD", "ref: refs/heads/main\n"), "until a later run makes it whole");
    run_ends();
    ok(!there("/u/z/hooks/x"), "which is looked at then");
    session_index_free(session);
    session = session_index_new();
    run_begins();
    ok(!write_file("/u/src/HEAD", "ref: refs/heads/main\n") && strcmp(why, "protected: git directory") == 0,
       "what may be a host's that lost its HEAD gets none");
    run_ends();
    ok(there("/u/src/hooks/useState.ts"), "and stays as it is");
    if (mkdir(at("/u/v"), 0777) != 0 || symlink("../o", at("/u/v/objects")) != 0)
        abort();
    run_begins();
    ok(make_folder("/u/v/hooks") && write_file("/u/v/hooks/post-commit", "x") && make_folder("/u/v/refs") &&
           write_file("/u/v/HEAD", "ref: refs/heads/main\n"),
       "a link that leads nowhere yet counts");
    run_ends();
    ok(!there("/u/v/hooks/post-commit"), "as git would follow it later");
}

/* A supervisor that is killed leaves its repositories to the end of another run. */
static void killed(void) {
    host("mkdir k");
    pid_t child = fork();
    if (child == 0) {
        run_begins();
        bool made = make_repository("/k/x") && write_file("/k/x/config", "[core]\n\tpager = evil\n");
        _exit(made ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    is_int(status, 0, "a supervisor ends without the end of its run");
    run_begins();
    run_ends();
    ok(told("/k/x/config"), "another one finds what it left");
    host("git -C k/x config core.pager evil");
    run_begins();
    run_ends();
    ok(lines[0] == '\0', "once: what the host configures later stays");
    child = fork();
    if (child == 0) {
        run_begins();
        bool made = make_repository("/k/y");
        usleep(300000);
        _exit(made ? 0 : 1);
    }
    usleep(150000);
    run_begins();
    run_ends();
    ok(lines[0] == '\0' && there("/k/y/config"), "that of a living one is left to it");
    waitpid(child, &status, 0);
}

int main(void) {
    test_begins();
    foreign_repositories();
    made_repositories();
    identity();
    dot_git_files();
    worktrees_and_submodules();
    unwhole();
    killed();
    return test_ends();
}
