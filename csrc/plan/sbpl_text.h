/*
 * Text in SBPL, the language of Seatbelt's profiles: s-expressions as TinyScheme reads them. Pure. Memory
 * that runs out is remembered in the text and asked for once, at the end.
 */
#ifndef OS_SANDBOX_PLAN_SBPL_TEXT_H
#define OS_SANDBOX_PLAN_SBPL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* TinyScheme reads a string into a buffer of fixed size: what is longer ends the profile there. */
#define SBPL_STRING_MAX 1000

/* All-zero is the empty text. */
struct sbpl_text {
    char *data; /* NUL-terminated once anything was added; owned */
    size_t size;
    size_t capacity;
    bool failed; /* out of memory: nothing more is added */
};

void sbpl_text_add(struct sbpl_text *text, const char *added);
void sbpl_text_add_bytes(struct sbpl_text *text, const char *bytes, size_t length);
void sbpl_text_clear(struct sbpl_text *text);

/* A string literal: quotes, backslashes, control characters and what is no UTF-8 are escaped. */
void sbpl_text_add_string(struct sbpl_text *text, const char *string);

/* --- rules --- */

/*
 * A rule that gets its filters one by one; any of them makes it apply. Without a filter there is no rule: one
 * without would apply to everything. Many filters become several rules, since an expression is limited.
 */
struct sbpl_rule {
    struct sbpl_text *out;
    const char *head;    /* "deny file-read* file-write*" */
    const char *message; /* what the log is to say beside a denial; or NULL */
    size_t filters;      /* in the rule that is open */
};

/* To be called before each filter, whose text is added to rule->out then. */
void sbpl_rule_filter(struct sbpl_rule *rule);
void sbpl_rule_end(struct sbpl_rule *rule);

/* Adds a filter of the kind with a string as its only argument. */
void sbpl_rule_string(struct sbpl_rule *rule, const char *kind, const char *string);

/* --- paths --- */

/* The names of what is at a path: the first is its own, the second is for what lies below /tmp, /var or /etc,
 * which macOS has in /private; the last, on the data volume, matters to denials alone. */
enum sbpl_name { SBPL_NAME_OWN, SBPL_NAME_TWIN, SBPL_NAME_ON_DATA, SBPL_NAMES };

/* Adds one of the names. False: there is no such name, or no memory. */
bool sbpl_text_add_name(struct sbpl_text *text, const char *path, enum sbpl_name name);

/* What is left of a path that is in /private, or is found there, without that; NULL for others. */
const char *sbpl_below_private(const char *path);

/* Adds a filter of the kind ("subpath") for each name that can be asked for; for each name there is. */
void sbpl_rule_path(struct sbpl_rule *rule, const char *kind, const char *path);
void sbpl_rule_denied(struct sbpl_rule *rule, const char *kind, const char *path);

#endif
