#include <stdlib.h>
#include <unistd.h>

#include "binding/bound.h"
#include "binding/js_values.h"
#include "binding/session_binding.h"
#include "binding/violation_values.h"
#include "command/environment.h"

/* Between TERM and KILL where the caller does not say. */
#define DEFAULT_GRACE_MS 5000.0
#define GRACE_MAX_MS 4294967295.0

struct bound_run {
    struct bound_session *owner;
    napi_ref policy; /* keeps the options alive */
    napi_ref on_output;
    napi_ref on_violation;
    napi_ref done;
};

static void free_run(napi_env env, struct bound_run *bound) {
    napi_ref refs[] = {bound->policy, bound->on_output, bound->on_violation, bound->done};
    for (size_t i = 0; i < sizeof refs / sizeof refs[0]; i++)
        if (refs[i] != NULL)
            napi_delete_reference(env, refs[i]);
    free(bound);
}

static void on_output(void *data, enum run_stream stream, const char *bytes, size_t size) {
    struct bound_run *bound = data;
    napi_env env = bound->owner->env;
    napi_handle_scope scope;
    napi_value argv[2];
    if (bound->owner->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    argv[1] = js_text(env, bytes, size);
    if (napi_create_uint32(env, stream, &argv[0]) == napi_ok)
        js_call(env, bound->on_output, 2, argv);
    napi_close_handle_scope(env, scope);
}

static void on_violation(void *data, const struct violation *violation) {
    struct bound_run *bound = data;
    napi_env env = bound->owner->env;
    napi_handle_scope scope;
    napi_value argv[2];
    if (bound->owner->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    argv[1] = violation_object(env, violation);
    if (napi_create_uint32(env, violation->id, &argv[0]) == napi_ok)
        js_call(env, bound->on_violation, 2, argv);
    napi_close_handle_scope(env, scope);
}

enum {
    DONE_ERROR,
    DONE_EXIT_CODE,
    DONE_TIMED_OUT,
    DONE_TRUNCATED,
    DONE_TERMINATED,
    DONE_STDOUT,
    DONE_STDERR,
    DONE_WARNINGS,
    DONE_BLOCK,
    DONE_REPEATED,
    DONE_DROPPED,
    DONE_SIGNAL,
    DONE_UNSTARTED,
    DONE_COUNT
};

static void fill_violations(napi_env env, const struct run_result *result, napi_value *argv) {
    if (result->block != NULL)
        argv[DONE_BLOCK] = js_text(env, result->block, NAPI_AUTO_LENGTH);
    if (result->repeated_count > 0)
        argv[DONE_REPEATED] = violation_counts(env, result->repeated, result->repeated_count);
    napi_create_double(env, (double)result->dropped, &argv[DONE_DROPPED]);
}

static void fill_result(napi_env env, const struct run_result *result, napi_value *argv) {
    for (size_t i = 0; i < DONE_COUNT; i++)
        argv[i] = js_undefined(env);
    if (result->warnings->count > 0)
        argv[DONE_WARNINGS] = js_texts(env, result->warnings);
    fill_violations(env, result, argv);
    if (result->err != NULL) {
        argv[DONE_ERROR] = js_text(env, result->err->text, NAPI_AUTO_LENGTH);
        napi_get_boolean(env, result->unstarted, &argv[DONE_UNSTARTED]);
        return;
    }
    if (result->signal != 0)
        napi_create_int32(env, result->signal, &argv[DONE_SIGNAL]);
    const struct capture *out = &result->streams[RUN_STDOUT];
    const struct capture *err = &result->streams[RUN_STDERR];
    if (result->has_exit_code)
        napi_create_int32(env, result->exit_code, &argv[DONE_EXIT_CODE]);
    napi_get_boolean(env, result->timed_out, &argv[DONE_TIMED_OUT]);
    napi_get_boolean(env, !result->unconfirmed, &argv[DONE_TERMINATED]);
    napi_get_boolean(env, out->truncated || err->truncated, &argv[DONE_TRUNCATED]);
    argv[DONE_STDOUT] = js_text(env, out->data, out->size);
    argv[DONE_STDERR] = js_text(env, err->data, err->size);
}

static void on_done(void *data, const struct run_result *result) {
    struct bound_run *bound = data;
    napi_env env = bound->owner->env;
    napi_handle_scope scope;
    if (bound->owner->exiting || napi_open_handle_scope(env, &scope) != napi_ok)
        return;
    napi_value argv[DONE_COUNT];
    fill_result(env, result, argv);
    js_call(env, bound->done, DONE_COUNT, argv);
    napi_close_handle_scope(env, scope);
}

/* Not before: a thread of the pool may still read the policy. */
static void on_gone(void *data) {
    struct bound_run *bound = data;
    free_run(bound->owner->env, bound);
}

static size_t output_cap(double wanted) {
    return wanted >= 0 && wanted < (double)CAPTURE_MAX ? (size_t)wanted : CAPTURE_MAX;
}

static uint32_t grace(double wanted) {
    return wanted < 0 ? 0 : wanted > GRACE_MAX_MS ? UINT32_MAX : (uint32_t)wanted;
}

/* False: it is not [stdin, stdout, stderr]. */
static bool read_descriptors(napi_env env, napi_value list, struct run_request *request) {
    enum { COUNT = sizeof request->descriptors / sizeof request->descriptors[0] };
    request->foreground = list != NULL;
    for (uint32_t i = 0; list != NULL && i < COUNT; i++) {
        napi_value value;
        if (napi_get_element(env, list, i, &value) != napi_ok ||
            napi_get_value_int32(env, value, &request->descriptors[i]) != napi_ok)
            return false;
    }
    return true;
}

/* Copies what JS gave. 0, or -1 where something is missing; the request is to be cleared either way. */
static int read_request(napi_env env, napi_value options, struct run_request *request) {
    napi_value input = js_property(env, options, "stdin");
    *request = (struct run_request){
        .machine_cwd = js_string(env, js_property(env, options, "machineCwd"), NULL),
        .cwd = js_string(env, js_property(env, options, "cwd"), NULL),
        .timeout_ms = js_number(env, js_property(env, options, "timeoutMs"), RUN_NO_TIMEOUT),
        .max_output_bytes = output_cap(js_number(env, js_property(env, options, "maxOutputBytes"), -1)),
        .grace_ms = grace(js_number(env, js_property(env, options, "graceMs"), DEFAULT_GRACE_MS)),
        .on_done = on_done,
        .on_gone = on_gone,
    };
    if (!read_descriptors(env, js_property(env, options, "descriptors"), request))
        return -1;
    napi_value command = js_property(env, options, "command");
    if (command != NULL && (request->command = js_string(env, command, NULL)) == NULL)
        return -1;
    if (input != NULL && (request->stdin_data = js_string(env, input, &request->stdin_size)) == NULL)
        return -1;
    struct strvec ambient = {0};
    napi_value ambient_value = js_property(env, options, "ambientEnv");
    int failed = js_list(env, js_property(env, options, "env"), &request->own_env);
    if (failed == 0 && ambient_value != NULL)
        failed = js_list(env, ambient_value, &ambient);
    if (failed == 0)
        failed = env_merge(ambient_value != NULL ? ambient.items : environ, &request->own_env, &request->env);
    strvec_clear(&ambient);
    if (failed != 0 || request->machine_cwd == NULL || request->cwd == NULL ||
        js_list(env, js_property(env, options, "argv"), &request->argv) != 0 ||
        js_list(env, js_property(env, options, "additionalDirs"), &request->additional_dirs) != 0)
        return -1;
    return request->argv.count == 0 ? -1 : 0;
}

static struct bound_run *bind_run(napi_env env, struct bound_session *owner, napi_value options,
                                  struct run_request *request) {
    struct bound_run *bound = calloc(1, sizeof *bound);
    napi_value policy = js_property(env, options, "policy");
    napi_value output = js_property(env, options, "onOutput");
    napi_value violation = js_property(env, options, "onViolation");
    napi_value done = js_property(env, options, "done");
    const struct options *rules = bound_policy_of(env, policy);
    if (bound == NULL || rules == NULL || done == NULL || read_request(env, options, request) != 0) {
        free(bound);
        return NULL;
    }
    bound->owner = owner;
    request->options = rules;
    request->data = bound;
    request->on_output = output != NULL ? on_output : NULL;
    request->on_violation = violation != NULL ? on_violation : NULL;
    if (napi_create_reference(env, policy, 1, &bound->policy) == napi_ok &&
        napi_create_reference(env, done, 1, &bound->done) == napi_ok &&
        (output == NULL || napi_create_reference(env, output, 1, &bound->on_output) == napi_ok) &&
        (violation == NULL || napi_create_reference(env, violation, 1, &bound->on_violation) == napi_ok))
        return bound;
    free_run(env, bound);
    return NULL;
}

napi_value run_binding_start(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    struct bound_session *owner = js_arguments(env, info, 2, argv) ? bound_session_of(env, argv[0]) : NULL;
    if (owner == NULL || owner->session == NULL || owner->disposing) {
        napi_throw_error(env, NULL, "the sandbox was disposed");
        return NULL;
    }
    struct run_request request = {0};
    struct bound_run *bound = bind_run(env, owner, argv[1], &request);
    if (bound == NULL) {
        run_request_clear(&request);
        napi_throw_type_error(env, NULL, "startRun: expected a session, its options, and memory");
        return NULL;
    }
    struct error err = {0};
    uint64_t id = session_run(owner->session, &request, &err);
    if (id == 0) {
        free_run(env, bound);
        napi_throw_error(env, NULL, err.text);
        return NULL;
    }
    napi_value number = NULL;
    napi_create_double(env, (double)id, &number);
    return number;
}
