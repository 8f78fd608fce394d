/* Git directories as a command may leave them, and whether the real git runs anything of them. */
#include "exec/git_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tap.h"

static char scratch[] = "/var/tmp/git-check-XXXXXX";
static char told[65536];

/* Runs a shell in the scratch folder, as the host's user would: no configuration but the repository's. */
static __attribute__((format(printf, 1, 2))) int shell(const char *format, ...) {
    static char line[8192];
    va_list args;
    int head =
        snprintf(line, sizeof(line),
                 "cd %s && exec </dev/null >>%s/log 2>&1 && export HOME=%s GIT_CONFIG_NOSYSTEM=1 EDITOR=true "
                 "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x "
                 "GIT_TERMINAL_PROMPT=0 && unset VISUAL GIT_EDITOR GIT_DIR GIT_ASKPASS SSH_ASKPASS DISPLAY; ",
                 scratch, scratch, scratch);
    va_start(args, format);
    vsnprintf(line + head, sizeof(line) - (size_t)head, format, args);
    va_end(args);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* A command that must work. */
#define must(...) ok(shell(__VA_ARGS__) == 0, "prepared")

static int open_directory(const char *path) {
    char whole[256];
    snprintf(whole, sizeof(whole), "%s/%s", scratch, path);
    int fd = open(whole, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        abort();
    return fd;
}

static bool exists(const char *path) {
    char whole[256];
    struct stat status;
    snprintf(whole, sizeof(whole), "%s/%s", scratch, path);
    return lstat(whole, &status) == 0;
}

static void tell(void *data, const char *name, const char *why) {
    size_t length = strlen(told);
    (void)data;
    snprintf(told + length, sizeof(told) - length, "%s: %s\n", name, why);
}

static int disarm(const char *path) {
    cleanup_fd int directory = open_directory(path);
    told[0] = '\0';
    return git_check_disarm(directory, tell, NULL);
}

/* --- keys and hooks, each with a command of git that runs it --- */

/* CANARY in a value is a program that leaves a file; the repository has a.txt on two branches, with every
 * attribute. */
static const struct {
    const char *key, *value, *command;
} keys[] = {
    {"core.fsmonitor", "CANARY", "git status"},
    {"core.hooksPath", "FOLDER", "git commit --allow-empty -m x"},
    {"core.sshCommand", "CANARY", "git fetch ssh://localhost/x"},
    {"core.gitProxy", "CANARY", "git fetch git://localhost/x"},
    {"core.editor", "CANARY", "git commit --allow-empty"},
    {"core.askPass", "CANARY", "echo url=https://localhost/ | git credential fill"},
    {"core.pager", "CANARY", "eval \"$(git var GIT_PAGER)\""},
    {"sequence.editor", "CANARY", "git rebase -i HEAD~1"},
    {"credential.helper", "!CANARY;", "echo url=https://localhost/ | git credential fill"},
    {"credential.https://localhost.helper", "!CANARY;", "echo url=https://localhost/ | git credential fill"},
    {"diff.external", "CANARY", "echo 1 > a.txt; git diff"},
    {"diff.x.command", "CANARY", "echo 1 > a.txt; git diff"},
    {"diff.x.textconv", "CANARY", "git log -p"},
    {"filter.x.clean", "CANARY", "echo 1 > a.txt; git add -A"},
    {"filter.x.smudge", "CANARY", "git checkout other"},
    {"filter.x.process", "CANARY", "echo 1 > a.txt; git add -A"},
    {"merge.x.driver", "CANARY", "git merge other"},
    {"merge.tool", "SOURCED", "git merge other; git mergetool -y"},
    {"mergetool.vimdiff.cmd", "CANARY", "git merge other; git mergetool -y --tool=vimdiff"},
    {"diff.tool", "SOURCED", "git difftool -y HEAD~1"},
    {"difftool.x.cmd", "CANARY", "git difftool -y --tool=x HEAD~1"},
    {"gpg.program", "CANARY", "git commit -S --allow-empty -m x"},
    {"gpg.openpgp.program", "CANARY", "git commit -S --allow-empty -m x"},
    {"alias.x", "!CANARY", "git x"},
    {"alias.x", "rebase -x CANARY HEAD~1", "git x"},
    {"alias.x", "-p log", "git x; git config alias.x && CANARY"},
    {"include.path", "INCLUDED", "git x"},
    {"includeIf.gitdir:/.path", "INCLUDED", "git x"},
    {"rebase.instructionFormat", "%s%nexec CANARY", "git rebase --force-rebase HEAD~1"},
    {"trailer.x.command", "CANARY", "git interpret-trailers --trailer x=y a.txt"},
    {"tar.x.command", "CANARY", "git archive --format=x HEAD"},
    {"uploadpack.packObjectsHook", "CANARY", "git config uploadpack.packObjectsHook && CANARY"},
    {"remote.o.uploadpack", "CANARY", "git config remote.o.url . ; git fetch o"},
    {"remote.o.receivepack", "CANARY", "git config remote.o.url . ; git push o HEAD:z"},
    {"protocol.ext.allow", "always", "git fetch 'ext::CANARY x'"},
    {"web.browser", "x", "git config browser.x.cmd CANARY; git web--browse https://x"},
    {"browser.x.cmd", "CANARY", "git config web.browser x; git web--browse -t x https://x"},
};

static const char *const hooks[][2] = {
    {"post-commit", "git commit --allow-empty -m x"},
    {"pre-commit", "git commit --allow-empty -m x"},
    {"post-checkout", "git checkout other"},
    {"post-index-change", "echo 1 > a.txt; git add -A"},
    {"reference-transaction", "git tag x"},
    {"pre-push", "git push . HEAD:z"},
    {"update", "git push . HEAD:z"},
    {"prepare-commit-msg", "git commit --allow-empty -m x"},
    {"pre-rebase", "git rebase --force-rebase HEAD~1"},
};

static void prepare_base(void) {
    must("printf '#!/bin/sh\\ntouch %s/ran\\n' > canary && chmod 755 canary && mkdir folder && cp canary "
         "folder/post-commit "
         "&& printf '[alias]\\n\\tx = !%s/canary\\n' > included && printf '%s/canary\\n' > sourced",
         scratch, scratch, scratch);
    must("git init -q -b main base && cd base && echo 'a.txt diff=x filter=x merge=x' > .gitattributes && "
         "echo a > a.txt && git add -A && git commit -qm 1 && git branch other && echo b > a.txt && git "
         "commit -qam 2 && "
         "git checkout -q other && echo c > a.txt && git commit -qam 3 && git checkout -q main");
}

/* The text with the words in capitals replaced. */
static void expand(const char *text, char *out, size_t size) {
    static const char *const words[][2] = {
        {"CANARY", "canary"}, {"FOLDER", "folder"}, {"INCLUDED", "included"}, {"SOURCED", "sourced"}};
    size_t length = 0;
    out[0] = '\0';
    while (*text != '\0' && length + 1 < size) {
        size_t word = 0;
        for (size_t i = 0; word == 0 && i < sizeof(words) / sizeof(*words); i++) {
            if (strncmp(text, words[i][0], strlen(words[i][0])) == 0) {
                /* git looks for a tool's file below its own folder. */
                length += (size_t)snprintf(out + length, size - length, "%s%s/%s",
                                           i == 3 ? "../../../../../.." : "", scratch, words[i][1]);
                word = strlen(words[i][0]);
            }
        }
        if (word == 0)
            out[length++] = *text;
        out[length] = '\0';
        text += word == 0 ? 1 : word;
    }
}

static bool runs(const char *repository, const char *command) {
    shell("rm -f ran");
    shell("cd %s && { %s; }", repository, command);
    return exists("ran");
}

static void test_keys(void) {
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        char value[512], command[512];
        expand(keys[i].value, value, sizeof(value));
        expand(keys[i].command, command, sizeof(command));
        shell("rm -rf armed left && cp -a base armed && git -C armed config '%s' '%s' && cp -a armed left",
              keys[i].key, value);
        ok(runs("armed", command), "%s = %s runs by %s", keys[i].key, keys[i].value, keys[i].command);
        ok(disarm("left/.git") == 0 && strncmp(told, "config: ", 8) == 0, "it is taken out and told");
        ok(!runs("left", command) && shell("cd left && git status && git log -p && git diff") == 0,
           "then nothing runs, and git works");
    }
}

static void test_hooks(void) {
    for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
        char wanted[128];
        snprintf(wanted, sizeof(wanted), "hooks/%s: git would run this hook\n", hooks[i][0]);
        shell("rm -rf armed left && cp -a base armed && cp canary armed/.git/hooks/%s && cp -a armed left",
              hooks[i][0]);
        ok(runs("armed", hooks[i][1]), "the hook %s runs", hooks[i][0]);
        ok(disarm("left/.git") == 0, "it gets another name");
        is_str(told, wanted, "which is told");
        ok(!runs("left", hooks[i][1]), "then nothing runs");
    }
    must(
        "rm -rf armed left && cp -a base left && cp -a left/.git/hooks real && cp canary real/post-commit && "
        "rm -rf left/.git/hooks && ln -s ../../real left/.git/hooks && cp -a left armed");
    ok(runs("armed", "git commit --allow-empty -m x"), "a hook behind a symlink runs");
    ok(disarm("left/.git") == 0 && !exists("left/.git/hooks") &&
           exists("left/.git/hooks.os-sandbox-disabled"),
       "the symlink is renamed");
    ok(!runs("left", "git commit --allow-empty -m x") && exists("real/post-commit"),
       "what it led to is untouched");
}

static void test_names(void) {
    must("rm -rf left && cp -a base left && cd left/.git/hooks && touch post-commit "
         "post-commit.os-sandbox-disabled "
         "post-commit.1.os-sandbox-disabled && mkdir _ && touch _/x && touch \"$(printf 'n%%0.s' $(seq "
         "250))\"");
    ok(disarm("left/.git") == 0 &&
           shell("ls left/.git/hooks/post-commit.????????????????.os-sandbox-disabled") == 0 &&
           !exists("left/.git/hooks/post-commit"),
       "where a name is taken another is found");
    ok(exists("left/.git/hooks/_.os-sandbox-disabled/x"), "a folder among the hooks too");
    ok(disarm("left/.git") == 0 && told[0] == '\0', "the second time there is nothing to do");
    must("cd left/.git/hooks && for i in $(seq 1100); do : > h$i; done");
    ok(disarm("left/.git") == 0 && !exists("left/.git/hooks"), "too many hooks are renamed as a whole");
    ok(git_check_is_inactive_hook("x.sample") && git_check_is_inactive_hook("x.os-sandbox-disabled") &&
           !git_check_is_inactive_hook("sample") && !git_check_is_inactive_hook("x.sample.sh"),
       "inactive names");
}

/* --- what is no trouble --- */

static void test_untouched(void) {
    must("printf '%%s\\n' \"find left/.git -type f -printf '%%P %%m %%n %%s %%t\\\\n' | sort; cat "
         "left/.git/config\" > list && "
         "rm -rf left && git init -q left && chmod 640 left/.git/config && touch -d 2001-01-01 "
         "left/.git/config && "
         "sh list > before && test -s before && stat -c %%i left/.git/config > inode");
    ok(disarm("left/.git") == 0 && told[0] == '\0', "of a new repository nothing is said");
    ok(shell("sh list | diff before -") == 0, "nothing in it is changed");
    ok(shell("test $(stat -c %%i left/.git/config) != $(cat inode)") == 0,
       "but its configuration is a new file");
    must("rm -rf bare clone && git clone -q --bare base bare && git clone -q bare clone");
    ok(disarm("bare") == 0 && told[0] == '\0' && disarm("clone/.git") == 0 && told[0] == '\0',
       "nor of clones");
}

/* What a folder has, and whether git takes it, and whether it may become one. */
static const struct {
    const char *made;
    bool taken, directory;
} kinds[] = {
    {"mkdir objects refs; echo ref: refs/heads/x > HEAD", true, true},
    {"mkdir objects refs; echo ref:refs/heads/x > HEAD", true, true},
    {"mkdir objects refs; echo 0123456789012345678901234567890123456789 > HEAD", true, true},
    {"mkdir objects refs; ln -s refs/heads/x HEAD", true, true},
    {"printf 'ref:%100srefs/heads/x' > HEAD; mkdir objects refs", true, true},
    {"mkdir o r; ln -s o objects; ln -s r refs; echo ref: refs/heads/x > HEAD", true, true},
    {"mkdir objects refs hooks; touch config", false, true},
    {"mkdir objects refs; echo head > HEAD", false, true},
    {"echo ../.. > commondir; echo ref: refs/heads/x > HEAD", true, true},
    {"echo ../.. > commondir; echo x > HEAD", false, true},
    {"mkdir objects hooks; echo ref: refs/heads/x > HEAD", false, false},
    {"mkdir objects refs", false, true},
};

static void test_is_directory(void) {
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        must("rm -rf kind && mkdir kind && cd kind && { %s; }", kinds[i].made);
        cleanup_fd int kind = open_directory("kind");
        bool directory = git_check_is_directory(kind);
        ok((directory && git_check_head(kind) == GIT_HEAD_VALID) == kinds[i].taken &&
               directory == kinds[i].directory,
           "%s: %s", kinds[i].made, kinds[i].taken ? "git takes it" : "git does not take it");
    }
    /* The table is what git says. */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strstr(kinds[i].made, "commondir") == NULL)
            ok((shell(
                    "rm -rf kind && mkdir kind && cd kind && { %s; } && git --git-dir . rev-parse --git-dir",
                    kinds[i].made) == 0) == kinds[i].taken,
               "the real git says so of %s", kinds[i].made);
    }
    must("rm -rf wt && git -C base worktree add -q ../wt");
    cleanup_fd int worktree = open_directory("base/.git/worktrees/wt");
    ok(git_check_is_directory(worktree) && git_check_head(worktree) == GIT_HEAD_VALID,
       "a worktree's directory is one");
}

/* --- configuration that is no plain file --- */

static const char *const odd[][2] = {
    {"mv config ../real && ln -s ../real config", "config: no file that can be checked\n"},
    {"rm config && mkfifo config", "config: no file that can be checked\n"},
    {"rm config && mkdir config", "config: no file that can be checked\n"},
    {"truncate -s 5M config", "config: no file that can be checked\n"},
    {"ln -s config config.worktree", "config.worktree: no file that can be checked\n"},
    {"printf '[core' > config", "config: no configuration of git\n"},
    {"printf '[core]\\neditor=x\\n[a]\\nb=c\\n[alias] y = !z' > config",
     "config: git would run or follow core.editor and 1 more\n"},
    {"echo ../../x > commondir", "commondir: leads git to hooks and configuration elsewhere\n"},
    {"ln -s x commondir", "commondir: leads git to hooks and configuration elsewhere\n"},
    {"printf ../.. > commondir", "commondir: leads git to hooks and configuration elsewhere\n"},
};

static void test_odd_files(void) {
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        shell("rm -rf left && cp -a base left && cd left/.git && rm -f ../real && %s", odd[i][0]);
        ok(disarm("left/.git") == 0, "%s", odd[i][0]);
        is_str(told, odd[i][1], "is told");
        ok(disarm("left/.git") == 0 && told[0] == '\0', "and done");
    }
    must("rm -rf left && cp -a base left && cd left/.git && chmod 640 config && ln config ../second");
    ok(disarm("left/.git") == 0 && shell("echo '[core]editor=x' >> left/second") == 0 &&
           shell("! git -C left config core.editor && test $(stat -c %%a-%%h left/.git/config) = 640-1") == 0,
       "a file with a second name is another one afterwards");
}

static void test_permissions(void) {
    shell("rm -rf left && cp -a base left && cp canary left/.git/hooks/post-commit && "
          "git -C left config core.fsmonitor %s/canary && chmod 000 left/.git/hooks && chmod 100 left/.git",
          scratch);
    ok(disarm("left/.git") == 0 && !exists("left/.git/hooks/post-commit") &&
           !runs("left", "git status && git commit --allow-empty -m x"),
       "permissions that were taken away are given back");
}

/* --- other git directories --- */

static void test_others(void) {
    must("rm -rf left && cp -a base left && git -C left -c protocol.file.allow=always submodule add -q "
         "../base a/b && "
         "git -C left commit -qm sub && git -C left worktree add -q ../wt2");
    ok(disarm("left/.git/modules/a/b") == 0 && told[0] == '\0' && disarm("left/.git/worktrees/wt2") == 0 &&
           told[0] == '\0',
       "of submodules and worktrees that git made nothing is said");
    ok(shell("git -C wt2 status && git -C left/a/b log") == 0, "and they work");
    must("cd left/.git && cp %s/canary modules/a/b/hooks/post-commit && git config -f modules/a/b/config "
         "core.editor x && cp -a modules %s/modules-before",
         scratch, scratch);
    ok(disarm("left/.git") == 0 && told[0] == '\0' && shell("diff -r modules-before left/.git/modules") == 0,
       "a submodule is not looked at with what is around it");
    must("git -C left/a/b config core.worktree %s/base", scratch);
    ok(disarm("left/.git/modules/a/b") == 0, "a working tree that is not its own");
    ok(strstr(told, "core.worktree") != NULL, "is told");
}

static const struct {
    const char *made;
    bool kept;
} commons[] = {
    {"mkdir -p d/worktrees/x d/objects d/refs; echo ref: refs/heads/x > d/HEAD", true},
    {"mkdir -p d/worktrees/x d/objects d/refs; echo x > d/HEAD", false},
    {"mkdir -p d/worktrees/x d/objects d/refs", false},
    {"mkdir -p d/worktrees/x d/refs; echo ref: refs/heads/x > d/HEAD", false},
    {"mkdir -p d/other/x d/objects d/refs; ln -s other d/worktrees; echo ref: refs/heads/x > d/HEAD", false},
};

static void test_common_directory(void) {
    for (size_t i = 0; i < sizeof(commons) / sizeof(*commons); i++) {
        must("rm -rf d plain && { %s; } && cd d/*/x && echo ref: refs/heads/x > HEAD && echo ../.. > "
             "%s/plain && ln %s/plain commondir",
             commons[i].made, scratch, scratch);
        const char *own = strstr(commons[i].made, "other") == NULL ? "d/worktrees/x" : "d/other/x";
        ok(disarm(own) == 0 && (told[0] == '\0') == commons[i].kept, "%s: %s", commons[i].made,
           commons[i].kept ? "a common directory" : "none");
        ok(shell("echo ../../../c > plain; test \"$(cat %s/commondir)\" %s", own,
                 commons[i].kept ? "= ../.." : "= ''") == 0,
           "its other name is no more");
    }
}

static void test_close(void) {
    must("rm -rf d plain && mkdir -p d/objects d/refs d/hooks && cp canary d/hooks/x && echo x > plain && ln "
         "plain d/HEAD && echo '[core]editor=x' > d/config");
    cleanup_fd int directory = open_directory("d");
    told[0] = '\0';
    ok(git_check_head(directory) == GIT_HEAD_NONE && git_check_close(directory, tell, NULL) == 0 &&
           told[0] == '\0' && exists("d/hooks/x") && shell("grep -q editor d/config") == 0,
       "what git does not take is left as it is");
    ok(shell("echo ref: refs/heads/x > plain") == 0 && git_check_head(directory) == GIT_HEAD_NONE,
       "and stays so");
}

/* A command has taken the names. */
static void test_taken_names(void) {
    must("rm -rf left && cp -a base left && cd left/.git && git config core.editor x && cp %s/canary "
         "hooks/post-commit && mkdir config.os-sandbox-new && touch config.os-sandbox-disabled "
         "hooks/post-commit.os-sandbox-disabled && for i in $(seq 100); do touch "
         "config.$i.os-sandbox-disabled hooks/post-commit.$i.os-sandbox-disabled; done",
         scratch);
    ok(disarm("left/.git") == 0 && strstr(told, "could not") == NULL &&
           !exists("left/.git/hooks/post-commit"),
       "there is always a name left");
    ok(!runs("left", "git commit --allow-empty") && shell("! git -C left config core.editor") == 0,
       "then nothing runs");
}

int main(void) {
    if (mkdtemp(scratch) == NULL)
        return 1;
    prepare_base();
    test_keys();
    test_hooks();
    test_names();
    test_untouched();
    test_is_directory();
    test_odd_files();
    test_permissions();
    test_others();
    test_common_directory();
    test_close();
    test_taken_names();
    bool fine = done_testing() == 0;
    if (fine)
        shell("chmod -R u+rwx . && rm -rf %s", scratch);
    else
        printf("# see %s/log\n", scratch);
    return fine ? 0 : 1;
}
