#include "binding/violation_values.h"

#include "binding/js_values.h"

static void set_text(napi_env env, napi_value object, const char *name, const char *text) {
    if (text != NULL)
        napi_set_named_property(env, object, name, js_text(env, text, NAPI_AUTO_LENGTH));
}

static void set_number(napi_env env, napi_value object, const char *name, double number) {
    napi_value value;
    if (napi_create_double(env, number, &value) == napi_ok)
        napi_set_named_property(env, object, name, value);
}

napi_value violation_object(napi_env env, const struct violation *violation) {
    napi_value object;
    if (napi_create_object(env, &object) != napi_ok)
        return js_undefined(env);
    set_text(env, object, "operation", violation->operation);
    set_text(env, object, "path", violation->path);
    set_text(env, object, "host", violation->host);
    if (violation->port != 0)
        set_number(env, object, "port", violation->port);
    set_text(env, object, "why", violation->why);
    set_number(env, object, "pid", violation->pid);
    set_text(env, object, "process", violation->process);
    set_number(env, object, "time", (double)violation->time_ms);
    return object;
}

napi_value violation_counts(napi_env env, const struct violation_count *counts, size_t count) {
    napi_value array;
    if (napi_create_array_with_length(env, 2 * count, &array) != napi_ok)
        return js_undefined(env);
    for (size_t i = 0; i < count; i++) {
        const double pair[] = {counts[i].id, (double)counts[i].count};
        for (size_t half = 0; half < 2; half++) {
            napi_value number;
            if (napi_create_double(env, pair[half], &number) == napi_ok)
                napi_set_element(env, array, (uint32_t)(2 * i + half), number);
        }
    }
    return array;
}
