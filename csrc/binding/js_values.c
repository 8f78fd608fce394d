#include "binding/js_values.h"

#include <stdlib.h>
#include <string.h>

bool js_arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *argv) {
    size_t count = wanted;
    return napi_get_cb_info(env, info, &count, argv, NULL, NULL) == napi_ok && count >= wanted;
}

napi_value js_property(napi_env env, napi_value object, const char *name) {
    napi_value value;
    napi_valuetype type;
    if (napi_get_named_property(env, object, name, &value) != napi_ok ||
        napi_typeof(env, value, &type) != napi_ok)
        return NULL;
    return type == napi_undefined || type == napi_null ? NULL : value;
}

char *js_string(napi_env env, napi_value value, size_t *size) {
    size_t length;
    if (value == NULL || napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok)
        return NULL;
    char *text = malloc(length + 1);
    if (text == NULL || napi_get_value_string_utf8(env, value, text, length + 1, &length) != napi_ok) {
        free(text);
        return NULL;
    }
    if (size == NULL && strlen(text) != length) {
        free(text);
        return NULL;
    }
    if (size != NULL)
        *size = length;
    return text;
}

/* A copy that ends with NUL, of a string or of a Buffer's bytes; the caller frees it. */
static char *copy_bytes(napi_env env, napi_value value, size_t *size) {
    bool is_buffer = false;
    void *bytes;
    if (value == NULL || napi_is_buffer(env, value, &is_buffer) != napi_ok || !is_buffer)
        return js_string(env, value, size);
    if (napi_get_buffer_info(env, value, &bytes, size) != napi_ok)
        return NULL;
    char *copy = malloc(*size + 1);
    if (copy == NULL)
        return NULL;
    if (*size > 0)
        memcpy(copy, bytes, *size);
    copy[*size] = '\0';
    return copy;
}

int js_list(napi_env env, napi_value value, struct strvec *out) {
    size_t size;
    char *text = copy_bytes(env, value, &size);
    int result = text == NULL ? -1 : 0;
    for (size_t at = 0; result == 0 && at < size; at += strlen(text + at) + 1)
        result = strvec_push(out, text + at);
    free(text);
    return result;
}

double js_number(napi_env env, napi_value value, double fallback) {
    double number;
    return value != NULL && napi_get_value_double(env, value, &number) == napi_ok ? number : fallback;
}

napi_value js_undefined(napi_env env) {
    napi_value value = NULL;
    napi_get_undefined(env, &value);
    return value;
}

napi_value js_text(napi_env env, const char *text, size_t size) {
    napi_value value;
    return napi_create_string_utf8(env, size == 0 ? "" : text, size, &value) == napi_ok ? value
                                                                                        : js_undefined(env);
}

napi_value js_texts(napi_env env, const struct strvec *texts) {
    napi_value array;
    if (napi_create_array_with_length(env, texts->count, &array) != napi_ok)
        return js_undefined(env);
    for (size_t i = 0; i < texts->count; i++)
        napi_set_element(env, array, (uint32_t)i, js_text(env, texts->items[i], NAPI_AUTO_LENGTH));
    return array;
}

void js_call(napi_env env, napi_ref function, size_t argc, const napi_value *argv) {
    napi_value callee;
    napi_value receiver;
    if (napi_get_reference_value(env, function, &callee) != napi_ok || callee == NULL ||
        napi_get_global(env, &receiver) != napi_ok)
        return;
    if (napi_make_callback(env, NULL, receiver, callee, argc, argv, NULL) != napi_pending_exception)
        return;
    napi_value thrown;
    if (napi_get_and_clear_last_exception(env, &thrown) == napi_ok)
        napi_fatal_exception(env, thrown);
}
