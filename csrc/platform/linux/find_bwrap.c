#include "platform/linux/find_bwrap.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char *const system_places[] = {"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"};

/* How root shows itself in a user namespace that does not map it (kernel.overflowuid). */
#define UNMAPPED_UID 65534

static bool only_root_writes(const struct stat *facts) {
    return (facts->st_uid == 0 || (facts->st_uid == UNMAPPED_UID && geteuid() != UNMAPPED_UID)) &&
           (facts->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The file itself and every folder above it, by the real path. */
static bool is_trusted(const char *path, char real[PATH_MAX]) {
    char above[PATH_MAX];
    struct stat facts;
    if (realpath(path, real) == NULL || stat(real, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        access(real, X_OK) != 0)
        return false;
    if (!only_root_writes(&facts))
        return false;
    memcpy(above, real, sizeof above);
    for (char *slash = strrchr(above, '/'); slash != NULL; slash = strrchr(above, '/')) {
        *slash = '\0';
        if (stat(above[0] == '\0' ? "/" : above, &facts) != 0 || !only_root_writes(&facts))
            return false;
    }
    return true;
}

/* The real path is what is used: a symlink in a folder of others could be turned after this look. */
char *find_bwrap(const char *search_path) {
    char real[PATH_MAX];
    for (size_t i = 0; i < sizeof system_places / sizeof system_places[0]; i++)
        if (is_trusted(system_places[i], real))
            return strdup(real);
    cleanup_free char *folders = strdup(search_path);
    char *rest = folders;
    for (char *folder; folders != NULL && (folder = strsep(&rest, ":")) != NULL;) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/bwrap", folder);
        if (folder[0] == '/' && length > 0 && (size_t)length < sizeof path && is_trusted(path, real))
            return strdup(real);
    }
    return NULL;
}
