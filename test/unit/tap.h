/* A TAP producer for the C unit tests: one result line per check, the plan at the end, exit code from
 * done_testing. */
#ifndef OS_SANDBOX_TEST_TAP_H
#define OS_SANDBOX_TEST_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct { unsigned run, failed, planned; } tap_state;

/* Text as one diagnostic line each, so that nothing in it reads as a result. */
static inline void diag(const char *label, const char *text) {
    printf("#   %s: ", label);
    for (const char *c = text == NULL ? "(null)" : text; *c != '\0'; c++) {
        if (*c == '\n')
            printf("\n#     ");
        else
            putchar(*c);
    }
    putchar('\n');
}

/* Announces the number of checks beforehand; without it done_testing prints the plan. */
static inline void plan(unsigned count) {
    tap_state.planned = count;
    printf("1..%u\n", count);
}

/* A name without what TAP reads as more than a name: control characters, escapes, the start of a directive.
 */
static inline void put_name(const char *name) {
    for (const char *c = name; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            printf("?%02x", (unsigned)*c);
        else if (*c == '\\' || *c == '#')
            printf("\\%c", *c);
        else
            putchar(*c);
    }
}

/* One check with a printf-style name, a sentence about behaviour. Returns whether it passed. */
static inline __attribute__((format(printf, 2, 3))) bool ok(bool passed, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tap_state.run++;
    tap_state.failed += passed ? 0 : 1;
    char name[1024];
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    printf("%s %u - ", passed ? "ok" : "not ok", tap_state.run);
    put_name(name);
    putchar('\n');
    fflush(stdout);
    return passed;
}

/* Two strings (NULL is equal to NULL alone) are the same. */
static inline bool is_str(const char *got, const char *wanted, const char *name) {
    bool same = got == NULL || wanted == NULL ? got == wanted : strcmp(got, wanted) == 0;
    if (!ok(same, "%s", name)) {
        diag("wanted", wanted);
        diag("got", got);
    }
    return same;
}

/* Two integers are the same. */
static inline bool is_int(long long got, long long wanted, const char *name) {
    bool same = got == wanted;
    if (!ok(same, "%s", name))
        printf("#   wanted: %lld\n#   got: %lld\n", wanted, got);
    return same;
}

/* Ends the test: the result is main's exit code. */
static inline int done_testing(void) {
    if (tap_state.planned == 0)
        printf("1..%u\n", tap_state.run);
    bool complete = tap_state.planned == 0 || tap_state.planned == tap_state.run;
    if (!complete)
        printf("# planned %u, ran %u\n", tap_state.planned, tap_state.run);
    return tap_state.failed == 0 && complete ? 0 : 1;
}

#endif
