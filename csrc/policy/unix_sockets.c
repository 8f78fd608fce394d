#include "policy/unix_sockets.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/glob.h"

/* A path, or the leading part of one, and what it led to. */
struct lead {
    struct resolved_path file;
    enum resolve_outcome outcome;
};

static bool may_be_planted(const struct lead *lead, const struct fs_place *place) {
    for (size_t i = 0; i < lead->file.link_folders.count; i++)
        if (path_memory_was_granted(place->memory, lead->file.link_folders.items[i]))
            return true;
    return false;
}

/* Without empty components and "."; a slash at the end stays. NULL: out of memory. */
static char *tidy(const char *rest) {
    char *tidied = malloc(strlen(rest) + 1);
    char *to = tidied;
    if (tidied == NULL)
        return NULL;
    while (*rest != '\0') {
        size_t length = strcspn(rest, "/");
        bool skipped = length == 0 || (length == 1 && rest[0] == '.');
        const char *tail = rest + length + (rest[length] == '/' ? 1 : 0);
        if (!skipped) {
            memcpy(to, rest, (size_t)(tail - rest));
            to += tail - rest;
        }
        rest = tail;
    }
    *to = '\0';
    return tidied;
}

/* Pushes a path and what is to be found below it. rest: "" for the path itself. */
static int push_below(const char *path, bool folder, const char *rest, bool glob, struct strvec *out,
                      struct error *err) {
    cleanup_free char *escaped = glob_escape(path);
    cleanup_free char *tidied = tidy(rest);
    cleanup_free char *below = tidied == NULL ? NULL : glob ? strdup(tidied) : glob_escape(tidied);
    char *entry = NULL;
    if (escaped == NULL || below == NULL)
        return error_memory(err);
    bool slash = (folder || below[0] != '\0') && strcmp(path, "/") != 0;
    if (asprintf(&entry, "%s%s%s", escaped, slash ? "/" : "", below) < 0)
        return error_memory(err);
    return strvec_push_owned(out, entry) == 0 ? 0 : error_memory(err);
}

/*
 * Where the real path is another than the written one, the written one is pushed, too: a socket may have been
 * bound to that.
 */
static int push_found(const char *written, const struct lead *lead, const char *rest, bool glob,
                      struct strvec *out, struct error *err) {
    const bool folder = S_ISDIR(lead->file.mode);
    cleanup_free char *tidied = tidy(written);
    cleanup_free char *absolute = NULL;
    if (tidied == NULL || asprintf(&absolute, "/%s", tidied) < 0)
        return error_memory(err);
    size_t length = strlen(absolute);
    if (length > 1 && absolute[length - 1] == '/')
        absolute[length - 1] = '\0';
    int result = push_below(lead->file.path, folder, rest, glob, out, err);
    if (result == 0 && lead->file.link_folders.count > 0)
        result = push_below(absolute, folder, rest, glob, out, err);
    return result;
}

static int warn_of_link(const char *path, const struct lead *lead, struct strvec *warnings,
                        struct error *err) {
    char text[8192];
    snprintf(text, sizeof text,
             "%s is not open to commands: it leads to %s through a symlink that a command could have made; "
             "name the "
             "real path",
             path, lead->file.path);
    return strvec_push(warnings, text) == 0 ? 0 : error_memory(err);
}

/*
 * Resolves the first length bytes of the path. *done: they lead somewhere, and an entry was pushed (or, where
 * that cannot be relied on, a warning).
 */
static int try_lead(const char *path, size_t length, bool glob, const struct fs_place *place,
                    struct strvec *out, struct strvec *warnings, struct error *err, bool *done) {
    struct lead lead = {0};
    cleanup_free char *text = strndup(path, length > 0 ? length : 1);
    if (text == NULL)
        return error_memory(err);
    lead.outcome = path_resolve(text, &lead.file, err);
    int result = lead.outcome == RESOLVE_FAILED ? -1 : 0;
    *done = lead.outcome == RESOLVE_FOUND;
    if (*done)
        result = may_be_planted(&lead, place) ? warn_of_link(path, &lead, warnings, err)
                                              : push_found(text, &lead, path + length, glob, out, err);
    resolved_path_clear(&lead.file);
    return result;
}

/*
 * The longest leading part first; of a glob that is no file only what stands before its first character.
 * base: the length of the folder that was put before the entry, in which no character is special.
 */
static int push_entry(const char *path, size_t base, const struct fs_place *place, struct strvec *out,
                      struct strvec *warnings, struct error *err) {
    bool done = false;
    size_t length = strlen(path);
    int result = try_lead(path, length, false, place, out, warnings, err, &done);
    bool glob = glob_has_magic(path + base);
    if (glob)
        length = base + strcspn(path + base, "*?[{\\");
    while (result == 0 && !done && length > 0) {
        do
            length--;
        while (length > 0 && path[length] != '/');
        result = try_lead(path, length, glob, place, out, warnings, err, &done);
    }
    return result;
}

static size_t base_length(const char *entry, const struct fs_place *place) {
    bool below_home = entry[0] == '~' && (entry[1] == '/' || entry[1] == '\0');
    return entry[0] == '/' ? 0 : strlen(below_home ? place->home : place->cwd);
}

int unix_sockets_resolve(const struct network_options *network, const struct fs_place *place,
                         struct strvec *out, struct strvec *warnings, struct error *err) {
    for (size_t i = 0; i < network->allow_unix_sockets.count; i++) {
        const char *entry = network->allow_unix_sockets.items[i];
        cleanup_free char *path = fs_entry_expand(entry, place->cwd, place->home);
        int result = path == NULL ? error_memory(err)
                                  : push_entry(path, base_length(entry, place), place, out, warnings, err);
        if (result != 0)
            return error_wrap(err, "network.allowUnixSockets[%zu]", i);
    }
    return 0;
}
