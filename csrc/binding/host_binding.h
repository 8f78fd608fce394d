/* What the host has, as JS functions: for those who only look. */
#ifndef OS_SANDBOX_BINDING_HOST_BINDING_H
#define OS_SANDBOX_BINDING_HOST_BINDING_H

#include <node_api.h>

/* findBwrap(searchPath) → the path of the bwrap that a session would use, or undefined. */
napi_value host_binding_find_bwrap(napi_env env, napi_callback_info info);

/* bwrapFault(path) → why this one is passed over, or undefined. */
napi_value host_binding_bwrap_fault(napi_env env, napi_callback_info info);

#endif
