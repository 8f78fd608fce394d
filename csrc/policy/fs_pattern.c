#include "policy/fs_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/glob.h"
#include "base/path.h"

/* Without empty components and ".", which would match nothing. NULL: out of memory. */
static char *tidy(const char *rest) {
    char *tidied = malloc(strlen(rest) + 1);
    char *to = tidied;
    while (tidied != NULL && *rest != '\0') {
        size_t length = strcspn(rest, "/");
        if (length > 0 && !(length == 1 && rest[0] == '.')) {
            if (to != tidied)
                *to++ = '/';
            memcpy(to, rest, length);
            to += length;
        }
        rest += length + strspn(rest + length, "/");
    }
    if (to != NULL)
        *to = '\0';
    return tidied;
}

/* The lead as a path that is normal where it has no ".."; else NULL, as where there is no memory. */
static char *plain_lead(const char *lead) {
    cleanup_free char *tidied = tidy(lead);
    char *plain = NULL;
    if (tidied == NULL || asprintf(&plain, "/%s", tidied) < 0)
        return NULL;
    if (path_is_normal(plain))
        return plain;
    free(plain);
    return NULL;
}

char *fs_pattern_at(const struct fs_pattern *pattern, const char *folder) {
    cleanup_free char *escaped = glob_escape(folder);
    char *whole = NULL;
    if (escaped == NULL || asprintf(&whole, "%s/%s", folder[1] == '\0' ? "" : escaped, pattern->rest) < 0)
        return NULL;
    return whole;
}

int fs_pattern_split(const char *path, size_t base, struct fs_pattern *out, struct error *err) {
    size_t at = base + strcspn(path + base, "*?[{\\");
    while (at > 0 && path[at] != '/')
        at--;
    *out = (struct fs_pattern){.lead = strndup(path, at > 0 ? at : 1), .rest = tidy(path + at)};
    if (out->lead == NULL || out->rest == NULL)
        return error_memory(err);
    if (path_resolve(out->lead, &out->folder, err) == RESOLVE_FAILED)
        return -1;
    cleanup_free char *plain = plain_lead(out->lead);
    if (plain != NULL && strcmp(plain, out->folder.path) != 0)
        out->as_written = fs_pattern_at(out, plain);
    return 0;
}

void fs_pattern_clear(struct fs_pattern *pattern) {
    free(pattern->lead);
    resolved_path_clear(&pattern->folder);
    free(pattern->rest);
    free(pattern->as_written);
    *pattern = (struct fs_pattern){0};
}
