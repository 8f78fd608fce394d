#include <stdlib.h>

#include "binding/bound.h"
#include "binding/js_values.h"
#include "binding/session_binding.h"
#include "command/environment.h"
#include "explain/explain_json.h"

struct bound_question {
    napi_async_work work;
    napi_deferred deferred;
    napi_ref policy; /* keeps the options alive */
    struct explain_request request;
    char *home;
    char *account_home;
    char *tmpdir;
    char *cwd;
    char *search_path;
    char *package_cache;
    struct strvec additional_dirs;
    struct strvec environment;
    char *answer;
    struct error err;
};

static void free_question(napi_env env, struct bound_question *question) {
    if (question->policy != NULL)
        napi_delete_reference(env, question->policy);
    if (question->work != NULL)
        napi_delete_async_work(env, question->work);
    strvec_clear(&question->request.paths);
    strvec_clear(&question->request.hosts);
    strvec_clear(&question->additional_dirs);
    strvec_clear(&question->environment);
    free(question->package_cache);
    free(question->home);
    free(question->account_home);
    free(question->tmpdir);
    free(question->cwd);
    free(question->search_path);
    free(question->answer);
    free(question);
}

static void answer_question(napi_env env, void *data) {
    struct bound_question *question = data;
    (void)env;
    question->answer = explain_json(&question->request, &question->err);
}

static void give_answer(napi_env env, napi_status status, void *data) {
    struct bound_question *question = data;
    napi_value error;
    if (question->answer != NULL)
        napi_resolve_deferred(env, question->deferred, js_text(env, question->answer, NAPI_AUTO_LENGTH));
    else if (napi_create_error(
                 env, NULL,
                 js_text(env, status == napi_ok ? question->err.text : "cancelled", NAPI_AUTO_LENGTH),
                 &error) == napi_ok)
        napi_reject_deferred(env, question->deferred, error);
    free_question(env, question);
}

static bool read_flag(napi_env env, napi_value value) {
    bool flag = false;
    return value != NULL && napi_get_value_bool(env, value, &flag) == napi_ok && flag;
}

/* False: something is missing. */
static bool read_question(napi_env env, napi_value policy, napi_value options,
                          struct bound_question *question) {
    question->request.options = bound_policy_of(env, policy);
    question->home = js_string(env, js_property(env, options, "home"), NULL);
    question->account_home = js_string(env, js_property(env, options, "accountHome"), NULL);
    question->tmpdir = js_string(env, js_property(env, options, "tmpdir"), NULL);
    question->cwd = js_string(env, js_property(env, options, "cwd"), NULL);
    question->search_path = js_string(env, js_property(env, options, "searchPath"), NULL);
    question->request.plan = read_flag(env, js_property(env, options, "plan"));
    question->request.place =
        (struct fs_place){.home = question->home,
                          .account_home = question->account_home,
                          .tmpdir = question->tmpdir,
                          .cwd = question->cwd,
                          .start = question->cwd,
                          .search_path = question->search_path,
                          .additional_dirs = &question->additional_dirs,
                          .supervised = read_flag(env, js_property(env, options, "supervised"))};
    return question->request.options != NULL && question->home != NULL && question->tmpdir != NULL &&
           question->cwd != NULL && question->search_path != NULL &&
           js_list(env, js_property(env, options, "additionalDirs"), &question->additional_dirs) == 0 &&
           js_list(env, js_property(env, options, "paths"), &question->request.paths) == 0 &&
           js_list(env, js_property(env, options, "hosts"), &question->request.hosts) == 0 &&
           js_list(env, js_property(env, options, "environment"), &question->environment) == 0 &&
           (question->request.place.package_cache = question->package_cache =
                env_package_cache(&question->environment, question->home, question->cwd)) != NULL &&
           napi_create_reference(env, policy, 1, &question->policy) == napi_ok;
}

napi_value explain_binding_ask(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    napi_value promise = NULL;
    napi_value name;
    struct bound_question *question = js_arguments(env, info, 2, argv) ? calloc(1, sizeof *question) : NULL;
    if (question == NULL || !read_question(env, argv[0], argv[1], question) ||
        napi_create_string_utf8(env, "operon-os-sandbox", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_async_work(env, NULL, name, answer_question, give_answer, question, &question->work) !=
            napi_ok ||
        napi_create_promise(env, &question->deferred, &promise) != napi_ok ||
        napi_queue_async_work(env, question->work) != napi_ok) {
        if (question != NULL)
            free_question(env, question);
        napi_throw_error(env, NULL,
                         "explain: expected (policy, {home, tmpdir, cwd, searchPath, additionalDirs, paths, "
                         "hosts}), and memory");
        return NULL;
    }
    return promise;
}
