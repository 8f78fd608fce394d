#include "policy/settings_srt.h"

#include <string.h>

#include "base/glob.h"
#include "policy/domain_pattern.h"

static const char network[] = "network";
static const char filesystem[] = "filesystem";

#define IGNORED(values, why) .action = SRT_IGNORED, .inert = (values), .reason = (why)
#define REFUSED(values, why) .action = SRT_REFUSED, .inert = (values), .reason = (why)

/* Source: the schema of @anthropic-ai/sandbox-runtime 0.0.78 (dist/sandbox/sandbox-config.js) and its README.
 */
static const struct srt_key keys[] = {
    {"", "$schema", SRT_NOTE, NULL, NULL},
    /* Permissions of macOS and of other programs that nothing here needs. */
    {"", "allowPty", IGNORED("[false]", "a terminal needs no permission")},
    {"", "ripgrep", IGNORED(NULL, "nothing is searched for with ripgrep")},
    {"", "seccomp", IGNORED(NULL, "the filter is part of this package")},
    {"", "bwrapPath", IGNORED(NULL, "bwrap is looked for on PATH")},
    {"", "socatPath", IGNORED(NULL, "socat is not used")},
    {"", "javaAgentJarPath", IGNORED(NULL, "Java needs no agent where connections are captured")},
    {"", "windows", IGNORED(NULL, "it is for Windows")},
    {"", "git",
     IGNORED("[{}, {\"safeDirectories\": []}]",
             "git's variables stay as they are; see safe.directory in git-config(1)")},
    /* It bounds a search there: less of it would protect less. */
    {"", "mandatoryDenySearchDepth", IGNORED(NULL, "protected names are protected at every depth")},
    /* They loosen. */
    {"", "enableWeakerNestedSandbox", IGNORED("[false]", "no guarantee is given up on request")},
    {"", "enableWeakerNetworkIsolation", IGNORED("[false]", "no guarantee is given up on request")},
    {"", "allowAppleEvents", IGNORED("[false]", "commands start no program outside the sandbox")},
    {network, "allowAllUnixSockets", IGNORED("[false]", "name the sockets in network.allowUnixSockets")},
    {network, "allowMachLookup", IGNORED("[[]]", "services of macOS stay closed")},
    {filesystem, "disabled", IGNORED("[false]", "the rules for files always hold")},
    /* What is reported, and what a filter that cannot be in a file would see. */
    {network, "deniedDomainReasons", IGNORED("[{}]", "a refusal names the list that it comes from")},
    {network, "tlsTerminate", IGNORED(NULL, "TLS is never decrypted")},
    /* They keep a secret from commands, or an address from names. */
    {"", "credentials",
     REFUSED("[{}, {\"files\": []}, {\"envVars\": []}, {\"files\": [], \"envVars\": []}]",
             "nothing is masked, and variables are kept; name files in filesystem.denyRead")},
    {network, "deniedResolvedAddresses",
     REFUSED("[[]]", "name each address in network.deniedDomains, which closes it to names as well")},
    /* They send connections through something that may refuse them. */
    {network, "parentProxy", REFUSED("[{}]", "name an HTTP proxy in network.upstreamProxy")},
    {network, "httpProxyPort", REFUSED(NULL, "name an HTTP proxy in network.upstreamProxy")},
    {network, "socksProxyPort", REFUSED(NULL, "name an HTTP proxy in network.upstreamProxy")},
    {network, "mitmProxy", REFUSED(NULL, "name an HTTP proxy in network.upstreamProxy")},
    {network, "filterRequest", REFUSED(NULL, "a file cannot hold a function")},
    {network, "strictAllowlist", SRT_UNASKED, NULL, "connections are asked about"},
    /* Not srt's: an option that only a program can give. */
    {network, "onAskHost", REFUSED(NULL, "a file cannot hold a function")},
};

const struct srt_key *srt_key_row(size_t index) {
    return index < sizeof keys / sizeof *keys ? &keys[index] : NULL;
}

const struct srt_key *srt_key_find(const char *group, const char *key) {
    const struct srt_key *row;
    for (size_t i = 0; (row = srt_key_row(i)) != NULL; i++)
        if (strcmp(row->group, group) == 0 && strcmp(row->key, key) == 0)
            return row;
    return NULL;
}

/* A new string without the end, or NULL where there is none, or where the rest is a pattern or nothing. */
static json_t *without_end(const json_t *entry) {
    static const char end[] = "/**";
    size_t length = json_string_length(entry);
    const char *text = json_string_value(entry);
    if (text == NULL || strlen(text) != length || length <= strlen(end) ||
        strcmp(text + length - strlen(end), end) != 0)
        return NULL;
    json_t *folder = json_stringn(text, length - strlen(end));
    if (folder != NULL && glob_has_magic(json_string_value(folder))) {
        json_decref(folder);
        return NULL;
    }
    return folder;
}

bool srt_name_folders(json_t *document) {
    static const char *const lists[] = {"denyRead", "allowRead", "allowWrite", "denyWrite"};
    json_t *group = json_object_get(document, filesystem);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        json_t *list = json_object_get(group, lists[i]);
        for (size_t j = 0; j < json_array_size(list); j++) {
            json_t *folder = without_end(json_array_get(list, j));
            if (folder != NULL && json_array_set_new(list, j, folder) != 0)
                return false;
        }
    }
    return true;
}

static bool read_pattern(const json_t *entry, struct domain_pattern *pattern) {
    const char *text = json_string_value(entry);
    return text != NULL && domain_pattern_parse(text, pattern, NULL) == 0;
}

/* Whether a "*" of the list denies something at a port of the address's. */
static bool has_star_for(const json_t *denied, const struct domain_pattern *address) {
    for (size_t i = 0; i < json_array_size(denied); i++) {
        struct domain_pattern pattern;
        if (read_pattern(json_array_get(denied, i), &pattern) && pattern.kind == DOMAIN_PATTERN_ANY &&
            (pattern.port == 0 || address->port == 0 || pattern.port == address->port))
            return true;
    }
    return false;
}

bool srt_leaves_open(const json_t *document, size_t *index) {
    const json_t *group = json_object_get(document, network);
    const json_t *allowed = json_object_get(group, "allowedDomains");
    const json_t *denied = json_object_get(group, "deniedDomains");
    for (*index = 0; *index < json_array_size(allowed); ++*index) {
        struct domain_pattern pattern;
        if (read_pattern(json_array_get(allowed, *index), &pattern) &&
            (pattern.kind == DOMAIN_PATTERN_V4 || pattern.kind == DOMAIN_PATTERN_V6) &&
            has_star_for(denied, &pattern))
            return true;
    }
    return false;
}
