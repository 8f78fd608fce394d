#include "policy/settings.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/json_util.h"
#include "policy/option_place.h"
#include "policy/option_table.h"
#include "policy/options.h"
#include "policy/settings_near.h"
#include "policy/settings_srt.h"

#define STEPS_MAX 3 /* the deepest that an error goes: map, key, index */

struct reading {
    const char *text;
    size_t size;
    bool asks;
    struct settings *out;
    size_t *at; /* the byte that an error is about */
    struct error *err;
};

/* --- Where --- */

/* place is "" where it is the whole file. */
static int fail_at(const struct reading *reading, size_t at, const char *place, const char *expected) {
    *reading->at = at;
    return error_set(reading->err, ERROR_OPTIONS, 0, "%s%sexpected %s", place, *place == '\0' ? "" : ": ",
                     expected);
}

/* Where the key of a group stands, or of the root: group "". */
static struct text_place find_key(const struct reading *reading, const char *group, const char *key) {
    const struct text_step steps[] = {{.key = group}, {.key = key}};
    size_t skipped = *group == '\0' ? 1 : 0;
    struct text_place place = {0};
    text_place_find(reading->text, reading->size, steps + skipped, 2 - skipped, &place);
    return place;
}

/* Whether the error's text is about the place, or something in it. */
static bool is_about(const char *text, const char *place) {
    size_t length = strlen(place);
    return strncmp(text, place, length) == 0 && text[length] != '\0' && strchr(":.[", text[length]) != NULL;
}

/* Steps on from a value, which the error's text is about by its place, as far as the text goes. */
static size_t follow(json_t *value, const char *place, const char *text, struct text_step steps[STEPS_MAX],
                     size_t count) {
    const char *rest = text + strlen(place);
    if (count == STEPS_MAX || (*place != '\0' && *rest == ':'))
        return count;
    if (json_is_array(value) && *rest == '[') {
        steps[count] = (struct text_step){.index = strtoul(rest + 1, NULL, 10)};
        return count + 1;
    }
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member) {
        char inner[OPTION_PLACE_SIZE];
        option_place_of_key(place, key, inner);
        if (!is_about(text, inner))
            continue;
        steps[count] = (struct text_step){.key = key};
        return follow(member, inner, text, steps, count + 1);
    }
    return count;
}

/* The byte that an error of options_parse is about. */
static size_t place_of_error(const struct reading *reading, json_t *document) {
    struct text_step steps[STEPS_MAX];
    struct text_place place = {0};
    size_t count = follow(document, "", reading->err->text, steps, 0);
    text_place_find(reading->text, reading->size, steps, count, &place);
    return place.value;
}

/* --- Keys --- */

static int warn(const struct reading *reading, size_t at, const char *place, const char *reason) {
    struct text_position position = text_position_of(reading->text, reading->size, at);
    char *warning = NULL;
    if (asprintf(&warning, "%zu:%zu: %s has no effect: %s", position.line, position.column, place, reason) <
        0)
        return error_memory(reading->err);
    return strvec_push_owned(&reading->out->warnings, warning) == 0 ? 0 : error_memory(reading->err);
}

static int read_srt_key(const struct reading *reading, const struct srt_key *row, const json_t *value) {
    char place[OPTION_PLACE_SIZE];
    option_place_of_key(row->group, row->key, place);
    struct text_place at = find_key(reading, row->group, row->key);
    if (json_is_one_of(value, row->inert))
        return 0;
    char expected[256];
    switch (row->action) {
    case SRT_NOTE:
        return json_is_string(value) ? 0 : fail_at(reading, at.value, place, "a string");
    case SRT_IGNORED:
        return warn(reading, at.key, place, row->reason);
    case SRT_UNASKED:
        if (!json_is_boolean(value))
            return fail_at(reading, at.value, place, "true or false");
        if (!json_is_true(value) || !reading->asks)
            return 0;
        break;
    case SRT_REFUSED:
        break;
    }
    snprintf(expected, sizeof expected, "to be absent, for it cannot be honoured here (%s)", row->reason);
    return fail_at(reading, at.key, place, expected);
}

static int refuse_unknown(const struct reading *reading, const char *group, const char *key) {
    char place[OPTION_PLACE_SIZE], near[OPTION_PLACE_SIZE], expected[OPTION_PLACE_SIZE + 64];
    option_place_of_key(group, key, place);
    bool known = settings_near(group, key, near);
    snprintf(expected, sizeof expected, "a known key, found an unknown one%s%s%s",
             known ? " (did you mean " : "", known ? near : "", known ? "?)" : "");
    return fail_at(reading, find_key(reading, group, key).key, place, expected);
}

/* Takes the keys that are no options out of the object; what is no object is for options_parse to refuse. */
static int read_keys(const struct reading *reading, const char *group, json_t *object) {
    const char *key;
    void *next;
    json_t *value;
    json_object_foreach_safe(object, next, key, value) {
        const struct srt_key *foreign = srt_key_find(group, key);
        const struct option_row *row = option_table_find(group, key);
        int result = 0;
        if (foreign != NULL)
            result = read_srt_key(reading, foreign, value);
        else if (row == NULL)
            result = refuse_unknown(reading, group, key);
        else if (row->kind == OPTION_OBJECT)
            result = read_keys(reading, row->key, value);
        if (result != 0)
            return -1;
        if (foreign != NULL)
            json_object_del(object, foreign->key);
    }
    return 0;
}

/* --- The document --- */

static bool is_blank(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\n' && text[i] != '\r')
            return false;
    return true;
}

static json_t *load(const struct reading *reading) {
    if (is_blank(reading->text, reading->size)) {
        fail_at(reading, 0, "", "a JSON object, found an empty file");
        return NULL;
    }
    json_error_t problem;
    json_t *document = json_loadb(
        reading->text, reading->size,
        JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &problem);
    if (document != NULL)
        return document;
    enum json_error_code code = json_error_code(&problem);
    /* jansson leaves the text empty at most places where memory ran out. */
    if (code == json_error_out_of_memory || problem.text[0] == '\0') {
        error_memory(reading->err);
        return NULL;
    }
    char text[JSON_ERROR_TEXT_LENGTH];
    json_escape_text(problem.text, strlen(problem.text), false, text, sizeof text);
    char expected[sizeof text + 32];
    snprintf(expected, sizeof expected, "JSON, found an error (%s)", text);
    size_t end = problem.position < 0 ? 0 : (size_t)problem.position;
    size_t at = code == json_error_premature_end_of_input
                    ? reading->size
                    : text_place_token(reading->text, reading->size, end);
    fail_at(reading, at, "", expected);
    return NULL;
}

static int check_open_address(const struct reading *reading, const json_t *document) {
    size_t index;
    if (!srt_leaves_open(document, &index))
        return 0;
    const struct text_step steps[] = {{.key = "network"}, {.key = "allowedDomains"}, {.index = index}};
    struct text_place at = {0};
    text_place_find(reading->text, reading->size, steps, 3, &at);
    char place[OPTION_PLACE_SIZE];
    snprintf(place, sizeof place, "network.allowedDomains[%zu]", index);
    return fail_at(reading, at.value, place,
                   "a name (\"*\" of network.deniedDomains denies names alone: an address that is to be open "
                   "stands in network.allowedIPs)");
}

static int read_document(const struct reading *reading, json_t *document) {
    if (!json_is_object(document)) {
        char found[JSON_FOUND_SIZE], expected[JSON_FOUND_SIZE + 32];
        json_describe(document, found);
        snprintf(expected, sizeof expected, "a JSON object, found %s", found);
        return fail_at(reading, 0, "", expected);
    }
    if (read_keys(reading, "", document) != 0)
        return -1;
    if (!srt_name_folders(document))
        return error_memory(reading->err);
    reading->out->document = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);
    if (reading->out->document == NULL)
        return error_memory(reading->err);
    struct options *options = NULL;
    if (options_parse(reading->out->document, strlen(reading->out->document), &options, reading->err) != 0) {
        *reading->at = place_of_error(reading, document);
        return -1;
    }
    options_free(options);
    return check_open_address(reading, document);
}

/* An editor of another system puts it before UTF-8; a parser may ignore it (RFC 8259, section 8.1). */
static size_t mark_size(const char *text, size_t size) {
    static const char mark[] = "\xef\xbb\xbf";
    return size >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
}

int settings_parse(const char *text, size_t size, bool asks, struct settings *out, struct text_position *at,
                   struct error *err) {
    size_t mark = mark_size(text, size), where = 0;
    *out = (struct settings){0};
    const struct reading reading = {
        .text = text + mark, .size = size - mark, .asks = asks, .out = out, .at = &where, .err = err};
    cleanup_json json_t *document = NULL;
    if (size > OPTION_DOCUMENT_MAX)
        fail_at(&reading, 0, "", "at most 16 MiB");
    else
        document = load(&reading);
    if (document != NULL && read_document(&reading, document) == 0)
        return 0;
    settings_clear(out);
    *at = text_position_of(reading.text, reading.size, where);
    return -1;
}

void settings_clear(struct settings *settings) {
    free(settings->document);
    strvec_clear(&settings->warnings);
    *settings = (struct settings){0};
}
