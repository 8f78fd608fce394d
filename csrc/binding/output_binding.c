#include "binding/output_binding.h"

#include "base/write_ready.h"
#include "binding/js_values.h"

napi_value output_binding_write_ready(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    void *data = NULL;
    size_t size = 0;
    if (!js_arguments(env, info, 2, argv) || napi_get_buffer_info(env, argv[1], &data, &size) != napi_ok)
        return js_undefined(env);
    napi_value written = NULL;
    napi_create_int64(env, (int64_t)write_ready((int)js_number(env, argv[0], -1), data, size), &written);
    return written;
}
