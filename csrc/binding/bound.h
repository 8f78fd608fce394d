/* What the bindings keep for JS values of ours. */
#ifndef OS_SANDBOX_BINDING_BOUND_H
#define OS_SANDBOX_BINDING_BOUND_H

#include <node_api.h>
#include <stdbool.h>

#include "command/session.h"
#include "policy/options.h"

/* Lives until the session is gone and the JS value was collected, whichever is later. */
struct bound_session {
    napi_env env;
    struct session *session; /* NULL once it is gone */
    napi_ref started;
    napi_ref disposed;
    napi_ref policy; /* keeps its options alive, which the network is started with */
    napi_ref on_violation;
    napi_ref on_ask;
    napi_ref on_withdraw;
    napi_async_cleanup_hook_handle hook;
    bool disposing;
    bool exiting;   /* the environment is being torn down: no JS any more */
    bool collected; /* the JS value is gone */
};

/* The objects behind the values; NULL where a value is none of ours. */
struct bound_session *bound_session_of(napi_env env, napi_value value);
const struct options *bound_policy_of(napi_env env, napi_value value);

/* What is passed as startSession's network callbacks; data is the bound session. */
struct session_calls network_binding_calls(struct bound_session *bound);

#endif
