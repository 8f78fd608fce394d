/* Where something stands in a JSON text that jansson has read, which keeps no places. Pure, never past the
 * text.
 */
#ifndef OS_SANDBOX_POLICY_TEXT_PLACE_H
#define OS_SANDBOX_POLICY_TEXT_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* One step into a value: to a key of an object, or, where key is NULL, to an entry of an array. */
struct text_step {
    const char *key;
    size_t index;
};

struct text_place {
    size_t key; /* where the key of the last step begins; of an entry: where its value does */
    size_t value;
};

/* Both from 1; a column is a character, not a byte. */
struct text_position {
    size_t line, column;
};

/* True where the steps lead to a value; *place is written only then. No steps: the outermost value. */
bool text_place_find(const char *text, size_t size, const struct text_step *steps, size_t count,
                     struct text_place *place);

/* Where the token begins that ends at the offset or holds it: what a parser that stopped there did not like.
 */
size_t text_place_token(const char *text, size_t size, size_t offset);

/* The position of a byte; of the end where offset is not inside. */
struct text_position text_position_of(const char *text, size_t size, size_t offset);

#endif
