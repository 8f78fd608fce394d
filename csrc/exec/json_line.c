#include "exec/json_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void put_bytes(struct json_line *line, const char *bytes, size_t size) {
    if (line->full || size > (size_t)(line->end - line->at)) {
        line->full = true;
        return;
    }
    memcpy(line->at, bytes, size);
    line->at += size;
}

void json_put(struct json_line *line, const char *json) {
    put_bytes(line, json, strlen(json));
}

void json_put_number(struct json_line *line, uint64_t number) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    json_put(line, digits);
}

/* A byte or character that cannot stand in a JSON string as it is (RFC 8259, section 7; DEL for its looks).
 */
static void put_escaped(struct json_line *line, unsigned char byte, bool is_character) {
    char escape[8];
    if (!is_character)
        snprintf(escape, sizeof escape, "\\\\x%02x", byte);
    else if (byte == '"' || byte == '\\')
        snprintf(escape, sizeof escape, "\\%c", byte);
    else
        snprintf(escape, sizeof escape, "\\u%04x", byte);
    json_put(line, escape);
}

static bool stands_for_itself(uint32_t point) {
    return point >= 0x20 && point != 0x7f && point != '"' && point != '\\';
}

void json_put_string(struct json_line *line, const char *text) {
    size_t left = strlen(text);
    json_put(line, "\"");
    while (left > 0) {
        uint32_t point = 0;
        size_t size = 0;
        size_t plain = 0;
        while (plain < left && (size = utf8_decode(text + plain, left - plain, &point)) > 0 &&
               stands_for_itself(point))
            plain += size;
        put_bytes(line, text, plain);
        text += plain;
        left -= plain;
        if (left == 0)
            break;
        put_escaped(line, (unsigned char)*text, size > 0);
        text++;
        left--;
    }
    json_put(line, "\"");
}
