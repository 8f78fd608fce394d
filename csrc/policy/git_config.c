/*
 * The reader follows git_parse_source() of git's config.c (2.39 to 2.51) character by character: where git
 * takes a file, the entries are the same ones. Inner white space of a value stays as it is, as in git 2.45.
 */
#include "policy/git_config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Of a key, and of a value. */
#define TEXT_MAX 65536

enum reading { READ_WHOLE, READ_STOPPED, READ_REFUSED, READ_NO_MEMORY };

typedef bool each_entry(const struct git_config_entry *entry, void *data);

struct text {
    char bytes[TEXT_MAX];
    size_t length;
};

struct reader {
    const char *text;
    size_t length;
    size_t at;
    bool ended; /* what next_char gave last was no character but the end */
    struct text key;
    struct text value;
    size_t section; /* what the section has of the key, with its dot */
};

/* --- characters, as git's ctype.c sorts them, whatever the locale --- */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_char(char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* CR LF is one newline; behind the end there are newlines without end. */
static char next_char(struct reader *reader) {
    if (reader->at >= reader->length) {
        reader->ended = true;
        return '\n';
    }
    char c = reader->text[reader->at++];
    if (c == '\r' && reader->at < reader->length && reader->text[reader->at] == '\n')
        c = reader->text[reader->at++];
    return c;
}

/* Keeps room for the NUL behind. */
static bool add(struct text *text, char c) {
    if (text->length + 1 >= TEXT_MAX)
        return false;
    text->bytes[text->length++] = c;
    return true;
}

/* --- section headers --- */

/* From the space behind the name: [name "subsection"]. In the quotes a backslash takes any character as it
 * is, and there is no newline. */
static bool read_subsection(struct reader *reader) {
    char c;
    do
        c = next_char(reader);
    while (c == ' ' || c == '\t' || c == '\r');
    if (c != '"' || !add(&reader->key, '.'))
        return false;
    while ((c = next_char(reader)) != '"') {
        if (c == '\\')
            c = next_char(reader);
        if (c == '\n' || c == '\0' || !add(&reader->key, c))
            return false;
    }
    return next_char(reader) == ']';
}

/* From behind the bracket. */
static bool read_section(struct reader *reader) {
    reader->key.length = 0;
    for (char c; (c = next_char(reader)) != ']';) {
        if (is_space(c)) {
            if (c == '\n' || !read_subsection(reader))
                return false;
            break;
        }
        if ((!is_name_char(c) && c != '.') || !add(&reader->key, lower(c)))
            return false;
    }
    if (reader->key.length == 0 || !add(&reader->key, '.'))
        return false;
    reader->section = reader->key.length;
    return true;
}

/* --- entries --- */

/* The character that an escape stands for, '\0': none is known. */
static char unescape(char c) {
    switch (c) {
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case '\\':
    case '"':
        return c;
    default:
        return '\0';
    }
}

/* Behind an unquoted # or ; up to and with the newline. */
static void skip_line(struct reader *reader) {
    while (next_char(reader) != '\n')
        continue;
}

/* From behind the "=", to the end of the line: white space around it and comments are not part of it, quotes
 * come and go anywhere, a backslash before the newline goes on. */
static bool read_value(struct reader *reader) {
    struct text *value = &reader->value;
    bool quoted = false;
    size_t solid = 0; /* the length up to which nothing is trimmed from the end */
    value->length = 0;
    for (;;) {
        char c = next_char(reader);
        if (c == '\n') {
            if (quoted)
                return false;
            break;
        }
        if (!quoted && is_space(c)) {
            if (value->length > 0 && !add(value, c))
                return false;
            continue;
        }
        if (!quoted && (c == '#' || c == ';')) {
            skip_line(reader);
            break;
        }
        /* What comes now, be it a quote or a continuation, keeps the space before it. */
        solid = value->length;
        if (c == '"') {
            quoted = !quoted;
            continue;
        }
        if (c == '\\') {
            c = next_char(reader);
            if (c == '\n')
                continue;
            c = unescape(c);
            if (c == '\0')
                return false;
        }
        if (!add(value, c))
            return false;
        solid = value->length;
    }
    value->length = solid;
    value->bytes[solid] = '\0';
    return true;
}

/* An entry whose first letter was just read. */
static bool read_entry(struct reader *reader, char c, struct git_config_entry *entry) {
    entry->start = reader->at - 1;
    reader->key.length = reader->section;
    do {
        if (!add(&reader->key, lower(c)))
            return false;
        c = next_char(reader);
    } while (is_name_char(c));
    reader->key.bytes[reader->key.length] = '\0';
    while (c == ' ' || c == '\t')
        c = next_char(reader);
    if (c != '\n' && (c != '=' || !read_value(reader)))
        return false;
    entry->key = reader->key.bytes;
    entry->value = c == '\n' ? NULL : reader->value.bytes;
    entry->end = reader->at;
    return true;
}

static void skip_byte_order_mark(struct reader *reader) {
    static const char mark[] = "\xef\xbb\xbf";
    if (reader->length >= 3 && memcmp(reader->text, mark, 3) == 0)
        reader->at = 3;
}

static enum reading read_all(struct reader *reader, each_entry *each, void *data) {
    skip_byte_order_mark(reader);
    while (!reader->ended) {
        struct git_config_entry entry;
        char c = next_char(reader);
        if (is_space(c))
            continue;
        if (c == '#' || c == ';') {
            skip_line(reader);
        } else if (c == '[') {
            if (!read_section(reader))
                return READ_REFUSED;
        } else if (!is_letter(c) || !read_entry(reader, c, &entry)) {
            return READ_REFUSED;
        } else if (!each(&entry, data)) {
            return READ_STOPPED;
        }
    }
    return READ_WHOLE;
}

static enum reading read_text(const char *text, size_t length, each_entry *each, void *data) {
    cleanup_free struct reader *reader = malloc(sizeof(*reader));
    if (reader == NULL)
        return READ_NO_MEMORY;
    reader->text = text;
    reader->length = length;
    reader->at = 0;
    reader->ended = false;
    reader->section = 0;
    return read_all(reader, each, data);
}

int git_config_read(const char *text, size_t length, bool (*each)(const struct git_config_entry *, void *),
                    void *data) {
    enum reading reading = read_text(text, length, each, data);
    return reading == READ_WHOLE || reading == READ_STOPPED ? 0 : -1;
}

/* --- entries behind a comment sign --- */

struct output {
    const char *text;
    char *bytes; /* room for a comment sign before every byte */
    size_t length;
    size_t copied; /* of the text */
    bool (*wanted)(const struct git_config_entry *, void *);
    void *data;
    struct git_config_taken *taken;
};

static void copy_until(struct output *output, size_t end) {
    memcpy(output->bytes + output->length, output->text + output->copied, end - output->copied);
    output->length += end - output->copied;
    output->copied = end;
}

/* Comments do not go on behind a backslash, so that every line has its own sign. */
static void comment_until(struct output *output, size_t end) {
    bool line_begins = true;
    while (output->copied < end) {
        if (line_begins)
            output->bytes[output->length++] = '#';
        line_begins = output->text[output->copied] == '\n';
        copy_until(output, output->copied + 1);
    }
}

static bool comment_entry(const struct git_config_entry *entry, void *data) {
    struct output *output = data;
    if (!output->wanted(entry, output->data))
        return true;
    copy_until(output, entry->start);
    comment_until(output, entry->end);
    struct git_config_taken *taken = output->taken;
    if (taken->count++ == 0) {
        size_t length = strnlen(entry->key, sizeof(taken->first) - 1);
        memcpy(taken->first, entry->key, length);
        taken->first[length] = '\0';
    }
    return true;
}

int git_config_take_out(const char *text, size_t length,
                        bool (*wanted)(const struct git_config_entry *, void *), void *data,
                        struct git_config_taken *taken) {
    *taken = (struct git_config_taken){.text = NULL};
    struct output output = {.text = text, .wanted = wanted, .data = data, .taken = taken};
    if (length == 0)
        return 0;
    if (length > (SIZE_MAX - 1) / 2 || (output.bytes = malloc(2 * length + 1)) == NULL)
        return -1;
    enum reading reading = read_text(text, length, comment_entry, &output);
    if (reading == READ_REFUSED) {
        output.length = output.copied = 0;
        comment_until(&output, length);
        taken->count = 1;
        taken->first[0] = '\0';
    } else {
        copy_until(&output, length);
    }
    if (reading == READ_NO_MEMORY || taken->count == 0) {
        free(output.bytes);
        return reading == READ_NO_MEMORY ? -1 : 0;
    }
    output.bytes[output.length] = '\0';
    taken->text = output.bytes;
    taken->length = output.length;
    return 0;
}

static bool executes(const struct git_config_entry *entry, void *unused) {
    (void)unused;
    return git_config_executes(entry);
}

int git_config_disarm(const char *text, size_t length, char **out, size_t *out_length, size_t *count,
                      char *first, size_t first_size) {
    struct git_config_taken taken;
    if (git_config_take_out(text, length, executes, NULL, &taken) != 0)
        return -1;
    *out = taken.text;
    *out_length = taken.length;
    *count = taken.count;
    if (first_size > 0) {
        size_t kept = strnlen(taken.first, first_size - 1);
        memcpy(first, taken.first, kept);
        first[kept] = '\0';
    }
    return 0;
}

/* --- one value --- */

struct search {
    const char *key;
    char *value;
    bool failed;
};

static bool keep_value(const struct git_config_entry *entry, void *data) {
    struct search *search = data;
    if (strcmp(entry->key, search->key) != 0)
        return true;
    free(search->value);
    search->value = entry->value == NULL ? NULL : strdup(entry->value);
    search->failed = search->value == NULL && entry->value != NULL;
    return !search->failed;
}

char *git_config_value(const char *text, size_t length, const char *key) {
    struct search search = {.key = key};
    if (read_text(text, length, keep_value, &search) == READ_WHOLE && !search.failed)
        return search.value;
    free(search.value);
    return NULL;
}
