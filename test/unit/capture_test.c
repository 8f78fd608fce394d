#include "command/capture.h"
#include "tap.h"

#include <stdlib.h>

/* As the run does it: into the room that there is, the rest is dropped. */
static void feed(struct capture *capture, const char *bytes, size_t size) {
    while (size > 0) {
        size_t room;
        char *into = capture_reserve(capture, &room);
        size_t taken = into == NULL ? size : room < size ? room : size;
        if (into != NULL) {
            memcpy(into, bytes, taken);
            capture_commit(capture, taken);
        } else {
            capture_drop(capture, taken);
        }
        bytes += taken;
        size -= taken;
    }
}

/* Fed one byte at a time, everything that is handed out begins and ends with a whole character. */
static void gives_whole_characters(const char *name, const char *text, size_t wanted_parts) {
    struct capture capture = {.cap = CAPTURE_MAX};
    char joined[256] = "";
    size_t size;
    size_t parts = 0;
    bool whole = true;
    for (size_t i = 0; i < strlen(text); i++) {
        feed(&capture, text + i, 1);
        const char *part = capture_next(&capture, false, &size);
        if (part == NULL)
            continue;
        whole = whole && ((unsigned char)part[0] & 0xc0) != 0x80;
        strncat(joined, part, size);
        parts++;
    }
    const char *rest = capture_next(&capture, true, &size);
    if (rest != NULL)
        strncat(joined, rest, size);
    ok(whole && parts == wanted_parts && strcmp(joined, text) == 0, "%s", name);
    capture_clear(&capture);
}

static void cap(const char *name, size_t cap, size_t bytes, size_t wanted_size, bool wanted_truncated) {
    struct capture capture = {.cap = cap};
    char *text = malloc(bytes + 1);
    memset(text, 'x', bytes + 1);
    feed(&capture, text, bytes);
    ok(capture.size == wanted_size && capture.truncated == wanted_truncated, "%s", name);
    capture_clear(&capture);
    free(text);
}

int main(void) {
    gives_whole_characters("ASCII comes byte by byte", "abc", 3);
    gives_whole_characters("two bytes come together", "\xc3\xa4", 1);
    gives_whole_characters("three bytes come together", "\xe2\x82\xac", 1);
    gives_whole_characters("four bytes come together",
                           "\xf0\x9f\x98\x80"
                           "a",
                           2);
    gives_whole_characters("an unfinished character comes at the end", "a\xf0\x9f\x98", 1);
    gives_whole_characters("bytes that begin nothing do not wait", "\xff\xfe\xc0", 3);
    cap("no output under a cap of 0 is not truncated", 0, 0, 0, false);
    cap("any output over a cap of 0 is", 0, 1, 0, true);
    cap("a cap that is exactly full is not", 10000, 10000, 10000, false);
    cap("one byte more is", 10000, 10001, 10000, true);
    cap("a large capture grows", CAPTURE_MAX, 5000000, 5000000, false);

    struct capture capture = {.cap = 5};
    size_t size;
    feed(&capture, "abc\xe2\x82\xac", 6);
    capture_next(&capture, false, &size);
    is_int(size, 3, "a character that the cap cuts waits");
    capture_next(&capture, true, &size);
    is_int(size, 2, "and comes, cut, at the end");
    ok(capture_next(&capture, true, &size) == NULL && size == 0, "then there is nothing more");
    capture_clear(&capture);
    return done_testing();
}
