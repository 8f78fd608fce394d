#include "policy/json_util.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ELLIPSIS "…"
#define PIECE_SIZE 12

/* Unicode ranges that move the cursor, turn the direction of writing or cannot be seen. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x061c, 0x061c}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
};

static bool is_unprintable(uint32_t point) {
    for (size_t i = 0; i < sizeof unprintable / sizeof *unprintable; i++)
        if (point >= unprintable[i].first && point <= unprintable[i].last)
            return true;
    return false;
}

/* Decodes one character; the number of its bytes, or 0 where the bytes are not UTF-8. */
static size_t decode(const char *text, size_t length, uint32_t *point) {
    unsigned char lead = (unsigned char)text[0];
    size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (size == 0 || size > length)
        return 0;
    *point = size == 1 ? lead : lead & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (next & 0x3f);
    }
    return size;
}

/* One character as it shall appear; returns how many bytes of the text it took. */
static size_t take_piece(const char *text, size_t length, bool quoted, char piece[PIECE_SIZE]) {
    uint32_t point;
    size_t size = decode(text, length, &point);
    if (size == 0) {
        snprintf(piece, PIECE_SIZE, "\\x%02x", (unsigned)(unsigned char)text[0]);
        return 1;
    }
    if (point == '\n')
        strcpy(piece, "\\n");
    else if (is_unprintable(point))
        snprintf(piece, PIECE_SIZE, "\\u%04x", point);
    else
        snprintf(piece, PIECE_SIZE, "%s%.*s", quoted && (point == '"' || point == '\\') ? "\\" : "",
                 (int)size, text);
    return size;
}

void json_escape_text(const char *text, size_t length, bool quoted, char *out, size_t size) {
    const char *quote = quoted ? "\"" : "";
    size_t room = size - 1 - 2 * strlen(quote);
    size_t used = 0; /* escaped bytes so far */
    size_t keep = 0; /* of these, what still fits with an ellipsis behind it */
    char *body = out + strlen(quote);
    memcpy(out, quote, strlen(quote));
    while (length > 0) {
        char piece[PIECE_SIZE];
        size_t taken = take_piece(text, length, quoted, piece);
        size_t piece_length = strlen(piece);
        if (used + piece_length > room) {
            memcpy(body + keep, ELLIPSIS, strlen(ELLIPSIS));
            used = keep + strlen(ELLIPSIS);
            break;
        }
        memcpy(body + used, piece, piece_length);
        used += piece_length;
        if (used + strlen(ELLIPSIS) <= room)
            keep = used;
        text += taken;
        length -= taken;
    }
    strcpy(body + used, quote);
}

bool json_is_one_of(const json_t *value, const char *list) {
    cleanup_json json_t *values = list == NULL ? NULL : json_loads(list, JSON_DECODE_INT_AS_REAL, NULL);
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_equal(json_array_get(values, i), value))
            return true;
    return false;
}

static void describe_object(const json_t *value, char *out, size_t size) {
    const json_t *name = json_object_get(value, JSON_UNSUPPORTED_KEY);
    if (json_object_size(value) == 1 && json_is_string(name))
        json_escape_text(json_string_value(name), json_string_length(name), false, out, size);
    else
        snprintf(out, size, "an object");
}

void json_describe(const json_t *value, char out[JSON_FOUND_SIZE]) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        describe_object(value, out, JSON_FOUND_SIZE);
        return;
    case JSON_ARRAY:
        snprintf(out, JSON_FOUND_SIZE, "an array");
        return;
    case JSON_STRING:
        json_escape_text(json_string_value(value), json_string_length(value), true, out, JSON_FOUND_SIZE);
        return;
    case JSON_INTEGER:
    case JSON_REAL:
        snprintf(out, JSON_FOUND_SIZE, "%.15g", json_number_value(value));
        return;
    case JSON_TRUE:
        snprintf(out, JSON_FOUND_SIZE, "true");
        return;
    case JSON_FALSE:
        snprintf(out, JSON_FOUND_SIZE, "false");
        return;
    case JSON_NULL:
        snprintf(out, JSON_FOUND_SIZE, "null");
        return;
    }
}
