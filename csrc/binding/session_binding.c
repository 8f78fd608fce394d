#include "binding/session_binding.h"

#include <stdlib.h>

#include "binding/bound.h"
#include "binding/js_values.h"

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

static void tell_disposed(const struct bound_session *bound) {
    napi_handle_scope scope;
    if (bound->disposed == NULL || bound->exiting || napi_open_handle_scope(bound->env, &scope) != napi_ok)
        return;
    js_call(bound->env, bound->disposed, 0, NULL);
    napi_close_handle_scope(bound->env, scope);
}

/* The session is gone: the hook goes, and who waits hears of it. */
static void on_disposed(void *data) {
    struct bound_session *bound = data;
    bound->session = NULL;
    napi_async_cleanup_hook_handle hook = bound->hook;
    bound->hook = NULL;
    tell_disposed(bound);
    drop_ref(bound->env, &bound->started);
    drop_ref(bound->env, &bound->disposed);
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
        on_disposed(bound);
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

static napi_value features_object(napi_env env, const struct session *session) {
    const struct bwrap_features *features = session_features(session);
    const struct {
        const char *name;
        bool value;
    } rows[] = {{"sessionNetwork", features->session_network}, {"disableUserns", features->disable_userns},
                {"freshProc", features->fresh_proc},           {"supervised", session_is_supervised(session)},
                {"filtered", session_is_filtered(session)},    {"mountedBefore", features->mounted_before}};
    napi_value object = NULL;
    napi_create_object(env, &object);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        napi_value value = NULL;
        napi_get_boolean(env, rows[i].value, &value);
        napi_set_named_property(env, object, rows[i].name, value);
    }
    napi_set_named_property(env, object, "degradation",
                            js_text(env, session_degradation(session), NAPI_AUTO_LENGTH));
    napi_set_named_property(env, object, "supervisionGap",
                            js_text(env, session_supervision_gap(session), NAPI_AUTO_LENGTH));
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

static struct session *start_session(napi_env env, napi_value options, struct bound_session *bound,
                                     struct error *err) {
    char *helper = js_string(env, js_property(env, options, "helper"), NULL);
    char *home = js_string(env, js_property(env, options, "home"), NULL);
    char *account_home = js_string(env, js_property(env, options, "accountHome"), NULL);
    char *tmpdir = js_string(env, js_property(env, options, "tmpdir"), NULL);
    char *search_path = js_string(env, js_property(env, options, "searchPath"), NULL);
    uv_loop_t *loop;
    struct session *session = NULL;
    if (helper == NULL || home == NULL || tmpdir == NULL || search_path == NULL)
        error_set(err, ERROR_HOST, 0, "startSession: expected {helper, home, tmpdir, searchPath}");
    else if (napi_get_uv_event_loop(env, &loop) != napi_ok)
        error_set(err, ERROR_HOST, 0, "this environment has no event loop");
    else
        session = session_start(loop,
                                &(struct session_config){.helper = helper,
                                                         .home = home,
                                                         .account_home = account_home,
                                                         .tmpdir = tmpdir,
                                                         .search_path = search_path},
                                on_started, bound, err);
    free(helper);
    free(home);
    free(account_home);
    free(tmpdir);
    free(search_path);
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
        drop_ref(env, &bound->started);
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
