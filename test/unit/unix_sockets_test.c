/* unix_sockets_resolve on a real tree below /var/tmp. */
#include "policy/unix_sockets.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[] = "/var/tmp/os-sandbox-sockets-XXXXXX";
static char home[256];
static char work[256];
static struct path_memory *memory;

static const char *at(const char *name) {
    static char path[4][300];
    static unsigned turn;
    char *text = path[turn++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", top, name);
    return text;
}

static void touch(const char *name) {
    FILE *file = fopen(at(name), "we");
    if (file == NULL)
        ok(false, "%s is made: %s", name, strerror(errno));
    else
        fclose(file);
}

static const char *const folders[] = {"home", "work", "work/[x]", "run", "run/user", "granted"};
static const char *const files[] = {"run/a.sock",  "run/a[1].sock", "run/back\\slash",
                                    "home/h.sock", "work/w.sock",   "work/[x]/x.sock"};
static const char *const links[][2] = {{"run", "link"},
                                       {"../run/a.sock", "granted/planted"},
                                       {"../run", "granted/dir"},
                                       {"../run/a.sock", "work/own"},
                                       {"nowhere", "dangling"}};

static void make_tree(void) {
    if (mkdtemp(top) == NULL)
        ok(false, "the tree is made: %s", strerror(errno));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        mkdir(at(folders[i]), 0700);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        touch(files[i]);
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if (symlink(links[i][0], at(links[i][1])) != 0)
            ok(false, "%s is made: %s", links[i][1], strerror(errno));
    snprintf(home, sizeof home, "%s/home", top);
    snprintf(work, sizeof work, "%s/work", top);
    memory = path_memory_new();
    path_memory_grant(memory, at("granted"));
}

static void remove_tree(void) {
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        unlink(at(links[i][1]));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        unlink(at(files[i]));
    for (size_t i = sizeof folders / sizeof folders[0]; i-- > 0;)
        rmdir(at(folders[i]));
    rmdir(top);
    path_memory_free(memory);
}

/* The one entry, from a working directory, with what is before wanted put in front; NULL: none, and a
 * warning. */
static void resolves_in(const char *cwd, const char *entry, const char *below_top, const char *name) {
    struct strvec none = {0};
    struct network_options network = {0};
    const struct fs_place place = {.home = home, .cwd = cwd, .additional_dirs = &none, .memory = memory};
    struct strvec out = {0};
    struct strvec warnings = {0};
    struct error err = {0};
    strvec_push(&network.allow_unix_sockets, entry);
    ok(unix_sockets_resolve(&network, &place, &out, &warnings, &err) == 0, "%s: resolved", name);
    is_int((long long)warnings.count, below_top == NULL ? 1 : 0,
           below_top == NULL ? "with a warning" : "silently");
    is_str(out.count == 0 ? NULL : out.items[0], below_top == NULL ? NULL : at(below_top), name);
    strvec_clear(&network.allow_unix_sockets);
    strvec_clear(&out);
    strvec_clear(&warnings);
}

static void resolves(const char *entry, const char *below_top, const char *name) {
    resolves_in(work, entry, below_top, name);
}

static void spellings(void) {
    resolves(at("run/a.sock"), "run/a.sock", "a socket that is there");
    resolves(at("run//./user/../a.sock"), "run/a.sock", "in a complicated spelling");
    resolves(at("link/a.sock"), "run/a.sock", "through a symlink");
    resolves("~/h.sock", "home/h.sock", "below the home directory");
    resolves("~", "home/", "the home directory");
    resolves("w.sock", "work/w.sock", "below the working directory");
    resolves("./w.sock", "work/w.sock", "and with a dot");
    resolves("own", "run/a.sock", "through a symlink in a place that was never granted");
    resolves(at("run/user"), "run/user/", "a folder gets its slash");
    resolves(at("run/user/"), "run/user/", "or keeps it");
    resolves(at("link"), "run/", "a symlink to a folder");
}

static void absent(void) {
    resolves(at("run/later.sock"), "run/later.sock", "a socket that is not there yet");
    resolves(at("link/later.sock"), "run/later.sock", "behind a symlink");
    resolves(at("link//x/./later"), "run/x/later", "in a folder that is not there either");
    resolves(at("link/later/"), "run/later/", "a folder to be");
    resolves(at("dangling"), "dangling", "a symlink that leads nowhere");
    resolves("later", "work/later", "below the working directory");
}

static void globs(void) {
    resolves(at("link/*.sock"), "run/*.sock", "a glob's leading folders are resolved");
    resolves(at("link/*/"), "run/*/", "a glob of folders");
    resolves(at("li*/a.sock"), "li*/a.sock", "what stands behind its first character is not");
    resolves("*.sock", "work/*.sock", "a glob below the working directory");
    resolves("~/**/x", "home/**/x", "a glob below the home directory");
    resolves(at("run/{a,b}.sock"), "run/{a,b}.sock", "braces are one");
}

static void literal(void) {
    resolves(at("run/a[1].sock"), "run/a\\[1].sock", "a file with the characters of a glob is that file");
    resolves(at("run/b[1].sock"), "run/b[1].sock", "where there is none, it is a glob");
    resolves(at("run/back\\slash"), "run/back\\\\slash", "a backslash is a character of a name");
    resolves(at("run/for\\ward"), "run/for\\\\ward", "also of one that is not there");
    char odd[300];
    snprintf(odd, sizeof odd, "%s/[x]", work);
    resolves_in(odd, "x.sock", "work/\\[x]/x.sock", "in a working directory with such characters");
    resolves_in(odd, "*.sock", "work/\\[x]/*.sock", "a glob in it");
    resolves_in(odd, "y.sock", "work/\\[x]/y.sock", "and what is not there yet");
}

static void planted(void) {
    resolves(at("granted/planted"), NULL, "a symlink that a command could have made is not followed");
    resolves(at("granted/dir/a.sock"), NULL, "nor one on the way");
    resolves(at("granted/dir/later"), NULL, "nor one on the way to nothing");
    resolves(at("granted/dir/*"), NULL, "nor one on the way to a glob");
}

static void spelled_twice(void) {
    struct strvec none = {0};
    struct network_options network = {0};
    const struct fs_place place = {.home = home, .cwd = work, .additional_dirs = &none, .memory = memory};
    struct strvec out = {0};
    struct error err = {0};
    strvec_push(&network.allow_unix_sockets, at("link//./a.sock"));
    strvec_push(&network.allow_unix_sockets, at("link/"));
    strvec_push(&network.allow_unix_sockets, at("link/*"));
    strvec_push(&network.allow_unix_sockets, at("run/a.sock"));
    unix_sockets_resolve(&network, &place, &out, &none, &err);
    static const char *const wanted[] = {"run/a.sock", "link/a.sock", "run/",      "link/",
                                         "run/*",      "link/*",      "run/a.sock"};
    is_int((long long)out.count, 7, "where symlinks were followed both spellings are there");
    for (size_t i = 0; i < 7 && i < out.count; i++)
        is_str(out.items[i], at(wanted[i]), wanted[i]);
    strvec_clear(&network.allow_unix_sockets);
    strvec_clear(&out);
}

int main(void) {
    make_tree();
    spellings();
    absent();
    globs();
    literal();
    planted();
    spelled_twice();
    remove_tree();
    return done_testing();
}
