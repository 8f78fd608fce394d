#include "protocol/http_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "protocol/http_target.h"
#include "protocol/http_text.h"

#define LENGTH_MAX INT64_MAX

/*
 * Cuts off one line, without its CRLF. Control bytes end the reading wherever they stand: bare LF, bare CR
 * and NUL are what parsers differ about. Tabs are left for those who know where they may be.
 */
static enum parse_state take_line(struct cursor *cursor, struct http_text *line, const char **why) {
    for (size_t i = 0; i < cursor->left; i++) {
        uint8_t byte = cursor->at[i];
        if (byte == '\r' && i + 1 == cursor->left)
            break;
        if (byte == '\r' && cursor->at[i + 1] == '\n') {
            *line = (struct http_text){(const char *)cursor->at, i};
            cursor_skip(cursor, i + 2);
            return PARSE_DONE;
        }
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
            *why = byte == '\n'   ? "a line feed without a carriage return"
                   : byte == '\r' ? "a carriage return without a line feed"
                                  : "a control byte in the head";
            return PARSE_INVALID;
        }
    }
    return PARSE_MORE;
}

/* Cuts off what is before the first space, and the space. */
static bool take_word(struct http_text *line, struct http_text *word) {
    const char *space = line->length == 0 ? NULL : memchr(line->start, ' ', line->length);
    if (space == NULL)
        return false;
    word->start = line->start;
    word->length = (size_t)(space - line->start);
    line->start += word->length + 1;
    line->length -= word->length + 1;
    return word->length > 0;
}

static bool is_exactly(struct http_text text, const char *other) {
    return text.length == strlen(other) && memcmp(text.start, other, text.length) == 0;
}

/* method SP target SP version: exactly these two spaces, which neither of the three may contain. */
static const char *read_request_line(struct http_text line, struct http_request *out) {
    struct http_text target;
    if (!take_word(&line, &out->method) || !take_word(&line, &target))
        return "the request line is not \"method target version\"";
    if (!http_is_token(out->method))
        return "the method is no token";
    if (is_exactly(line, "HTTP/1.0"))
        out->minor = 0;
    else if (is_exactly(line, "HTTP/1.1"))
        out->minor = 1;
    else
        return "a version that is neither HTTP/1.0 nor HTTP/1.1";
    if (memchr(target.start, '\t', target.length) != NULL)
        return "a tab in the target";
    out->connect = is_exactly(out->method, "CONNECT");
    if (!out->connect && http_text_is(out->method, "CONNECT"))
        return "CONNECT is written in capitals"; /* methods have case: whoever ignores that would open a
                                                    tunnel */
    return out->connect ? http_target_connect(target, out) : http_target_absolute(target, out);
}

static const char *read_field(struct http_text line, struct http_request *out) {
    struct http_field *field = &out->fields[out->field_count];
    if (out->field_count == HTTP_FIELDS_MAX)
        return "too many fields";
    if (line.start[0] == ' ' || line.start[0] == '\t')
        return "a field that goes on in the next line";
    const char *colon = memchr(line.start, ':', line.length);
    if (colon == NULL)
        return "a field without a colon";
    field->name = (struct http_text){line.start, (size_t)(colon - line.start)};
    if (!http_is_token(field->name))
        return "a field name that is no token";
    size_t behind = field->name.length + 1;
    field->value = http_text_trim((struct http_text){line.start + behind, line.length - behind});
    out->field_count++;
    return NULL;
}

/* How many fields have that name; *last is the last one. */
static size_t count_fields(const struct http_request *request, const char *name, struct http_text *last) {
    size_t count = 0;
    for (size_t i = 0; i < request->field_count; i++) {
        if (!http_text_is(request->fields[i].name, name))
            continue;
        *last = request->fields[i].value;
        count++;
    }
    return count;
}

/* RFC 9112, 3.2. A proxy would put the target in Host's place; one that differs is an attempt at something.
 */
static const char *check_host(const struct http_request *out) {
    struct http_text host;
    size_t count = count_fields(out, "Host", &host);
    if (count > 1)
        return "two Host fields";
    if (count == 0)
        return out->minor == 0 ? NULL : "no Host field";
    return http_target_is_host(out, host) ? NULL : "Host is not the target's host and port";
}

/* RFC 9112, 6: where there is a choice of readings there is none here. */
static const char *read_framing(struct http_request *out) {
    struct http_text length, coding;
    size_t lengths = count_fields(out, "Content-Length", &length);
    size_t codings = count_fields(out, "Transfer-Encoding", &coding);
    out->framing = HTTP_NO_BODY;
    out->length = 0;
    if (lengths > 1)
        return "two Content-Length fields";
    if (lengths == 1 && !http_text_number(length, LENGTH_MAX, &out->length))
        return "Content-Length is no number";
    if (codings > 1)
        return "two Transfer-Encoding fields";
    if (codings == 1 && lengths == 1)
        return "Transfer-Encoding and Content-Length";
    if (codings == 1 && out->minor == 0)
        return "Transfer-Encoding in HTTP/1.0";
    if (codings == 1 && !http_text_is(coding, "chunked"))
        return "a Transfer-Encoding other than chunked";
    if (out->connect && (codings == 1 || out->length > 0))
        return "CONNECT with a body";
    if (codings == 1)
        out->framing = HTTP_CHUNKED;
    else if (lengths == 1)
        out->framing = HTTP_LENGTH;
    return NULL;
}

static enum parse_state read_fields(struct cursor *cursor, struct http_request *out, const char **why) {
    struct http_text line;
    for (;;) {
        enum parse_state state = take_line(cursor, &line, why);
        if (state != PARSE_DONE)
            return state;
        if (line.length == 0)
            return PARSE_DONE;
        *why = read_field(line, out);
        if (*why != NULL)
            return PARSE_INVALID;
    }
}

static enum parse_state read_head(struct cursor *cursor, struct http_request *out, const char **why) {
    struct http_text line;
    enum parse_state state = take_line(cursor, &line, why);
    if (state != PARSE_DONE)
        return state;
    *why = read_request_line(line, out);
    if (*why != NULL)
        return PARSE_INVALID;
    state = read_fields(cursor, out, why);
    if (state != PARSE_DONE)
        return state;
    *why = check_host(out);
    if (*why == NULL)
        *why = read_framing(out);
    return *why == NULL ? PARSE_DONE : PARSE_INVALID;
}

enum parse_state http_request_parse(const uint8_t *bytes, size_t size, struct http_request *out,
                                    const char **why) {
    size_t looked_at = size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX;
    struct cursor cursor = cursor_over(bytes, looked_at);
    const char *reason = NULL;
    out->field_count = 0;
    out->path = (struct http_text){"", 0};
    enum parse_state state = read_head(&cursor, out, &reason);
    if (state == PARSE_MORE && size >= HTTP_HEAD_MAX) {
        state = PARSE_INVALID;
        reason = "a head of more than 32 KiB";
    }
    if (state == PARSE_INVALID)
        *why = reason;
    out->size = looked_at - cursor.left;
    return state;
}

const struct http_field *http_request_field(const struct http_request *request, const char *name) {
    for (size_t i = 0; i < request->field_count; i++)
        if (http_text_is(request->fields[i].name, name))
            return &request->fields[i];
    return NULL;
}

/* --- upstream --- */

/* Those that are written anew, each from what was read of it; and Trailer, as there are none. */
static bool is_replaced(struct http_text name) {
    static const char *const names[] = {"Host", "Content-Length", "Transfer-Encoding", "Trailer"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (http_text_is(name, names[i]))
            return true;
    return false;
}

/* Origin form; the asterisk form where OPTIONS asks about the server itself (RFC 9112, 3.2.4). */
static void add_target(struct http_buffer *buffer, const struct http_request *request) {
    bool asterisk = request->path.length == 0 && is_exactly(request->method, "OPTIONS");
    if (asterisk)
        http_buffer_add_text(buffer, "*");
    else if (request->path.length == 0 || request->path.start[0] != '/')
        http_buffer_add_text(buffer, "/");
    http_buffer_add(buffer, request->path.start, request->path.length);
}

static void add_framing(struct http_buffer *buffer, const struct http_request *request) {
    char text[48];
    if (request->framing == HTTP_CHUNKED)
        http_buffer_add_text(buffer, "Transfer-Encoding: chunked\r\n");
    if (request->framing != HTTP_LENGTH)
        return;
    snprintf(text, sizeof text, "Content-Length: %" PRIu64 "\r\n", request->length);
    http_buffer_add_text(buffer, text);
}

char *http_request_rewrite(const struct http_request *request, const char *authority, size_t *size) {
    struct http_buffer buffer = {0};
    http_buffer_add(&buffer, request->method.start, request->method.length);
    http_buffer_add_text(&buffer, " ");
    add_target(&buffer, request);
    http_buffer_add_text(&buffer, request->minor == 0 ? " HTTP/1.0\r\nHost: " : " HTTP/1.1\r\nHost: ");
    http_buffer_add_text(&buffer, authority);
    http_buffer_add_text(&buffer, "\r\n");
    for (size_t i = 0; i < request->field_count; i++) {
        const struct http_field *field = &request->fields[i];
        if (!is_replaced(field->name) &&
            !http_is_hop_by_hop(field->name, request->fields, request->field_count))
            http_buffer_add_field(&buffer, field);
    }
    add_framing(&buffer, request);
    http_buffer_add_text(&buffer, "Connection: close\r\n\r\n");
    return http_buffer_take(&buffer, size);
}
