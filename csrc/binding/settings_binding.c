#include "binding/settings_binding.h"
#include "base/cleanup.h"
#include "binding/js_values.h"
#include "policy/option_layers.h"
#include "policy/settings.h"

static void throw_no_memory(napi_env env) {
    napi_throw_error(env, NULL, "out of memory");
}

/* Throws an Error with line and column. */
static void throw_at(napi_env env, const struct text_position *at, const char *text) {
    napi_value error, line, column;
    if (napi_create_error(env, NULL, js_text(env, text, NAPI_AUTO_LENGTH), &error) == napi_ok &&
        napi_create_double(env, (double)at->line, &line) == napi_ok &&
        napi_create_double(env, (double)at->column, &column) == napi_ok &&
        napi_set_named_property(env, error, "line", line) == napi_ok &&
        napi_set_named_property(env, error, "column", column) == napi_ok)
        napi_throw(env, error);
}

/* { document, warnings } */
static napi_value settings_value(napi_env env, const struct settings *settings) {
    napi_value result;
    if (napi_create_object(env, &result) != napi_ok)
        return NULL;
    napi_set_named_property(env, result, "document", js_text(env, settings->document, NAPI_AUTO_LENGTH));
    napi_set_named_property(env, result, "warnings", js_texts(env, &settings->warnings));
    return result;
}

/* parseSettings(bytes: Buffer, asks: boolean) */
napi_value settings_binding_parse(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    void *bytes = NULL;
    size_t size = 0;
    bool asks = true;
    if (!js_arguments(env, info, 2, argv) || napi_get_buffer_info(env, argv[0], &bytes, &size) != napi_ok ||
        napi_get_value_bool(env, argv[1], &asks) != napi_ok) {
        napi_throw_type_error(env, NULL,
                              "parseSettings: expected the file's bytes and whether anyone is asked");
        return NULL;
    }
    struct settings settings;
    struct text_position at;
    struct error err = {0};
    if (settings_parse(size == 0 ? "" : bytes, size, asks, &settings, &at, &err) != 0) {
        if (err.kind == ERROR_OPTIONS)
            throw_at(env, &at, err.text);
        else
            throw_no_memory(env);
        return NULL;
    }
    napi_value result = settings_value(env, &settings);
    settings_clear(&settings);
    return result;
}

static int read_documents(napi_env env, napi_value list, struct strvec *documents) {
    uint32_t count;
    if (napi_get_array_length(env, list, &count) != napi_ok)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        napi_value item;
        char *text = napi_get_element(env, list, i, &item) == napi_ok ? js_string(env, item, NULL) : NULL;
        if (text == NULL || strvec_push_owned(documents, text) != 0)
            return -1;
    }
    return 0;
}

/* mergeOptions(documents: string[]), the earliest layer first */
napi_value settings_binding_merge(napi_env env, napi_callback_info info) {
    napi_value argv[1];
    struct strvec documents = {0};
    if (!js_arguments(env, info, 1, argv) || read_documents(env, argv[0], &documents) != 0) {
        strvec_clear(&documents);
        napi_throw_type_error(env, NULL, "mergeOptions: expected a list of documents");
        return NULL;
    }
    cleanup_free char *merged = NULL;
    struct error err = {0};
    int result = options_merge(&documents, &merged, &err);
    strvec_clear(&documents);
    if (result == 0)
        return js_text(env, merged, NAPI_AUTO_LENGTH);
    if (err.kind == ERROR_OPTIONS)
        napi_throw_type_error(env, NULL, err.text);
    else
        throw_no_memory(env);
    return NULL;
}

napi_value settings_binding_table(napi_env env, napi_callback_info info) {
    (void)info;
    cleanup_free char *table = settings_table_json();
    if (table == NULL) {
        throw_no_memory(env);
        return NULL;
    }
    return js_text(env, table, NAPI_AUTO_LENGTH);
}
