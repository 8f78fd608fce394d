/* Small steps between JS values and C, so that the bindings read as what they do. */
#ifndef OS_SANDBOX_BINDING_JS_VALUES_H
#define OS_SANDBOX_BINDING_JS_VALUES_H

#include <node_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strvec.h"

/* The call's arguments, of which there must be as many as wanted; false where there are fewer. */
bool js_arguments(napi_env env, napi_callback_info info, size_t wanted, napi_value *argv);

/* The property, or NULL where it is undefined, null or cannot be read. */
napi_value js_property(napi_env env, napi_value object, const char *name);

/*
 * A string as UTF-8 with a NUL behind it (caller frees); NULL where it is none, or no memory. size may be
 * NULL: then a NUL inside is refused too, since it would cut the string.
 */
char *js_string(napi_env env, napi_value value, size_t *size);

/* Splits a string, or a Buffer of what is not UTF-8, in which every item ends with NUL. 0, or -1 where it is
   neither or there is no memory. */
int js_list(napi_env env, napi_value value, struct strvec *out);

/* A number, or the fallback where it is none. */
double js_number(napi_env env, napi_value value, double fallback);

napi_value js_undefined(napi_env env);

napi_value js_text(napi_env env, const char *text, size_t size);

/* An array of strings. */
napi_value js_texts(napi_env env, const struct strvec *texts);

/*
 * Calls the function that ref holds, with a scope of its own, and lets microtasks run after it. An exception
 * that it throws becomes the process's uncaughtException, as from any callback of Node's. Does nothing where
 * JS cannot run.
 */
void js_call(napi_env env, napi_ref function, size_t argc, const napi_value *argv);

#endif
