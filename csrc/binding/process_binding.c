#include "binding/process_binding.h"

#include <stdlib.h>
#include <string.h>

#include "binding/js_values.h"
#include "command/own_process.h"

napi_value process_binding_die(napi_env env, napi_callback_info info) {
    napi_value argv[1];
    if (js_arguments(env, info, 1, argv))
        own_process_die((int)js_number(env, argv[0], 0));
    return NULL;
}

/* A buffer: a token that was made up puts nothing but a terminal's modes in disorder. */
napi_value terminal_binding_take(napi_env env, napi_callback_info info) {
    napi_value argv[1];
    napi_value token = NULL;
    struct taken_terminal taken;
    if (js_arguments(env, info, 1, argv) && taken_terminal_take((int)js_number(env, argv[0], -1), &taken))
        napi_create_buffer_copy(env, sizeof taken, &taken, NULL, &token);
    return token;
}

napi_value terminal_binding_give(napi_env env, napi_callback_info info) {
    napi_value argv[1];
    void *data = NULL;
    size_t size = 0;
    struct taken_terminal taken;
    if (!js_arguments(env, info, 1, argv) || napi_get_buffer_info(env, argv[0], &data, &size) != napi_ok ||
        size != sizeof taken)
        return NULL;
    memcpy(&taken, data, size);
    taken_terminal_give(&taken);
    return NULL;
}
