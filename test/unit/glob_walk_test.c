/* glob_walk_find on a tree below /var/tmp, against glob_match over all its paths. */
#include "base/glob.h"
#include "base/path.h"
#include "platform/glob_walk.h"
#include "tap.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char top[] = "/var/tmp/os-sandbox-glob-XXXXXX";

static const char *at(const char *name) {
    static char path[4][512];
    static unsigned turn;
    char *text = path[turn++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", top, name);
    return text;
}

static void shell(const char *script) {
    char command[4096];
    snprintf(command, sizeof command, "cd %s && set -e\n%s", top, script);
    int status = system(command);
    if (status != 0)
        ok(false, "the shell made the tree: status %d of %s", status, script);
}

/* What is found, as one text: the paths below the top, a space between them. */
static const char *find(struct glob_cache *cache, const char *pattern) {
    static char text[4096];
    struct strvec found = {0};
    struct error err = {0};
    text[0] = '\0';
    if (glob_walk_find(cache, at(pattern), &found, &err) != 0)
        snprintf(text, sizeof text, "error: %s", err.text);
    else
        for (size_t i = 0; i < found.count; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i == 0 ? "" : " ",
                     path_is_within(found.items[i], top) ? found.items[i] + sizeof top : found.items[i]);
    strvec_clear(&found);
    return text;
}

static void finds(void) {
    static const struct {
        const char *pattern;
        const char *wanted;
    } rows[] = {
        {"t/**/*.pem", "t/a/b/deep.pem t/a/one.pem t/link.pem t/top.pem"},
        {"t/*.pem", "t/link.pem t/top.pem"},
        {"t/*/*.pem", "t/a/one.pem"},
        {"t/**/.env", "t/.env t/a/b/.env t/c/.env"},
        {"t/**", "t"},
        {"t/**/b", "t/a/b"},
        {"t/**/b/**", "t/a/b"},
        {"t/a/{one,two}.*", "t/a/one.pem t/a/two.key"},
        {"t/{a/b,c}/.env", "t/a/b/.env t/c/.env"},
        {"t/{a,c}{/b,}/.e?v", "t/a/b/.env t/c/.env"},
        {"t/[ab]/[!a-m]*", "t/a/one.pem t/a/two.key"},
        {"t/a/one.pem", "t/a/one.pem"},
        {"t/a/o\\ne.pem", "t/a/one.pem"},
        {"t/a/absent", ""},
        {"t/absent/**/x", ""},
        {"t/a/one.pem/**/x", ""},
        {"t/linked/*.pem", "t/a/one.pem"},
        {"t/lin?ed/*.pem", ""},
        {"t/l*", "t/link.pem t/linked"},
        {"t/\\[x\\]/*", "t/[x]/in"},
        {"t/[[x]*/*", "t/[x]/in"},
        {"t/[x", "t/[x"},
        {"t/dangling*", "t/dangling"},
        {"t/*/", ""},
    };
    shell(
        "mkdir -p t/a/b t/c 't/[x]' && cd t && touch top.pem .env a/one.pem a/two.key a/b/deep.pem a/b/.env\n"
        "touch c/.env '[x]/in' '[x' && ln -s top.pem link.pem && ln -s a linked && ln -s nothing dangling\n");
    struct glob_cache *cache = glob_cache_new();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        is_str(find(cache, rows[i].pattern), rows[i].wanted, rows[i].pattern);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(find(NULL, rows[i].pattern), rows[i].wanted) != 0)
            is_str(find(NULL, rows[i].pattern), rows[i].wanted, "without a cache");
    glob_cache_free(cache);
    glob_cache_free(NULL);
}

/* Times that lie so far back that listings are remembered. */
static void settle(const char *name) {
    char script[600];
    snprintf(script, sizeof script, "find %s -exec touch -h -d '1 hour ago' {} +", name);
    shell(script);
    usleep(3100000);
}

static void sees_changes(void) {
    struct glob_cache *cache = glob_cache_new();
    shell("mkdir -p ch/a/b ch/c && touch ch/a/b/x.pem");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/b/x.pem", "at once");
    shell("touch ch/c/y.pem");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/b/x.pem ch/c/y.pem", "what comes at once after it");
    settle("ch");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/b/x.pem ch/c/y.pem", "remembered");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/b/x.pem ch/c/y.pem", "and told again");
    shell("rm ch/c/y.pem && touch ch/a/b/z.pem ch/a/n.pem && mkdir ch/new && touch ch/new/m.pem\n"
          "touch -d '1 hour ago' ch/c ch/a/b ch/a ch");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/b/x.pem ch/a/b/z.pem ch/a/n.pem ch/new/m.pem",
           "what came and went, though the folders' times were put back");
    usleep(3100000);
    find(cache, "ch/**/*.pem");
    shell("mv ch/a/b ch/c/moved && mkdir ch/a/b");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/n.pem ch/c/moved/x.pem ch/c/moved/z.pem ch/new/m.pem",
           "what was moved, though it is remembered itself");
    shell("rm -r ch/new ch/c && ln -s a ch/new && touch ch/c");
    is_str(find(cache, "ch/**/*.pem"), "ch/a/n.pem", "folders that became something else");
    glob_cache_free(cache);
}

static char all_paths[4096][160];
static size_t all_count;

static int collect(const char *path, const struct stat *facts, int type, struct FTW *where) {
    (void)facts;
    (void)type;
    (void)where;
    if (all_count < sizeof all_paths / sizeof all_paths[0])
        snprintf(all_paths[all_count++], sizeof all_paths[0], "%s", path);
    return 0;
}

static uint32_t random_state = 7;

static unsigned below(unsigned limit) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static void random_pattern(char *out, size_t size, unsigned depth) {
    static const char *const pieces[] = {"a",  "b",    "c",     "ab",  "/",  "/**/", "/**", "*", "?",
                                         "/*", "[ab]", "[!a]*", "\\a", "/a", "/b",   "é",   "."};
    for (unsigned i = 0, count = 1 + below(4); i < count; i++) {
        if (depth > 0 && below(5) == 0) {
            strncat(out, "{", size - strlen(out) - 1);
            random_pattern(out, size, depth - 1);
            strncat(out, ",", size - strlen(out) - 1);
            random_pattern(out, size, depth - 1);
            strncat(out, "}", size - strlen(out) - 1);
        } else {
            strncat(out, pieces[below(sizeof pieces / sizeof pieces[0])], size - strlen(out) - 1);
        }
    }
}

static bool is_wanted(const char *pattern, const char *path) {
    char above[160];
    if (!glob_match(pattern, path))
        return false;
    snprintf(above, sizeof above, "%.159s", path);
    for (char *slash; (slash = strrchr(above, '/')) != above;) {
        *slash = '\0';
        if (glob_match(pattern, above))
            return false;
    }
    return true;
}

/* Every path of the tree that matches, but what lies below another that does, and nothing else. */
static bool agrees(struct glob_cache *cache, const char *pattern, size_t *matched) {
    struct strvec found = {0};
    struct error err = {0};
    bool agree = glob_walk_find(cache, pattern, &found, &err) == 0;
    size_t wanted = 0;
    for (size_t i = 0; i < all_count; i++) {
        if (!is_wanted(pattern, all_paths[i]))
            continue;
        wanted++;
        bool has = false;
        for (size_t k = 0; k < found.count && !has; k++)
            has = strcmp(found.items[k], all_paths[i]) == 0;
        agree = agree && has;
    }
    for (size_t i = 0; i < found.count; i++)
        wanted += !path_is_within(found.items[i], top);
    agree = agree && wanted == found.count;
    *matched += found.count;
    if (!agree)
        diag("wrong", pattern);
    strvec_clear(&found);
    return agree;
}

/* No pattern names the links: before its first special character they would be followed. */
static void agrees_with_glob_match(void) {
    static const char *const names[] = {"a", "b", "c", "ab", "ba", "é", "a.", "[a]", "\xff"};
    mkdir(at("r"), 0700);
    for (unsigned i = 0; i < 400; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/r", top);
        for (unsigned depth = 1 + below(4); depth > 0; depth--) {
            bool link = depth == 1 && below(2) == 0;
            snprintf(path + strlen(path), sizeof path - strlen(path), "/%s",
                     link ? "x" : names[below(sizeof names / sizeof names[0])]);
            if ((link ? symlink(below(2) == 0 ? "." : "a", path) : mkdir(path, 0700)) != 0 && errno != EEXIST)
                ok(false, "%s: %s", path, strerror(errno));
        }
    }
    nftw(at("r"), collect, 16, FTW_PHYS);
    all_paths[all_count][0] = '\0';
    struct glob_cache *cache = glob_cache_new();
    size_t matched = 0;
    unsigned differences = 0;
    for (unsigned i = 0; i < 3000; i++) {
        char pattern[400];
        snprintf(pattern, sizeof pattern, "%s/r", top);
        random_pattern(pattern, 200, 2);
        if (strstr(pattern, "//") == NULL)
            differences += !agrees(i % 2 == 0 ? cache : NULL, pattern, &matched);
    }
    is_int(differences, 0, "3,000 random patterns find what glob_match says of each path of the tree");
    ok(all_count > 300 && matched > 3000, "%zu paths, %zu matches", all_count, matched);
    glob_cache_free(cache);
}

/* As a user whose rights count; root goes by another's. */
static int closed_folders_as_user(void) {
    if (geteuid() == 0 && setresuid(12345, 12345, 12345) != 0)
        return 2;
    if (mkdir(at("open/own"), 0700) != 0 || mkdir(at("open/own/sub"), 0700) != 0 ||
        mkdir(at("open/own/names"), 0700) != 0 || mkdir(at("open/own/names/x"), 0700) != 0)
        return 3;
    chmod(at("open/own/sub"), 0311);
    chmod(at("open/own/names"), 0444);
    bool right = strcmp(find(NULL, "open/**/.env"), "open/own/names open/own/sub") == 0 &&
                 strcmp(find(NULL, "open/own/*"), "open/own/names open/own/sub") == 0 &&
                 strcmp(find(NULL, "open/*.x"), "") == 0;
    if (!right)
        diag("got", find(NULL, "open/**/.env"));
    chmod(at("open/own/sub"), 0700);
    chmod(at("open/own/names"), 0700);
    return right ? 0 : 1;
}

static void closed_folders(void) {
    shell("mkdir -m 0777 open && chmod 0711 .");
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(closed_folders_as_user());
    int status = -1;
    waitpid(pid, &status, 0);
    is_int(status, 0, "an own folder that cannot be looked into is found as a whole");
}

static void limits(void) {
    struct glob_cache *cache = glob_cache_new();
    shell("mkdir many && cd many && seq -f '%g.pem' 5000 | xargs touch");
    struct strvec found = {0};
    struct error err = {0};
    int result = glob_walk_find(cache, at("many/*.pem"), &found, &err);
    ok(result == 0 && found.count == 5000, "5,000 matches are found");
    shell("touch many/one-more.pem");
    char wanted[512];
    snprintf(wanted, sizeof wanted, "error: %s/many/*.pem matches more than 5,000 files", top);
    is_str(find(cache, "many/*.pem"), wanted, "one more is an error that names the pattern");
    is_str(find(cache, "many/one-*"), "many/one-more.pem", "of which nothing stays");
    for (int i = 0; i < 200; i++) {
        char pattern[64];
        snprintf(pattern, sizeof pattern, "t/**/*%d*", i);
        find(cache, pattern);
    }
    is_str(find(cache, "t/*/*.pem"), "t/a/one.pem", "after hundreds of patterns another one is as good");
    strvec_clear(&found);
    glob_cache_free(cache);
}

static void *find_often(void *cache) {
    intptr_t wrong = 0;
    for (int i = 0; i < 200; i++) {
        struct strvec found = {0};
        struct error err = {0};
        char pattern[512];
        snprintf(pattern, sizeof pattern, "%s/t/**/*.p%sm", top, i % 2 == 0 ? "e" : "?");
        wrong += glob_walk_find(cache, pattern, &found, &err) != 0 || found.count != 4;
        strvec_clear(&found);
    }
    return (void *)wrong;
}

static void threads(void) {
    struct glob_cache *cache = glob_cache_new();
    pthread_t ids[4];
    intptr_t wrong = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, find_often, cache);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(ids[i], &result);
        wrong += (intptr_t)result;
    }
    is_int(wrong, 0, "four threads find in one cache what one finds");
    glob_cache_free(cache);
}

int main(void) {
    if (mkdtemp(top) == NULL)
        return 1;
    finds();
    sees_changes();
    agrees_with_glob_match();
    closed_folders();
    limits();
    threads();
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", top);
    is_int(system(command), 0, "the tree is removed");
    return done_testing();
}
