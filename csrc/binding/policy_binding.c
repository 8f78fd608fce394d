#include "base/cleanup.h"
#include "binding/bound.h"
#include "binding/js_values.h"
#include "binding/session_binding.h"
#include "policy/options.h"

static const napi_type_tag policy_tag = {0x6f732d73616e6462, 0x706f6c6963790001};

static void finalize_policy(napi_env env, void *data, void *hint) {
    (void)env;
    (void)hint;
    options_free(data);
}

napi_value policy_binding_schema(napi_env env, napi_callback_info info) {
    (void)info;
    cleanup_free char *schema = options_schema_json();
    if (schema == NULL) {
        napi_throw_error(env, NULL, "out of memory");
        return NULL;
    }
    return js_text(env, schema, NAPI_AUTO_LENGTH);
}

napi_value policy_binding_make(napi_env env, napi_callback_info info) {
    napi_value argv[1];
    size_t size = 0;
    cleanup_free char *json = js_arguments(env, info, 1, argv) ? js_string(env, argv[0], &size) : NULL;
    if (json == NULL) {
        napi_throw_type_error(env, NULL, "makePolicy: expected the document as a string");
        return NULL;
    }
    struct options *options = NULL;
    struct error err = {0};
    if (options_parse(json, size, &options, &err) != 0) {
        if (err.kind == ERROR_OPTIONS)
            napi_throw_type_error(env, NULL, err.text);
        else
            napi_throw_error(env, NULL, err.text);
        return NULL;
    }
    napi_value external;
    napi_value result = NULL;
    if (napi_create_external(env, options, finalize_policy, NULL, &external) != napi_ok) {
        options_free(options);
        return NULL;
    }
    napi_type_tag_object(env, external, &policy_tag);
    if (napi_create_object(env, &result) == napi_ok)
        napi_set_named_property(env, result, "handle", external);
    return result;
}

const struct options *bound_policy_of(napi_env env, napi_value value) {
    bool ours = false;
    void *data = NULL;
    if (value == NULL || napi_check_object_type_tag(env, value, &policy_tag, &ours) != napi_ok || !ours)
        return NULL;
    return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}
