/* Settings files and layers of options as JS functions. */
#ifndef OS_SANDBOX_BINDING_SETTINGS_BINDING_H
#define OS_SANDBOX_BINDING_SETTINGS_BINDING_H

#include <node_api.h>

/*
 * parseSettings(bytes: Buffer, asks: boolean) → {document, warnings}, each warning "LINE:COLUMN: …". Throws
 * an Error with line and column, whose message begins with the option's path.
 */
napi_value settings_binding_parse(napi_env env, napi_callback_info info);

/* mergeOptions(documents: string[]) → document: the earliest layer first. Throws a TypeError as makePolicy
 * does. */
napi_value settings_binding_merge(napi_env env, napi_callback_info info);

/* settingsTable() → string: what can stand in a settings file (settings_table_json). */
napi_value settings_binding_table(napi_env env, napi_callback_info info);

#endif
