#include "policy/option_layers.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "policy/json_util.h"
#include "policy/option_table.h"
#include "policy/options.h"

/* The object that holds the keys of a group; NULL: there is none, or no memory to make it. */
static json_t *group_of(json_t *document, const char *group, bool make) {
    if (*group == '\0')
        return document;
    json_t *object = json_object_get(document, group);
    if (object == NULL && make && json_object_set_new(document, group, json_object()) == 0)
        object = json_object_get(document, group);
    return object;
}

static bool has_entry(const json_t *list, const json_t *entry) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), entry))
            return true;
    return false;
}

/* What follows returns 0, or -1 where memory ran out. earlier is the target's, or NULL where it has none. */

static int add(json_t *target, const struct option_row *row, json_t *earlier, json_t *value) {
    if (earlier == NULL)
        return json_object_set_new(target, row->key, json_copy(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        if (json_array_append(earlier, json_array_get(value, i)) != 0)
            return -1;
    return 0;
}

static int hold(json_t *target, const struct option_row *row, const json_t *earlier, json_t *value) {
    cleanup_json json_t *held = json_loads(row->held, JSON_DECODE_ANY, NULL);
    if (held == NULL)
        return -1;
    return earlier != NULL && json_equal(earlier, held) ? 0 : json_object_set(target, row->key, value);
}

static int set_keys(json_t *target, const struct option_row *row, json_t *earlier, json_t *value) {
    return earlier == NULL ? json_object_set_new(target, row->key, json_copy(value))
                           : json_object_update(earlier, value);
}

/* Whoever reads the log that an earlier layer named must be able to go on believing it. */
static int replace_log(json_t *document, const struct option_row *row, json_t *earlier, json_t *value) {
    if (earlier != NULL && !json_equal(earlier, value)) {
        json_t *files = group_of(document, "filesystem", true);
        json_t *denied = json_object_get(files, "denyWrite");
        if (denied == NULL && json_object_set_new(files, "denyWrite", json_array()) != 0)
            return -1;
        denied = json_object_get(files, "denyWrite");
        if (!has_entry(denied, earlier) && json_array_append(denied, earlier) != 0)
            return -1;
    }
    return json_object_set(document, row->key, value);
}

static int merge_value(json_t *document, const struct option_row *row, json_t *value) {
    json_t *target = group_of(document, row->group, true);
    json_t *earlier = json_object_get(target, row->key);
    if (target == NULL)
        return -1;
    switch (row->layering) {
    case OPTION_LAYER_LATER:
        return json_object_set(target, row->key, value);
    case OPTION_LAYER_ADDS:
        return add(target, row, earlier, value);
    case OPTION_LAYER_HOLDS:
        return hold(target, row, earlier, value);
    case OPTION_LAYER_LEAST:
        return earlier != NULL && json_number_value(earlier) <= json_number_value(value)
                   ? 0
                   : json_object_set(target, row->key, value);
    case OPTION_LAYER_KEYS:
        return set_keys(target, row, earlier, value);
    case OPTION_LAYER_LOG:
        return replace_log(document, row, earlier, value);
    }
    return -1;
}

static int merge_document(json_t *document, json_t *layer) {
    const struct option_row *row;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++) {
        json_t *value = json_object_get(group_of(layer, row->group, false), row->key);
        int result = value == NULL                ? 0
                     : row->kind == OPTION_OBJECT ? (group_of(document, row->key, true) == NULL ? -1 : 0)
                                                  : merge_value(document, row, value);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* A document that is right, as a value the caller owns; NULL with an error. */
static json_t *load(const char *text, struct error *err) {
    struct options *options = NULL;
    if (options_parse(text, strlen(text), &options, err) != 0)
        return NULL;
    options_free(options);
    json_t *layer = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
    if (layer == NULL)
        error_memory(err);
    return layer;
}

int options_merge(const struct strvec *documents, char **out, struct error *err) {
    cleanup_json json_t *merged = json_object();
    if (merged == NULL)
        return error_memory(err);
    for (size_t i = 0; i < documents->count; i++) {
        cleanup_json json_t *layer = load(documents->items[i], err);
        if (layer == NULL)
            return -1;
        if (merge_document(merged, layer) != 0)
            return error_memory(err);
    }
    *out = json_dumps(merged, JSON_COMPACT);
    return *out == NULL ? error_memory(err) : 0;
}
