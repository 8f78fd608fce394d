#include <stdlib.h>

#include "binding/bound.h"
#include "binding/js_values.h"
#include "binding/session_binding.h"
#include "binding/violation_values.h"

static napi_value question_value(napi_env env, uint64_t question) {
    napi_value value;
    return napi_create_bigint_uint64(env, question, &value) == napi_ok ? value : js_undefined(env);
}

static void on_violation(void *data, const struct violation *violation) {
    const struct bound_session *bound = data;
    napi_env env = bound->env;
    napi_handle_scope scope;
    napi_value argv[2];
    if (bound->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    argv[1] = violation_object(env, violation);
    if (napi_create_uint32(env, violation->id, &argv[0]) == napi_ok)
        js_call(env, bound->on_violation, 2, argv);
    napi_close_handle_scope(env, scope);
}

static void on_ask(void *data, uint64_t question, const char *host, uint16_t port) {
    const struct bound_session *bound = data;
    napi_env env = bound->env;
    napi_handle_scope scope;
    if (bound->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    napi_value argv[3] = {question_value(env, question), js_text(env, host, NAPI_AUTO_LENGTH), NULL};
    if (napi_create_uint32(env, port, &argv[2]) == napi_ok)
        js_call(env, bound->on_ask, 3, argv);
    napi_close_handle_scope(env, scope);
}

static void on_withdraw(void *data, uint64_t question) {
    const struct bound_session *bound = data;
    napi_env env = bound->env;
    napi_handle_scope scope;
    if (bound->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    napi_value value = question_value(env, question);
    js_call(env, bound->on_withdraw, 1, &value);
    napi_close_handle_scope(env, scope);
}

struct session_calls network_binding_calls(struct bound_session *bound) {
    return (struct session_calls){
        .violation = on_violation, .ask = on_ask, .withdraw = on_withdraw, .data = bound};
}

/* The session that is the first argument, as long as it lives. */
static struct session *living_session(napi_env env, napi_value value) {
    const struct bound_session *bound = bound_session_of(env, value);
    return bound == NULL || bound->disposing ? NULL : bound->session;
}

napi_value network_binding_answer(napi_env env, napi_callback_info info) {
    napi_value argv[3];
    uint64_t question = 0;
    bool is_exact = false;
    bool allowed = false;
    struct session *session = js_arguments(env, info, 3, argv) ? living_session(env, argv[0]) : NULL;
    if (session != NULL && napi_get_value_bigint_uint64(env, argv[1], &question, &is_exact) == napi_ok &&
        napi_get_value_bool(env, argv[2], &allowed) == napi_ok)
        session_answer(session, question, allowed);
    return NULL;
}

napi_value network_binding_update(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    bool given = js_arguments(env, info, 2, argv);
    struct session *session = given ? living_session(env, argv[0]) : NULL;
    const struct options *options = given ? bound_policy_of(env, argv[1]) : NULL;
    if (session == NULL || options == NULL)
        napi_throw_error(env, NULL, "updateNetwork: expected (a session that was not disposed, policy)");
    else if (session_update_network(session, options) != 0)
        napi_throw_error(env, NULL, "out of memory");
    return NULL;
}

struct bound_exposure {
    struct bound_session *owner; /* is there as long as its session is */
    napi_ref done;
};

static void on_exposed(void *data, uint16_t host_port) {
    struct bound_exposure exposure = *(struct bound_exposure *)data;
    napi_env env = exposure.owner->env;
    napi_handle_scope scope;
    free(data);
    if (!exposure.owner->exiting && napi_open_handle_scope(env, &scope) == napi_ok) {
        napi_value port;
        if (napi_create_uint32(env, host_port, &port) == napi_ok)
            js_call(env, exposure.done, 1, &port);
        napi_close_handle_scope(env, scope);
    }
    napi_delete_reference(env, exposure.done);
}

napi_value network_binding_expose(napi_env env, napi_callback_info info) {
    napi_value argv[3];
    napi_value answer = NULL;
    bool given = js_arguments(env, info, 3, argv);
    struct session *session = given ? living_session(env, argv[0]) : NULL;
    double port = given ? js_number(env, argv[1], 0) : 0;
    struct bound_exposure *exposure = session == NULL ? NULL : calloc(1, sizeof *exposure);
    bool waits = false;
    if (exposure != NULL && port >= 1 && port <= UINT16_MAX &&
        napi_create_reference(env, argv[2], 1, &exposure->done) == napi_ok) {
        exposure->owner = bound_session_of(env, argv[0]);
        waits = session_expose(session, (uint16_t)port, on_exposed, exposure);
        if (!waits)
            napi_delete_reference(env, exposure->done);
    }
    if (!waits)
        free(exposure);
    napi_get_boolean(env, waits, &answer);
    return answer;
}
