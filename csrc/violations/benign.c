#include "violations/benign.h"

#include <stddef.h>
#include <string.h>

#include "base/glob.h"

/* What a program needs, even if it says nothing when refused, has no row here: git's index.lock, pip's cache.
 */
static const struct {
    const char *operation; /* a prefix */
    const char *path;      /* base/glob.h */
    const char *process;   /* its name, or NULL: any */
    const char *reason;
} rows[] = {
    {"file-write-create", "/**/__pycache__", NULL,
     "CPython: byte code beside read-only sources is a cache, PEP 3147"},
    {"file-write-create", "/**/__pycache__/*", NULL, "the same: files, under a temporary name first"},
    {"file-write-create", "/**/*.{pyc,pyo}", NULL, "CPython 2: byte code beside its source"},
    {"file-write-", "/**/.npm/_logs{,/**}", NULL,
     "npm: logs of itself; it goes on without, and cleans old ones up"},
    {"file-write-", "/**/.npm/_update-notifier-last-checked", NULL,
     "npm: when it last asked for its own updates"},
    {"file-write-", "/**/.config/configstore{,/update-notifier-*}", NULL,
     "update-notifier of many npm programs"},
    {"file-write-", "/**/.cache/pip/selfcheck{,/**}", NULL, "pip: when it last asked for its own updates"},
    {"file-write-", "/**/.cargo/.{package-cache*,global-cache*}", NULL,
     "cargo: locks and last-use records of a cache that it reads without them where they cannot be written"},
    {"file-write-", "/**/.config/go/telemetry{,/**}", NULL, "go: counters of its own use"},
    {"file-write-", "{/var/cache/fontconfig,/**/.cache/fontconfig}{,/**}", NULL,
     "fontconfig: caches, made in memory instead"},
    {"file-write-", "/**/.cache/mesa_shader_cache*{,/**}", NULL,
     "Mesa: compiled shaders, compiled again instead"},
    {"file-write-", "/var/cache/apt/{,src}pkgcache.bin*", NULL, "apt: an index, made in memory instead"},
    {"file-write-", "/**/.wget-hsts", "wget", "wget: which hosts want https, known again at the next answer"},
    {"file-write-data", "/proc/*/{,task/*/}comm", NULL, "names of threads, pthread_setname_np(3)"},
    {"file-write-data", "/proc/*/oom_score_adj", NULL,
     "a wish about the order of out-of-memory kills, proc(5)"},
    {"network-outbound", "/{,var/}run/nscd/socket", NULL,
     "C libraries: name lookups, made without nscd then"},
    {"network-outbound", "/run/systemd/userdb/*", NULL,
     "nss-systemd: users and groups, taken from files then"},
    {"network-outbound", "/run/systemd/resolve/io.systemd.Resolve*", NULL,
     "nss-resolve: lookups go to DNS then"},
    {"network-outbound", "/run/systemd/resolve.hook/*", NULL, "nss-resolve: the same"},
    {"network-outbound", "/run/avahi-daemon/socket", NULL, "nss-mdns: names of the local network"},
    {"network-outbound", "/var/lib/sss/pipes/**", NULL, "nss-sss: users and groups, taken from files then"},
    {"network-outbound", "/{,var/}run/nslcd/socket", NULL,
     "nss-ldapd: users and groups, taken from files then"},
    {"network-outbound", "/run/uuidd/request", NULL, "libuuid: makes its ids itself then"},
    {"network-outbound", "/run/systemd/journal/{dev-log,socket,stdout,syslog}", NULL,
     "logging, syslog(3) included"},
    {"network-outbound", "/dev/log", NULL, "syslog(3): the message is lost, the program goes on"},
};

bool violation_is_benign(const struct violation *violation) {
    for (size_t i = 0; violation->path != NULL && i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(violation->operation, rows[i].operation, strlen(rows[i].operation)) == 0 &&
            (rows[i].process == NULL || strcmp(violation->process, rows[i].process) == 0) &&
            glob_match(rows[i].path, violation->path))
            return true;
    return false;
}
