/* prepare_run on a real tree below /var/tmp: what its payload tells the run's supervisor. */
#include "exec/payload.h"
#include "platform/linux/prepare.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ALL (SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_READS)

static char tree[] = "/var/tmp/prepare-test.XXXXXX";

static char *below(const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", tree, name) < 0)
        abort();
    return path;
}

static void make_folder(const char *name) {
    cleanup_free char *path = below(name);
    if (mkdir(path, 0700) != 0)
        abort();
}

/* A payload that lies in a mapping. */
struct prepared {
    struct payload payload;
    void *data;
    size_t size;
};

/* The payload of a run of these words in a network. */
static struct prepared prepare_in(const struct options *options, unsigned allowed, const char *command,
                                  const char *proxy, bool own_proxy) {
    struct prepared prepared = {0};
    struct strvec none = {0};
    struct strvec warnings = {0};
    struct error err = {0};
    struct stat facts;
    cleanup_fd int fd = -1;
    cleanup_free char *home = below("home");
    cleanup_free char *work = below("work");
    struct prepare_request request = {.bwrap = "/usr/bin/bwrap",
                                      .options = options,
                                      .own_env = &none,
                                      .proxy = proxy,
                                      .own_proxy = own_proxy,
                                      .supervision_allowed = allowed,
                                      .place = {.home = home,
                                                .tmpdir = "/tmp",
                                                .cwd = work,
                                                .additional_dirs = &none,
                                                .memory = path_memory_new()},
                                      .cwd = work};
    if (strvec_push(&request.argv, "sh") != 0 || strvec_push(&request.argv, command) != 0)
        abort();
    if (prepare_run(&request, &fd, &warnings, &err) != 0 || fstat(fd, &facts) != 0) {
        diag("prepare_run", err.text);
        abort();
    }
    prepared.size = (size_t)facts.st_size;
    prepared.data = mmap(NULL, prepared.size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (prepared.data == MAP_FAILED || payload_decode(prepared.data, prepared.size, &prepared.payload) != 0)
        abort();
    strvec_clear(&request.argv);
    strvec_clear(&request.env);
    strvec_clear(&warnings);
    path_memory_free(request.place.memory);
    return prepared;
}

/* The payload of a run of these words. */
static struct prepared prepare(const struct options *options, unsigned allowed, const char *command) {
    return prepare_in(options, allowed, command, NULL, false);
}

static void release(struct prepared *prepared) {
    payload_release(&prepared->payload);
    munmap(prepared->data, prepared->size);
}

static void supervision_is(const struct options *options, unsigned allowed, const char *command,
                           unsigned wanted, const char *name) {
    struct prepared prepared = prepare(options, allowed, command);
    is_int(prepared.payload.supervision, wanted, name);
    release(&prepared);
}

static void supervision(void) {
    cleanup_free char *secret = below("work/secret");
    char *denied[] = {secret, (char[]){"missing"}, NULL};
    struct options off = {0};
    struct options on = {.monitor_violations = true, .fs.deny_read = {denied, 2, 2}};
    struct options reads = {.monitor_violations = true, .monitor_reads = true};
    struct options blind = {.monitor_reads = true};
    supervision_is(&off, ALL, "true", SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_QUIETLY,
                   "without a monitor the rules are held in silence");
    supervision_is(&on, ALL, "true", SUPERVISE_FILTER | SUPERVISE_PATHS, "with one changes are seen");
    supervision_is(&on, ALL, "cat secret/x", ALL, "and reads, where the command names what it may not read");
    supervision_is(&on, ALL, "cat missing", SUPERVISE_FILTER | SUPERVISE_PATHS, "unless that is not there");
    supervision_is(&on, ALL, "cat ~/.netrc", SUPERVISE_FILTER | SUPERVISE_PATHS,
                   "nor credentials that are not");
    supervision_is(&on, ALL, "cat ~/.aws/config", ALL, "credentials that are there count");
    supervision_is(&on, ALL, "cat clouds/config", ALL, "by the name that a link leads to as well");
    struct options limited = {.monitor_violations = true,
                              .limits.most = {[COST_MEMORY] = 1 << 30, [COST_PROCESSES] = 9}};
    supervision_is(&limited, ALL, "true", SUPERVISE_FILTER | SUPERVISE_PATHS,
                   "no limit takes a notification, which a signal would interrupt");
    supervision_is(&reads, ALL, "true", ALL, "all reads are seen where that is asked for");
    supervision_is(&blind, ALL, "true", SUPERVISE_FILTER | SUPERVISE_PATHS | SUPERVISE_QUIETLY,
                   "but not where nobody wants to know");
    supervision_is(&on, 0, "cat secret/x", 0, "nothing is asked for that cannot be had");
    supervision_is(&on, SUPERVISE_UNFILTERED | SUPERVISE_OPTIONAL, "true",
                   SUPERVISE_UNFILTERED | SUPERVISE_OPTIONAL,
                   "what the session says of kernel and probe is passed on");
}

static void network(void) {
    static const struct {
        const char *proxy;
        bool own_proxy;
        bool binds;
        unsigned allowed;
        unsigned listens;
        const char *name;
    } rows[] = {
        {NULL, false, true, ALL, 0, "without a network nobody hears of a port"},
        {"http://192.0.2.1:3128", false, false, ALL, 0, "nor where none is to be opened on the host"},
        {"http://192.0.2.1:3128", false, true, ALL, SUPERVISE_LISTENS,
         "with allowLocalBinding listen is seen"},
        {"http://192.0.2.1:3128", false, true, 0, 0, "unless there is no supervisor"},
        {"http://127.0.0.1:3128", true, true, ALL, 0, "or the run's network is its own"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct options options = {.monitor_violations = true,
                                        .network.allow_local_binding = rows[i].binds};
        struct prepared prepared =
            prepare_in(&options, rows[i].allowed, "true", rows[i].proxy, rows[i].own_proxy);
        is_int(prepared.payload.supervision & SUPERVISE_LISTENS, rows[i].listens, rows[i].name);
        is_int(prepared.payload.own_proxy, rows[i].own_proxy, "the stage is told of a listener to make");
        is_int((long long)prepared.payload.envc, rows[i].proxy == NULL ? 0 : 9,
               "and the command of the proxy, where there is one");
        release(&prepared);
    }
    char socket[] = "/nowhere/socket";
    char *sockets[] = {socket, NULL};
    const struct options options = {.network.allow_unix_sockets = {.items = sockets, .count = 1}};
    struct prepared prepared = prepare_in(&options, ALL, "true", NULL, false);
    is_int(prepared.payload.supervision & SUPERVISE_LISTENS, SUPERVISE_LISTENS,
           "listen is seen where sockets may be handed over");
    release(&prepared);
}

/* The reason that stands for the path itself, or NULL. */
static const char *reason_of(const struct payload *payload, const char *path) {
    for (size_t i = 0; i < payload->reason_count; i++)
        if (strcmp(payload->reasons[i].path, path) == 0)
            return payload->reasons[i].why;
    return NULL;
}

static void reasons(void) {
    cleanup_free char *secret = below("work/secret");
    cleanup_free char *fixed = below("work/fixed");
    cleanup_free char *work = below("work");
    cleanup_free char *clouds = below("clouds");
    char *read_denied[] = {secret, NULL};
    char *write_denied[] = {(char[]){"fixed"}, NULL};
    struct options options = {.fs = {.deny_read = {read_denied, 1, 1}, .deny_write = {write_denied, 1, 1}}};
    struct prepared prepared = prepare(&options, ALL, "true");
    is_str(reason_of(&prepared.payload, secret), "denied by denyRead", "denyRead has its reason");
    is_str(reason_of(&prepared.payload, fixed), "denied by denyWrite", "denyWrite has its reason");
    is_str(reason_of(&prepared.payload, clouds), "credentials, denied by default", "credentials have theirs");
    is_str(reason_of(&prepared.payload, "/sys"), "kernel files", "/sys has its reason");
    is_str(reason_of(&prepared.payload, "/proc"), "kernel files", "/proc has its reason");
    is_str(reason_of(&prepared.payload, work), NULL, "what is allowed has none");
    release(&prepared);
}

static bool holds(const struct payload *payload, uint32_t kind, uint32_t glob, const char *path) {
    for (size_t i = 0; i < payload->rule_count; i++)
        if (payload->rules[i].kind == kind && payload->rules[i].glob == glob &&
            strcmp(payload->rules[i].path, path) == 0)
            return true;
    return false;
}

static bool is_masked_later(const struct payload *payload, const char *path) {
    for (size_t i = 0; i < payload->later_count; i++)
        if (payload->later[i].kind == MOUNT_MASK_FILE && strcmp(payload->later[i].path, path) == 0)
            return true;
    return false;
}

static void names(void) {
    cleanup_free char *secret = below("work/secret");
    cleanup_free char *hidden = below("work/secret/new");
    cleanup_free char *missing = below("work/missing");
    cleanup_free char *pattern = below("work/**/*.pem");
    cleanup_free char *netrc = below("home/.netrc");
    char *read_denied[] = {secret, (char[]){"missing"}, (char[]){"secret/new"}, (char[]){"**/*.pem"}, NULL};
    char *write_denied[] = {(char[]){"fixed/"}, NULL};
    char *freed[] = {(char[]){".vscode/"}, NULL};
    struct options options = {.fs = {.deny_read = {read_denied, 4, 4},
                                     .deny_write = {write_denied, 1, 1},
                                     .allow_protected = {freed, 1, 1},
                                     .allow_git_config = true}};
    struct prepared prepared = prepare(&options, ALL, "true");
    const struct payload *payload = &prepared.payload;
    cleanup_free char *fixed = below("work/fixed");
    ok(holds(payload, PAYLOAD_DENY_READ, 0, secret), "what is there is denied by name, too");
    ok(holds(payload, PAYLOAD_DENY_WRITE, 0, fixed), "also what may be read");
    ok(holds(payload, PAYLOAD_DENY_READ, 0, missing), "and what is not there");
    ok(holds(payload, PAYLOAD_DENY_READ, 1, pattern), "and what matches a pattern");
    ok(!holds(payload, PAYLOAD_DENY_READ, 0, netrc), "but no credentials where nothing can be written");
    ok(is_masked_later(payload, missing) && is_masked_later(payload, netrc),
       "what comes later is masked then");
    ok(!is_masked_later(payload, hidden), "unless it is hidden with what it lies in");
    ok(payload->freed_names == fs_options_freed_names(&options.fs) && payload->freed_names != 0,
       "freed names are passed on");
    is_int(payload->allow_git_config, 1, "and that git's configuration is free");
    ok(payload->common_dir[0] == '\0' && payload->worktree[0] == '\0', "there is no other worktree");
    release(&prepared);
}

static const struct payload_mount *mount_of(const struct payload *payload, const char *path) {
    for (size_t i = 0; i < payload->mount_count; i++)
        if (strcmp(payload->mounts[i].path, path) == 0)
            return &payload->mounts[i];
    return NULL;
}

static void strict_reads(void) {
    struct options options = {.fs = {.default_read = (char[]){"deny"}, .writable_cwd = true}};
    struct prepared prepared = prepare(&options, ALL, "true");
    cleanup_free char *work = below("work");
    const struct payload_mount *usr = mount_of(&prepared.payload, "/usr");
    const struct payload_mount *programs = mount_of(&prepared.payload, "/usr/bin");
    const struct payload_mount *root = mount_of(&prepared.payload, work);
    ok(usr != NULL && usr->kind == MOUNT_MASK_HOLES, "strictly, /usr is closed but for its holes");
    ok(programs != NULL && programs->kind == MOUNT_READ_ONLY && programs->inode != 0, "one is /usr/bin");
    ok(root != NULL && root->kind == MOUNT_WRITABLE, "and the cwd is one that may be written in");
    ok(mount_of(&prepared.payload, "/proc") == NULL, "/proc is the sandbox's own");
    is_str(reason_of(&prepared.payload, "/usr"), "not readable by default, see allowRead",
           "that has its reason");
    is_str(reason_of(&prepared.payload, "/usr/bin"), "outside the write roots", "a hole has another");
    is_str(prepared.payload.cwd, work, "the cwd is real");
    release(&prepared);
}

int main(void) {
    if (mkdtemp(tree) == NULL)
        abort();
    make_folder("home");
    make_folder("work");
    make_folder("work/secret");
    make_folder("work/fixed");
    make_folder("clouds");
    cleanup_free char *link = below("home/.aws");
    if (symlink("../clouds", link) != 0)
        abort();
    supervision();
    network();
    reasons();
    names();
    strict_reads();
    cleanup_free char *command = NULL;
    if (asprintf(&command, "rm -rf '%s'", tree) < 0 || system(command) != 0)
        diag("left behind", tree);
    return done_testing();
}
