/*
 * Regular expressions as Seatbelt has them: those of egrep(1) without intervals, over bytes. Pure. Letters
 * match both ways where names are compared without case, with the two other characters that fold to an ASCII
 * letter alone. No expression is made that is longer than SBPL_STRING_MAX.
 */
#ifndef OS_SANDBOX_PLAN_SBPL_REGEX_H
#define OS_SANDBOX_PLAN_SBPL_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "plan/sbpl_text.h"

/* Adds what matches exactly these bytes. */
void sbpl_regex_add_text(struct sbpl_text *out, const char *text, size_t length, bool fold);

/* Adds what matches a path from its beginning, by each of its names; closed: the one on the data volume, too.
 */
void sbpl_regex_add_lead(struct sbpl_text *out, const char *path, bool closed);

/* What matches a path and everything below it, by each of its names. 0, or -1: out of memory, or too long
 * (ERROR_OPTIONS). */
int sbpl_regex_of_path(const char *path, bool fold, struct sbpl_text *out, struct error *err);

/*
 * The same for what a pattern (base/glob.h) matches. closed: it denies, and what cannot be said exactly
 * (letters beyond ASCII in a set, "**" beside a brace) matches more; else less, or that is an error.
 */
int sbpl_regex_of_glob(const char *pattern, bool fold, bool closed, struct sbpl_text *out, struct error *err);

#endif
