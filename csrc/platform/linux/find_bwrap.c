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

#define WRITABLE "others than root may write it, or a folder above it"

/* The file itself and every folder above it, by the real path. NULL: nothing is wrong. */
static const char *fault_of(const char *path, char real[PATH_MAX]) {
    char above[PATH_MAX];
    struct stat facts;
    if (realpath(path, real) == NULL || stat(real, &facts) != 0)
        return "there is none";
    if (!S_ISREG(facts.st_mode) || access(real, X_OK) != 0)
        return "it is no program that this user can start";
    if (!only_root_writes(&facts))
        return WRITABLE;
    memcpy(above, real, sizeof above);
    for (char *slash = strrchr(above, '/'); slash != NULL; slash = strrchr(above, '/')) {
        *slash = '\0';
        if (stat(above[0] == '\0' ? "/" : above, &facts) != 0 || !only_root_writes(&facts))
            return WRITABLE;
    }
    return NULL;
}

const char *bwrap_fault(const char *path) {
    char real[PATH_MAX];
    return path[0] == '/' ? fault_of(path, real) : "its folder is not absolute in PATH";
}

/* The real path is what is used: a symlink in a folder of others could be turned after this look. */
char *find_bwrap(const char *search_path) {
    char real[PATH_MAX];
    for (size_t i = 0; i < sizeof system_places / sizeof system_places[0]; i++)
        if (fault_of(system_places[i], real) == NULL)
            return strdup(real);
    cleanup_free char *folders = strdup(search_path);
    char *rest = folders;
    for (char *folder; folders != NULL && (folder = strsep(&rest, ":")) != NULL;) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/bwrap", folder);
        if (folder[0] == '/' && length > 0 && (size_t)length < sizeof path && fault_of(path, real) == NULL)
            return strdup(real);
    }
    return NULL;
}
