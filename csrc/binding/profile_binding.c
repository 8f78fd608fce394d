#include "binding/profile_binding.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "binding/bound.h"
#include "binding/js_values.h"
#include "command/environment.h"
#include "plan/sbpl.h"
#include "policy/unix_sockets.h"

/* What the caller says of the place; owned. */
struct profile_place {
    char *home;
    char *account_home;
    char *cwd;
    char *tmpdir;
    char *search_path;
    char *program;
    char *package_cache;
    char *tag;
    struct strvec additional_dirs;
    struct strvec environment;
    uint16_t proxy_port;
    bool private_tmpdir;
    bool case_sensitive;
};

static void place_clear(struct profile_place *place) {
    free(place->home);
    free(place->account_home);
    free(place->cwd);
    free(place->tmpdir);
    free(place->search_path);
    free(place->program);
    free(place->package_cache);
    free(place->tag);
    strvec_clear(&place->additional_dirs);
    strvec_clear(&place->environment);
}

/* What is absent is empty. */
static bool read_list(napi_env env, napi_value value, struct strvec *out) {
    return value == NULL || js_list(env, value, out) == 0;
}

static char *read_text(napi_env env, napi_value options, const char *name) {
    return js_string(env, js_property(env, options, name), NULL);
}

static bool read_flag(napi_env env, napi_value options, const char *name) {
    bool flag = false;
    napi_value value = js_property(env, options, name);
    return value != NULL && napi_get_value_bool(env, value, &flag) == napi_ok && flag;
}

static bool read_place(napi_env env, napi_value options, struct profile_place *place) {
    const double port = js_number(env, js_property(env, options, "proxyPort"), 0);
    *place = (struct profile_place){.home = read_text(env, options, "home"),
                                    .account_home = read_text(env, options, "accountHome"),
                                    .cwd = read_text(env, options, "cwd"),
                                    .tmpdir = read_text(env, options, "tmpdir"),
                                    .search_path = read_text(env, options, "searchPath"),
                                    .program = read_text(env, options, "program"),
                                    .tag = read_text(env, options, "tag"),
                                    .private_tmpdir = read_flag(env, options, "privateTmpdir"),
                                    .case_sensitive = read_flag(env, options, "caseSensitive")};
    if (place->home == NULL || place->cwd == NULL || place->tmpdir == NULL || !(port >= 0 && port <= 65535))
        return false;
    place->proxy_port = (uint16_t)port;
    return place->home[0] == '/' && place->cwd[0] == '/' && place->tmpdir[0] == '/' &&
           read_list(env, js_property(env, options, "additionalDirs"), &place->additional_dirs) &&
           read_list(env, js_property(env, options, "environment"), &place->environment) &&
           (place->package_cache = env_package_cache(&place->environment, place->home, place->cwd)) != NULL;
}

/* --- what is to be looked at --- */

struct resolved {
    struct fs_rules rules;
    struct strvec sockets;
    struct strvec warnings;
    struct strvec socket_folders;
};

static void resolved_clear(struct resolved *resolved) {
    fs_rules_clear(&resolved->rules);
    strvec_clear(&resolved->sockets);
    strvec_clear(&resolved->warnings);
    strvec_clear(&resolved->socket_folders);
}

static int add_real(const char *folder, struct strvec *out, struct error *err) {
    struct resolved_path file;
    enum resolve_outcome outcome = path_resolve(folder, &file, err);
    int result = outcome == RESOLVE_FAILED ? -1 : 0;
    if (outcome == RESOLVE_FOUND && strvec_push(out, file.path) != 0)
        result = error_memory(err);
    resolved_path_clear(&file);
    return result;
}

static int find_socket_folders(const struct profile_place *place, const struct fs_place *files,
                               struct strvec *out, struct error *err) {
    if (add_real(place->cwd, out, err) != 0 ||
        (place->private_tmpdir && add_real(place->tmpdir, out, err) != 0))
        return -1;
    for (size_t i = 0; i < place->additional_dirs.count; i++) {
        cleanup_free char *folder = fs_entry_expand(place->additional_dirs.items[i], files->cwd, files->home);
        if (folder == NULL)
            return error_memory(err);
        if (add_real(folder, out, err) != 0)
            return -1;
    }
    return 0;
}

static int resolve(const struct options *options, const struct profile_place *place,
                   struct path_memory *memory, struct resolved *out, struct error *err) {
    const struct strvec none = {0};
    const struct fs_place files = {.home = place->home,
                                   .account_home = place->account_home,
                                   .always_read_only = &none,
                                   .tmpdir = place->tmpdir,
                                   .cwd = place->cwd,
                                   .additional_dirs = &place->additional_dirs,
                                   .memory = memory,
                                   .supervised = true,
                                   .search_path = place->search_path,
                                   .program = place->program,
                                   .package_cache = place->package_cache,
                                   .start = place->cwd};
    if (memory == NULL)
        return error_memory(err);
    if (fs_rules_resolve(&options->fs, &files, &out->rules, err) != 0 ||
        unix_sockets_resolve(&options->network, &files, &out->sockets, &out->warnings, err) != 0)
        return -1;
    return find_socket_folders(place, &files, &out->socket_folders, err);
}

static char *make_profile(const struct options *options, const struct profile_place *place,
                          struct error *err) {
    struct resolved resolved = {0};
    struct path_memory *memory = path_memory_new();
    char *text = NULL;
    if (resolve(options, place, memory, &resolved, err) == 0) {
        const struct sbpl_request request = {.options = options,
                                             .rules = &resolved.rules,
                                             .sockets = &resolved.sockets,
                                             .socket_folders = &resolved.socket_folders,
                                             .home = place->home,
                                             .account_home = place->account_home,
                                             .proxy_port = place->proxy_port,
                                             .tag = place->tag,
                                             .case_sensitive = place->case_sensitive};
        if (sbpl_from_policy(&request, &text, err) != 0)
            text = NULL;
    }
    resolved_clear(&resolved);
    path_memory_free(memory);
    return text;
}

/* Paths that are no UTF-8 cannot be in a string of JS as they are; in a profile they are escapes. */
napi_value profile_binding_darwin(napi_env env, napi_callback_info info) {
    napi_value argv[2];
    struct profile_place place = {0};
    const struct options *options = js_arguments(env, info, 2, argv) ? bound_policy_of(env, argv[0]) : NULL;
    struct error err = {0};
    char *text = NULL;
    if (options == NULL || !read_place(env, argv[1], &place))
        error_set(&err, ERROR_OPTIONS, 0,
                  "profileDarwin: expected a policy and {home, cwd, tmpdir, additionalDirs, proxyPort, tag}");
    else
        text = make_profile(options, &place, &err);
    napi_value result = NULL;
    if (text != NULL)
        result = js_text(env, text, strlen(text));
    else if (err.kind == ERROR_OPTIONS)
        napi_throw_type_error(env, NULL, err.text);
    else
        napi_throw_error(env, NULL, err.text);
    free(text);
    place_clear(&place);
    return result;
}
