#include "binding/host_binding.h"

#include "base/cleanup.h"
#include "binding/js_values.h"
#include "platform/linux/find_bwrap.h"

napi_value host_binding_find_bwrap(napi_env env, napi_callback_info info) {
    napi_value given;
    cleanup_free char *search_path = js_arguments(env, info, 1, &given) ? js_string(env, given, NULL) : NULL;
    cleanup_free char *found = search_path == NULL ? NULL : find_bwrap(search_path);
    return found == NULL ? js_undefined(env) : js_text(env, found, NAPI_AUTO_LENGTH);
}

napi_value host_binding_bwrap_fault(napi_env env, napi_callback_info info) {
    napi_value given;
    cleanup_free char *path = js_arguments(env, info, 1, &given) ? js_string(env, given, NULL) : NULL;
    const char *fault = path == NULL ? NULL : bwrap_fault(path);
    return fault == NULL ? js_undefined(env) : js_text(env, fault, NAPI_AUTO_LENGTH);
}
