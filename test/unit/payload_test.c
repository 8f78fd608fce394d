#include "exec/payload.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>

static char *argv_items[] = {(char[]){"printf"}, (char[]){""}, (char[]){"a b\n--"}, NULL};
static char *env_items[] = {(char[]){"PATH=/bin"}, NULL};
static struct payload_mount mount_items[] = {
    {.kind = MOUNT_READ_ONLY, .device = 1ull << 40, .inode = 42, .path = "/w/d"}};

static struct payload_reason reason_items[] = {{"/w/d", "denied by denyWrite"}, {"/proc", ""}};
static struct payload_rule rule_items[] = {{PAYLOAD_DENY_READ, 1, "/w/**/x", "denied by denyRead"}};
static struct payload_mount later_items[] = {{.kind = MOUNT_MASK_FILE, .path = "/w/later"}};
static char *socket_items[] = {(char[]){"/run/x.sock"}, NULL};

static const struct payload sample = {
    .bwrap = "/usr/bin/bwrap",
    .cwd = "/w",
    .argv = argv_items,
    .argc = 3,
    .envp = env_items,
    .envc = 1,
    .file_mode_mask = 027,
    .nice = -5,
    .limits = {{.resource = 7, .soft = 10, .hard = ~0ull}},
    .limit_count = 1,
    .cost.most = {1ull << 40, 2, 3, 4, 5},
    .group_parent = "/sys/fs/cgroup/x",
    .group_processes = 6,
    .mounts = mount_items,
    .mount_count = 1,
    .root_writable = 1,
    .read_denied = argv_items,
    .read_denied_count = 2,
    .supervision = SUPERVISE_FILTER | SUPERVISE_READS,
    .own_proxy = 1,
    .reasons = reason_items,
    .reason_count = 2,
    .rules = rule_items,
    .rule_count = 1,
    .opened = env_items,
    .opened_count = 1,
    .freed_names = 1ull << 40,
    .allow_git_config = 1,
    .common_dir = "/repository/.git",
    .worktree = "tree",
    .later = later_items,
    .later_count = 1,
    .unix_sockets = socket_items,
    .unix_socket_count = 1,
    .mask_count = 3,
    .arguments = "--bind\0/a\0/b",
    .arguments_size = 13,
};

static void round_trip(void) {
    size_t size;
    struct payload got;
    char *data = payload_encode(&sample, &size);
    ok(payload_decode(data, size, &got) == 0, "what was encoded can be decoded");
    is_str(got.bwrap, sample.bwrap, "bwrap's path comes back");
    is_str(got.cwd, sample.cwd, "the cwd comes back");
    ok(got.argc == 3 && got.argv[3] == NULL, "the arguments end with NULL");
    is_str(got.argv[1], "", "an empty argument comes back");
    is_str(got.argv[2], "a b\n--", "an argument comes back to the byte");
    is_str(got.envp[0], "PATH=/bin", "the environment comes back");
    ok(got.file_mode_mask == 027 && got.nice == -5, "umask and niceness come back");
    ok(got.limit_count == 1 && got.limits[0].resource == 7 && got.limits[0].hard == ~0ull,
       "limits come back");
    ok(got.cost.most[COST_MEMORY] == 1ull << 40 && got.cost.most[COST_OPEN_FILES] == 5 &&
           got.group_processes == 6,
       "what they come from comes back");
    is_str(got.group_parent, "/sys/fs/cgroup/x", "and where the run's cgroup is made");
    ok(got.mount_count == 1 && got.mounts[0].device == 1ull << 40 && got.mounts[0].inode == 42 &&
           got.root_writable,
       "mounts come back");
    ok(got.read_denied_count == 2 && got.write_denied_count == 0, "denied paths come back");
    is_int(got.supervision, SUPERVISE_FILTER | SUPERVISE_READS, "what is supervised comes back");
    is_int(got.own_proxy, 1, "whether it brings a listener comes back");
    ok(got.reason_count == 2 && strcmp(got.reasons[0].path, "/w/d") == 0 &&
           strcmp(got.reasons[0].why, "denied by denyWrite") == 0 && got.reasons[1].why[0] == '\0',
       "reasons come back");
    ok(got.rule_count == 1 && got.rules[0].kind == PAYLOAD_DENY_READ && got.rules[0].glob == 1 &&
           strcmp(got.rules[0].path, "/w/**/x") == 0 && strcmp(got.rules[0].why, "denied by denyRead") == 0,
       "rules come back");
    ok(got.opened_count == 1 && strcmp(got.opened[0], env_items[0]) == 0, "what is opened comes back");
    ok(got.freed_names == 1ull << 40 && got.allow_git_config == 1 &&
           strcmp(got.common_dir, "/repository/.git") == 0 && strcmp(got.worktree, "tree") == 0,
       "what is freed and granted for git comes back");
    ok(got.later_count == 1 && got.later[0].kind == MOUNT_MASK_FILE &&
           strcmp(got.later[0].path, "/w/later") == 0,
       "masks for what is not there yet come back");
    ok(got.unix_socket_count == 1 && strcmp(got.unix_sockets[0], "/run/x.sock") == 0 &&
           got.unix_sockets[1] == NULL,
       "allowed sockets come back");
    is_int(got.mask_count, 3, "the count of masks comes back");
    ok(got.arguments_size == 13 && memcmp(data + got.arguments_offset, "--bind\0/a\0/b", 13) == 0,
       "bwrap's arguments are the payload's end");
    payload_release(&got);
    free(data);
}

/* A copy that has exactly the bytes it claims, so that an over-read is seen. */
static char *copy_of(const char *data, size_t size) {
    char *copy = malloc(size == 0 ? 1 : size);
    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    return copy;
}

static void refuses_damage(void) {
    size_t size;
    char *data = payload_encode(&sample, &size);
    unsigned accepted = 0;
    for (size_t length = 0; length < size; length++) {
        char *cut = copy_of(data, length);
        struct payload got;
        accepted += payload_decode(cut, length, &got) == 0;
        payload_release(&got);
        free(cut);
    }
    is_int(accepted, 0, "a payload that was cut anywhere is refused");
    char *longer = calloc(1, size + 1);
    struct payload got;
    if (longer == NULL)
        abort();
    memcpy(longer, data, size);
    ok(payload_decode(longer, size + 1, &got) != 0, "a byte too many is refused");
    free(longer);
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            char *flipped = copy_of(data, size);
            flipped[at] = (char)(flipped[at] ^ (1 << bit));
            payload_decode(flipped, size, &got);
            payload_release(&got);
            free(flipped);
        }
    ok(true, "every flipped bit is survived");
    free(data);
}

static void probe(void) {
    struct payload empty = {.bwrap = "/b", .cwd = "/"};
    struct payload got;
    size_t size;
    char *data = payload_encode(&empty, &size);
    ok(payload_decode(data, size, &got) == 0 && got.argc == 0 && got.argv[0] == NULL,
       "a probe has no arguments");
    payload_release(&got);
    free(data);
}

/* A seed of another version is refused at its first word, and leads the fuzzer nowhere. */
static void is_the_seed(void) {
    size_t size;
    char *data = payload_encode(&sample, &size);
    char *seed = calloc(1, size + 1);
    FILE *file = fopen("test/fuzz/corpus/payload/run", "rb");
    size_t got = file == NULL || seed == NULL ? 0 : fread(seed, 1, size + 1, file);
    ok(got == size && memcmp(seed, data, size) == 0, "the fuzzer's seed is of this version");
    if (file != NULL)
        fclose(file);
    free(seed);
    free(data);
}

int main(void) {
    round_trip();
    is_the_seed();
    refuses_damage();
    probe();
    return done_testing();
}
