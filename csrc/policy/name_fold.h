/*
 * Names as file systems that compare without case take them: two names that may be one there become the same
 * text. Only as far as ASCII names can be meant. Pure.
 */
#ifndef OS_SANDBOX_POLICY_NAME_FOLD_H
#define OS_SANDBOX_POLICY_NAME_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The component of so many bytes, folded, into size bytes, cut to that; its length, without the NUL. Case and
 * what Unicode folds to ASCII or ignores (utf8_casefold() of the kernel), dots and spaces at the end (vfat,
 * ntfs, cifs).
 */
size_t name_fold(const char *name, size_t length, char *into, size_t size);

/* False for a path that no file system takes for another one: nothing in it folds. */
bool path_may_fold(const char *path);

/* Every component of a path. False: nothing changed, or it is too long. */
bool path_fold(const char *path, char *into, size_t size);

/* What Unicode folds to ASCII letters: the text that the character *from becomes. NULL past the end. */
const char *name_fold_row(size_t index, uint32_t *from);

/* True for a name as vfat and ntfs make them for old programs: "GIT~1". */
bool name_is_short_form(const char *name, size_t length);

#endif
