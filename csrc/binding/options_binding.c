#include "binding/options_binding.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "policy/options.h"

napi_value options_schema(napi_env env, napi_callback_info info) {
    (void)info;
    cleanup_free char *schema = options_schema_json();
    napi_value result = NULL;
    if (schema == NULL)
        napi_throw_error(env, NULL, "out of memory");
    else
        napi_create_string_utf8(env, schema, NAPI_AUTO_LENGTH, &result);
    return result;
}

/* The first argument's text (caller frees), or NULL with a JS exception pending. */
static char *document_argument(napi_env env, napi_callback_info info, size_t *length) {
    size_t count = 1;
    napi_value argument;
    if (napi_get_cb_info(env, info, &count, &argument, NULL, NULL) != napi_ok)
        return NULL;
    if (count < 1 || napi_get_value_string_utf8(env, argument, NULL, 0, length) != napi_ok) {
        napi_throw_type_error(env, NULL, "checkOptions: expected the document as a string");
        return NULL;
    }
    char *document = malloc(*length + 1);
    if (document == NULL) {
        napi_throw_error(env, NULL, "out of memory");
        return NULL;
    }
    if (napi_get_value_string_utf8(env, argument, document, *length + 1, length) != napi_ok) {
        free(document);
        return NULL;
    }
    return document;
}

napi_value options_check(napi_env env, napi_callback_info info) {
    size_t length;
    cleanup_free char *document = document_argument(env, info, &length);
    if (document == NULL)
        return NULL;
    struct options *options = NULL;
    struct error err = {0};
    if (options_parse(document, length, &options, &err) == 0)
        options_free(options);
    else if (err.kind == ERROR_OPTIONS)
        napi_throw_type_error(env, NULL, err.text);
    else
        napi_throw_error(env, NULL, err.text);
    return NULL;
}
