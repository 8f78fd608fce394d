#include "violations/benign.h"

#include <stddef.h>
#include <string.h>

/* What may stand behind the part of a path that a row names. */
enum rest {
    NOTHING,
    ITS_FILES, /* or nothing */
    ANYTHING,
};

/*
 * By parts of paths, not by globs: a command chooses the path, and the host's loop waits for this. What a
 * program needs has no row, even if it says nothing when refused: git's index.lock, pip's and npm's caches.
 */
static const struct row {
    const char *operation; /* a prefix */
    const char *begins;    /* the path does; "": any */
    const char *holds;     /* and has this behind it, somewhere; "": right there */
    enum rest rest;
    const char *process; /* its name; NULL: any */
    const char *reason;
} rows[] = {
    {"file-write-create", "", "/__pycache__", ITS_FILES, NULL, "CPython: byte code is a cache, PEP 3147"},
    {"file-write-create", "", ".pyc", NOTHING, NULL, "CPython 2: byte code beside its source"},
    {"file-write-create", "", ".pyo", NOTHING, NULL, "CPython 2: the same, optimised"},
    {"file-write-", "", "/.npm/_logs", ITS_FILES, NULL,
     "npm: logs about itself, and the removal of old ones"},
    {"file-write-", "", "/.npm/_update-notifier-last-checked", NOTHING, NULL,
     "npm: when it asked for updates"},
    {"file-write-", "", "/.config/configstore", NOTHING, NULL, "update-notifier of npm programs: its folder"},
    {"file-write-", "", "/.config/configstore/update-notifier-", ANYTHING, NULL, "when it asked for updates"},
    {"file-write-", "", "/.cache/pip/selfcheck", ITS_FILES, NULL, "pip: when it asked for its own updates"},
    {"file-write-", "", "/.cargo/.package-cache", ANYTHING, NULL,
     "cargo: locks, left out on read-only disks"},
    {"file-write-", "", "/.cargo/.global-cache", ANYTHING, NULL,
     "cargo: when it last used what it has stored"},
    {"file-write-", "", "/.config/go/telemetry", ITS_FILES, NULL, "go: counters of its own use"},
    {"file-write-", "", "/.wget-hsts", NOTHING, "wget", "wget: hosts that want https, they say it again"},
    {"file-write-", "/var/cache/fontconfig", "", ITS_FILES, NULL, "fontconfig: made in memory instead"},
    {"file-write-", "", "/.cache/fontconfig", ITS_FILES, NULL, "fontconfig: made in memory instead"},
    {"file-write-", "", "/.cache/mesa_shader_cache", ANYTHING, NULL,
     "Mesa: compiled shaders, compiled again"},
    {"file-write-", "/var/cache/apt/pkgcache.bin", "", ANYTHING, NULL,
     "apt: an index, made in memory instead"},
    {"file-write-", "/var/cache/apt/srcpkgcache.bin", "", ANYTHING, NULL, "apt: the same for sources"},
    {"file-write-data", "/proc/", "/comm", NOTHING, NULL, "names of threads, pthread_setname_np(3)"},
    {"file-write-data", "/proc/", "/oom_score_adj", NOTHING, NULL,
     "the order of out-of-memory kills, proc(5)"},
    {"file-write-data", "/proc/", "/mem", NOTHING, "gdb", "gdb: memory of what it debugs, by ptrace(2) then"},
    {"file-write-data", "/proc/", "/coredump_filter", NOTHING, NULL,
     "JVM: what a core dump leaves out, core(5)"},
    {"file-write-", "/var/cache/man/", "", ANYTHING, NULL, "man-db: formatted pages, formatted again"},
    {"network-outbound", "/run/nscd/socket", "", NOTHING, NULL,
     "C libraries: lookups, made without nscd then"},
    {"network-outbound", "/run/systemd/userdb/", "", ANYTHING, NULL, "nss-systemd: users, from files then"},
    {"network-outbound", "/run/systemd/resolve/io.systemd.Resolve", "", ANYTHING, NULL,
     "nss-resolve: then DNS"},
    {"network-outbound", "/run/systemd/resolve.hook/", "", ANYTHING, NULL, "nss-resolve: the same"},
    {"network-outbound", "/run/avahi-daemon/socket", "", NOTHING, NULL,
     "nss-mdns: names of the local network"},
    {"network-outbound", "/var/lib/sss/pipes/", "", ANYTHING, NULL, "nss-sss: users, from files then"},
    {"network-outbound", "/run/nslcd/socket", "", NOTHING, NULL, "nss-ldapd: users, from files then"},
    {"network-outbound", "/run/uuidd/request", "", NOTHING, NULL, "libuuid: makes its ids itself then"},
    {"network-outbound", "/run/systemd/journal/", "", ANYTHING, NULL, "logging, syslog(3) included"},
    {"network-outbound", "/dev/log", "", NOTHING, NULL, "syslog(3): the program goes on without"},
};

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool rest_fits(enum rest wanted, const char *rest) {
    return wanted == ANYTHING || *rest == '\0' || (wanted == ITS_FILES && *rest == '/');
}

static bool path_fits(const struct row *row, const char *path) {
    if (!begins_with(path, row->begins))
        return false;
    const char *behind = path + strlen(row->begins);
    if (row->holds[0] == '\0')
        return rest_fits(row->rest, behind);
    for (const char *at = strstr(behind, row->holds); at != NULL; at = strstr(at + 1, row->holds))
        if (rest_fits(row->rest, at + strlen(row->holds)))
            return true;
    return false;
}

bool violation_is_benign(const struct violation *violation) {
    for (size_t i = 0; violation->path != NULL && i < sizeof rows / sizeof rows[0]; i++)
        if (begins_with(violation->operation, rows[i].operation) &&
            (rows[i].process == NULL || strcmp(violation->process, rows[i].process) == 0) &&
            path_fits(&rows[i], violation->path))
            return true;
    return false;
}
