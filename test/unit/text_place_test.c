#include "policy/text_place.h"

#include <stdlib.h>
#include <string.h>

#include "guarded.h"
#include "tap.h"

static const char text[] = "\n{ \"a\" : [1, {\"]\": \"}\\\"\"}, -2.5e3 ],\n"
                           "  \"\\u0062\\n\": {\"c\": {\"\": true}},\"é\":\"ü\"  }";

static const struct {
    struct text_step steps[3];
    size_t count;
    size_t key_line, key_column, line, column; /* line 0: it is not there */
} cases[] = {
    {{{0}}, 0, 2, 1, 2, 1},
    {{{.key = "a"}}, 1, 2, 3, 2, 9},
    {{{.key = "a"}, {.index = 0}}, 2, 2, 10, 2, 10},
    {{{.key = "a"}, {.index = 1}}, 2, 2, 13, 2, 13},
    {{{.key = "a"}, {.index = 1}, {.key = "]"}}, 3, 2, 14, 2, 19},
    {{{.key = "a"}, {.index = 2}}, 2, 2, 27, 2, 27},
    {{{.key = "a"}, {.index = 3}}, 2, 0, 0, 0, 0},
    {{{.key = "b\n"}, {.key = "c"}}, 2, 3, 16, 3, 21},
    {{{.key = "b\n"}, {.key = "c"}, {.key = ""}}, 3, 3, 22, 3, 26},
    {{{.key = "\xc3\xa9"}}, 1, 3, 33, 3, 37},
    {{{.key = "b"}}, 1, 0, 0, 0, 0},
    {{{.key = "c"}}, 1, 0, 0, 0, 0},
    {{{.index = 0}}, 1, 0, 0, 0, 0},
    {{{.key = "a"}, {.key = "a"}}, 2, 0, 0, 0, 0},
};

static void check_position(size_t offset, size_t line, size_t column, const char *what) {
    struct text_position at = text_position_of(text, strlen(text), offset);
    ok(at.line == line && at.column == column, "%s stands at %zu:%zu, found %zu:%zu", what, line, column,
       at.line, at.column);
}

static void check_places(void) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text_place place = {0};
        bool found = text_place_find(text, strlen(text), cases[i].steps, cases[i].count, &place);
        if (!ok(found == (cases[i].line != 0), "case %zu is %s", i,
                cases[i].line != 0 ? "there" : "not there") ||
            !found)
            continue;
        check_position(place.key, cases[i].key_line, cases[i].key_column, "the key");
        check_position(place.value, cases[i].line, cases[i].column, "the value");
    }
}

/* Each beginning of the text, flush against memory that cannot be read. */
static void check_cut(void) {
    bool held = true;
    for (size_t size = 0; size <= strlen(text); size++) {
        const char *cut = (const char *)guarded(text, size);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct text_place place = {0};
            bool found = text_place_find(cut, size, cases[i].steps, cases[i].count, &place);
            held = held && (!found || (place.key < size && place.value < size));
        }
        for (size_t offset = 0; offset <= size + 1; offset++)
            held = held && text_place_token(cut, size, offset) <= size;
    }
    ok(held, "no place is outside of a text that was cut");
}

static void check_tokens(void) {
    static const struct {
        const char *text;
        size_t offset, token;
    } tokens[] = {
        {"", 0, 0},      {"{}x", 3, 2},   {"{} xyz ", 5, 3},
        {"[1,]", 4, 3},  {"{\"ab", 4, 1}, {"  {\"a\\\"b\" 1", 9, 3},
        {"[tru]", 4, 1}, {"{'a'}", 2, 1},
    };
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        is_int((long long)text_place_token(tokens[i].text, strlen(tokens[i].text), tokens[i].offset),
               (long long)tokens[i].token, tokens[i].text);
}

int main(void) {
    check_places();
    check_tokens();
    check_cut();
    return done_testing();
}
