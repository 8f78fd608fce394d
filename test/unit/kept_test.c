#include "exec/kept.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[] = "/var/tmp/os-sandbox-kept-XXXXXX";

static const char *at(const char *name) {
    static char paths[16][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, PATH_MAX, "%s/%s", base, name);
    return path;
}

static void make_file(const char *name) {
    close(open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
}

static struct kept *keep_bytes(struct watch *watch, const void *data, size_t size) {
    int fd = memfd_create("payload", MFD_CLOEXEC);
    if (write(fd, data, size) != (ssize_t)size)
        exit(1);
    struct kept *kept = kept_new(watch, fd);
    int errnum = errno;
    close(fd);
    errno = errnum;
    return kept;
}

static struct kept *keep(struct watch *watch) {
    char *words[] = {NULL};
    struct payload_mount mounts[] = {{.kind = MOUNT_WRITABLE, .path = at("root")},
                                     {.kind = MOUNT_MASK_FILE, .path = at("root/masked")}};
    struct payload_mount later[] = {{.kind = MOUNT_MASK_FILE, .path = at("root/later")}};
    char link[PATH_MAX];
    char *denied[] = {link, NULL};
    snprintf(link, sizeof link, "%s", at("link"));
    struct payload payload = {.read_denied = denied,
                              .read_denied_count = 1,
                              .bwrap = "/bwrap",
                              .cwd = "/",
                              .argv = words,
                              .envp = words,
                              .mounts = mounts,
                              .mount_count = 2,
                              .later = later,
                              .later_count = 1,
                              .arguments = ""};
    size_t size;
    void *data = payload_encode(&payload, &size);
    struct kept *kept = keep_bytes(watch, data, size);
    free(data);
    return kept;
}

static bool becomes_due(struct watch *watch, struct kept *kept) {
    if (watch_hear(watch))
        kept_hear(kept);
    return kept_is_due(kept);
}

/* Without a stage; what the child does is of no interest here. */
static void forget(struct kept *kept) {
    pid_t child = kept_restore(kept, getpid(), -1);
    int status = -1;
    ok(child > 0 && waitpid(child, &status, 0) == child, "a child restores what is due");
    ok(!kept_is_due(kept), "which then is not any more");
}

static void due(void) {
    struct watch *watch = watch_new();
    mkdir(at("root"), 0700);
    make_file("root/masked");
    struct kept *kept = keep(watch);
    ok(kept != NULL && !kept_is_due(kept), "at first nothing is due");
    is_str(kept_payload(kept)->mounts[0].path, at("root"), "the payload can be read");
    make_file("root/other");
    ok(!becomes_due(watch, kept), "nor when something else of the folder changes");
    make_file("root/next");
    rename(at("root/next"), at("root/masked"));
    ok(becomes_due(watch, kept), "a mask that was renamed over is due");
    forget(kept);
    make_file("root/later");
    ok(becomes_due(watch, kept), "so is a denied file that appears");
    struct kept *next = keep(watch);
    ok(next != NULL && kept_is_due(next), "and one that is there although the plan says it is not, at once");
    kept_free(next);
    unlink(at("root/later"));
    watch_hear(watch);
    next = keep(watch);
    ok(next != NULL && !kept_is_due(next), "which it is not once that is gone");
    kept_free(next);
    make_file("target");
    unlink(at("root/masked"));
    symlink("../target", at("root/masked"));
    ok(becomes_due(watch, kept), "a symlink in a mask's place is due");
    forget(kept);
    make_file("next");
    rename(at("next"), at("target"));
    ok(becomes_due(watch, kept), "and once more when what it leads to is replaced");
    forget(kept);
    unlink(at("root/masked"));
    becomes_due(watch, kept);
    forget(kept);
    unlink(at("target"));
    ok(!becomes_due(watch, kept), "but not when it leads there no more");
    mkdir(at("folder"), 0700);
    symlink("nowhere", at("link"));
    becomes_due(watch, kept);
    forget(kept);
    unlink(at("link"));
    ok(becomes_due(watch, kept), "what a denied path is written as is watched as well");
    kept_free(kept);
    watch_free(watch);
}

static void without(void) {
    struct kept *kept = keep(NULL);
    ok(kept != NULL && !kept_is_due(kept), "without a watch nothing is ever due");
    is_str(kept_payload(kept)->cwd, "/", "but the payload can be read");
    kept_free(kept);
    struct watch *watch = watch_new();
    ok(keep_bytes(watch, "nothing", 7) == NULL && errno == EPROTO, "what is no payload is refused");
    ok(keep_bytes(watch, "", 0) == NULL, "nor is nothing one");
    watch_free(watch);
}

int main(void) {
    if (mkdtemp(base) == NULL)
        return 1;
    due();
    without();
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf %s", base);
    return system(command) == 0 ? done_testing() : 1;
}
