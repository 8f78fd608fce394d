/* The options document as JS functions. */
#ifndef OS_SANDBOX_BINDING_OPTIONS_BINDING_H
#define OS_SANDBOX_BINDING_OPTIONS_BINDING_H

#include <node_api.h>

/* optionSchema() → string: the table of known keys (options_schema_json). */
napi_value options_schema(napi_env env, napi_callback_info info);

/* checkOptions(document) → undefined; throws a TypeError whose message begins with the option's path. */
napi_value options_check(napi_env env, napi_callback_info info);

#endif
