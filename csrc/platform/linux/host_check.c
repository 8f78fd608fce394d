#include "platform/linux/host_check.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OLDEST_MAJOR 5
#define OLDEST_MINOR 9

int host_check_kernel(struct error *err) {
    struct utsname name;
    if (uname(&name) != 0)
        return 0;
    char *rest;
    long major = strtol(name.release, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    if (major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR))
        return 0;
    return error_set(err, ERROR_HOST, 0, "Linux %d.%d or newer is needed, this is %s", OLDEST_MAJOR,
                     OLDEST_MINOR, name.release);
}

/* The number in a file; absent where there is none. */
static long read_number(const char *path, long absent) {
    char text[32] = "";
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return absent;
    return strtol(text, NULL, 10);
}

static bool in_container(void) {
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
           getenv("container") != NULL || getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

/* A seccomp filter of a container's runtime: unshare is refused although the kernel would do it. */
static bool is_filtered(void) {
    char text[4096];
    cleanup_fd int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (got <= 0)
        return false;
    text[got] = '\0';
    const char *line = strstr(text, "\nSeccomp:");
    return line != NULL && strtol(line + strlen("\nSeccomp:"), NULL, 10) == 2;
}

/* Since Linux 5.12 (user_namespaces(7)) root needs it to map itself, which bwrap and the agent both do. */
static bool root_lacks_setfcap(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return geteuid() == 0 && syscall(SYS_capget, &header, data) == 0 &&
           (data[0].permitted & (1u << CAP_SETFCAP)) == 0;
}

struct cause {
    bool (*holds)(void);
    const char *text;
};

static bool no_namespaces_at_all(void) {
    return read_number("/proc/sys/user/max_user_namespaces", 1) == 0;
}

static bool no_unprivileged_namespaces(void) {
    return geteuid() != 0 && read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0;
}

static bool restricted_by_apparmor(void) {
    return geteuid() != 0 && read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1;
}

/* The first that holds: a container sees the sysctls of its host, which are not what has to be changed. */
static const struct cause causes[] = {
    {no_namespaces_at_all,
     "user namespaces are off (user.max_user_namespaces is 0): sysctl -w user.max_user_namespaces=15000"},
    {root_lacks_setfcap,
     "root has no CAP_SETFCAP here, without which it cannot make user namespaces: start the container "
     "with --cap-add SETFCAP, or run as another user"},
    {in_container, "this container forbids user namespaces: start it with --security-opt seccomp=unconfined "
                   "(or a profile that allows "
                   "unshare, clone, setns, mount and pivot_root) and --security-opt systempaths=unconfined"},
    {no_unprivileged_namespaces,
     "unprivileged user namespaces are off: sysctl -w kernel.unprivileged_userns_clone=1"},
    {restricted_by_apparmor,
     "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1): load the "
     "profile for "
     "/usr/bin/bwrap (on Ubuntu 24.04: apt install apparmor-profiles, then copy "
     "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict to /etc/apparmor.d and reload AppArmor)"},
    {is_filtered, "a seccomp filter around this process forbids namespaces or mounts"},
};

void host_explain(const char *probe_text, struct error *err) {
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (causes[i].holds()) {
            error_set(err, ERROR_HOST, 0, "%s (%s)", causes[i].text, probe_text);
            return;
        }
    error_set(err, ERROR_HOST, 0,
              "%s (bubblewrap needs user namespaces and mounts: see what `bwrap --ro-bind / / --proc /proc "
              "true` says)",
              probe_text);
}
