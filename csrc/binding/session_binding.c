#include "binding/session_binding.h"

#include <stdlib.h>

#include "binding/bound.h"
#include "binding/js_values.h"
#include "binding/violation_values.h"

static const napi_type_tag session_tag = {0x6f732d73616e6462, 0x73657373696f6e01};

static void drop_ref(napi_env env, napi_ref *ref) {
    if (*ref != NULL)
        napi_delete_reference(env, *ref);
    *ref = NULL;
}

static void free_when_done(struct bound_session *bound) {
    if (bound->session == NULL && bound->collected)
        free(bound);
}

static void drop_refs(struct bound_session *bound) {
    napi_ref *refs[] = {&bound->started,      &bound->disposed, &bound->policy,
                        &bound->on_violation, &bound->on_ask,   &bound->on_withdraw};
    for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++)
        drop_ref(bound->env, refs[i]);
}

static void tell_disposed(const struct bound_session *bound, const struct violation_count *repeated,
                          size_t repeated_count, uint64_t dropped) {
    napi_handle_scope scope;
    if (bound->disposed == NULL || bound->exiting || napi_open_handle_scope(bound->env, &scope) != napi_ok)
        return;
    napi_value argv[2] = {violation_counts(bound->env, repeated, repeated_count), NULL};
    if (napi_create_double(bound->env, (double)dropped, &argv[1]) == napi_ok)
        js_call(bound->env, bound->disposed, 2, argv);
    napi_close_handle_scope(bound->env, scope);
}

/* The session is gone: the hook goes, and who waits hears of it. */
static void on_disposed(void *data, const struct violation_count *repeated, size_t repeated_count,
                        uint64_t dropped) {
    struct bound_session *bound = data;
    bound->session = NULL;
    napi_async_cleanup_hook_handle hook = bound->hook;
    bound->hook = NULL;
    tell_disposed(bound, repeated, repeated_count, dropped);
    drop_refs(bound);
    if (hook != NULL)
        napi_remove_async_cleanup_hook(hook);
    free_when_done(bound);
}

static void dispose(struct bound_session *bound) {
    if (bound->disposing || bound->session == NULL)
        return;
    bound->disposing = true;
    session_dispose(bound->session, on_disposed, bound);
}

/* Node exits, or the worker ends: everything goes, and the loop turns until it is gone. */
static void on_env_cleanup(napi_async_cleanup_hook_handle handle, void *data) {
    struct bound_session *bound = data;
    (void)handle;
    bound->exiting = true;
    if (bound->session == NULL)
        on_disposed(bound, NULL, 0, 0);
    else
        dispose(bound);
}

static void on_collected(napi_env env, void *data, void *hint) {
    struct bound_session *bound = data;
    (void)env;
    (void)hint;
    bound->collected = true;
    if (bound->session == NULL)
        free(bound);
    else
        dispose(bound); /* frees it at its end, which may be now */
}

static const char *kind_name(enum error_kind kind) {
    return kind == ERROR_DEPENDENCY ? "dependency" : "host";
}

static const char *capture_name(enum session_capture capture) {
    static const char *const names[] = {
        [CAPTURE_NONE] = "none", [CAPTURE_PROXY] = "proxy", [CAPTURE_TRANSPARENT] = "transparent"};
    return names[capture];
}

static const char *limits_name(enum backend_limits limits) {
    static const char *const names[] = {
        [LIMITS_NONE] = "none", [LIMITS_PROCESS] = "rlimits", [LIMITS_CGROUP] = "cgroup"};
    return names[limits];
}

static napi_value features_object(napi_env env, const struct session *session) {
    const struct backend *backend = session_backend(session);
    struct backend_feature features[BACKEND_FEATURES_MAX];
    const size_t count = backend_features(backend, features);
    napi_value object = NULL;
    napi_create_object(env, &object);
    for (size_t i = 0; i < count; i++) {
        napi_value value = NULL;
        napi_get_boolean(env, features[i].has, &value);
        napi_set_named_property(env, object, features[i].name, value);
    }
    const struct {
        const char *name;
        const char *text;
    } texts[] = {{"capture", capture_name(session_capture(session))},
                 {"degradation", session_degradation(session)},
                 {"supervisionGap", backend_supervision_gap(backend)},
                 {"networkGap", session_network_gap(session)},
                 {"upstreamGap", session_upstream_gap(session)},
                 {"limits", limits_name(backend_limits(backend))},
                 {"limitsGap", backend_limits_gap(backend)}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        napi_set_named_property(env, object, texts[i].name, js_text(env, texts[i].text, NAPI_AUTO_LENGTH));
    return object;
}

static void on_started(void *data, const struct error *err) {
    struct bound_session *bound = data;
    napi_env env = bound->env;
    napi_handle_scope scope;
    if (bound->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    napi_value argv[3] = {js_undefined(env), js_undefined(env), js_undefined(env)};
    if (err == NULL) {
        argv[2] = features_object(env, bound->session);
    } else {
        argv[0] = js_text(env, kind_name(err->kind), NAPI_AUTO_LENGTH);
        argv[1] = js_text(env, err->text, NAPI_AUTO_LENGTH);
    }
    napi_ref started = bound->started;
    bound->started = NULL;
    js_call(env, started, 3, argv);
    drop_ref(env, &started);
    napi_close_handle_scope(env, scope);
}

/* False: one of them is missing. */
static bool take_references(napi_env env, napi_value options, struct bound_session *bound) {
    const struct {
        const char *name;
        napi_ref *ref;
    } rows[] = {{"policy", &bound->policy},
                {"onViolation", &bound->on_violation},
                {"onAsk", &bound->on_ask},
                {"onWithdraw", &bound->on_withdraw}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        napi_value value = js_property(env, options, rows[i].name);
        if (value == NULL || napi_create_reference(env, value, 1, rows[i].ref) != napi_ok)
            return false;
    }
    return true;
}

static bool is_true(napi_env env, napi_value options, const char *name) {
    bool value = false;
    napi_value given = js_property(env, options, name);
    return given != NULL && napi_get_value_bool(env, given, &value) == napi_ok && value;
}

static struct session *start_session(napi_env env, napi_value options, struct bound_session *bound,
                                     struct error *err) {
    char *helper = js_string(env, js_property(env, options, "helper"), NULL);
    char *home = js_string(env, js_property(env, options, "home"), NULL);
    char *account_home = js_string(env, js_property(env, options, "accountHome"), NULL);
    char *tmpdir = js_string(env, js_property(env, options, "tmpdir"), NULL);
    char *search_path = js_string(env, js_property(env, options, "searchPath"), NULL);
    char *upstream_proxy = js_string(env, js_property(env, options, "upstreamProxy"), NULL);
    char *no_proxy = js_string(env, js_property(env, options, "noProxy"), NULL);
    uv_loop_t *loop;
    struct session *session = NULL;
    const struct options *policy = bound_policy_of(env, js_property(env, options, "policy"));
    if (helper == NULL || home == NULL || tmpdir == NULL || search_path == NULL || policy == NULL ||
        !take_references(env, options, bound))
        error_set(err, ERROR_HOST, 0,
                  "startSession: expected {helper, home, tmpdir, searchPath, policy, onViolation, onAsk, "
                  "onWithdraw}");
    else if (napi_get_uv_event_loop(env, &loop) != napi_ok)
        error_set(err, ERROR_HOST, 0, "this environment has no event loop");
    else
        session = session_start(loop,
                                &(struct session_config){.helper = helper,
                                                         .home = home,
                                                         .account_home = account_home,
                                                         .tmpdir = tmpdir,
                                                         .search_path = search_path,
                                                         .foreground = is_true(env, options, "foreground"),
                                                         .unprobed = is_true(env, options, "unprobed"),
                                                         .options = policy,
                                                         .upstream_proxy = upstream_proxy,
                                                         .no_proxy = no_proxy,
                                                         .calls = network_binding_calls(bound)},
                                on_started, bound, err);
    free(helper);
    free(home);
    free(account_home);
    free(tmpdir);
    free(search_path);
    free(upstream_proxy);
    free(no_proxy);
    return session;
}

napi_value session_binding_start(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    napi_value external = NULL;
    struct error err = {0};
    struct bound_session *bound = js_arguments(env, info, 2, argv) ? calloc(1, sizeof *bound) : NULL;
    if (bound == NULL) {
        napi_throw_error(env, NULL, "startSession: expected (options, started), and memory");
        return NULL;
    }
    bound->env = env;
    if (napi_create_reference(env, argv[1], 1, &bound->started) != napi_ok ||
        napi_create_external(env, bound, on_collected, NULL, &external) != napi_ok) {
        drop_ref(env, &bound->started);
        free(bound);
        return NULL;
    }
    napi_type_tag_object(env, external, &session_tag);
    bound->session = start_session(env, argv[0], bound, &err);
    if (bound->session == NULL) {
        drop_refs(bound);
        napi_throw_error(env, NULL, err.text);
        return NULL;
    }
    napi_add_async_cleanup_hook(env, on_env_cleanup, bound, &bound->hook);
    return external;
}

struct bound_session *bound_session_of(napi_env env, napi_value value) {
    bool ours = false;
    void *data = NULL;
    if (value == NULL || napi_check_object_type_tag(env, value, &session_tag, &ours) != napi_ok || !ours)
        return NULL;
    return napi_get_value_external(env, value, &data) == napi_ok ? data : NULL;
}

napi_value session_binding_probe(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    napi_value begun = NULL;
    struct bound_session *bound = js_arguments(env, info, 2, argv) ? bound_session_of(env, argv[0]) : NULL;
    bool can = bound != NULL && bound->session != NULL && !bound->disposing && bound->started == NULL &&
               napi_create_reference(env, argv[1], 1, &bound->started) == napi_ok;
    if (can && !session_probe(bound->session, on_started, bound)) {
        drop_ref(env, &bound->started);
        can = false;
    }
    napi_get_boolean(env, can, &begun);
    return begun;
}

napi_value session_binding_signal(napi_env env, napi_callback_info info) {
    napi_value argv[3];
    struct bound_session *bound = js_arguments(env, info, 3, argv) ? bound_session_of(env, argv[0]) : NULL;
    if (bound != NULL && bound->session != NULL && !bound->disposing)
        session_signal(bound->session, (uint64_t)js_number(env, argv[1], 0), (int)js_number(env, argv[2], 0));
    return NULL;
}

napi_value session_binding_stop(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    struct bound_session *bound = js_arguments(env, info, 2, argv) ? bound_session_of(env, argv[0]) : NULL;
    if (bound != NULL && bound->session != NULL && !bound->disposing)
        session_stop(bound->session, (uint64_t)js_number(env, argv[1], 0));
    return NULL;
}

napi_value session_binding_dispose(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    struct bound_session *bound = js_arguments(env, info, 2, argv) ? bound_session_of(env, argv[0]) : NULL;
    if (bound == NULL || bound->disposing || bound->session == NULL) {
        napi_throw_error(env, NULL, "disposeSession: expected (a session that was not disposed, disposed)");
        return NULL;
    }
    if (napi_create_reference(env, argv[1], 1, &bound->disposed) == napi_ok)
        dispose(bound);
    return NULL;
}
