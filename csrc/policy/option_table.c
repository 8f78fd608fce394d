#include "policy/option_table.h"

#include <jansson.h>
#include <string.h>

#include "policy/options.h"

#define STORED(member) .offset = offsetof(struct options, member)
#define ADDS .layering = OPTION_LAYER_ADDS
#define HOLDS(value) .layering = OPTION_LAYER_HOLDS, .held = (value)
#define LEAST .layering = OPTION_LAYER_LEAST
#define LATER(values) .support = OPTION_LATER, .inert = (values)

/* The greatest that a JS number holds exactly: Number.MAX_SAFE_INTEGER. */
#define EXACT_MAX ((UINT64_C(1) << 53) - 1)
#define AMOUNT(which) .least = 1, .most = EXACT_MAX, STORED(limits.most[which])

static const char network[] = "network";
static const char filesystem[] = "filesystem";
static const char limits[] = "limits";

static const struct option_row rows[] = {
    {"", network, OPTION_OBJECT, .support = OPTION_HONOURED},
    {network, "allowedDomains", OPTION_STRINGS, .entry = OPTION_ENTRY_DOMAIN,
     STORED(network.allowed_domains)},
    {network, "deniedDomains", OPTION_STRINGS, .entry = OPTION_ENTRY_DOMAIN, STORED(network.denied_domains),
     ADDS},
    {network, "allowUnixSockets", OPTION_STRINGS, .entry = OPTION_ENTRY_PATH,
     STORED(network.allow_unix_sockets)},
    {network, "allowLocalBinding", OPTION_BOOLEAN, STORED(network.allow_local_binding)},
    {network, "onAskHost", OPTION_FUNCTION, STORED(network.has_ask)},
    {network, "allowedIPs", OPTION_STRINGS, .entry = OPTION_ENTRY_ADDRESS, STORED(network.allowed_ips)},
    {network, "upstreamProxy", OPTION_STRING, .entry = OPTION_ENTRY_UPSTREAM, STORED(network.upstream_proxy)},
    {network, "maxTunnels", OPTION_NUMBER, .least = 1, .most = 65536, STORED(network.max_tunnels)},
    {"", filesystem, OPTION_OBJECT, .support = OPTION_HONOURED},
    {filesystem, "denyRead", OPTION_STRINGS, .entry = OPTION_ENTRY_PATH, STORED(fs.deny_read), ADDS},
    {filesystem, "allowWrite", OPTION_STRINGS, .entry = OPTION_ENTRY_PATH, STORED(fs.allow_write)},
    {filesystem, "denyWrite", OPTION_STRINGS, .entry = OPTION_ENTRY_PATH, STORED(fs.deny_write), ADDS},
    {filesystem, "allowRead", OPTION_STRINGS, .entry = OPTION_ENTRY_PATH, STORED(fs.allow_read)},
    {filesystem, "defaultRead", OPTION_STRING, .entry = OPTION_ENTRY_DEFAULT_READ, STORED(fs.default_read),
     HOLDS("\"deny\"")},
    {filesystem, "allowGitConfig", OPTION_BOOLEAN, STORED(fs.allow_git_config)},
    {filesystem, "allowProtected", OPTION_STRINGS, .entry = OPTION_ENTRY_PROTECTED,
     STORED(fs.allow_protected)},
    {filesystem, "writableCwd", OPTION_BOOLEAN, STORED(fs.writable_cwd), HOLDS("false")},
    {filesystem, "privateTmp", OPTION_BOOLEAN, STORED(fs.private_tmp), HOLDS("true")},
    {filesystem, "packageCache", OPTION_BOOLEAN, STORED(fs.package_cache)},
    {"", "monitorViolations", OPTION_BOOLEAN, STORED(monitor_violations)},
    {"", "ignoreViolations", OPTION_STRING_LISTS, .entry = OPTION_ENTRY_TEXT, .layering = OPTION_LAYER_KEYS},
    {"", "monitorReads", OPTION_BOOLEAN, STORED(monitor_reads)},
    {"", "violationLog", OPTION_STRING, .entry = OPTION_ENTRY_FIXED_PATH, STORED(violation_log),
     .layering = OPTION_LAYER_LOG},
    {"", limits, OPTION_OBJECT, .support = OPTION_HONOURED},
    {limits, "memoryBytes", OPTION_NUMBER, AMOUNT(COST_MEMORY), LEAST},
    {limits, "processes", OPTION_NUMBER, AMOUNT(COST_PROCESSES), LEAST},
    {limits, "cpuSeconds", OPTION_NUMBER, AMOUNT(COST_CPU), LEAST},
    {limits, "fileBytes", OPTION_NUMBER, AMOUNT(COST_FILE), LEAST},
    {limits, "openFiles", OPTION_NUMBER, AMOUNT(COST_OPEN_FILES), LEAST},
    {"", "backend", OPTION_STRING, LATER("[\"auto\", \"bwrap\"]")},
};

static const char *const kind_names[] = {
    [OPTION_OBJECT] = "object",    [OPTION_STRINGS] = "strings", [OPTION_STRING] = "string",
    [OPTION_BOOLEAN] = "boolean",  [OPTION_NUMBER] = "number",   [OPTION_FUNCTION] = "function",
    [OPTION_STRING_LISTS] = "map",
};

const struct option_row *option_table_row(size_t index) {
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

const struct option_row *option_table_find(const char *group, const char *key) {
    const struct option_row *row;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++)
        if (strcmp(row->group, group) == 0 && strcmp(row->key, key) == 0)
            return row;
    return NULL;
}

const char *option_kind_name(enum option_kind kind) {
    return kind_names[kind];
}

/* { kind, keys } of one group, with the groups below it; a new reference or NULL. */
static json_t *group_schema(const char *group) {
    json_t *keys = json_object();
    const struct option_row *row;
    for (size_t i = 0; (row = option_table_row(i)) != NULL; i++) {
        if (strcmp(row->group, group) != 0)
            continue;
        json_t *node = row->kind == OPTION_OBJECT ? group_schema(row->key)
                                                  : json_pack("{s:s}", "kind", option_kind_name(row->kind));
        if (json_object_set_new(keys, row->key, node) != 0) {
            json_decref(keys);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o}", "kind", option_kind_name(OPTION_OBJECT), "keys", keys);
}

char *options_schema_json(void) {
    json_t *schema = json_pack("{s:{s:i, s:i}, s:o}", "limits", "entries", OPTION_LIST_MAX, "string",
                               OPTION_STRING_MAX, "options", group_schema(""));
    char *text = schema == NULL ? NULL : json_dumps(schema, JSON_COMPACT);
    json_decref(schema);
    return text;
}
