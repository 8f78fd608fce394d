/* What the indexer finds in real repositories, and when it looks again. All below /var/tmp, as the agent's
 * child. */
#include "base/path.h"
#include "exec/hooks_path.h"
#include "exec/index_scan.h"
#include "exec/index_walk.h"
#include "tap.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char top[] = "/var/tmp/os-sandbox-index-XXXXXX";

/* The tree is made by a shell, in the scratch folder, with a git that reads no configuration of this host. */
static void shell(const char *script) {
    char command[8192];
    snprintf(command, sizeof command,
             "cd %s && export HOME=%s/home GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null && set -e\n%s",
             top, top, script);
    int status = system(command);
    if (status != 0)
        ok(false, "the shell made the tree: status %d of %s", status, script);
}

/* How often the index has a path of the tree. */
static int count_of(const struct session_index *index, const char *name) {
    char wanted[PATH_MAX + 64];
    size_t position = 0;
    size_t number;
    enum index_kind kind;
    const char *path;
    int count = 0;
    snprintf(wanted, sizeof wanted, "%s/%s", top, name);
    while (session_index_next(index, &position, &kind, &path, &number))
        count += kind == INDEX_HOOKS && strcmp(path, wanted) == 0;
    return count;
}

/* How much of the tree it has: the configuration of this host may add more. */
static int size_of(const struct session_index *index) {
    size_t position = 0;
    size_t number;
    enum index_kind kind;
    const char *path;
    int count = 0;
    while (session_index_next(index, &position, &kind, &path, &number))
        count += path_is_within(path, top);
    return count;
}

static const char *at(const char *name) {
    static char path[4][PATH_MAX + 64];
    static unsigned turn;
    char *text = path[turn++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", top, name);
    return text;
}

static uint64_t device_of(const char *path) {
    struct stat facts = {0};
    stat(path, &facts);
    return facts.st_dev;
}

static void want(struct index_scan *scan, const char *name) {
    index_scan_want(scan, at(name), device_of(at(name)), at("home"));
}

/* The agent's loop: how many children there were until nothing is scanned. */
static int serve(struct index_scan *scan) {
    int children = 0;
    while (index_scan_busy(scan)) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        if (pid <= 0 || !index_scan_owns(scan, pid))
            return -1;
        children += status == 0 ? 1 : 1000;
        index_scan_reaped(scan, pid);
    }
    return children;
}

static void finds(void) {
    struct session_index *index = session_index_new();
    struct index_scan *scan = index_scan_new(index);
    shell(
        "mkdir work home real && cd work\n"
        "git init -q plain\n"
        "git init -q a/b/c/relative && git -C a/b/c/relative config core.hooksPath tools/hooks\n"
        "mkdir -p a/b/c/relative/tools/hooks\n"
        "git init -q absent && git -C absent config core.hooksPath not/yet/there\n"
        "git init -q absolute && git -C absolute config core.hooksPath $PWD/shared/hooks\n"
        "git init -q tilde && git -C tilde config core.hooksPath '~/hooks'\n"
        "git init -q --bare bare.git && git -C bare.git config core.hooksPath their-hooks\n"
        "git init -q own && git -C own config core.hooksPath .\n"
        "git init -q above && git -C above config core.hooksPath ..\n"
        "git init -q usual && git -C usual config core.hooksPath .git/hooks\n"
        "git init -q through && ln -s ../../real through/link && git -C through config core.hooksPath "
        "link/h\n"
        "git init -q dangling && ln -s ../gone/hooks dangling/hooks\n"
        "git -C dangling config core.hooksPath hooks\n"
        "git init -q linked && rm -r linked/.git/hooks && ln -s ../../githooks linked/.git/hooks\n"
        "git init -q linked-config && mv linked-config/.git/config elsewhere\n"
        "ln -s ../../elsewhere linked-config/.git/config\n"
        "git init -q including && git -C including config include.path ../dot/included\n"
        "mkdir including/dot && git config -f including/dot/included core.hooksPath from-included\n"
        "git init -q last && git -C last config --add core.hooksPath one\n"
        "git -C last config --add core.hooksPath two\n"
        "git init -q --separate-git-dir=$PWD/../real/separate separate\n"
        "git -C separate config core.hooksPath separate-hooks\n"
        "git init -q main && cd main && git config core.hooksPath main-hooks\n"
        "git -c user.name=a -c user.email=b -c core.hooksPath=/none commit -q --allow-empty -m a\n"
        "git config extensions.worktreeConfig true\n"
        "git worktree add -q ../linked-tree\n"
        "git -C ../linked-tree config --worktree core.hooksPath its-own-hooks\n"
        "cd .. && git init -q with-module\n"
        "git -C with-module -c protocol.file.allow=always submodule --quiet add ../main deep/module\n"
        "git -C with-module/.git/modules/deep/module config core.hooksPath module-hooks\n"
        "mkdir turned && ln -s ../main turned/link && echo 'gitdir: link/.git' > turned/.git\n"
        "mkdir -p fake/.git fifo/.git && echo 'gitdir: /nonexistent' > fake/file && mkfifo fifo/.git/config\n"
        "mkdir junk && head -c 5000 /dev/zero > junk/.git\n");
    want(scan, "work");
    is_int(serve(scan), 1, "one child walks the root");
    static const char *const found[] = {
        "work/a/b/c/relative/tools/hooks",
        "work/absent/not/yet/there",
        "work/shared/hooks",
        "home/hooks",
        "work/bare.git/their-hooks",
        "work/through/link",
        "real/h",
        "work/dangling/hooks",
        "work/gone/hooks",
        "work/githooks",
        "work/elsewhere",
        "work/including/dot/included",
        "work/including/from-included",
        "work/last/one",
        "work/last/two",
        "work/separate/separate-hooks",
        "work/main/main-hooks",
        "work/linked-tree/main-hooks",
        "work/linked-tree/its-own-hooks",
        "work/with-module/deep/module/module-hooks",
        "work/turned/link",
        "work/turned/main-hooks",
    };
    const int count = sizeof found / sizeof found[0];
    for (int i = 0; i < count; i++)
        is_int(count_of(index, found[i]), 1, found[i]);
    if (!ok(size_of(index) == count, "nothing else is protected: not a worktree, nor what is above it")) {
        size_t position = 0;
        size_t number;
        enum index_kind kind;
        const char *path;
        while (session_index_next(index, &position, &kind, &path, &number))
            diag("has", path);
    }
    index_scan_stop(scan);
}

static void finds_what_the_user_configured(void) {
    struct session_index *index = session_index_new();
    shell("git init -q users/one && git init -q users/two\n"
          "git config -f home/.gitconfig core.hooksPath .hooks\n"
          "git config -f home/.gitconfig include.path more.inc\n"
          "git config -f home/more.inc core.hooksPath '~/all'\n");
    int folder = open(at("users"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct index_walked walked = index_walk(index, folder, at("home"));
    is_int((long long)walked.git_directories, 2, "two git directories");
    is_int(count_of(index, "users/one/.hooks") + count_of(index, "users/two/.hooks"), 2,
           "the user's core.hooksPath, where it is relative, is one folder in every worktree");
    is_int(count_of(index, "home/all"), 1, "where it is not, it is that one");
    is_int(count_of(index, "home/more.inc"), 1, "the user's included file is configuration");
    close(folder);
}

/* Configuration that commands wrote: the walk ends soon, and the index has room for others. */
static void is_not_kept_busy(void) {
    struct session_index *index = session_index_new();
    shell("mkdir hostile && cd hostile && git init -q loops && git init -q fills\n"
          "for i in $(seq 300); do printf '[include]\\npath = config\\n'; done >> loops/.git/config\n"
          "for i in $(seq 300); do printf '[core]\\nhooksPath = h%s\\n' $i; done >> fills/.git/config\n"
          "git init -q victim && git -C victim config core.hooksPath hooks\n"
          "mkdir -p a/modules/modules && ln -s . a/.git && ln -s . a/modules/.git && ln -s .. "
          "a/modules/modules/.git\n");
    int folder = open(at("hostile"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    index_walk(index, folder, NULL);
    close(folder);
    is_int(count_of(index, "hostile/victim/hooks"), 1, "beside hostile configuration another is read");
    is_int(count_of(index, "hostile/fills/h64"), 1, "many folders of one are protected");
    is_int(count_of(index, "hostile/fills/h65"), 0, "not more and more");
}

static void scans_again_late(void) {
    struct session_index *index = session_index_new();
    struct index_scan *scan = index_scan_new(index);
    shell("mkdir -p later/below later-sibling other");
    want(scan, "later");
    is_int(serve(scan), 1, "a root is scanned");
    shell("git init -q later/new && git -C later/new config core.hooksPath h\n");
    want(scan, "later");
    want(scan, "later/below");
    is_int(serve(scan), 0, "not again at once, nor what it covers");
    want(scan, "later-sibling");
    want(scan, "other");
    is_int(serve(scan), 2, "others are, one after the other");
    struct payload_mount mounts[] = {
        {.kind = MOUNT_READ_ONLY, .path = at("home"), .device = device_of(top)},
        {.kind = MOUNT_WRITABLE, .path = at("later/below"), .device = device_of(top) + 1},
        {.kind = MOUNT_WRITABLE, .path = at("later/new"), .device = device_of(top)},
    };
    struct payload payload = {.mounts = mounts, .mount_count = 3};
    index_roots_wanted(scan, &payload);
    is_int(serve(scan), 1, "of a run the writable ones, and one on another file system is not covered");
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "many%d", i);
        mkdir(at(name), 0700);
        want(scan, name);
    }
    int children = serve(scan);
    ok(children > 50 && children <= 100, "of very many roots some wait, none is harmed: %d", children);
    index_scan_stop(scan);
}

static void ends_with_the_agent(void) {
    struct session_index *index = session_index_new();
    struct index_scan *scan = index_scan_new(index);
    want(scan, "work");
    index_scan_stop(scan);
    int status = 0;
    ok(waitpid(-1, &status, 0) > 0, "a stopped scan leaves one child to reap, and no other");
    is_int(waitpid(-1, &status, 0), -1, "which is all");
    index_scan_stop(NULL);
}

static void real_is(const char *written, const char *wanted, const char *name) {
    char real[PATH_MAX];
    if (real_path_so_far(at(written), real))
        is_str(real, at(wanted), name);
    else
        ok(wanted == NULL, "%s", name);
}

static void real_paths(void) {
    shell(
        "mkdir -p p/q && ln -s q p/to && ln -s nothing p/gone && ln -s gone/x p/chain && ln -s ../loop loop\n"
        "ln -s p/loop2 loop1 && ln -s ../loop1 p/loop2 && touch p/file\n");
    real_is("p/to", "p/q", "a symlink is followed");
    real_is("p/to/new/deep", "p/q/new/deep", "what is missing stays behind what is there");
    real_is("p//q/./../to/", "p/q", "dots and slashes go");
    real_is("p/gone", "p/nothing", "a symlink to nothing is followed too");
    real_is("p/chain/y", "p/nothing/x/y", "and a chain of those");
    char real[PATH_MAX];
    ok(!real_path_so_far(at("loop1"), real), "a loop has none");
    real_is("p/missing/../q", "p/q", "what goes up from a missing folder is where that will be");
    real_is("p/missing/./../to//new//x", "p/q/new/x", "symlinks behind it are followed");
    ok(!real_path_so_far("relative", real), "nor a relative path");
}

static void reach(void) {
    struct session_index *index = session_index_new();
    shell("git init -q model && git -C model config core.hooksPath .hooks\n"
          "mkdir big && i=0; while [ $i -lt 500 ]; do mkdir big/part$i; cp -r model/.git big/part$i/.git; "
          "i=$((i+1)); done\n"
          "cd big && for p in part*; do (cd $p && seq -f 'file%g.txt' 100 | xargs touch); done\n");
    int folder = open(at("big"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    struct index_walked walked = index_walk(index, folder, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    close(folder);
    double ms = (double)(after.tv_sec - before.tv_sec) * 1e3 + (double)(after.tv_nsec - before.tv_nsec) / 1e6;
    printf("# 50,000 files, 500 repositories: %.1f ms of the processor\n", ms);
    is_int((long long)walked.git_directories, 500, "500 repositories are looked at");
    ok(walked.entries >= 50000, "50,000 files are seen");
    is_int(size_of(index), 500, "each with its own folder of hooks");
}

int main(void) {
    if (mkdtemp(top) == NULL)
        return 1;
    finds();
    finds_what_the_user_configured();
    is_not_kept_busy();
    scans_again_late();
    ends_with_the_agent();
    real_paths();
    reach();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", top);
    is_int(system(command), 0, "the tree is removed");
    return done_testing();
}
