#include "policy/text_place.h"

#include <jansson.h>
#include <string.h>

struct scan {
    const char *text;
    size_t size, at;
};

/* The byte that is next, or -1 at the end. */
static int peek(const struct scan *scan) {
    return scan->at < scan->size ? (unsigned char)scan->text[scan->at] : -1;
}

static bool is_space(int byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool take(struct scan *scan, int byte) {
    while (is_space(peek(scan)))
        scan->at++;
    if (peek(scan) != byte)
        return false;
    scan->at++;
    return true;
}

/* To behind the closing quote; to the end of the text where there is none. at is on the opening one. */
static void skip_string(struct scan *scan) {
    for (scan->at++; scan->at < scan->size && peek(scan) != '"'; scan->at++)
        if (peek(scan) == '\\')
            scan->at++;
    scan->at = scan->at < scan->size ? scan->at + 1 : scan->size;
}

static bool is_punctuation(int byte) {
    return byte != -1 && byte != 0 && strchr("{}[]:,", byte) != NULL;
}

/* Over one token; at is on its first byte, which is no space. */
static void skip_token(struct scan *scan) {
    if (peek(scan) == '"') {
        skip_string(scan);
        return;
    }
    bool alone = is_punctuation(peek(scan));
    scan->at++;
    while (!alone && scan->at < scan->size && !is_space(peek(scan)) && !is_punctuation(peek(scan)) &&
           peek(scan) != '"')
        scan->at++;
}

/* Over one value with all that is in it. */
static bool skip_value(struct scan *scan) {
    size_t depth = 0;
    do {
        while (is_space(peek(scan)))
            scan->at++;
        int first = peek(scan);
        if (first == -1)
            return false;
        if (first == '{' || first == '[')
            depth++;
        else if ((first == '}' || first == ']') && depth-- == 0)
            return false;
        skip_token(scan);
    } while (depth > 0);
    return true;
}

/* Whether the string with its quotes, at from up to the scan, is the key. */
static bool is_key(const struct scan *scan, size_t from, const char *key) {
    const char *quoted = scan->text + from;
    size_t size = scan->at - from;
    if (memchr(quoted, '\\', size) == NULL)
        return size == strlen(key) + 2 && memcmp(quoted + 1, key, size - 2) == 0;
    json_t *decoded = json_loadb(quoted, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool same = decoded != NULL && json_string_length(decoded) == strlen(key) &&
                memcmp(json_string_value(decoded), key, strlen(key)) == 0;
    json_decref(decoded);
    return same;
}

/* From before an object to before the value of the key. */
static bool enter_key(struct scan *scan, const char *key, size_t *key_at) {
    if (!take(scan, '{'))
        return false;
    do {
        if (!take(scan, '"'))
            return false;
        size_t from = --scan->at;
        skip_string(scan);
        bool found = is_key(scan, from, key);
        if (!take(scan, ':'))
            return false;
        if (found) {
            *key_at = from;
            return true;
        }
    } while (skip_value(scan) && take(scan, ','));
    return false;
}

/* From before an array to before its entry. */
static bool enter_index(struct scan *scan, size_t index) {
    if (!take(scan, '['))
        return false;
    for (size_t i = 0; i < index; i++)
        if (!skip_value(scan) || !take(scan, ','))
            return false;
    return true;
}

bool text_place_find(const char *text, size_t size, const struct text_step *steps, size_t count,
                     struct text_place *place) {
    struct scan scan = {.text = text, .size = size};
    struct text_place found = {0};
    bool keyed = false;
    for (size_t i = 0; i < count; i++) {
        keyed = steps[i].key != NULL;
        if (!(keyed ? enter_key(&scan, steps[i].key, &found.key) : enter_index(&scan, steps[i].index)))
            return false;
    }
    while (is_space(peek(&scan)))
        scan.at++;
    if (peek(&scan) == -1 || peek(&scan) == ']' || peek(&scan) == '}')
        return false;
    found.value = scan.at;
    if (!keyed)
        found.key = scan.at;
    *place = found;
    return true;
}

size_t text_place_token(const char *text, size_t size, size_t offset) {
    struct scan scan = {.text = text, .size = size};
    size_t start = 0;
    for (;;) {
        while (is_space(peek(&scan)))
            scan.at++;
        if (scan.at >= offset || scan.at >= size)
            return start;
        start = scan.at;
        skip_token(&scan);
    }
}

struct text_position text_position_of(const char *text, size_t size, size_t offset) {
    struct text_position position = {.line = 1, .column = 1};
    for (size_t i = 0; i < offset && i < size; i++) {
        if (text[i] == '\n')
            position = (struct text_position){.line = position.line + 1, .column = 1};
        else if (((unsigned char)text[i] & 0xc0) != 0x80)
            position.column++;
    }
    return position;
}
