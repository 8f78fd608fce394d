#include "tap.h"
#include "violations/benign.h"
#include "violations/collector.h"

#include <stdlib.h>

static unsigned given;

static void count_given(void *data, const struct violation *violation) {
    (void)data;
    (void)violation;
    given++;
}

static struct collector *collector_new(void) {
    struct collector *collector = calloc(1, sizeof *collector);
    if (collector == NULL)
        abort();
    collector->on_violation = count_given;
    given = 0;
    return collector;
}

static void take(struct collector *collector, const char *line) {
    collector_take(collector, line, strlen(line));
}

static void take_path(struct collector *collector, unsigned id, const char *path) {
    char line[512];
    snprintf(
        line, sizeof line,
        "{\"type\":\"violation\",\"id\":%u,\"operation\":\"file-write-create\",\"path\":\"%s\",\"pid\":1,"
        "\"process\":\"sh\",\"time\":1}",
        id, path);
    take(collector, line);
}

static void block_is(struct collector *collector, const char *wanted, const char *name) {
    char *block = collector_block(collector);
    is_str(block, wanted, name);
    free(block);
    collector_clear(collector);
    free(collector);
}

static void collects(void) {
    struct collector *collector = collector_new();
    block_is(collector, NULL, "without a violation there is no block");

    collector = collector_new();
    take_path(collector, 1, "/b");
    take_path(collector, 0, "/a");
    take_path(collector, 2, "/x/__pycache__");
    take(collector, "{\"type\":\"counts\",\"counts\":[[0,3],[2,9],[7,2]]}");
    ok(given == 2 && collector->repeated_count == 1 && collector->repeated[0].id == 0 &&
           collector->repeated[0].count == 3,
       "counts are given for what was given on, noise is not");
    block_is(collector,
             "<sandbox_violations>\ndeny file-write-create /b\ndeny file-write-create /a (×3)\n"
             "</sandbox_violations>",
             "the block has what came, in the order in which it came");

    collector = collector_new();
    take_path(collector, 0, "/a");
    take_path(collector, 0, "/again");
    take(collector, "nonsense");
    take(collector, "{\"type\":\"dropped\",\"count\":5}");
    is_int((long long)collector->dropped, 7,
           "what is not understood counts as dropped, an id that comes twice too");
    block_is(collector, "<sandbox_violations>\ndeny file-write-create /a\n(7 more)\n</sandbox_violations>",
             "the block says how much it leaves out");
}

static void limits(void) {
    struct collector *collector = collector_new();
    char path[32];
    for (unsigned i = 0; i < 8192; i++) {
        snprintf(path, sizeof path, "/%u", i);
        take_path(collector, i, path);
    }
    is_int(given, 8192, "every one is given on");
    ok(collector->kept_count == 100 && collector->unkept == 8092, "a hundred are kept");
    take(collector, "{\"type\":\"counts\",\"counts\":[[99,2],[100,2],[8191,2]]}");
    is_int((long long)collector->repeated_count, 3, "counts of the rest are kept");
    take(collector, "{\"type\":\"dropped\",\"count\":8}");
    char *block = collector_block(collector);
    ok(strstr(block, "\ndeny file-write-create /99 (×2)\n(8100 more)\n</sandbox_violations>") != NULL,
       "the block has a hundred lines, and one for the rest and the dropped ones");
    free(block);
    collector_clear(collector);
    free(collector);
}

static void note(struct collector *collector, const char *host, uint16_t port, const char *why) {
    const struct violation violation = {.id = 3,
                                        .operation = "network-outbound",
                                        .host = host,
                                        .port = port,
                                        .why = why,
                                        .pid = 7,
                                        .process = "curl",
                                        .time_ms = 1};
    collector_note(collector, &violation);
}

static void notes(void) {
    struct collector *collector = collector_new();
    note(collector, "evil.example.com", 443, "not in network.allowedDomains");
    take_path(collector, 3, "/a");
    note(collector, "evil.example.com", 443, "not in network.allowedDomains");
    note(collector, "evil.example.com", 0, "not in network.allowedDomains");
    note(collector, "evil.example.com", 443, NULL);
    note(collector, "2001:db8::7", 443, "a");
    note(collector, "2001:db8::7", 443, "a");
    note(collector, "2001:db8::7", 443, "a");
    take(collector, "{\"type\":\"counts\",\"counts\":[[3,2]]}");
    is_int(given, 5, "what the network refused is given on once for each host, port and why");
    ok(collector->repeated_count == 3 && collector->repeated[0].id == VIOLATION_IDS &&
           collector->repeated[0].count == 2 && collector->repeated[1].id == VIOLATION_IDS + 3 &&
           collector->repeated[1].count == 3 && collector->repeated[2].id == 3,
       "and counted, beside what the supervisor tells");
    block_is(collector,
             "<sandbox_violations>\n"
             "deny network-outbound evil.example.com:443 (not in network.allowedDomains) (×2)\n"
             "deny file-write-create /a (×2)\n"
             "deny network-outbound evil.example.com (not in network.allowedDomains)\n"
             "deny network-outbound evil.example.com:443\n"
             "deny network-outbound [2001:db8::7]:443 (a) (×3)\n"
             "</sandbox_violations>",
             "in one block, in the order in which it came");

    collector = collector_new();
    for (uint16_t port = 1; port <= NOTES_MAX + 2; port++)
        note(collector, "h.example.com", port, "x");
    note(collector, "h.example.com", 1, "x");
    ok(given == NOTES_MAX && collector->dropped == 2 && collector->repeated_count == 1,
       "of more kinds than there is room for there is a number");
    collector_clear(collector);
    free(collector);
}

static char *lines_of_all[] = {(char[]){"/ignored"}, NULL};
static char *lines_of_npm[] = {(char[]){"create /npm"}, (char[]){"(why)"}, NULL};
static struct ignore_rule rules[] = {{.command = (char[]){"*"}, .lines = {lines_of_all, 1, 1}},
                                     {.command = (char[]){"npm ci"}, .lines = {lines_of_npm, 2, 2}}};
static const struct options options = {.ignore = rules, .ignore_count = 2};

static void ignores(void) {
    struct ignore_list list;
    ok(ignore_list_build(&options, "cd x && npm ci", &list) == 0 && list.count == 3,
       "rules hold for commands that their key is in");
    ok(ignore_list_has(&list, "deny a /ignored/x") && ignore_list_has(&list, "deny a /x (why)") &&
           !ignore_list_has(&list, "deny a /x"),
       "and for lines that their texts are in");
    ignore_list_clear(&list);
    ok(ignore_list_build(&options, "npm install", &list) == 0 && list.count == 1,
       "those of * hold for every command");
    ignore_list_clear(&list);

    struct collector *collector = collector_new();
    if (ignore_list_build(&options, "npm ci", &collector->ignore) != 0)
        abort();
    take_path(collector, 0, "/ignored");
    take_path(collector, 1, "/npm");
    take_path(collector, 2, "/other");
    take(collector, "{\"type\":\"counts\",\"counts\":[[0,2]]}");
    for (unsigned i = 0; i < NOTES_MAX + 2; i++)
        note(collector, "h.example.com", (uint16_t)(i + 1), "why");
    ok(given == 1 && collector->repeated_count == 0 && collector->dropped == 0,
       "what is ignored is neither given on nor counted");
    block_is(collector, "<sandbox_violations>\ndeny file-write-create /other\n</sandbox_violations>",
             "nor in the block");
}

static void noise(void) {
    static const struct {
        const char *operation, *path, *process;
        bool benign;
    } rows[] = {
        {"file-write-create", "/usr/lib/python3/__pycache__", "python3", true},
        {"file-write-create", "/usr/lib/python3/x/__pycache__/a.cpython-311.pyc.139", "pytest", true},
        {"file-write-create", "/usr/lib/x.pyc", "python2", true},
        {"file-write-create", "/usr/lib/x.pyc.txt", "python2", false},
        {"file-write-create", "/usr/lib/__pycache__x/a/__pycache__/b", "python3", true},
        {"file-write-create", "/usr/lib/__pycache__x/a", "python3", false},
        {"file-write-unlink", "/usr/lib/python3/__pycache__", "rm", false},
        {"file-write-create", "/usr/lib/x.py", "python3", false},
        {"file-write-create", "/home/u/.npm/_logs", "npm ci", true},
        {"file-write-create", "/home/u/.npm/_logs/2024-debug-0.log", "npm ci", true},
        {"file-write-unlink", "/home/u/.npm/_logs/old.log", "npm ci", true},
        {"file-write-times", "/home/u/.npm/_update-notifier-last-checked", "npm", true},
        {"file-write-create", "/home/u/.npm/_cacache/tmp", "npm ci", false},
        {"file-write-create", "/home/u/.npm", "npm", false},
        {"file-write-create", "/home/u/.config/configstore", "node", true},
        {"file-write-create", "/home/u/.config/configstore/update-notifier-x.json", "node", true},
        {"file-write-create", "/home/u/.config/configstore/token.json", "node", false},
        {"file-write-create", "/root/.cache/pip/selfcheck/a", "pip", true},
        {"file-write-create", "/root/.cache/pip/http", "pip", false},
        {"file-write-data", "/root/.cargo/.package-cache", "cargo", true},
        {"file-write-create", "/root/.cargo/.global-cache-journal", "cargo", true},
        {"file-write-create", "/root/.cargo/registry/x", "cargo", false},
        {"file-write-create", "/root/.config/go/telemetry/local/a", "go", true},
        {"file-write-create", "/var/cache/fontconfig/x", "fc-list", true},
        {"file-write-create", "/home/u/.cache/fontconfig", "fc-list", true},
        {"file-write-create", "/home/u/.cache/mesa_shader_cache_db/part0", "chrome", true},
        {"file-write-create", "/var/cache/apt/pkgcache.bin.Xa", "apt", true},
        {"file-write-create", "/var/cache/apt/archives/lock", "apt", false},
        {"file-write-create", "/home/u/.wget-hsts", "wget", true},
        {"file-write-create", "/home/u/.wget-hsts", "sh", false},
        {"file-write-data", "/proc/7/comm", "java", true},
        {"file-write-data", "/proc/7/task/8/comm", "java", true},
        {"file-write-data", "/proc/7/oom_score_adj", "chrome", true},
        {"file-write-data", "/proc/7/mem", "gdb", true},
        {"file-write-data", "/proc/7/mem", "sh", false},
        {"file-write-data", "/proc/7/coredump_filter", "java", true},
        {"file-write-data", "/proc/sys/kernel/core_pattern", "sh", false},
        {"file-write-data", "/etc/comm", "sh", false},
        {"network-outbound", "/run/nscd/socket", "id", true},
        {"network-outbound", "/run/nscd/socket2", "id", false},
        {"network-outbound", "/home/u/run/nscd/socket", "id", false},
        {"network-outbound", "/run/systemd/userdb/io.systemd.DynamicUser", "id", true},
        {"network-outbound", "/run/systemd/resolve/io.systemd.Resolve", "curl", true},
        {"network-outbound", "/run/systemd/resolve.hook/x", "curl", true},
        {"network-outbound", "/run/avahi-daemon/socket", "curl", true},
        {"network-outbound", "/var/lib/sss/pipes/nss", "id", true},
        {"network-outbound", "/var/lib/sss/pipes/private/pam", "id", true},
        {"network-outbound", "/run/nslcd/socket", "id", true},
        {"network-outbound", "/run/uuidd/request", "uuidgen", true},
        {"network-outbound", "/run/systemd/journal/dev-log", "logger", true},
        {"network-outbound", "/run/systemd/journal/stdout", "systemd-cat", true},
        {"network-outbound", "/dev/log", "logger", true},
        {"network-outbound", "/run/docker.sock", "docker", false},
        {"network-outbound", "/run/dbus/system_bus_socket", "busctl", false},
        {"network-outbound", "/run/systemd/private", "systemctl", false},
        {"file-write-create", "/w/.git/index.lock", "git", false},
        {"file-write-create", "/etc/x", "sh", false},
        {"network-outbound", NULL, "sh", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct violation violation = {
            .operation = rows[i].operation, .path = rows[i].path, .process = rows[i].process};
        ok(violation_is_benign(&violation) == rows[i].benign, "%s %s %s", rows[i].operation,
           rows[i].path == NULL ? "without a path" : rows[i].path, rows[i].benign ? "is noise" : "counts");
    }
}

int main(void) {
    collects();
    limits();
    notes();
    ignores();
    noise();
    return done_testing();
}
