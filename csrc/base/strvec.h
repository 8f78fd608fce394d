/* A growing vector of owned strings. All-zero is the empty vector. */
#ifndef OS_SANDBOX_BASE_STRVEC_H
#define OS_SANDBOX_BASE_STRVEC_H

#include <stddef.h>

struct strvec {
    char **items; /* NULL-terminated once anything was pushed */
    size_t count;
    size_t capacity;
};

/* Appends a copy of the string. 0, or -1 when out of memory (the vector is unchanged). */
int strvec_push(struct strvec *vec, const char *string);

/* Appends the string itself: the vector owns it from here, also when -1 (out of memory) comes back (it is
 * freed). */
int strvec_push_owned(struct strvec *vec, char *string);

/* Appends copies of all of another vector's strings. 0, or -1 when out of memory. */
int strvec_push_all(struct strvec *vec, const struct strvec *other);

void strvec_clear(struct strvec *vec);

#endif
