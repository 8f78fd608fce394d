#include "plan/sbpl_text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"

/* One expression of a profile holds fewer than 65,536 items. */
#define FILTERS_MAX 4096

void sbpl_text_add_bytes(struct sbpl_text *text, const char *bytes, size_t length) {
    if (!text->failed && text->size + length >= text->capacity) {
        size_t capacity = (text->size + length + 1) * 2;
        char *data = realloc(text->data, capacity);
        text->failed = data == NULL;
        if (data != NULL) {
            text->data = data;
            text->capacity = capacity;
        }
    }
    if (text->failed)
        return;
    memcpy(text->data + text->size, bytes, length);
    text->size += length;
    text->data[text->size] = '\0';
}

void sbpl_text_add(struct sbpl_text *text, const char *added) {
    sbpl_text_add_bytes(text, added, strlen(added));
}

void sbpl_text_clear(struct sbpl_text *text) {
    free(text->data);
    *text = (struct sbpl_text){0};
}

/* TinyScheme's reader of strings: \" \\ \n \t \r, \xHH. A stray 0xff would be its end of file. */
void sbpl_text_add_string(struct sbpl_text *text, const char *string) {
    sbpl_text_add(text, "\"");
    for (size_t left = strlen(string); left > 0;) {
        uint32_t point;
        size_t size = utf8_decode(string, left, &point);
        const unsigned char byte = (unsigned char)*string;
        char escape[sizeof "\\xff"];
        if (size == 0 || byte < ' ' || byte == 0x7f) {
            snprintf(escape, sizeof escape, "\\x%02x", byte);
            sbpl_text_add(text, escape);
            size = 1;
        } else {
            if (byte == '"' || byte == '\\')
                sbpl_text_add(text, "\\");
            sbpl_text_add_bytes(text, string, size);
        }
        string += size;
        left -= size;
    }
    sbpl_text_add(text, "\"");
}

void sbpl_rule_filter(struct sbpl_rule *rule) {
    if (rule->filters == FILTERS_MAX)
        sbpl_rule_end(rule);
    if (rule->filters++ == 0) {
        sbpl_text_add(rule->out, "(");
        sbpl_text_add(rule->out, rule->head);
    }
    sbpl_text_add(rule->out, "\n  ");
}

void sbpl_rule_end(struct sbpl_rule *rule) {
    if (rule->filters == 0)
        return;
    if (rule->message != NULL) {
        sbpl_text_add(rule->out, "\n  (with message ");
        sbpl_text_add_string(rule->out, rule->message);
        sbpl_text_add(rule->out, ")");
    }
    sbpl_text_add(rule->out, ")\n");
    rule->filters = 0;
}

void sbpl_rule_string(struct sbpl_rule *rule, const char *kind, const char *string) {
    sbpl_rule_filter(rule);
    sbpl_text_add(rule->out, "(");
    sbpl_text_add(rule->out, kind);
    sbpl_text_add(rule->out, " ");
    sbpl_text_add_string(rule->out, string);
    sbpl_text_add(rule->out, ")");
}

/* --- paths --- */

/* Symlinks of the root, by hier(7) of macOS. */
static const char *const linked[] = {"/tmp", "/var", "/etc"};

#define PRIVATE "/private"
/* What the firmlinks of the root lead to. */
#define DATA_VOLUME "/System/Volumes/Data"

const char *sbpl_below_private(const char *path) {
    const char *rest = path_is_within(path, PRIVATE) ? path + strlen(PRIVATE) : path;
    for (size_t i = 0; *rest != '\0' && i < sizeof linked / sizeof linked[0]; i++)
        if (path_is_within(rest, linked[i]))
            return rest;
    return NULL;
}

bool sbpl_text_add_name(struct sbpl_text *text, const char *path, enum sbpl_name name) {
    const char *below = sbpl_below_private(path);
    if (name == SBPL_NAME_TWIN && below == NULL)
        return false;
    if (name == SBPL_NAME_ON_DATA)
        sbpl_text_add(text, DATA_VOLUME);
    if (below != NULL && (name == SBPL_NAME_ON_DATA || (name == SBPL_NAME_TWIN && below == path)))
        sbpl_text_add(text, PRIVATE);
    sbpl_text_add(text, name != SBPL_NAME_OWN && below != NULL ? below : path);
    return !text->failed;
}

static void add_names(struct sbpl_rule *rule, const char *kind, const char *path, enum sbpl_name end) {
    for (enum sbpl_name name = SBPL_NAME_OWN; name < end; name++) {
        struct sbpl_text text = {0};
        if (sbpl_text_add_name(&text, path, name))
            sbpl_rule_string(rule, kind, text.data);
        rule->out->failed = rule->out->failed || text.failed;
        sbpl_text_clear(&text);
    }
}

void sbpl_rule_path(struct sbpl_rule *rule, const char *kind, const char *path) {
    add_names(rule, kind, path, SBPL_NAME_ON_DATA);
}

void sbpl_rule_denied(struct sbpl_rule *rule, const char *kind, const char *path) {
    add_names(rule, kind, path, SBPL_NAMES);
}
