#include "command/environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/socket_list.h"
#include "platform/resolve.h"

static bool is_named(const struct strvec *own, const char *variable) {
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < own->count; i++) {
        const char *name = own->items[i];
        if (strncmp(name, variable, length) == 0 && (name[length] == '=' || name[length] == '\0'))
            return true;
    }
    return false;
}

int env_merge(char *const *ambient, const struct strvec *own, struct strvec *out) {
    int result = 0;
    for (; result == 0 && ambient != NULL && *ambient != NULL; ambient++)
        if (!is_named(own, *ambient))
            result = strvec_push(out, *ambient);
    for (size_t i = 0; result == 0 && i < own->count; i++)
        if (strchr(own->items[i], '=') != NULL)
            result = strvec_push(out, own->items[i]);
    return result;
}

static bool is_allowed(const char *path, const struct strvec *allowed) {
    struct resolved_path file = {0};
    struct error err = {0};
    if (path[0] != '/')
        return false;
    bool has = socket_list_has(allowed->items, allowed->count, path);
    if (!has && path_resolve(path, &file, &err) == RESOLVE_FOUND)
        has = socket_list_has(allowed->items, allowed->count, file.path);
    resolved_path_clear(&file);
    return has;
}

/* ssh-agent(1) */
static bool path_is_reachable(const char *value, const struct strvec *allowed) {
    return value[0] == '\0' || is_allowed(value, allowed);
}

/* docker(1): other schemes than unix name no socket of this host. */
static bool url_is_reachable(const char *value, const struct strvec *allowed) {
    static const char scheme[] = "unix://";
    size_t length = sizeof scheme - 1;
    return strncmp(value, scheme, length) != 0 || is_allowed(value + length, allowed);
}

static int hex_digit(char digit) {
    return isdigit((unsigned char)digit)    ? digit - '0'
           : isxdigit((unsigned char)digit) ? (digit | 0x20) - 'a' + 10
                                            : -1;
}

/* A value of a D-Bus address, of which a byte can be written %HH. NULL: malformed, or out of memory. */
static char *dbus_unescape(const char *value, size_t length) {
    char *plain = malloc(length + 1);
    char *to = plain;
    if (plain == NULL)
        return NULL;
    for (const char *end = value + length; value < end; value++) {
        bool escape = *value == '%';
        int high = escape && end - value > 2 ? hex_digit(value[1]) : -1;
        int low = high >= 0 ? hex_digit(value[2]) : -1;
        if (escape && (low < 0 || high + low == 0)) {
            free(plain);
            return NULL;
        }
        *to++ = escape ? (char)(high << 4 | low) : *value;
        value += escape ? 2 : 0;
    }
    *to = '\0';
    return plain;
}

/* The path of one address behind its "unix:", up to its end, is allowed. */
static bool dbus_path_is_allowed(const char *at, const char *end, const struct strvec *allowed) {
    static const char key[] = "path=";
    while (at < end) {
        size_t length = strcspn(at, ",;");
        if (length >= sizeof key - 1 && strncmp(at, key, sizeof key - 1) == 0) {
            cleanup_free char *path = dbus_unescape(at + sizeof key - 1, length - (sizeof key - 1));
            return path != NULL && is_allowed(path, allowed);
        }
        at += length + 1;
    }
    return false;
}

/* "Server Addresses" of the D-Bus specification: several, each "transport:key=value,…", apart by ";". */
static bool dbus_is_reachable(const char *value, const struct strvec *allowed) {
    static const char transport[] = "unix:";
    bool names_socket = false;
    for (const char *at = value; *at != '\0';) {
        const char *end = at + strcspn(at, ";");
        if (strncmp(at, transport, sizeof transport - 1) == 0) {
            names_socket = true;
            if (dbus_path_is_allowed(at + sizeof transport - 1, end, allowed))
                return true;
        }
        at = *end == ';' ? end + 1 : end;
    }
    return !names_socket;
}

static const struct {
    const char *name;
    bool (*is_reachable)(const char *value, const struct strvec *allowed);
} socket_variables[] = {{"SSH_AUTH_SOCK", path_is_reachable},
                        {"DBUS_SESSION_BUS_ADDRESS", dbus_is_reachable},
                        {"DOCKER_HOST", url_is_reachable}};

static bool is_withheld(const char *variable, const struct strvec *allowed) {
    for (size_t i = 0; i < sizeof socket_variables / sizeof socket_variables[0]; i++) {
        size_t length = strlen(socket_variables[i].name);
        if (strncmp(variable, socket_variables[i].name, length) == 0 && variable[length] == '=')
            return !socket_variables[i].is_reachable(variable + length + 1, allowed);
    }
    return false;
}

/* What was taken away leaves no gap. */
static void close_gaps(struct strvec *env) {
    size_t kept = 0;
    for (size_t i = 0; i < env->count; i++)
        if (env->items[i] != NULL)
            env->items[kept++] = env->items[i];
    env->count = kept;
    if (env->items != NULL)
        env->items[kept] = NULL;
}

static void take_away(struct strvec *env, size_t at) {
    free(env->items[at]);
    env->items[at] = NULL;
}

void env_withhold_sockets(struct strvec *env, const struct strvec *own, const struct strvec *allowed) {
    for (size_t i = 0; i < env->count; i++)
        if (is_withheld(env->items[i], allowed) && !is_named(own, env->items[i]))
            take_away(env, i);
    close_gaps(env);
}

/* Who goes by which: in each name, curl(1) and most others in lower case, many in upper case too. A socks URL
 * in ALL_PROXY breaks Python's clients. */
static const struct {
    const char *name;
    const char *value; /* NULL: the proxy */
    bool every_client; /* also where all clients get through */
} proxy_variables[] = {
    {"HTTP_PROXY", NULL, true},
    {"http_proxy", NULL, true},
    {"HTTPS_PROXY", NULL, true},
    {"https_proxy", NULL, true},
    {"ALL_PROXY", NULL, true},
    {"all_proxy", NULL, true},
    {"NO_PROXY", "localhost,127.0.0.1,::1", true},
    {"no_proxy", "localhost,127.0.0.1,::1", true},
    {"NODE_USE_ENV_PROXY", "1", false}, /* Node.js 22.21, 24.5: fetch and node:http go by the others */
};

/* Sets a variable, whether the environment has it or not. */
static int set_variable(struct strvec *env, const char *name, const char *value) {
    size_t length = strlen(name);
    char *variable = NULL;
    if (asprintf(&variable, "%s=%s", name, value) < 0)
        return -1;
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], variable, length + 1) == 0)
            take_away(env, i);
    close_gaps(env);
    int failed = strvec_push(env, variable);
    free(variable);
    return failed;
}

int env_name_proxy(struct strvec *env, const struct strvec *own, const char *url, bool every_client) {
    for (size_t i = 0; i < sizeof proxy_variables / sizeof proxy_variables[0]; i++) {
        const char *value = proxy_variables[i].value;
        if ((every_client && !proxy_variables[i].every_client) || is_named(own, proxy_variables[i].name))
            continue;
        if (set_variable(env, proxy_variables[i].name, value == NULL ? url : value) != 0)
            return -1;
    }
    return 0;
}

/* npm takes any case. */
static const char package_cache[] = "npm_config_cache";

static bool names_package_cache(const char *variable) {
    size_t length = sizeof package_cache - 1;
    return strncasecmp(variable, package_cache, length) == 0 && variable[length] == '=';
}

char *env_package_cache(const struct strvec *env, const char *home, const char *cwd) {
    for (size_t i = 0; i < env->count; i++) {
        const char *value = env->items[i] + sizeof package_cache;
        if (!names_package_cache(env->items[i]) || value[0] == '\0')
            continue;
        return strncmp(value, "~/", 2) == 0 ? path_join(home, value + 2) : path_join(cwd, value);
    }
    return path_join(home, ".npm");
}

int env_set_package_cache(struct strvec *env, const char *path) {
    for (size_t i = 0; i < env->count; i++)
        if (names_package_cache(env->items[i]))
            take_away(env, i);
    close_gaps(env);
    return set_variable(env, package_cache, path);
}

/* Nearly everything goes by the first, some by the others where that is not set. */
static const char *const tmpdir_variables[] = {"TMPDIR=", "TMP=", "TEMP="};

static bool names_tmpdir(const char *variable, bool every, size_t *length) {
    size_t count = every ? sizeof tmpdir_variables / sizeof tmpdir_variables[0] : 1;
    for (size_t i = 0; i < count; i++) {
        *length = strlen(tmpdir_variables[i]);
        if (strncmp(variable, tmpdir_variables[i], *length) == 0)
            return true;
    }
    return false;
}

int env_repair_tmpdir(struct strvec *env, bool every, bool (*is_shown)(void *data, const char *path),
                      void *data) {
    for (size_t i = 0; i < env->count; i++) {
        size_t length;
        char *repaired = NULL;
        if (!names_tmpdir(env->items[i], every, &length) || is_shown(data, env->items[i] + length))
            continue;
        if (asprintf(&repaired, "%.*s/tmp", (int)length, env->items[i]) < 0)
            return -1;
        free(env->items[i]);
        env->items[i] = repaired;
    }
    return 0;
}
