#include "explain/explain_json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "explain/explain_hosts.h"
#include "explain/explain_paths.h"
#include "plan/bwrap_args.h"
#include "plan/mount_plan.h"
#include "platform/linux/thread_rights.h"

/* Bytes that are not UTF-8 become \xHH, as in violations. */
static json_t *text_json(const char *text) {
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    size_t size = 4 * strlen(text) + 1;
    cleanup_free char *escaped = malloc(size);
    if (escaped == NULL)
        return NULL;
    char *to = escaped;
    for (const char *at = text; *at != '\0'; at++)
        to += snprintf(to, size - (size_t)(to - escaped), (unsigned char)*at < 0x80 ? "%c" : "\\x%02x",
                       (unsigned char)*at);
    return json_string(escaped);
}

static json_t *texts_json(const struct strvec *texts) {
    json_t *list = json_array();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new(list, text_json(texts->items[i]));
    return list;
}

/* --- paths --- */

static json_t *reason_json(const struct explain_reason *reason) {
    json_t *object = json_pack("{s:b, s:s}", "allowed", reason->allowed, "why", reason->why);
    if (reason->source.name != NULL)
        json_object_update_new(object, json_pack("{s:s, s:I}", "list", reason->source.name, "entry",
                                                 (json_int_t)reason->source.entry));
    if (reason->at != NULL)
        json_object_set_new(object, "at", text_json(reason->at));
    return object;
}

static json_t *path_json(const struct explained_path *path) {
    json_t *object = json_pack("{s:o, s:b, s:o, s:o}", "path", text_json(path->path), "exists", path->exists,
                               "read", reason_json(&path->read), "write", reason_json(&path->write));
    if (path->resolved != NULL)
        json_object_set_new(object, "resolved", text_json(path->resolved));
    if (path->is_socket)
        json_object_set_new(object, "connect", reason_json(&path->connect));
    return object;
}

static int add_paths(struct path_explainer *explainer, const struct strvec *paths, json_t *list,
                     struct error *err) {
    for (size_t i = 0; i < paths->count; i++) {
        struct explained_path path;
        int result = explain_path(explainer, paths->items[i], &path, err);
        if (result == 0)
            result = json_array_append_new(list, path_json(&path)) == 0 ? 0 : error_memory(err);
        explained_path_clear(&path);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* --- hosts --- */

static json_t *host_json(const struct explained_host *host) {
    static const char *const verdicts[] = {
        [NETWORK_DENY] = "deny", [NETWORK_ALLOW] = "allow", [NETWORK_ASK] = "ask"};
    json_t *object =
        json_pack("{s:s, s:s, s:b, s:b}", "host", host->host, "verdict", verdicts[host->decision.verdict],
                  "isAddress", host->is_address, "isLocal", host->is_local);
    if (host->port != 0)
        json_object_set_new(object, "port", json_integer(host->port));
    if (host->decision.why != NULL)
        json_object_set_new(object, "why", json_string(host->decision.why));
    if (host->decision.list != NULL)
        json_object_update_new(object, json_pack("{s:s, s:I}", "list", host->decision.list, "entry",
                                                 (json_int_t)host->decision.entry));
    json_t *ports = host->by_port ? json_array() : NULL;
    for (size_t i = 0; i < host->port_count; i++)
        json_array_append_new(ports, json_integer(host->ports[i]));
    if (ports != NULL)
        json_object_set_new(object, host->but ? "exceptPorts" : "ports", ports);
    return object;
}

static int add_hosts(const struct options *options, const struct strvec *hosts, json_t *list,
                     struct error *err) {
    struct host_files files = {0};
    struct network_rules *rules = network_rules_new(&options->network);
    if (rules == NULL)
        return error_memory(err);
    host_files_read(&files);
    for (size_t i = 0; i < hosts->count; i++) {
        struct explained_host host;
        bool found = explain_host(rules, &files, hosts->items[i], &host) == 0;
        json_array_append_new(list, found ? host_json(&host) : json_null());
    }
    host_files_clear(&files);
    network_rules_free(rules);
    return 0;
}

/* --- the plan --- */

static const char *kind_name(enum mount_kind kind) {
    switch (kind) {
    case MOUNT_WRITABLE:
        return "writable";
    case MOUNT_READ_ONLY:
        return "read-only";
    case MOUNT_MASK_DIR:
        return "hidden folder";
    case MOUNT_MASK_FILE:
        return "hidden file";
    case MOUNT_MASK_HOLES:
        return "hidden but below";
    case MOUNT_PIN:
        return "pinned";
    case MOUNT_LINK:
        return "link";
    case MOUNT_FOLDER:
        return "empty folder";
    case MOUNT_PRIVATE_TMP:
        return "own temporary";
    case MOUNT_PRIVATE_COPY:
        return "own copy";
    case MOUNT_PRIVATE_EMPTY:
        return "own, empty";
    case MOUNT_KINDS:
        break;
    }
    return "";
}

static json_t *mounts_json(const struct mount_plan *plan) {
    json_t *list = json_array();
    for (size_t i = 0; i < plan->count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o}", "kind", kind_name(plan->items[i].kind), "path",
                                              text_json(plan->items[i].path)));
    return list;
}

static json_t *names_json(const struct fs_rules *rules) {
    json_t *list = json_array();
    for (size_t i = 0; i < rules->name_count; i++)
        json_array_append_new(list, json_pack("{s:b, s:b, s:o}", "read", rules->names[i].read, "glob",
                                              rules->names[i].glob, "path", text_json(rules->names[i].path)));
    return list;
}

/* As on a host that can do everything, but with the mounts as bwrap's own. */
static int add_plan(const struct fs_rules *rules, json_t *document, struct error *err) {
    static const struct bwrap_features features = {
        .session_network = true, .disable_userns = true, .fresh_proc = true};
    struct mount_plan plan = {0};
    struct strvec arguments = {0};
    unsigned mask_files = 0;
    int result = mount_plan_build(rules, &plan, err);
    if (result == 0)
        result = bwrap_args_from_plan(&plan, &features, 3, &arguments, &mask_files, err);
    if (result == 0)
        json_object_set_new(document, "plan",
                            json_pack("{s:b, s:o, s:o, s:o}", "rootWritable", plan.root_writable, "mounts",
                                      mounts_json(&plan), "names", names_json(rules), "arguments",
                                      texts_json(&arguments)));
    strvec_clear(&arguments);
    mount_plan_clear(&plan);
    return result;
}

/* --- all of it --- */

static int fill(struct explain_request *request, json_t *document, struct error *err) {
    if (request->hosts.count > 0 &&
        add_hosts(request->options, &request->hosts, json_object_get(document, "hosts"), err) != 0)
        return -1;
    if (request->paths.count == 0 && !request->plan)
        return 0;
    struct path_explainer *explainer = path_explainer_new(request->options, &request->place, err);
    if (explainer == NULL)
        return -1;
    int result = add_paths(explainer, &request->paths, json_object_get(document, "paths"), err);
    if (result == 0 && request->plan)
        result = add_plan(path_explainer_rules(explainer), document, err);
    json_object_set_new(document, "warnings", texts_json(&path_explainer_rules(explainer)->warnings));
    path_explainer_free(explainer);
    return result;
}

char *explain_json(struct explain_request *request, struct error *err) {
    struct thread_rights rights;
    json_t *document = json_pack("{s:[], s:[], s:[]}", "paths", "hosts", "warnings");
    request->place.memory = path_memory_new();
    char *text = NULL;
    if (document == NULL || request->place.memory == NULL) {
        error_memory(err);
    } else {
        thread_rights_lower(&rights);
        int result = fill(request, document, err);
        thread_rights_restore(&rights);
        text = result == 0 ? json_dumps(document, JSON_COMPACT) : NULL;
        if (result == 0 && text == NULL)
            error_memory(err);
    }
    path_memory_free(request->place.memory);
    request->place.memory = NULL;
    json_decref(document);
    return text;
}
