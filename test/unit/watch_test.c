#include "exec/watch.h"
#include "tap.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/var/tmp/os-sandbox-watch-XXXXXX";

static const char *at(const char *name) {
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", base, name);
    return path;
}

static void make_file(const char *name) {
    close(open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static void make_folder(const char *name) {
    mkdir(at(name), 0700);
}

static bool hears(struct watch *watch) {
    struct pollfd waiting = {.fd = watch_fd(watch), .events = POLLIN};
    return poll(&waiting, 1, 0) == 1;
}

/* Whether the path is found changed, and nothing else is. */
static bool changed(struct watch *watch, struct watch_place *place) {
    return watch_hear(watch) && watch_changed(watch, place);
}

static void files(void) {
    struct watch *watch = watch_new();
    make_folder("a");
    make_file("a/file");
    struct watch_place *file = watch_path(watch, at("a/file"));
    struct watch_place *other = watch_path(watch, at("a/other"));
    ok(watch_exists(watch, file) && !watch_exists(watch, other), "what is there at first is known");
    ok(!watch_hear(watch), "nothing has changed");
    make_file("a/unwatched");
    ok(hears(watch) && !watch_hear(watch), "another name of the folder is of no interest");
    make_file("a/next");
    rename(at("a/next"), at("a/file"));
    ok(changed(watch, file), "a file that is renamed over is changed");
    ok(!watch_changed(watch, other), "its neighbour is not");
    ok(!watch_hear(watch) && !watch_changed(watch, file), "it is told once");
    unlink(at("a/file"));
    ok(changed(watch, file) && !watch_exists(watch, file), "a file that is removed is changed");
    make_file("a/file");
    ok(changed(watch, file) && watch_exists(watch, file), "and when it is made again");
    make_file("a/other");
    ok(changed(watch, other) && watch_exists(watch, other), "a file that did not exist appears");
    int fd = open(at("a/file"), O_WRONLY | O_CLOEXEC);
    ok(write(fd, "x", 1) == 1 && !hears(watch), "writing is no change");
    ok(fchmod(fd, 0) == 0 && changed(watch, file), "other permissions are");
    close(fd);
    unlink(at("a/other"));
    symlink("nowhere", at("a/other"));
    ok(changed(watch, other) && watch_exists(watch, other), "a symlink to nothing is there");
    watch_leave(watch, file);
    watch_leave(watch, other);
    watch_free(watch);
}

static void folders(void) {
    struct watch *watch = watch_new();
    struct watch_place *deep = watch_path(watch, at("x/y/z/file"));
    ok(!watch_exists(watch, deep), "below folders that are missing nothing is there");
    make_folder("x");
    ok(changed(watch, deep), "a folder above appears");
    make_folder("x/y");
    make_folder("x/y/z");
    make_file("x/y/z/file");
    ok(changed(watch, deep) && watch_exists(watch, deep), "several at once");
    unlink(at("x/y/z/file"));
    ok(changed(watch, deep), "the last of them is watched, too");
    rename(at("x"), at("old"));
    ok(changed(watch, deep) && !watch_exists(watch, deep), "a folder above goes away");
    make_file("old/y/z/file");
    ok(!watch_hear(watch), "what happens in it elsewhere is none of the path's");
    make_folder("x");
    make_folder("x/y");
    rename(at("old/y/z"), at("x/y/z"));
    ok(changed(watch, deep) && watch_exists(watch, deep), "a folder that had been there comes back");
    unlink(at("x/y/z/file"));
    ok(changed(watch, deep) && !watch_exists(watch, deep), "and is watched again");
    rmdir(at("x/y/z"));
    symlink(base, at("x/y/z"));
    ok(changed(watch, deep), "a folder above becomes a symlink");
    make_file("file");
    ok(!watch_hear(watch), "which is not followed");
    unlink(at("x/y/z"));
    make_folder("x/y/z");
    watch_hear(watch);
    make_file("x/y/z/file");
    ok(changed(watch, deep), "until it is a folder again");
    watch_leave(watch, deep);
    watch_free(watch);
}

static void exchanged(void) {
    struct watch *watch = watch_new();
    make_folder("one");
    make_folder("two");
    struct watch_place *one = watch_path(watch, at("one/file"));
    struct watch_place *two = watch_path(watch, at("two/file"));
    rename(at("one"), at("three"));
    rename(at("two"), at("one"));
    rename(at("three"), at("two"));
    ok(watch_hear(watch) && watch_changed(watch, one) && watch_changed(watch, two),
       "two folders change places");
    make_file("one/file");
    ok(changed(watch, one) && !watch_changed(watch, two), "each is watched at its new place");
    make_file("two/file");
    ok(changed(watch, two) && !watch_changed(watch, one), "the other as well");
    watch_free(watch);
}

static void shared(void) {
    struct watch *watch = watch_new();
    make_folder("s");
    struct watch_place *first = watch_path(watch, at("s/file"));
    size_t count = watch_place_count(watch);
    struct watch_place *second = watch_path(watch, at("s//file/"));
    ok(first == second && watch_place_count(watch) == count, "the same path is watched once");
    watch_leave(watch, first);
    make_file("s/file");
    ok(changed(watch, second), "until the last who wants it has left");
    watch_leave(watch, second);
    ok(watch_path(watch, at("s/file")) == first, "what nobody wants stays for the next");
    watch_leave(watch, first);
    struct watch_place *kept = watch_path(watch, at("s/kept"));
    for (int i = 0; i < 20000; i++) {
        char name[32];
        snprintf(name, sizeof name, "s/f%d/g", i);
        watch_leave(watch, watch_path(watch, at(name)));
    }
    ok(watch_place_count(watch) < 10000, "but not without bound");
    make_file("s/kept");
    ok(changed(watch, kept), "what is wanted is not dropped");
    watch_free(watch);
}

/* fs.inotify.max_queued_events is 16384 where nobody has changed it. */
static void overflow(void) {
    struct watch *watch = watch_new();
    make_folder("o");
    struct watch_place *place = watch_path(watch, at("o/in/file"));
    for (int i = 0; i < 40000; i++) {
        make_file(i % 2 ? "o/p" : "o/q");
        unlink(at(i % 2 ? "o/p" : "o/q"));
    }
    make_folder("o/in");
    ok(changed(watch, place), "after too many events everything may have changed");
    make_file("o/in/file");
    ok(changed(watch, place), "and everything is watched again");
    watch_free(watch);
}

/* As where the user has no inotify instance left. */
static void unwatched(void) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    struct watch *watch = watch_new();
    setrlimit(RLIMIT_NOFILE, &files);
    make_folder("u");
    make_file("u/file");
    struct watch_place *file = watch_path(watch, at("u/file"));
    struct watch_place *missing = watch_path(watch, at("u/v/file"));
    struct watch_place *left = watch_path(watch, at("u/left"));
    watch_leave(watch, left);
    ok(watch_fd(watch) < 0 && watch_is_blind(watch), "without watches names are to be looked at");
    ok(watch_look(watch) && watch_changed(watch, file), "whatever is seen first counts as changed");
    ok(!watch_look(watch) && !watch_changed(watch, file), "what is as it was does not");
    make_file("u/left");
    make_file("u/unwatched");
    watch_look(watch);
    ok(!watch_changed(watch, file) && !watch_changed(watch, left), "nor what nobody wants");
    make_file("u/next");
    rename(at("u/next"), at("u/file"));
    ok(watch_look(watch) && watch_changed(watch, file), "a file that is renamed over is seen");
    ok(!watch_changed(watch, missing), "its neighbour is not changed");
    make_folder("u/v");
    ok(watch_look(watch) && watch_changed(watch, missing), "a folder above appears");
    watch_look(watch);
    make_file("u/v/file");
    ok(watch_look(watch) && watch_changed(watch, missing), "and what was missing in it");
    watch_leave(watch, file);
    watch_leave(watch, missing);
    watch_free(watch);
}

int main(void) {
    if (mkdtemp(base) == NULL)
        return 1;
    files();
    folders();
    exchanged();
    shared();
    overflow();
    unwatched();
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command) == 0 ? done_testing() : 1;
}
