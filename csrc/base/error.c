#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, enum error_kind kind, int errnum, const char *format, ...) {
    if (err == NULL)
        return -1;
    err->kind = kind;
    err->errnum = errnum;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    if (errnum != 0) {
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errnum));
    }
    return -1;
}

int error_wrap(struct error *err, const char *format, ...) {
    if (err == NULL)
        return -1;
    char context[256];
    va_list args;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    snprintf(err->text, sizeof err->text, "%s: %.*s", context, (int)(sizeof text - sizeof context - 3), text);
    return -1;
}

int error_memory(struct error *err) {
    return error_set(err, ERROR_MEMORY, 0, "out of memory");
}
