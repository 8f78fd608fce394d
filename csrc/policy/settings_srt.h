/*
 * Settings files that were written for sandbox-runtime (srt): its keys that are no options here, and what its
 * values mean where the same key is an option. Never looser than there.
 */
#ifndef OS_SANDBOX_POLICY_SETTINGS_SRT_H
#define OS_SANDBOX_POLICY_SETTINGS_SRT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum srt_action {
    SRT_NOTE,    /* a string, for editors alone */
    SRT_IGNORED, /* it does not tighten: a warning says why it has no effect */
    SRT_REFUSED, /* commands could do more than whoever wrote it expects: an error */
    SRT_UNASKED, /* true forbids to ask a person: an error where one is asked */
};

struct srt_key {
    const char *group; /* as in struct option_row */
    const char *key;
    enum srt_action action;
    const char *inert;  /* a JSON list of the values that say nothing and pass silently, or NULL */
    const char *reason; /* stands behind "… has no effect: " or in "… cannot be honoured here (…)" */
};

/* The row, or NULL. */
const struct srt_key *srt_key_find(const char *group, const char *key);

/* Rows in their order, NULL past the end. */
const struct srt_key *srt_key_row(size_t index);

/* Of path lists: "dir/" and "**" behind it is the folder itself. False where memory ran out. */
bool srt_name_folders(json_t *document);

/*
 * There "*" of deniedDomains denies addresses, too; here it denies names alone. True where an address of
 * allowedDomains would be left open by that: the index of its entry.
 */
bool srt_leaves_open(const json_t *document, size_t *index);

#endif
