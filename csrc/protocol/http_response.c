#include "protocol/http_response.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "protocol/http_text.h"

#define FIELDS_MAX 512 /* bounds the work of looking for each of them in Connection */
#define VERSION_LENGTH 8

const char http_connect_established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

/* --- a head from upstream --- */

struct response_head {
    unsigned minor;
    unsigned status;
    struct http_text reason;
    struct http_field *fields; /* with FIELDS_MAX places */
    size_t field_count;
    size_t size;
};

/* Cuts off one line. Upstream need not be as strict as clients: LF alone ends a line too. */
static bool take_line(struct cursor *cursor, struct http_text *line) {
    const uint8_t *end = cursor->left == 0 ? NULL : memchr(cursor->at, '\n', cursor->left);
    if (end == NULL)
        return false;
    *line = (struct http_text){(const char *)cursor->at, (size_t)(end - cursor->at)};
    cursor_skip(cursor, line->length + 1);
    if (line->length > 0 && line->start[line->length - 1] == '\r')
        line->length--;
    return true;
}

/* Whether what has arrived may be the beginning of "HTTP/1.x ". */
static bool may_begin(const uint8_t *bytes, size_t size) {
    static const char wanted[] = "HTTP/1.";
    size_t length = size < strlen(wanted) ? size : strlen(wanted);
    return length == 0 || memcmp(bytes, wanted, length) == 0;
}

/* RFC 9112, 4: the reason may be empty, and its space may be missing. */
static bool read_status_line(struct http_text line, struct response_head *head) {
    uint64_t status;
    if (line.length < VERSION_LENGTH + 4 || (line.start[7] != '0' && line.start[7] != '1') ||
        line.start[VERSION_LENGTH] != ' ' || !http_is_value(line))
        return false;
    if (!http_text_number((struct http_text){line.start + VERSION_LENGTH + 1, 3}, 999, &status) ||
        status < 100)
        return false;
    struct http_text rest = {line.start + VERSION_LENGTH + 4, line.length - VERSION_LENGTH - 4};
    if (rest.length > 0 && rest.start[0] != ' ')
        return false;
    head->minor = line.start[7] == '1';
    head->status = (unsigned)status;
    head->reason = http_text_trim(rest);
    return true;
}

/*
 * One field. White space before the colon goes (RFC 9112, 5.1); what is no field is left out, since clients
 * differ about it. A line that goes on in the next (obs-fold) may be refused (RFC 9112, 5.2), and is.
 */
static bool read_field(struct http_text line, struct response_head *head) {
    const char *colon = memchr(line.start, ':', line.length);
    if (!http_is_value(line) || line.start[0] == ' ' || line.start[0] == '\t')
        return false;
    if (colon == NULL)
        return true;
    size_t length = (size_t)(colon - line.start);
    struct http_field field = {
        .name = http_text_trim((struct http_text){line.start, length}),
        .value = http_text_trim((struct http_text){colon + 1, line.length - length - 1}),
    };
    if (!http_is_token(field.name))
        return true;
    if (head->field_count == FIELDS_MAX)
        return false;
    head->fields[head->field_count++] = field;
    return true;
}

/* Reads a head that is whole; fields may be NULL: they are not looked at. */
static bool read_whole(struct cursor *cursor, struct response_head *head) {
    struct http_text line;
    if (!take_line(cursor, &line) || !read_status_line(line, head))
        return false;
    while (take_line(cursor, &line) && line.length > 0)
        if (head->fields != NULL && !read_field(line, head))
            return false;
    return true;
}

/* Looks for the empty line. */
static enum parse_state find_end(const uint8_t *bytes, size_t size, size_t *end) {
    size_t looked_at = size < HTTP_RESPONSE_HEAD_MAX ? size : HTTP_RESPONSE_HEAD_MAX;
    struct cursor cursor = cursor_over(bytes, looked_at);
    struct http_text line;
    struct response_head head;
    if (!may_begin(bytes, looked_at))
        return PARSE_INVALID;
    /* The lines are counted as well: this is called anew for every byte that comes. */
    for (unsigned lines = 0; take_line(&cursor, &line); lines++) {
        if ((lines > FIELDS_MAX && line.length > 0) || (lines == 0 && !read_status_line(line, &head)))
            return PARSE_INVALID;
        *end = looked_at - cursor.left;
        if (line.length == 0)
            return PARSE_DONE;
    }
    return size < HTTP_RESPONSE_HEAD_MAX ? PARSE_MORE : PARSE_INVALID;
}

static enum parse_state read_head(const uint8_t *bytes, size_t size, struct response_head *head) {
    enum parse_state state = find_end(bytes, size, &head->size);
    if (state != PARSE_DONE)
        return state;
    struct cursor cursor = cursor_over(bytes, head->size);
    return read_whole(&cursor, head) ? PARSE_DONE : PARSE_INVALID;
}

enum parse_state http_connect_reply_parse(const uint8_t *bytes, size_t size, size_t *taken,
                                          unsigned *status) {
    struct response_head head = {0};
    enum parse_state state = read_head(bytes, size, &head);
    *taken = head.size;
    *status = head.status;
    return state;
}

/* --- rewritten --- */

static bool is_interim(const struct response_head *head) {
    return head->status < 200;
}

static const struct http_field *first_field(const struct response_head *head, const char *name) {
    for (size_t i = 0; i < head->field_count; i++)
        if (http_text_is(head->fields[i].name, name))
            return &head->fields[i];
    return NULL;
}

/* RFC 9112, 6.3: chunks beat a length, which then is not passed on; two different lengths are an error. */
static bool judge_length(const struct response_head *head, const struct http_field *field, bool *drop) {
    *drop = false;
    if (!http_text_is(field->name, "Content-Length"))
        return true;
    const struct http_field *first = first_field(head, "Content-Length");
    *drop = field != first || first_field(head, "Transfer-Encoding") != NULL;
    return first == NULL || http_text_same(field->value, first->value);
}

static bool add_fields(struct http_buffer *buffer, const struct response_head *head) {
    for (size_t i = 0; i < head->field_count; i++) {
        const struct http_field *field = &head->fields[i];
        bool drop;
        if (!judge_length(head, field, &drop))
            return false;
        if (!drop && !http_is_hop_by_hop(field->name, head->fields, head->field_count))
            http_buffer_add_field(buffer, field);
    }
    return true;
}

static char *rewrite(const struct response_head *head, size_t *size) {
    struct http_buffer buffer = {0};
    char line[32];
    snprintf(line, sizeof line, "HTTP/1.%u %u ", head->minor, head->status);
    http_buffer_add_text(&buffer, line);
    http_buffer_add(&buffer, head->reason.start, head->reason.length);
    http_buffer_add_text(&buffer, "\r\n");
    bool clear = add_fields(&buffer, head);
    http_buffer_add_text(&buffer, is_interim(head) ? "\r\n" : "Connection: close\r\n\r\n");
    char *text = http_buffer_take(&buffer, size);
    if (clear)
        return text;
    free(text);
    return NULL;
}

enum parse_state http_response_rewrite(const uint8_t *bytes, size_t size, size_t *taken, unsigned *status,
                                       char **rewritten, size_t *rewritten_size) {
    cleanup_free struct http_field *fields = NULL;
    size_t end;
    *rewritten = NULL;
    enum parse_state state = find_end(bytes, size, &end);
    if (state != PARSE_DONE)
        return state;
    fields = calloc(FIELDS_MAX, sizeof *fields);
    struct response_head head = {.fields = fields};
    if (fields == NULL || read_head(bytes, end, &head) != PARSE_DONE || head.status == 101)
        return PARSE_INVALID;
    *taken = head.size;
    *status = head.status;
    *rewritten = rewrite(&head, rewritten_size);
    return *rewritten == NULL ? PARSE_INVALID : PARSE_DONE;
}

/* --- our own --- */

static const struct {
    const char *status, *fields, *body;
} replies[] = {
    [HTTP_REPLY_BAD_REQUEST] = {"400 Bad Request", "", "Bad request: "},
    [HTTP_REPLY_DENIED] = {"403 Forbidden", "X-Proxy-Error: blocked-by-allowlist\r\n",
                           "Connection blocked by network allowlist: "},
    [HTTP_REPLY_BAD_GATEWAY] = {"502 Bad Gateway", "", "Bad gateway: "},
    [HTTP_REPLY_UNAVAILABLE] = {"503 Service Unavailable", "", "Service unavailable: "},
    [HTTP_REPLY_TIMEOUT] = {"504 Gateway Timeout", "", "Gateway timeout: "},
    [HTTP_REPLY_SLOW_REQUEST] = {"408 Request Timeout", "", "Request timeout: "},
};

char *http_reply_make(enum http_reply reply, const char *text, size_t *size) {
    struct http_buffer buffer = {0};
    char length[96];
    const char *body = replies[reply].body;
    snprintf(length, sizeof length, "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n",
             strlen(body) + strlen(text) + 1);
    http_buffer_add_text(&buffer, "HTTP/1.1 ");
    http_buffer_add_text(&buffer, replies[reply].status);
    http_buffer_add_text(&buffer, "\r\n");
    http_buffer_add_text(&buffer, replies[reply].fields);
    http_buffer_add_text(&buffer, length);
    http_buffer_add_text(&buffer, "Connection: close\r\n\r\n");
    http_buffer_add_text(&buffer, body);
    http_buffer_add_text(&buffer, text);
    http_buffer_add_text(&buffer, "\n");
    return http_buffer_take(&buffer, size);
}
