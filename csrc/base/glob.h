/*
 * Paths against patterns: *, ?, [...] within one component, ** over any number of them, {a,b}; a backslash
 * takes the next character as it is. Pure.
 */
#ifndef OS_SANDBOX_BASE_GLOB_H
#define OS_SANDBOX_BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True where the pattern has one of the characters * ? [ { */
bool glob_has_magic(const char *pattern);

/*
 * True where the whole path matches. Both absolute, the path without "//" and a trailing slash. "**" as a
 * whole component matches zero or more components; a leading dot is no exception; ? and [...] take one
 * character of UTF-8, or one byte that is none. Braces without a comma are plain. A pattern that is malformed
 * (an open bracket or brace, a backslash at the end) or has 4096 bytes or more matches only itself. Time is
 * bounded: the product of the lengths, whatever the pattern. Takes 48 KiB of stack.
 */
bool glob_match(const char *pattern, const char *path);

/*
 * A pattern for whoever walks a tree: a state says what is still to match below a folder. One for "/" is
 * begun, every other is entered by a name from the folder above.
 */
struct glob;

enum glob_outcome {
    GLOB_MATCHES = 1u << 0, /* as glob_match says of the path */
    GLOB_GOES_ON = 1u << 1, /* something below it may match */
};

/* NULL: malformed, which matches only itself, or out of memory. */
struct glob *glob_compile(const char *pattern);
void glob_free(struct glob *glob);

/* The bytes of a state of this pattern; two that are the same have the same bytes. */
size_t glob_state_size(const struct glob *glob);
void glob_begin(const struct glob *glob, unsigned char *state);

/* What is to be said of a name in the folder; *next is its state where anything is. Takes 8 KiB of stack. */
unsigned glob_enter(const struct glob *glob, const unsigned char *state, const char *name,
                    unsigned char *next);

/* Braces in braces. */
#define GLOB_DEPTH_MAX 32
/* A byte that is no UTF-8 is a character of its own, above all others. */
#define GLOB_STRAY_BYTE 0x80000000u

/* What a pattern is made of, for whoever says it in another language. */
enum glob_part {
    GLOB_CHARACTER,
    GLOB_ANY,
    GLOB_SET,
    GLOB_STAR,  /* within a component */
    GLOB_STARS, /* two of them: any number of components where they are a whole one, else as GLOB_STAR */
    GLOB_OPEN,  /* braces that have a comma */
    GLOB_COMMA,
    GLOB_CLOSE,
    GLOB_END,
};

/* Parts in their order, up to GLOB_END. *character: of a GLOB_CHARACTER. */
enum glob_part glob_part_at(const struct glob *glob, size_t index, uint32_t *character);

/* Whether the GLOB_SET takes the character; whether it may take one that is not ASCII. */
bool glob_set_has(const struct glob *glob, size_t index, uint32_t character);
bool glob_set_reaches(const struct glob *glob, size_t index);

/* The pattern that matches exactly this path. NULL: out of memory. The caller frees. */
char *glob_escape(const char *path);

#endif
