#include <jansson.h>

#include "policy/option_table.h"
#include "policy/protected_names.h"
#include "policy/settings.h"
#include "policy/settings_srt.h"

static const char *const entry_names[] = {
    [OPTION_ENTRY_TEXT] = "text",
    [OPTION_ENTRY_PATH] = "path",
    [OPTION_ENTRY_FIXED_PATH] = "fixed-path",
    [OPTION_ENTRY_DOMAIN] = "domain",
    [OPTION_ENTRY_ADDRESS] = "address",
    [OPTION_ENTRY_UPSTREAM] = "upstream",
    [OPTION_ENTRY_DEFAULT_READ] = "default-read",
    [OPTION_ENTRY_PROTECTED] = "protected",
};

static const char *const action_names[] = {
    [SRT_NOTE] = "note",
    [SRT_IGNORED] = "ignored",
    [SRT_REFUSED] = "refused",
    [SRT_UNASKED] = "unasked",
};

/* A list of values that is given as JSON; an empty one for NULL. */
static json_t *values_of(const char *list) {
    return list == NULL ? json_array() : json_loads(list, 0, NULL);
}

static json_t *option_of(const struct option_row *row) {
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:f, s:f, s:o}", "group", row->group, "key", row->key, "kind",
                     option_kind_name(row->kind), "entry", entry_names[row->entry], "later",
                     row->support == OPTION_LATER, "least", (double)row->least, "most", (double)row->most,
                     "inert", values_of(row->inert));
}

static json_t *foreign_of(const struct srt_key *row) {
    return json_pack("{s:s, s:s, s:s, s:o, s:s*}", "group", row->group, "key", row->key, "action",
                     action_names[row->action], "inert", values_of(row->inert), "reason", row->reason);
}

char *settings_table_json(void) {
    json_t *options = json_array(), *foreign = json_array(), *names = json_array();
    int failed = 0;
    const struct option_row *option;
    for (size_t i = 0; (option = option_table_row(i)) != NULL; i++)
        if (option->kind != OPTION_FUNCTION)
            failed |= json_array_append_new(options, option_of(option));
    const struct srt_key *key;
    for (size_t i = 0; (key = srt_key_row(i)) != NULL; i++)
        failed |= json_array_append_new(foreign, foreign_of(key));
    for (size_t i = 0; i < protected_name_count; i++)
        failed |= json_array_append_new(names, json_string(protected_names[i].path));
    json_t *table = json_pack("{s:i, s:o, s:o, s:o}", "entries", OPTION_LIST_MAX, "options", options,
                              "foreign", foreign, "protected", names);
    char *text = table == NULL || failed != 0 ? NULL : json_dumps(table, JSON_COMPACT);
    json_decref(table);
    return text;
}
