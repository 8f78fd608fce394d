/* Errors with context: made where they happen, prefixed on the way up, read once at the top. */
#ifndef OS_SANDBOX_BASE_ERROR_H
#define OS_SANDBOX_BASE_ERROR_H

#include <stddef.h>

enum error_kind {
    ERROR_NONE = 0,
    ERROR_OPTIONS,    /* the caller's mistake: text begins with the option's path */
    ERROR_DEPENDENCY, /* something that is to be installed is missing: text names it */
    ERROR_HOST,       /* the host cannot do it: becomes status.reason or a rejected run */
    ERROR_MEMORY,
};

struct error {
    enum error_kind kind;
    int errnum; /* errno that caused it, 0 where none did */
    char text[1024];
};

/* Sets *err (which may be NULL) and returns -1. With errnum != 0, ": strerror" is appended. Text is cut,
 * never overrun. */
int error_set(struct error *err, enum error_kind kind, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "context: " before the text of an error that is set; returns -1. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Out of memory, as an error; returns -1. */
int error_memory(struct error *err);

#endif
