#include "base/error.h"

#include <errno.h>
#include <string.h>

#include "tap.h"

static void errors_carry_kind_errno_and_text(void) {
    struct error err = {0};
    is_int(error_set(&err, ERROR_OPTIONS, 0, "%s: expected %d", "a.b", 5), -1, "setting an error returns -1");
    is_int(err.kind, ERROR_OPTIONS, "the kind is kept");
    is_str(err.text, "a.b: expected 5", "the text is formatted");

    error_set(&err, ERROR_HOST, ENOENT, "open %s", "/x");
    is_int(err.errnum, ENOENT, "the errno is kept");
    is_str(err.text, "open /x: No such file or directory", "the errno's words follow the text");

    error_set(&err, ERROR_HOST, 0, "other");
    is_int(err.errnum, 0, "a later error replaces the errno");
    is_str(err.text, "other", "a later error replaces the text");
}

static void wrapping_puts_context_in_front(void) {
    struct error err = {0};
    error_set(&err, ERROR_HOST, EACCES, "mount");
    is_int(error_wrap(&err, "run %d", 7), -1, "wrapping returns -1");
    is_str(err.text, "run 7: mount: Permission denied", "the context stands before the text");
    is_int(err.errnum, EACCES, "wrapping keeps the errno");
    is_int(err.kind, ERROR_HOST, "wrapping keeps the kind");
    error_wrap(&err, "start");
    is_str(err.text, "start: run 7: mount: Permission denied", "contexts nest");
}

static void long_texts_are_cut(void) {
    struct {
        struct error err;
        char guard[16];
    } box;
    memset(&box, 'g', sizeof box);
    char big[4096];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';

    error_set(&box.err, ERROR_HOST, EACCES, "%s", big);
    is_int((long long)strlen(box.err.text), sizeof box.err.text - 1, "a long text fills the buffer and ends");
    error_wrap(&box.err, "%s", big);
    ok(strlen(box.err.text) < sizeof box.err.text, "a long context is cut too");
    error_wrap(&box.err, "short");
    ok(strncmp(box.err.text, "short: xxx", 10) == 0, "a context fits before a text that fills the buffer");
    ok(memcmp(box.guard, "gggggggggggggggg", sizeof box.guard) == 0, "nothing behind the error is touched");
}

int main(void) {
    errors_carry_kind_errno_and_text();
    wrapping_puts_context_in_front();
    long_texts_are_cut();

    is_int(error_set(NULL, ERROR_HOST, EIO, "x"), -1, "setting takes NULL");
    is_int(error_wrap(NULL, "x"), -1, "wrapping takes NULL");
    is_int(error_memory(NULL), -1, "out of memory takes NULL");
    struct error err = {0};
    error_memory(&err);
    is_int(err.kind, ERROR_MEMORY, "out of memory has its kind");
    is_str(err.text, "out of memory", "out of memory says so");
    return done_testing();
}
