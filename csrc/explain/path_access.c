#include "explain/path_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/socket_list.h"
#include "policy/unix_sockets.h"

const char path_access_why_host[] = "the host's own permissions";

#define OWN_DEV "the sandbox has its own /dev"
#define KERNEL_FILES "kernel files"

/* bwrap(1), --dev; what is mounted for it by descriptors is the same. Innermost first. */
static const struct own_place own_places[] = {
    {"/dev/null", true, true, OWN_DEV, NULL},
    {"/dev/zero", true, true, OWN_DEV, NULL},
    {"/dev/full", true, true, OWN_DEV, NULL},
    {"/dev/random", true, true, OWN_DEV, NULL},
    {"/dev/urandom", true, true, OWN_DEV, NULL},
    {"/dev/tty", true, true, OWN_DEV, NULL},
    {"/dev/ptmx", true, true, OWN_DEV, NULL},
    {"/dev/shm", true, true, "the sandbox has its own /dev/shm", NULL},
    {"/dev/pts", true, false, OWN_DEV, "outside the write roots"},
    {"/dev/fd", true, true, OWN_DEV, NULL},
    {"/dev/stdin", true, true, OWN_DEV, NULL},
    {"/dev/stdout", true, true, OWN_DEV, NULL},
    {"/dev/stderr", true, true, OWN_DEV, NULL},
    {"/dev", true, false, OWN_DEV, "outside the write roots"},
    {"/proc", true, false, "the sandbox has its own /proc", KERNEL_FILES},
};

static const struct own_place absent_device = {"/dev", false, false, OWN_DEV ", and it is not in there",
                                               "outside the write roots"};

const struct own_place *path_access_own(const char *path) {
    for (size_t i = 0; i < sizeof own_places / sizeof own_places[0]; i++) {
        const struct own_place *own = &own_places[i];
        if (!path_is_within(path, own->path))
            continue;
        bool folder = strcmp(own->path, "/dev") == 0 && strcmp(path, "/dev") != 0;
        return folder ? &absent_device : own;
    }
    return NULL;
}

bool path_access_is_allowed(const char *path, int mode) {
    return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

size_t path_access_missing(const char *path) {
    size_t length = 0;
    while (path[length] == '/' && path[length + 1] != '\0') {
        length += 1 + strcspn(path + length + 1, "/");
        cleanup_free char *first = strndup(path, length);
        if (first == NULL || access(first, F_OK) != 0)
            break;
    }
    return length;
}

bool path_access_can_be_made(const char *path) {
    cleanup_free char *folder = strdup(path);
    struct stat facts;
    if (folder == NULL)
        return false;
    do {
        char *slash = strrchr(folder, '/');
        if (slash == folder)
            slash++;
        *slash = '\0';
        if (stat(folder, &facts) == 0)
            return S_ISDIR(facts.st_mode) && path_access_is_allowed(folder, W_OK | X_OK);
    } while (errno == ENOENT && folder[1] != '\0');
    return false;
}

int path_access_socket_entry(const char *entry, const struct fs_place *place, const char *path, bool *has,
                             struct error *err) {
    struct network_options one = {0};
    struct strvec resolved = {0};
    struct strvec warnings = {0};
    int result = strvec_push(&one.allow_unix_sockets, entry) == 0
                     ? unix_sockets_resolve(&one, place, &resolved, &warnings, err)
                     : error_memory(err);
    *has = result == 0 && socket_list_has(resolved.items, resolved.count, path);
    strvec_clear(&one.allow_unix_sockets);
    strvec_clear(&resolved);
    strvec_clear(&warnings);
    return result;
}
