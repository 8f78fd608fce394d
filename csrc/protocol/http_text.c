#include "protocol/http_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_token_byte(unsigned char c) {
    unsigned char lower = c | 0x20;
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool http_is_token(struct http_text text) {
    for (size_t i = 0; i < text.length; i++)
        if (!is_token_byte((unsigned char)text.start[i]))
            return false;
    return text.length > 0;
}

bool http_is_value(struct http_text text) {
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.start[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

bool http_text_same(struct http_text a, struct http_text b) {
    /* strncasecmp would stop at a NUL, which no field has. */
    return a.length == b.length && strncasecmp(a.start, b.start, a.length) == 0;
}

bool http_text_is(struct http_text text, const char *other) {
    return http_text_same(text, (struct http_text){other, strlen(other)});
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

struct http_text http_text_trim(struct http_text text) {
    while (text.length > 0 && is_blank(text.start[0])) {
        text.start++;
        text.length--;
    }
    while (text.length > 0 && is_blank(text.start[text.length - 1]))
        text.length--;
    return text;
}

bool http_list_has(struct http_text list, struct http_text name) {
    while (list.length > 0) {
        const char *comma = memchr(list.start, ',', list.length);
        size_t length = comma == NULL ? list.length : (size_t)(comma - list.start);
        if (http_text_same(http_text_trim((struct http_text){list.start, length}), name))
            return true;
        size_t past = comma == NULL ? length : length + 1;
        list.start += past;
        list.length -= past;
    }
    return false;
}

bool http_text_number(struct http_text text, uint64_t max, uint64_t *value) {
    uint64_t sum = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.start[i] < '0' || text.start[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text.start[i] - '0');
        if (sum > max / 10 || sum * 10 > max - digit)
            return false;
        sum = sum * 10 + digit;
    }
    if (text.length == 0)
        return false;
    *value = sum;
    return true;
}

static const char *const hop_by_hop[] = {
    "Connection", /* RFC 9110, 7.6.1, as all of these */
    "Close",      /* reserved, since "Connection: close" would name it */
    "Keep-Alive", "TE", "Upgrade",
};

/* Whatever Connection names: without them the body ends elsewhere (RFC 9110, 7.6.1, the last paragraph). */
static const char *const end_to_end[] = {"Content-Length", "Transfer-Encoding", "Host"};

static bool is_in(struct http_text name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (http_text_is(name, names[i]))
            return true;
    return false;
}

bool http_is_hop_by_hop(struct http_text name, const struct http_field *fields, size_t count) {
    static const char proxy[] = "Proxy-";
    if (is_in(name, hop_by_hop, sizeof hop_by_hop / sizeof *hop_by_hop))
        return true;
    if (name.length >= strlen(proxy) && strncasecmp(name.start, proxy, strlen(proxy)) == 0)
        return true;
    if (is_in(name, end_to_end, sizeof end_to_end / sizeof *end_to_end))
        return false;
    for (size_t i = 0; i < count; i++)
        if (http_text_is(fields[i].name, "Connection") && http_list_has(fields[i].value, name))
            return true;
    return false;
}

/* --- a growing text --- */

static bool grow(struct http_buffer *buffer, size_t size) {
    size_t capacity = buffer->capacity == 0 ? 512 : buffer->capacity;
    while (capacity < buffer->size + size)
        capacity *= 2;
    if (capacity == buffer->capacity)
        return true;
    char *text = realloc(buffer->text, capacity);
    if (text == NULL) {
        free(buffer->text);
        *buffer = (struct http_buffer){.failed = true};
        return false;
    }
    buffer->text = text;
    buffer->capacity = capacity;
    return true;
}

void http_buffer_add(struct http_buffer *buffer, const char *bytes, size_t size) {
    if (size == 0 || buffer->failed || !grow(buffer, size))
        return;
    memcpy(buffer->text + buffer->size, bytes, size);
    buffer->size += size;
}

void http_buffer_add_text(struct http_buffer *buffer, const char *text) {
    http_buffer_add(buffer, text, strlen(text));
}

void http_buffer_add_field(struct http_buffer *buffer, const struct http_field *field) {
    http_buffer_add(buffer, field->name.start, field->name.length);
    http_buffer_add_text(buffer, ": ");
    http_buffer_add(buffer, field->value.start, field->value.length);
    http_buffer_add_text(buffer, "\r\n");
}

char *http_buffer_take(struct http_buffer *buffer, size_t *size) {
    char *text = buffer->text;
    *size = buffer->size;
    *buffer = (struct http_buffer){0};
    return text;
}
