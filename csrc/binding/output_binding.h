/* What the command line writes beside its command. */
#ifndef OS_SANDBOX_BINDING_OUTPUT_BINDING_H
#define OS_SANDBOX_BINDING_OUTPUT_BINDING_H

#include <node_api.h>

/* writeReady(fd, bytes) → how many of them were written at once; 0: no room now, -1: never again. */
napi_value output_binding_write_ready(napi_env env, napi_callback_info info);

#endif
