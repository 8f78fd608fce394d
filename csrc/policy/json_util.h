/* JSON values and foreign text as words for an error message: short, and harmless to a terminal. */
#ifndef OS_SANDBOX_POLICY_JSON_UTIL_H
#define OS_SANDBOX_POLICY_JSON_UTIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

static inline void cleanup_json_fn(json_t **slot) {
    json_decref(*slot);
}

#define cleanup_json __attribute__((cleanup(cleanup_json_fn)))

#define JSON_FOUND_SIZE 72 /* room for any description, NUL included */

/* The key of the object that stands for a JS value JSON cannot carry: { "$unsupported": "a Set" }. */
#define JSON_UNSUPPORTED_KEY "$unsupported"

/*
 * Writes the text with control characters, bidi marks and (between quotes) quotes and backslashes escaped;
 * what does not fit ends with "…", never in the middle of a character. size is at least 8. Bytes that are not
 * UTF-8 become \xNN.
 */
void json_escape_text(const char *text, size_t length, bool quoted, char *out, size_t size);

/* True where the value is one of a list, which is given as JSON; NULL stands for an empty one. */
bool json_is_one_of(const json_t *value, const char *list);

/* Writes what the value is: null, true, 5, "text", an array, an object, or what a placeholder names. */
void json_describe(const json_t *value, char out[JSON_FOUND_SIZE]);

#endif
